"""The items of a file before its program: imports, parameters, partitions, options, segments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple, TypeGuard

from pse.errors import EvaluationError, ModuleNotFound
from pse.language.check._binding import MAX_PARTITIONS, given_value, unsatisfied
from pse.language.check._context import Context, reserved
from pse.language.check._directive import STANDARD, Directives, ModuleFile, ModuleFinder
from pse.language.check._ir import ModuleReference, Option, ParameterDeclaration, PartitionDeclaration
from pse.language.check._scalars import bound, condition, place, scalar
from pse.language.check._scope import (
    PROCS,
    AliasEntity,
    BundleEntity,
    Entity,
    Frame,
    Globals,
    ModuleEntity,
    ParameterEntity,
    PartitionEntity,
    RecordEntity,
    SegmentEntity,
    kind_of,
)
from pse.language.check._type_resolution import element_of, written_record
from pse.language.diagnostics._diagnostic import Diagnostic, error_at, has_errors
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._kept_trees import program_tree
from pse.language.types import _symbolic_extents as extents
from pse.language.types._elements import COMPLEX, fits
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import Expression, Value, names_in, render_expression
from pse.language.types._options import OPTIONS
from pse.language.types._records import record_of
from pse.language.types._types import Element, Signature
from pse.records import replace
from pse.text import did_you_mean, nearest_word

PROGRAM = ".coven"
"""How the names of programs end, whose segments others can import."""


class Declarations(NamedTuple):
    """What the items of a file declare."""

    parameters: list[ParameterDeclaration]
    partitions: list[PartitionDeclaration]
    options: list[Option]
    segments: list[sx.Segment]
    programs: list[sx.ProgramBody]
    imports: list[sx.Import]


def declare(context: Context, tree: sx.Program, finder: ModuleFinder) -> Declarations:
    """Read all items of a program in textual order; everything wrong is reported."""
    declarations = Declarations([], [], [], [], [], [])
    files = context.globals.files
    files.open.append(context.path)
    # The program's own parameters and partitions keep their names, whatever it imports before.
    files.taken |= {item.name.id for item in tree.items if isinstance(item, sx.Param | sx.PartitionNode)}
    _items(context, tree, declarations, finder)
    return declarations


def _items(context: Context, tree: sx.Program, declarations: Declarations, finder: ModuleFinder) -> None:
    context.globals.standard = _Standard(finder.find(STANDARD, context.path))
    for item in tree.items:
        _item(context, item, declarations, finder)


def _item(context: Context, item: sx.Item, declarations: Declarations, finder: ModuleFinder) -> None:
    match item:
        case sx.Import():
            declarations.imports.append(item)
            if PurePath(item.path).suffix == PROGRAM:
                _import_program(context, item, declarations, finder)
            else:
                _import(context, item, finder)
        case sx.Segment():
            declarations.segments.append(item)
            _add(context, item.name, SegmentEntity(item.name.id, item, item.name.span, context.globals))
        case sx.Bundle() | sx.Record():
            _fields(context, item)
        case sx.ProgramBody():
            declarations.programs.append(item)
        case sx.Param():
            _parameter(context, item, declarations)
        case sx.PartitionNode():
            _partition(context, item, declarations)
        case sx.Threads():
            _threads(context, item)
        case sx.Options():
            _options(context, item, declarations, finder)
        case _:
            pass  # The version, which the parser has checked.


def _fields(context: Context, item: sx.Bundle | sx.Record) -> None:
    """Declare what has members: a bundle or a record type."""
    name = item.name
    if isinstance(item, sx.Bundle):
        _add(context, name, BundleEntity(name.id, item, name.span, context.globals))
        _check_members(context, item)
    else:
        _add(context, name, RecordEntity(name.id, written_record(item, context.report), name.span))


def _add(context: Context, name: sx.Identifier, entity: Entity) -> None:
    """Give a name a meaning in the file; one that is taken is reported, and the first meaning stays."""
    taken = context.globals.names.get(name.id)
    if name.id == PROCS:
        context.report(reserved(name.span))
    elif taken is not None:
        notes = [(taken.span, f"`{name.id}` is {kind_of(taken)} declared here")]
        message = f"`{name.id}` is declared twice"
        context.report(error_at("E0203", message, name.span, notes=notes, help="choose another name"))
    else:
        context.globals.names[name.id] = entity


# Imports.


class _Standard(Mapping[str, ModuleEntity]):
    """The standard library's names, visible import or not; a program uses few, and the others stay unread."""

    def __init__(self, file: ModuleFile) -> None:
        assert isinstance(file.signatures, Directives)
        self._file, self._directives = file, file.signatures
        self._found: dict[str, ModuleEntity] = {}

    def __getitem__(self, name: str) -> ModuleEntity:
        if name not in self._found:
            signature = self._directives.named(name)
            assert signature.span is not None
            reference = _reference(self._file, signature)
            self._found[name] = ModuleEntity(name, reference, signature.span)
        return self._found[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Give what a name stands for: most names that are looked up here are not in the library."""
        return self[name] if name in self._directives.names else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._directives.names)

    def __len__(self) -> int:
        return len(self._directives)

    def __contains__(self, name: object) -> bool:
        return name in self._directives.names


def _reference(file: ModuleFile, signature: Signature) -> ModuleReference:
    line = signature.span.line if signature.span is not None else 1
    return ModuleReference(signature.name, signature, file.source, file.path, line, file.language)


def _import(context: Context, item: sx.Import, finder: ModuleFinder) -> None:
    file = _find(context, item, finder)
    modules = (
        {s.name: ModuleEntity(s.name, _reference(file, s), item.span) for s in file.signatures}
        if file
        else None
    )
    records: dict[str, Element | None] = {record.label: record for record in file.records} if file else {}
    if item.alias is not None:
        language, span = file.language if file else "", item.alias.span
        entity = AliasEntity(item.alias.id, modules, item.path, language, span, records)
        _add(context, item.alias, entity)
    for name in item.names or ():
        _imported_name(context, item, name, file, modules)
    for known in (*(modules or ()), *records):
        _unimported(context, item, known)
    if file is not None and item.alias is None and item.names is None and item.path != STANDARD:
        alias = re.sub(r"\W", "_", PurePath(item.path).stem)
        meant = AliasEntity(alias, modules, item.path, file.language, item.span)
        context.globals.names.setdefault(alias, meant)  # Calls by it are no mistakes of their own.
        help = f'write:  import "{item.path}" as {alias}   or:  import "{item.path}" {{ module }}'
        context.report(
            error_at(
                "E0503", "this import gives no name by which its modules are called", item.span, help=help
            )
        )


def _find(context: Context, item: sx.Import, finder: ModuleFinder) -> ModuleFile | None:
    try:
        file = finder.find(item.path, context.path)
    except ModuleNotFound as missing:
        context.report(error_at("E0501", missing.message, item.path_span, help=missing.help))
        return None
    for diagnostic in file.diagnostics:
        context.report(diagnostic)
    return None if has_errors(file.diagnostics) and not file.signatures else file


def _import_program(
    context: Context, item: sx.Import, declarations: Declarations, finder: ModuleFinder
) -> None:
    """Import segments, parameters and partitions of another `.coven` file."""
    names = _read(context, item, declarations, finder)
    known = {} if names is None else {n: e for n, e in names.names.items() if _is_given(e, names)}
    if item.alias is not None:
        _import_under(context, item, item.alias, None if names is None else known)
    for name in item.names or ():
        local, entity = name.alias or name.name, known.get(name.name.id)
        if entity is not None:
            _add(context, local, replace(entity, name=local.id, span=local.span))
            context.globals.imported.add(local.span)
        elif names is not None:
            context.report(_not_given(name.name, item.path, names, list(known)))
        if entity is None:  # What it is used for is no mistake of its own.
            _add(context, local, ModuleEntity(local.id, None, local.span))
    if item.alias is None and item.names is None:
        help = f'name what is imported:  import "{item.path}" {{ {", ".join(list(known)[:3]) or "name"} }}'
        context.report(error_at("E0503", "this import gives no name of the file", item.span, help=help))


def _import_under(
    context: Context, item: sx.Import, alias: sx.Identifier, known: Mapping[str, Given] | None
) -> None:
    """Import what a file gives under one name; `known` is None if it can't be read."""
    given = known or {}
    segments = {name: entity for name, entity in given.items() if isinstance(entity, SegmentEntity)}
    records = {name: entity.element for name, entity in given.items() if isinstance(entity, RecordEntity)}
    callable = None if known is None else segments
    _add(context, alias, AliasEntity(alias.id, callable, item.path, "coven", alias.span, records))
    for name, entity in given.items():
        if isinstance(entity, ParameterEntity | BundleEntity):
            dotted = f"{alias.id}.{name}"
            context.globals.names[dotted] = replace(entity, name=dotted, span=alias.span)


def _check_members(context: Context, item: sx.Bundle) -> None:
    """Report members of one name; their types are read where a tag is declared with the bundle's."""
    seen: dict[str, Span] = {}
    for member in item.members:
        first = seen.setdefault(member.name.id, member.name.span)
        if first != member.name.span:
            message = f"bundle `{item.name.id}` has two members `{member.name.id}`"
            notes = [(first, "the first one")]
            context.report(
                error_at("E0203", message, member.name.span, notes=notes, help="give each a name of its own")
            )
    if not item.members:
        message = f"bundle `{item.name.id}` has no members"
        help = f"for example:  bundle {item.name.id} {{ f64[8] rho, u }}"
        context.report(error_at("E0305", message, item.span, help=help))


Given = SegmentEntity | ParameterEntity | PartitionEntity | BundleEntity | RecordEntity
"""What a file gives to those that import it."""


def _is_given(entity: Entity, names: Globals) -> TypeGuard[Given]:
    """Whether a file gives a name to others: what it imports itself it does not give."""
    return isinstance(entity, Given) and entity.span not in names.imported


def _not_given(name: sx.Identifier, path: str, names: Globals, known: list[str]) -> Diagnostic:
    """Report a name that an imported file does not give."""
    listed = (
        f"it gives: {', '.join(known[:12])}" if known else "segments, parameters and partitions are imported"
    )
    help = did_you_mean(name.id, known) or listed
    if name.id in names.names:
        help = "it imports that itself: import it from where it is declared"
    return error_at("E0502", f"`{path}` gives no `{name.id}`", name.span, help=help)


def _read(
    context: Context, item: sx.Import, declarations: Declarations, finder: ModuleFinder
) -> Globals | None:
    """Read a `.coven` file once; give its names, or None if it is wrong."""
    files = context.globals.files
    try:
        path, text, wrong = finder.read_program(item.path, context.path)
    except ModuleNotFound as missing:
        context.report(error_at("E0501", missing.message, item.path_span, help=missing.help))
        return None
    if path in files.open:
        chain = " → ".join([*files.open[files.open.index(path) :], path])
        help = "move what both need into a file of its own, and import that"
        context.report(error_at("E0504", f"files import each other: {chain}", item.path_span, help=help))
        return None
    if path not in files.read:
        files.read[path] = None
        tree, mistakes = (None, wrong) if wrong else program_tree(text, path)
        for mistake in mistakes:
            context.report(mistake)
        if tree is not None and not has_errors(mistakes):
            names = Globals(path, text, installed=context.globals.installed or ":" in item.path)
            files.read[path] = _names_of(context, names, tree, declarations, finder)
    return files.read[path]


def _names_of(
    context: Context, names: Globals, tree: sx.Program, declarations: Declarations, finder: ModuleFinder
) -> Globals:
    """Read the items of an imported file: its parameters and partitions are the program's, too."""
    importing, files = context.frame, context.globals.files
    names.files, names.importer = files, context.globals.importer or context.globals
    context.frame = Frame(names)
    files.open.append(names.path)
    ours = Declarations(declarations.parameters, declarations.partitions, [], [], [], [])
    _items(context, tree, ours, finder)
    files.open.pop()
    context.frame = importing
    return names


def _imported_name(
    context: Context,
    item: sx.Import,
    name: sx.ImportName,
    file: ModuleFile | None,
    modules: dict[str, ModuleEntity] | None,
) -> None:
    local = name.alias or name.name
    record = next((r for r in file.records if r.label == name.name.id), None) if file is not None else None
    if record is not None:
        _add(context, local, RecordEntity(local.id, record, local.span))
        return
    found = modules.get(name.name.id) if modules is not None else None
    reference = found.reference if found is not None else None
    if file is not None and reference is None and not has_errors(file.diagnostics):
        if file.language == "python":
            # Perhaps a distribution pattern; the check of a call reports it if it is called.
            context.globals.patterns[local.id] = f"{file.path}:{name.name.id}"
        if file.language != "python" or (file.names is not None and name.name.id not in file.names):
            context.report(no_such_module(name.name, item.path, [*(modules or ()), *(file.names or ())]))
            meant = nearest_word(name.name.id, modules or ())
            if meant and meant not in context.globals.names:  # Its calls are no mistakes of their own.
                context.globals.names[meant] = ModuleEntity(meant, None, name.span)
    _add(context, local, ModuleEntity(local.id, reference, local.span))


def _unimported(context: Context, item: sx.Import, name: str) -> None:
    """Note how a module or record of a file is written that the file's import doesn't name."""
    listed = [f"{n.name.id} as {n.alias.id}" if n.alias else n.name.id for n in item.names or ()]
    help = f'`{item.path}` has it; import it:  import "{item.path}" {{ {", ".join([*listed, name])} }}'
    renamed = next((n.alias.id for n in item.names or () if n.alias and n.name.id == name), None)
    if renamed is not None or item.alias is not None:
        help = f"did you mean `{renamed or f'{item.alias.id}.{name}'}`?"  # type: ignore[union-attr]
    if item.path != STANDARD:
        context.globals.unimported.setdefault(name, help)


def no_such_module(name: sx.Identifier, path: str, known: list[str]) -> Diagnostic:
    """Report a name that a module file does not have."""
    listed = f"it has: {', '.join(sorted({*known})[:12])}" if known else None
    help = did_you_mean(name.id, known) or listed or "a module has a `coven module` directive above it"
    return error_at("E0502", f"`{path}` has no module `{name.id}`", name.span, help=help)


# Parameters.


def _parameter(context: Context, item: sx.Param, declarations: Declarations) -> None:
    never = (Element.COMM, Element.OBJECT)
    element = element_of(item.element, context.report, never, context.globals.records())
    if element in never or record_of(element) is not None:
        message = f"a parameter cannot be of type `{item.element.id}`"
        context.report(
            error_at("E0608", message, item.element.span, help="parameters are numbers, bool or string")
        )
        element = None
    default = _default(context, item, element)
    unique = _unique(context, item.name)
    _add(context, item.name, ParameterEntity(item.name.id, element, item.name.span, unique))
    where = condition(context, item.where) if item.where is not None else None
    context.globals.used.discard(item.name.span)  # Its own `where` does not use a parameter.
    if (
        element is None
        or (default is None) != (item.default is None)
        or (where is None) != (item.where is None)
    ):
        return
    if not _default_holds(context, item, default, where, unique):
        return
    if item.live and (element is Element.STRING or element in COMPLEX):
        message = f"a parameter of type `{item.element.id}` cannot change while the program runs"
        help = "leave out `live`; those that change are integers, reals and bool"
        context.report(error_at("E0608", message, item.element.span, help=help))
    parameter = ParameterDeclaration(unique, element, default, where, item.name.span, item.live)
    if item.live:
        context.globals.files.live.add(unique)
    else:
        _known_value(context, parameter)
    declarations.parameters.append(parameter)


def _known_value(context: Context, parameter: ParameterDeclaration) -> None:
    """Note the value of a parameter, as far as it is known; most wrong ones are reported when it is bound."""
    files, name = context.globals.files, parameter.name
    values = [files.given.get(name), _evaluated(parameter.default, files.values)]
    read = [given_value(value, parameter.element) for value in values if value is not None]
    known = [value for value in read if value is not None]
    fitting = [value for value in known if _holds(parameter, {**files.values, name: value})]
    for value in (fitting or known)[:1]:
        if not isinstance(value, complex):
            files.values[name] = value
    if files.given and known and not fitting and parameter.where is not None:
        # What depends on it, as how many tags an array has, is no mistake of its own.
        at = {**files.values, name: known[0]}
        context.report(unsatisfied(name, parameter.where, parameter.span, at))
    if not known and parameter.default is None:
        files.valueless.add(name)


def _holds(parameter: ParameterDeclaration, values: Mapping[str, Value]) -> bool:
    """Whether the condition of a parameter is satisfied, or can't be evaluated yet."""
    return _evaluated(parameter.where, values) is not False


def _evaluated(tree: Expression | None, values: Mapping[str, Value]) -> Value | None:
    try:
        return evaluate(tree, values) if tree is not None else None
    except EvaluationError:  # `procs` is not known yet.
        return None


def _unique(context: Context, name: sx.Identifier) -> str:
    """Give the name that a parameter or partition has in all files of the program: its own, if it can be."""
    if context.globals.importer is None:
        return name.id
    return context.globals.files.unique(name.id, context.path)


def _default(context: Context, item: sx.Param, element: Element | None) -> Expression | None:
    if item.default is None:
        return None
    found = scalar(context, item.default)
    if found is None or element is None:
        return None
    if not fits(found.element, element, found.expression):
        message = (
            f"parameter `{item.name.id}` is of type {element.label}, but its default is {found.element.label}"
        )
        help = "give a default of that type, or change the type"
        context.report(error_at("E0303", message, place(item.default), help=help))
        return None
    return found.expression


def _default_holds(
    context: Context, item: sx.Param, default: Expression | None, where: Expression | None, unique: str
) -> bool:
    """Check a constant default against a `where` that depends on nothing else."""
    if default is None or where is None or names_in(default) or names_in(where) - {unique}:
        return True
    try:
        value = evaluate(default, {})
        holds = evaluate(where, {unique: value})
    except EvaluationError as failure:
        help = "change the default or the condition: with this default it has no value"
        context.report(error_at("E0323", failure.message, failure.span or item.span, help=help))
        return False
    if not holds:
        message = f"the default of parameter `{item.name.id}` does not satisfy its own `where` clause"
        help = "change the default or the condition"
        context.report(error_at("E0601", message, default.span or item.span, label=str(value), help=help))
    return bool(holds)


# Partitions.


def _partition(context: Context, item: sx.PartitionNode, declarations: Declarations) -> None:
    count = _count(context, item.count, f"partition {item.name.id} = procs")
    cells = render_expression(count) if count is not None else "procs"
    example = f"as grid({', '.join([*['1'] * (len(item.grid) - 1), cells])})"
    if item.layout is not None and item.layout.id != "grid":
        message = f"a partition can be laid out as grid(…), not `{item.layout.id}`"
        help = f"write:  as grid(1, {cells})"
        context.report(error_at("E0607", message, item.layout.span, help=help))
    grid = [_count(context, extent, example) for extent in item.grid]
    entity = PartitionEntity(item.name.id, count, tuple(grid), item.name.span, _unique(context, item.name))
    _add(context, item.name, entity)
    context.globals.files.sets.setdefault(entity.unique, entity)
    if count is None or None in grid:
        return
    extents = tuple(extent for extent in grid if extent is not None) if item.layout is not None else None
    declarations.partitions.append(PartitionDeclaration(entity.unique, count, extents, item.name.span))


def _count(context: Context, node: sx.SyntaxExpression, example: str) -> Expression | None:
    """Check a number of partitions: an integer, and at least 1 where that can be seen."""
    found = bound(context, node)
    if found is None:
        return None
    if names_in(found) & context.globals.files.live:
        message = "a number of partitions must be known before the run"
        context.report(error_at("E0317", message, place(node), help=context.known_help(found)))
        return None
    known = extents.to_expression(context.extent(found))  # So that `procs - procs` is seen to be 0.
    if names_in(known):
        return found
    value = evaluate(known, {})  # scalar() has refused constants without a value.
    if not isinstance(value, int) or not 1 <= value <= MAX_PARTITIONS:
        message = f"a partition has 1 to {MAX_PARTITIONS:,} pieces, not {value}"
        help = f"write for example:  {example}"
        context.report(error_at("E0607", message, place(node), help=help))
        return None
    return found


def _threads(context: Context, item: sx.Threads) -> None:
    for name in item.names:
        first = context.declared_threads.setdefault(name.id, name.span)
        if first != name.span:
            message = f"thread `{name.id}` is declared twice"
            notes = [(first, "it is declared here first")]
            context.report(error_at("E0203", message, name.span, notes=notes, help="remove one of the two"))


# Options.


def _options(context: Context, item: sx.Options, declarations: Declarations, finder: ModuleFinder) -> None:
    for entry in item.entries:
        option = _option(context, entry)
        if option is not None and option.name == "placement":
            _placement(context, entry, str(option.value), finder)
        twice = [
            o for o in declarations.options if option and (o.name, o.thread) == (option.name, option.thread)
        ]
        if option is None:
            continue
        if twice:
            notes = [(twice[0].span, "it is set here first")]
            message = f"option `{option.name}` is set twice"
            context.report(error_at("E0203", message, entry.span, notes=notes, help="remove one of the two"))
        declarations.options.append(option)


def _option(context: Context, entry: sx.OptionNode) -> Option | None:
    kind = OPTIONS.get(entry.name.id)
    if kind is None:
        help = did_you_mean(entry.name.id, OPTIONS) or f"options are {', '.join(OPTIONS)}"
        context.report(error_at("E0605", f"unknown option `{entry.name.id}`", entry.name.span, help=help))
        return None
    if entry.thread is not None and not kind.per_thread:
        message = f"option `{entry.name.id}` applies to the whole program and cannot be set for one thread"
        help = f"write: {entry.name.id} = …"
        context.report(error_at("E0605", message, entry.thread.span, help=help))
        return None
    readable = entry.word or isinstance(entry.value, int) or (kind.quoted and isinstance(entry.value, str))
    value: Value | None = kind.read(str(entry.value)) if readable else None
    if value is None:
        message = f"the value of option `{entry.name.id}` must be {kind.expected}, not `{entry.value}`"
        help = f"for example:  {entry.name.id} = {kind.example}"
        context.report(error_at("E0606", message, entry.value_span, help=help))
        return None
    return Option(entry.name.id, value, entry.thread.id if entry.thread else None, entry.span)


def _placement(context: Context, entry: sx.OptionNode, value: str, finder: ModuleFinder) -> None:
    """Look whether the function that a placement names is there, as far as its file's text tells."""
    path, colon, function = value.rpartition(":")
    if not colon:
        return
    try:
        file = finder.find(path, context.path)
    except ModuleNotFound as missing:
        context.report(error_at("E0606", missing.message, entry.value_span, help=missing.help))
        return
    if file.names is not None and function not in file.names:
        help = f"write it: def {function}(partitions, processors), giving the processor of every partition"
        message = f"`{path}` has no function `{function}`"
        context.report(error_at("E0606", message, entry.value_span, help=help))
