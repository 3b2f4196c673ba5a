"""The checker: from text to a resolved program, or to everything that is wrong with it.

The steps: parse, declarations, statements (segments inlined, calls checked), dataflow, `ResolvedProgram`.
Modules come through the finder that is handed in; none is ever executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeGuard

from pse.language.check._call_resolution import thread_warnings
from pse.language.check._context import Context
from pse.language.check._dataflow_check import Followed, check_flow
from pse.language.check._declarations import Declarations, declare
from pse.language.check._directive import STANDARD, ModuleFinder
from pse.language.check._distribution_check import check_layouts
from pse.language.check._file_order import order_files
from pse.language.check._halo_check import check_halos
from pse.language.check._inlining import check_alone
from pse.language.check._ir import (
    Assign,
    CallSite,
    For,
    If,
    ModuleReference,
    Parallel,
    PartitionDeclaration,
    ResolvedProgram,
    Statement,
    Tag,
    While,
)
from pse.language.check._kept_statements import KeptStatements
from pse.language.check._scope import (
    PROCS,
    AliasEntity,
    Entity,
    Frame,
    Globals,
    ModuleEntity,
    PartitionEntity,
    RecordEntity,
    SegmentEntity,
    kind_of,
)
from pse.language.check._statements import renumbered, statements
from pse.language.diagnostics._diagnostic import Diagnostic, error_at, has_errors, in_order, warning_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._kept_trees import program_tree
from pse.language.types._expressions import Name, Value
from pse.language.types._types import Element
from pse.records import dataclass

if TYPE_CHECKING:
    from pse.language.syntax._parser import ParseResult


@dataclass(frozen=True)
class CheckResult:
    """What the checker makes of a text.

    Attributes
    ----------
    program : ResolvedProgram or None
        The program; None if it is wrong, or if the file has segments only, for others to import.
    diagnostics : tuple of Diagnostic
        Errors and warnings, sorted by place.

    See Also
    --------
    check_program

    Examples
    --------
    >>> from pse.modules import Finder
    >>> result = check_program(program.text, program.path, modules=Finder())
    >>> result.program.name, result.diagnostics
    ('heat', ())
    """

    program: ResolvedProgram | None
    diagnostics: tuple[Diagnostic, ...]


def check_program(
    text: str, path: str, *, modules: ModuleFinder, values: Mapping[str, str | Value] | None = None
) -> CheckResult:
    """Check a program.

    Parameters
    ----------
    text : str
        The whole file.
    path : str
        The path as the user typed it, for diagnostics and for finding modules.
    modules : ModuleFinder
        Finds the imported modules and the standard library.
    values : mapping of str to str or Value, optional
        Values of parameters (``-D N=512``), on which arrays of tags may depend; others have their defaults.

    Returns
    -------
    CheckResult
        Never raises on a bad program: it is described by the diagnostics.

    Examples
    --------
    >>> from pse.modules import Finder
    >>> result = check_program("coven 1\\nprogram p { let x = 1 + y }\\n", "p.coven", modules=Finder())
    >>> [diagnostic.message for diagnostic in result.diagnostics]
    ['unknown name `y`']
    """
    tree, mistakes = program_tree(text, path)
    if tree is None or has_errors(mistakes):
        return CheckResult(None, in_order(mistakes))
    names = Globals(path, text)
    names.files.given = values or {}
    return _check(Context(Frame(names), list(mistakes)), tree, modules)


@dataclass(frozen=True)
class Inspection:
    """What an editor can know of a text, right or wrong.

    Attributes
    ----------
    parsed : ParseResult
        What the parser could make of the text.
    program : ResolvedProgram or None
        The program; None if it is wrong.
    diagnostics : tuple of Diagnostic
        As `check_program` gives them.
    tags : tuple of Tag
        Every tag whose type was found; those of a segment as its first call has them.
    modules : mapping of str to ModuleReference
        The modules that a call can name, by the name that it writes: `step`, `fft.rows`.
    records : mapping of str to Element
        The record types that a declaration can name, by what it writes: `Body`, `drift.Body`.

    See Also
    --------
    inspect_program
    """

    parsed: ParseResult
    program: ResolvedProgram | None
    diagnostics: tuple[Diagnostic, ...]
    tags: tuple[Tag, ...] = ()
    modules: Mapping[str, ModuleReference] = field(default_factory=dict)
    records: Mapping[str, Element] = field(default_factory=dict)
    _kept: KeptStatements | None = field(default=None, repr=False, compare=False)

    @property
    def tree(self) -> sx.Program | None:
        """The syntax tree; None if there is none."""
        return self.parsed.tree


def inspect_program(
    text: str, path: str, *, modules: ModuleFinder, before: Inspection | None = None
) -> Inspection:
    """Check a program that may be half written, and tell everything that is known of it.

    Parameters
    ----------
    text : str
        The whole file.
    path : str
        The path as the user typed it.
    modules : ModuleFinder
        Finds the imported modules and the standard library.
    before : Inspection, optional
        What is known of an earlier text: what did not change is not read again.

    Returns
    -------
    Inspection
        Types and modules, also of a text with mistakes.

    Examples
    --------
    >>> from pse.modules import Finder
    >>> half = inspect_program("coven 1\\nprogram p { let x = 1\\n let y = }\\n", "p.coven", modules=Finder())
    >>> [tag.name for tag in half.tags], half.diagnostics[0].message
    (['x'], 'expected an expression, found `}`')
    """
    from pse.language.syntax._parser import parse_program

    parsed = parse_program(text, path, before.parsed if before is not None else None)
    tree, mistakes = parsed.tree, parsed.diagnostics
    if tree is None or not tree.items:
        return Inspection(parsed, None, in_order(mistakes))
    names = Globals(path, text)
    context = Context(Frame(names), list(mistakes))
    kept = KeptStatements(before._kept if before is not None else None)
    checked = _check(context, tree, modules, kept)
    context.kept = None
    kept.end()
    # What follows from a statement that could not be read is not the user's mistake.
    diagnostics = in_order(mistakes) if has_errors(mistakes) else checked.diagnostics
    tags = (*context.tags.values(), *context.uncalled.values())
    records = {name: record for name, record in names.records().items() if record is not None}
    return Inspection(parsed, checked.program, diagnostics, tags, _callable(names), records, kept)


def _callable(names: Globals) -> dict[str, ModuleReference]:
    """Give the modules that calls can name, by what they write."""
    found = {name: entity.reference for name, entity in names.standard.items()}
    for name, entity in names.names.items():
        if isinstance(entity, ModuleEntity):
            found[name] = entity.reference
        elif isinstance(entity, AliasEntity):
            modules = (m for m in (entity.modules or {}).values() if isinstance(m, ModuleEntity))
            found |= {f"{name}.{m.name}": m.reference for m in modules}
    return {name: reference for name, reference in found.items() if reference is not None}


def _check(
    context: Context, tree: sx.Program, modules: ModuleFinder, kept: KeptStatements | None = None
) -> CheckResult:
    """Check a program's tree; the context knows afterwards what its names stand for."""
    text = context.text
    declarations = declare(context, tree, modules)
    if kept is not None:
        kept.begin(context)
        context.kept = kept
    body = _bodies(context, declarations, tree, kept or KeptStatements())
    if not has_errors(context.diagnostics):
        unused = _unused(context, declarations, body) if body is not None else []
        context.diagnostics += [*unused, *context.warnings]
        context.diagnostics += check_halos(body or (), context.tags, _texts(context))
        if body is not None:
            body, unordered = order_files(body, context.tags, text)
            context.diagnostics += unordered
    diagnostics = in_order(context.diagnostics)
    if has_errors(diagnostics) or body is None:
        return CheckResult(None, diagnostics)
    program = _program(context, text, declarations, body)
    if impossible := check_layouts(program, {}):
        return CheckResult(None, in_order([*diagnostics, *impossible]))
    return CheckResult(program, diagnostics)


def _bodies(
    context: Context, declarations: Declarations, tree: sx.Program, kept: KeptStatements
) -> tuple[Statement, ...] | None:
    """Check the program's body, then the segments that nobody calls."""
    body = None
    if not declarations.programs and not declarations.segments:
        message = "the file has no program"
        context.report(error_at("E0206", message, tree.items[-1].span, help="add: program name { … }"))
    for again in declarations.programs[1:]:
        notes = [(declarations.programs[0].name.span, "the first program is here")]
        help = "a file has one program: move this one into a file of its own"
        context.report(
            error_at("E0206", "the file has a second program", again.name.span, notes=notes, help=help)
        )
    if declarations.programs:
        context.frame = Frame(context.globals, body=declarations.programs[0].body)
        body = renumbered(statements(context, declarations.programs[0].body))
        kept.followed = _flow(context, body, (), kept.followed)
    tags = dict(context.tags)
    for entity in list(context.globals.names.values()):
        if _is_own_segment(entity, context) and entity.span not in context.globals.used:
            given, alone = check_alone(context, entity, statements)
            _flow(context, alone, [tag.unique for tag in given if tag.type is not None])
    context.uncalled = {name: tag for name, tag in context.tags.items() if name not in tags}
    context.tags = tags
    return body


def _flow(
    context: Context, body: tuple[Statement, ...], defined: Sequence[str], known: Followed | None = None
) -> Followed | None:
    """Check paths only where every statement is understood: a missing one would look like a missing write."""
    if has_errors(context.diagnostics):
        return known
    wrong, followed = check_flow(body, context.tags, _texts(context), defined, known)
    context.diagnostics += wrong
    return followed


def _texts(context: Context) -> dict[str, str]:
    """Give the texts of the program's file and of those that it imports, by path."""
    read = [names for names in context.globals.files.read.values() if names is not None]
    return {names.path: names.text for names in (context.globals, *read)}


def _unused(context: Context, declarations: Declarations, body: tuple[Statement, ...]) -> list[Diagnostic]:
    """Warn about names that nothing uses; a name that begins with `_` is unused on purpose."""
    used, found = context.globals.used, list[Diagnostic]()
    imported = {(name.alias or name.name).span for item in declarations.imports for name in item.names or ()}
    written = {context.tags[name].span for name in _written(body)}
    for tag in context.tags.values():
        if not tag.loop_counter and not tag.display.startswith("_") and tag.span not in used:
            what = "written but never read" if tag.span in written else "declared but never used"
            name = tag.display.partition("[")[0]  # An array of tags is used as a whole.
            help = f"remove it, or call it _{name}"
            found.append(warning_at("W0201", f"`{name}` is {what}", tag.span, help=help))
    for item in declarations.imports:
        found += _unused_import(context, item)
    for parameter in declarations.parameters:
        if parameter.span not in used and parameter.span.path == context.path:
            message = f"parameter `{parameter.name}` is never used"
            found.append(warning_at("W0203", message, parameter.span, help="remove it"))
    for entity in context.globals.names.values():
        if entity.span not in used and entity.span not in imported:
            found += _unused_name(context, entity)
    return found + thread_warnings(context, declarations.options)


def _unused_name(context: Context, entity: Entity) -> list[Diagnostic]:
    """Warn about a partition, a segment or a record of the file that nothing uses."""
    if isinstance(entity, PartitionEntity):
        help = f"write `@ block(0) over {entity.name}` or `PARALLEL over {entity.name}`, or remove it"
    elif _is_own_segment(entity, context):
        help = "call it, or remove it"
    elif isinstance(entity, RecordEntity):
        help = f"write for example:  var {entity.name}[8] x   or remove it"
    else:
        return []
    what = kind_of(entity).split()[1]
    return [warning_at("W0204", f"{what} `{entity.name}` is never used", entity.span, help=help)]


def _is_own_segment(entity: Entity, context: Context) -> TypeGuard[SegmentEntity]:
    """Whether a name stands for a segment that is declared in the program's own file."""
    return isinstance(entity, SegmentEntity) and entity.node.span.path == context.path


def _unused_import(context: Context, item: sx.Import) -> list[Diagnostic]:
    names = [local.alias or local.name for local in item.names or ()] + ([item.alias] if item.alias else [])
    return [
        warning_at("W0202", f"import `{name.id}` is never used", name.span, help="remove it")
        for name in names
        if name.span not in context.globals.used and item.path != STANDARD
    ]


def _program(
    context: Context, text: str, declarations: Declarations, body: tuple[Statement, ...]
) -> ResolvedProgram:
    return ResolvedProgram(
        name=declarations.programs[0].name.id,
        path=context.path,
        text=text,
        parameters=tuple(declarations.parameters),
        partitions=_partitions(declarations, body),
        options=tuple(declarations.options),
        tags=context.tags,
        body=body,
        modules=_modules(body),
        threads=tuple(context.declared_threads),
        files={path: text for path, text in _texts(context).items() if path != context.path},
        assumed=_assumed(context, declarations),
    )


def _assumed(context: Context, declarations: Declarations) -> dict[str, Value]:
    """Give the values of parameters on which the check depended."""
    names = {parameter.name for parameter in declarations.parameters}
    return {name: context.globals.files.values[name] for name in context.constants if name in names}


def _partitions(declarations: Declarations, body: tuple[Statement, ...]) -> tuple[PartitionDeclaration, ...]:
    """A program that declares no partition has one for each processor, called `procs`."""
    if declarations.partitions:
        return tuple(declarations.partitions)
    span = declarations.programs[0].span
    start = Span(span.path, span.line, span.column, span.line, span.column)
    return (PartitionDeclaration(PROCS, Name(PROCS), None, start),)


def _written(body: tuple[Statement, ...]) -> set[str]:
    """Give the tags that statements assign to or that calls make."""
    found: set[str] = set()
    for statement in _simple(body):
        match statement:
            case CallSite():
                for output in statement.outputs:
                    found.add(output.tag)
                    if output.reduction is not None:
                        found.add(output.reduction.target)
            case Assign():
                found.add(statement.tag)
    return found


def _modules(body: tuple[Statement, ...]) -> tuple[ModuleReference, ...]:
    """Give every module that is called, once, in order of first use."""
    called = [statement.module for statement in _simple(body) if isinstance(statement, CallSite)]
    once = {id(module): module for module in called}  # Quicker than to compare signatures.
    return tuple(dict.fromkeys(once.values()))


def _simple(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Give the statements that hold no others, in textual order."""
    waiting: list[Statement] = list(reversed(body))
    while waiting:
        match statement := waiting.pop():
            case CallSite():  # Most are.
                yield statement
            case If():
                waiting += reversed((*statement.then, *statement.otherwise))
            case For() | While() | Parallel():
                waiting += reversed(statement.body)
            case _:
                yield statement
