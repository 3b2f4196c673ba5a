"""Statements that are calls: what is called, a module, a segment, or `swap`, and the labels of their threads.

`_call_check` and `_output_typing` check the call of a module; `_inlining` puts a segment's statements in the
place of its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pse.language.check._call_check import CallCheck, named_tag
from pse.language.check._context import ROOT, Context
from pse.language.check._declarations import no_such_module
from pse.language.check._distribution_check import has_dynamic_extent
from pse.language.check._inlining import Walk, inline, swapped_members, with_members
from pse.language.check._ir import (
    CallSite,
    ModuleReference,
    Option,
    Output,
    Parallel,
    Reduction,
    Statement,
    Swap,
    Tag,
)
from pse.language.check._output_typing import module_outputs
from pse.language.check._scope import (
    DEFAULT_LABEL,
    AliasEntity,
    Entity,
    ModuleEntity,
    SegmentEntity,
    TagEntity,
)
from pse.language.check._targets import MOVING, REDUCTIONS, Target, poison, targets
from pse.language.check.standard._std_arrays import ALONG_AXES, WHOLE, of_each
from pse.language.check.standard._std_typing import OPERATIONS, OUTSIDE_ONLY, check_print, check_standard
from pse.language.diagnostics._diagnostic import Diagnostic, error_at, warning_at
from pse.language.syntax import ast as sx
from pse.language.types._expressions import Expression, Name, walk
from pse.language.types._types import Direction, Element, Type
from pse.records import replace
from pse.text import did_you_mean

PIECEWISE = ("copy", "zero", "fill", "random", "random_normal", "save", "load", "axpy", *ALONG_AXES, *WHOLE)
"""Standard modules that work on each piece of a distributed array for itself."""


def call(context: Context, node: sx.Call, kind: str, body: Walk) -> list[Statement]:
    """Check a call of a module, a segment, or `swap`.

    Parameters
    ----------
    kind : str
        The kind of the tags that it makes.
    body : callable
        Checks the statements of a segment.
    """
    if node.callee.text == "reduce" and context.frame.find("reduce") is None:
        return _misplaced_reduce(context, node, kind)
    entity = _callee(context, node.callee)
    node = _without_foreign_statement(context, node)
    if node.label is not None and _is_call_without_parentheses(context, node.label, node.callee):
        return []
    if node.label is not None and not isinstance(entity, SegmentEntity):
        use_thread(context, node.label)
    if entity is not None and (pairs := swapped_members(context, node)):
        return [statement for pair in pairs for statement in _swap(context, pair)]
    node = with_members(context, node)
    if isinstance(entity, SegmentEntity):
        return inline(context, node, entity, kind, body)
    if not isinstance(entity, ModuleEntity) or entity.reference is None:
        _poison_without_module(context, node, kind)
        return []
    reference = entity.reference
    if reference.language == "std" and reference.name == "swap":
        return _swap(context, node)
    return _module(context, node, reference, kind)


def _without_foreign_statement(context: Context, node: sx.Call) -> sx.Call:
    """Report a statement of another language, which parses as the label of the call after it."""
    label = node.label
    if label is None or label.id in context.declared_threads or label.id.startswith("thread"):
        return node
    from pse.language.syntax._foreign_names import FOREIGN_STATEMENTS  # Ranks have no use for them.

    if label.id not in FOREIGN_STATEMENTS:
        return node
    message, help = f"`{label.id}` is not a statement", FOREIGN_STATEMENTS[label.id]
    context.report(error_at("E0004", message, label.span, help=help))
    return replace(node, label=None)


def _is_call_without_parentheses(context: Context, label: sx.Identifier, callee: sx.Dotted) -> bool:
    """Report a module alone on its line, which parses as the label of the call in the next."""
    entity = context.frame.find(label.id)
    found = isinstance(entity, ModuleEntity | SegmentEntity) and label.span.line < callee.span.line
    if found:
        message = f"`{label.id}` is a module, and its call has no parentheses"
        help = f"write them, with inputs or without:  {label.id}()"
        context.report(error_at("E0004", message, label.span, help=help))
    return found


def _misplaced_reduce(context: Context, node: sx.Call, kind: str) -> list[Statement]:
    """Report `reduce` as a statement of its own, or behind an output without a name for the result."""
    message = "`reduce` is not a module: it is written after the output that it reduces"
    help = "for example:  energy(x) -> e reduce total(sum)"
    given = [argument.value for argument in node.arguments]
    if len(given) == 1 and isinstance(given[0], Name) and given[0].id in REDUCTIONS:
        message = "`reduce` needs a name for its result, before the operation"
        help = f"for example:  reduce total({given[0].id})"
        given = []
    context.report(error_at("E0319", message, node.span, help=help))
    if given:
        _poison_without_module(context, node, kind)
    return []


_ELSEWHERE = {"min": "smallest", "minimum": "smallest", "maximum": "largest"}
"""What modules of the standard library are called elsewhere."""


def _callee(context: Context, callee: sx.Dotted) -> Entity | None:
    """Find what a call means; what cannot be called is reported and gives None."""
    first, *rest = callee.parts
    entity = context.frame.find(first.id)
    if entity is None and callee.text == "reduce":
        message = "`reduce` is not a module: it is written after the output that it reduces"
        help = "for example:  energy(x) -> e reduce total(sum)"
        context.report(error_at("E0319", message, callee.span, help=help))
        return None
    if entity is None:
        from pse.language.syntax._foreign_names import module_help  # Ranks have no use for it.

        help = (
            context.globals.unimported.get(callee.text)
            or _dotted_label(context, callee)
            or module_help(callee.text)
            or did_you_mean(_ELSEWHERE.get(callee.text, callee.text), context.globals.callables())
            or "modules come from imports; segments are declared in this file"
        )
        context.report(error_at("E0202", f"unknown module `{callee.text}`", callee.span, help=help))
        return None
    context.globals.used.add(entity.span)
    if isinstance(entity, AliasEntity) and len(rest) == 1:
        return _of_alias(context, entity, rest[0])
    if rest or not isinstance(entity, ModuleEntity | SegmentEntity):
        if isinstance(entity, AliasEntity) and not rest:
            known = ", ".join(f"{first.id}.{name}(…)" for name in list(entity.modules or ())[:6])
            context.misused(first, entity, "a module of it", f"call one of its modules:  {known}")
            return None
        help = "only modules of imports and segments of this file can be called"
        context.misused(first, entity, "a module", help)
        return None
    if first.id in context.globals.patterns and isinstance(entity, ModuleEntity) and entity.reference is None:
        path = context.globals.patterns[first.id].rpartition(":")[0]
        context.report(no_such_module(first, path, []))
    return entity


def _dotted_label(context: Context, callee: sx.Dotted) -> str | None:
    """Recognise `thread_B.scale(x)`."""
    first, *rest = callee.parts
    name = ".".join(part.id for part in rest)
    is_label = first.id in context.threads or first.id.startswith("thread")
    known = is_label and name in context.globals.callables()
    return f"a label and its module have a blank between them:  {first.id} {name}(…)" if known else None


def _of_alias(
    context: Context, alias: AliasEntity, name: sx.Identifier
) -> ModuleEntity | SegmentEntity | None:
    if alias.modules is None:
        return None
    if name.id not in alias.modules:
        context.report(no_such_module(name, alias.path, list(alias.modules)))
    return alias.modules.get(name.id)


def _poison_without_module(context: Context, node: sx.Call, kind: str) -> None:
    """Look at the names of a call that cannot be checked: uses count, results exist without a type."""
    for argument in node.arguments:
        if not isinstance(argument.value, sx.CallExpression):
            _quietly_used(context, argument.value)
    for output in node.outputs:
        if context.frame.find(output.name.id) is None:
            context.new_tag(output.name, None, kind)
        if output.reduction is not None and context.frame.find(output.reduction.target.id) is None:
            context.new_tag(output.reduction.target, None, "produced")


def _quietly_used(context: Context, value: Expression) -> None:
    for node in walk(value):
        entity = context.frame.find(node.id) if isinstance(node, Name) else None
        if entity is not None:
            context.globals.used.add(entity.span)


def _module(context: Context, node: sx.Call, reference: ModuleReference, kind: str) -> list[Statement]:
    context.calls_without_label |= node.label is None
    check = CallCheck(context, node, reference)
    standard = reference.language == "std"
    if standard and reference.name in OUTSIDE_ONLY and context.partition is not None:
        message = f"`{node.callee.text}` is not allowed inside PARALLEL: every partition would do it"
        check.fail("E0316", message, node.span, help="move the call out of the block", directive=False)
    if context.own is not None and _is_collective(reference):
        context.refuse_collective(f"`{node.callee.text}`", node.span)
        check.failed = True
    _check_marks(check)
    found = targets(check, kind) if not check.failed else None
    outputs: list[Output] = []
    if found is None:
        check.failed = True
    elif standard and reference.name == "print":
        check_print(check)
    elif standard and reference.name in OPERATIONS and _is_distributed(check, found):
        outputs = check_standard(check, found)
    else:
        outputs = _ordinary(check, found)
    if check.failed or found is None or any(goal is None for goal in found):
        poison(check, kind)
        return []
    return _where_pieces_are(context, check.call_site(outputs))


def _check_marks(check: CallCheck) -> None:
    """Report inputs that are marked as changed, but are not."""
    known = [p for p in check.signature.inputs if p.type.element is not Element.COMM]
    by_name = {parameter.name: parameter for parameter in known}
    for index, argument in enumerate(check.node.arguments):
        by_place = known[index] if index < len(known) else None
        parameter = by_place if argument.name is None else by_name.get(argument.name.id)
        if argument.inout and (parameter is None or parameter.direction is not Direction.INOUT):
            message = f"`{check.node.callee.text}` does not change this input"
            check.fail("E0325", message, argument.span, help="leave out `inout`")


def _is_collective(reference: ModuleReference) -> bool:
    """Whether partitions, or the ranks of a communicator, come to a call together."""
    if reference.language == "std":
        return reference.name in (*MOVING, "exchange", "scan")
    signature = reference.signature
    return signature.collective or any(p.type.element is Element.COMM for p in signature.inputs)


def _where_pieces_are(context: Context, site: CallSite) -> list[Statement]:
    """What works on each piece is done where a distributed tag's pieces are, wherever that is written."""
    name, partition = site.module.name, _partition_of(context, site)
    if site.parallel or site.module.language != "std" or name not in PIECEWISE or partition is None:
        return [site]
    inside = replace(site, parallel=True, partition=partition, moved=True)
    return _reduced(context, inside) if name in WHOLE else [Parallel(partition, (inside,), site.span)]


def _is_distributed(check: CallCheck, found: list[Target | None]) -> bool:
    """Whether a call follows the rules of distributed arrays; `save` and `load` may be ordinary modules."""
    if check.signature.name not in ("save", "load"):
        return True
    named = [check.context.frame.find(a.value.id) for a in check.node.arguments if isinstance(a.value, Name)]
    types = [entity.type for entity in named if isinstance(entity, TagEntity)]
    types += [goal.known for goal in found if goal is not None]
    return any(type is not None and type.distribution.distributed and not type.scalar for type in types)


def _partition_of(context: Context, site: CallSite) -> str | None:
    tags = [a.tag for a in site.inputs if a.tag] + [output.tag for output in site.outputs]
    types = [context.tags[tag].type for tag in tags]
    return next((type.distribution.partition for type in types if type.distribution.distributed), None)


def _reduced(context: Context, site: CallSite) -> list[Statement]:
    """Combine the values of all pieces into the output."""
    output, name = site.outputs[0], site.module.name
    own = of_each(context, output.type, str(site.partition))
    shown = context.display(output.tag)
    piece = Tag(f"{output.tag}.own", own, output.span, shown, internal=True)
    for tag in (piece, Tag(output.tag, output.type, output.span, shown)):
        context.tags.setdefault(tag.name, tag)
    reduction = Reduction(output.tag, WHOLE[name], output.span)
    reduced = replace(output, tag=piece.name, type=own, reduction=reduction)
    return [Parallel(str(site.partition), (replace(site, outputs=(reduced,)),), site.span)]


def _ordinary(check: CallCheck, found: list[Target | None]) -> list[Output]:
    arguments = check.arguments()
    if arguments is None:
        return []
    check.check_inputs(arguments)
    if check.failed:
        return []
    return [_as_stated(check, output) for output in module_outputs(check, found)]


def _as_stated(check: CallCheck, output: Output) -> Output:
    """Let `load` give as many rows as the file has, where the program leaves them open."""
    loads = check.reference.language == "std" and check.reference.name == "load"
    if not loads or not has_dynamic_extent(output.type):
        return output
    parameter = replace(output.parameter, type=replace(output.type, distribution=ROOT))
    others = tuple(p for p in check.signature.parameters if p.name != parameter.name)
    signature = replace(check.signature, parameters=(*others, parameter))
    check.reference = replace(check.reference, signature=signature)
    return replace(output, parameter=parameter)


def _swap(context: Context, node: sx.Call) -> list[Statement]:
    """`swap(u, v)`: two tags of one type exchange what they stand for."""
    arguments = node.arguments
    if len(arguments) != 2 or node.outputs or any(argument.name is not None for argument in arguments):
        given = [a.value.id for a in arguments if isinstance(a.value, Name)][:2]
        help = f"write:  swap({', '.join([*given, *('u', 'v')[len(given) :]])})"
        context.report(error_at("E0301", "`swap` takes two tags and has no output", node.span, help=help))
        return []
    if context.partition is not None:
        message = (
            "`swap` is not allowed inside PARALLEL: it exchanges the names of whole tags, not their pieces"
        )
        context.report(error_at("E0316", message, node.span, help="move the call out of the block"))
        return []
    values = [argument for argument in arguments if not isinstance(argument.value, Name)]
    for argument in values:
        message = "`swap` exchanges two tags; this is not a tag"
        help = "write the names of two tags of one type:  swap(u, v)"
        context.report(error_at("E0309", message, argument.span, help=help))
    if values:
        return []
    pair = [_swapped(context, argument) for argument in arguments]
    first, second = pair
    if first is None or second is None or first.type is None or second.type is None:
        return []
    if not _exchangeable(context, first.type, second.type):
        message = f"`{first.display}` and `{second.display}` have different types"
        notes = [(first.span, context.show(first.type)), (second.span, context.show(second.type))]
        help = "declare both tags with one element type, shape and distribution"
        context.report(error_at("E0310", message, node.span, notes=notes, help=help))
        return []
    if first.unique == second.unique:
        message = f"`{first.display}` is swapped with itself"
        context.report(error_at("E0310", message, node.span, help="name two different tags"))
        return []
    return [Swap(first.unique, second.unique, context.reached(node.span))]


def _swapped(context: Context, argument: sx.CallArgument) -> TagEntity | None:
    entity = named_tag(context, argument)
    if entity is not None and entity.kind in ("counter", "input"):
        what = "a loop counter" if entity.kind == "counter" else "an input of the segment"
        message = f"`{entity.display}` is {what}, and cannot be swapped"
        help = "give two tags that are declared by `var` or made by calls"
        if entity.kind == "input":
            help = "declare it as an output of the segment, or swap the tags where the segment is called"
        notes = [(entity.span, "declared here")]
        context.report(error_at("E0204", message, argument.span, notes=notes, help=help))
        return None
    return entity


def _exchangeable(context: Context, left: Type, right: Type) -> bool:
    shapes = [context.shape(type) for type in (left, right)]
    same = replace(left, shape=()) == replace(right, shape=())
    return same and shapes[0] == shapes[1] and len(left.shape or ()) == len(right.shape or ())


# Threads.


def use_thread(context: Context, label: sx.Identifier) -> None:
    """Note the label of a call; where the program declares its threads, others are errors."""
    context.threads.setdefault(label.id, set()).add(label.span)
    declared = context.declared_threads
    if declared and label.id not in declared:
        known = () if context.globals.installed else declared  # The labels of a package have their names.
        help = (
            _short_names(label.id, known) or did_you_mean(label.id, known) or _declaring(label.id, declared)
        )
        notes = [(next(iter(declared.values())), "threads are declared here")]
        context.report(error_at("E0212", f"unknown thread `{label.id}`", label.span, notes=notes, help=help))


def _short_names(label: str, known: Iterable[str]) -> str | None:
    """Propose whole labels where one was declared without its `thread_`."""
    if label.removeprefix("thread_") not in known:
        return None
    whole = (name if name.startswith("thread_") else f"thread_{name}" for name in known)
    return f"declare whole labels:  threads {', '.join(whole)}"


def _declaring(label: str, declared: Iterable[str]) -> str:
    return f"declare it:  threads {', '.join([*declared, label])}"


def thread_warnings(context: Context, options: Sequence[Option]) -> list[Diagnostic]:
    """Warn of declared threads without calls, options of unknown threads, labels that look misspelt."""
    return [*_unused(context), *_without_effect(context, options), *_slips(context)]


def _unused(context: Context) -> Iterator[Diagnostic]:
    called = _called(context)
    for name, span in context.declared_threads.items():
        if name not in called:
            message = f"no call runs on thread `{name}`"
            yield warning_at("W0205", message, span, help="remove it, or write the label before a call")


def _called(context: Context) -> set[str]:
    """Give the threads in which calls run: those without a label run on the first."""
    first = next(iter(context.declared_threads), DEFAULT_LABEL)
    return {*context.threads, *([first] if context.calls_without_label else [])}


def _without_effect(context: Context, options: Sequence[Option]) -> Iterator[Diagnostic]:
    called = _called(context)
    known = f"threads of calls are {', '.join(sorted(called))}"
    for option in options:
        if option.thread is not None and option.thread not in called:
            message = f"no call runs on thread `{option.thread}`, so this option has no effect"
            help = did_you_mean(option.thread, called)
            help = help or (known if called else "write the thread's label before a call")
            yield warning_at("W0601", message, option.span, help=help)


def _slips(context: Context) -> Iterator[Diagnostic]:
    """Find labels of a single call that differ from another's by one letter, or in upper and lower case."""
    if context.declared_threads:
        return
    seen: list[str] = []
    for label, places in context.threads.items():
        often = [other for other, uses in context.threads.items() if len(uses) > 1]
        meant = next((other for other in (*often, *seen) if _is_slip(label, other)), None)
        seen.append(label)
        if meant is not None and len(places) == 1:
            message = f"only this call has the label `{label}`, which starts ranks of its own"
            help = (
                f"did you mean `{meant}`? If not, declare all threads:  threads {', '.join(context.threads)}"
            )
            yield warning_at("W0206", message, next(iter(places)), help=help)


def _is_slip(label: str, other: str) -> bool:
    """Whether one label may be another one, misspelt."""
    if label == other:
        return False
    if label.lower() == other.lower():
        return True
    return _one_letter_apart(label, other) and not _is_numbered(label, other)


def _is_numbered(label: str, other: str) -> bool:
    """Whether labels count: `thread_B` and `thread_C`, `io1` and `io12`."""
    return label[:-1] == other[:-1] or label.rstrip("0123456789") == other.rstrip("0123456789")


def _one_letter_apart(left: str, right: str) -> bool:
    """Whether a letter more, less, other or exchanged with its neighbour makes one of the other."""
    short, long = sorted((left, right), key=len)
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest, longer = short[start:], long[start:]
    if len(short) < len(long):
        return rest == longer[1:]
    return rest[1:] == longer[1:] or (rest[1::-1] == longer[:2] and rest[2:] == longer[2:])
