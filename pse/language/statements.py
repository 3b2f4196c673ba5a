"""The walk over a program's body: every statement checked and resolved, segments inlined.

Data flow: syntax tree → resolved statements.  A statement that is wrong is reported and left out; what it
would have declared is declared without a type, so that one mistake is reported once.
"""

from __future__ import annotations

from dataclasses import replace

from pse.language import syntax as sx
from pse.language.annotations import did_you_mean
from pse.language.calls import CallCheck, named_tag
from pse.language.context import REPLICATED, Context
from pse.language.declarations import no_such_module
from pse.language.diagnostics import error
from pse.language.elements import fits
from pse.language.expressions import Expression, Name, Number, walk
from pse.language.lexer import MAX_NESTING
from pse.language.outputs import Target, may_write, module_outputs, poison, targets
from pse.language.resolved import (
    Assign,
    CallSite,
    For,
    If,
    ModuleReference,
    Output,
    Parallel,
    Statement,
    Swap,
    While,
)
from pse.language.scalars import Scalar, bound, condition, place, scalar
from pse.language.scope import PROCS, AliasEntity, Entity, ModuleEntity, SegmentEntity, TagEntity
from pse.language.segments import inline
from pse.language.source import Span
from pse.language.standard import OPERATIONS, OUTSIDE_ONLY, check_print, check_standard
from pse.language.types import Distribution, Element, Pattern, Type
from pse.language.written import partition_over, written_type

MAX_CALLS = 20_000
"""Most calls of a program after inlining."""


def block(context: Context, node: sx.Block) -> tuple[Statement, ...]:
    """Check a block with a scope of its own."""
    with context.block():
        return statements(context, node)


def statements(context: Context, node: sx.Block) -> tuple[Statement, ...]:
    """Check the statements of a block in the scope that is open."""
    if context.depth > MAX_NESTING:
        message = f"nesting too deep: more than {MAX_NESTING} levels with the segments inlined"
        context.report(error("E0008", message, node.span))
        return ()
    result: list[Statement] = []
    for item in node.statements:
        if context.calls > MAX_CALLS:
            if not any(d.code == "E0211" for d in context.diagnostics):
                message = f"the program has more than {MAX_CALLS:,} calls with its segments inlined"
                context.report(
                    error("E0211", message, item.span, help="use loops instead of repeated segments")
                )
            break
        result += statement(context, item)
    return tuple(result)


def statement(context: Context, node: sx.Statement) -> list[Statement]:
    """Check one statement; a segment gives several, a wrong one none."""
    match node:
        case sx.Call():
            return call(context, node, "produced")
        case sx.Let():
            return _let(context, node)
        case sx.Var():
            return _var(context, node)
        case sx.Assignment():
            return _assignment(context, node)
        case sx.For():
            return _for(context, node)
        case sx.While():
            return _while(context, node)
        case sx.If():
            return _if(context, node)
        case sx.Parallel():
            return _parallel(context, node)


# Names and values.


def _as_call(name: sx.Identifier, value: sx.CallExpression, span: Span) -> sx.Call:
    """Read `x = f(…)` as `f(…) -> x`."""
    return sx.Call(None, value.callee, value.arguments, (sx.OutputNode(name, None, None, name.span),), span)


def _let(context: Context, node: sx.Let) -> list[Statement]:
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        return call(context, _as_call(node.name, node.value, node.span), "let")
    found = scalar(context, node.value)
    if found is None or _is_object(context, found, node.value):
        context.new_tag(node.name, None, "let")
        return []
    entity = context.new_tag(node.name, Type(found.element, (), _spread(found)), "let")
    constant = context.constant(found.expression) if found.partition is None else None
    if constant is not None:
        context.constants[entity.unique] = constant
    return [Assign(entity.unique, found.expression, node.span)]


def _is_object(context: Context, found: Scalar, value: sx.SyntaxExpression) -> bool:
    """Refuse to name or assign an object: only modules handle them."""
    if found.element is Element.OBJECT:
        message = "an object can only be passed to modules"
        context.report(error("E0308", message, place(value)))
    return found.element is Element.OBJECT


def _spread(found: Scalar) -> Distribution:
    return REPLICATED if found.partition is None else Distribution(Pattern.BLOCK, partition=found.partition)


def _is_callable(context: Context, value: sx.CallExpression) -> bool:
    """An unknown function is more likely one of expressions: `scalar` reports it then."""
    return context.frame.find(value.callee.parts[0].id) is not None


def _var(context: Context, node: sx.Var) -> list[Statement]:
    type = written_type(context, node.type)
    if context.partition is not None:
        message = "`var` cannot stand inside PARALLEL: it declares a tag of the whole program"
        context.report(error("E0316", message, node.span, help="declare it before the block"))
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        context.new_tag(node.name, type, "var")
        return call(context, _as_call(node.name, node.value, node.span), "var")
    found = scalar(context, node.value) if node.value is not None else None
    entity = context.new_tag(node.name, type, "var")
    if node.value is None or found is None or type is None:
        return []
    return _assigned(context, entity, found, node.value, node.span)


def _assigned(
    context: Context, entity: TagEntity, found: Scalar, value: sx.SyntaxExpression, span: Span
) -> list[Statement]:
    """Check a value against the type of the scalar that gets it."""
    type = entity.type
    assert type is not None, "checked by the caller"
    assert type.element is not None, "checked by the caller"
    if _is_object(context, found, value):
        return []
    if not type.scalar:
        message = f"`{entity.display}` is an array; a scalar cannot be assigned to it"
        help = f"fill it with zeros:  zero() -> {entity.display}"
        context.report(error("E0304", message, place(value), help=help))
        return []
    if found.partition is not None and not type.distribution.distributed:
        message = f"`{entity.display}` is one value for all, but this one differs from partition to partition"
        context.report(error("E0315", message, place(value), help="reduce it where it is made"))
        return []
    if not fits(found.element, type.element, found.expression):
        message = f"`{entity.display}` is {type.element.label}, not {found.element.label}"
        context.report(error("E0303", message, place(value), label=found.element.label))
        return []
    return [Assign(entity.unique, found.expression, span)]


def _assignment(context: Context, node: sx.Assignment) -> list[Statement]:
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        return call(context, _as_call(node.name, node.value, node.span), "produced")
    found = scalar(context, node.value)
    entity = context.frame.find(node.name.id)
    if entity is None:
        help = did_you_mean(node.name.id, context.frame.visible())
        help = (
            help
            or f"declare it:  let {node.name.id} = …   or, to write it again:  var f64 {node.name.id} = …"
        )
        context.report(error("E0201", f"unknown name `{node.name.id}`", node.name.span, help=help))
        return []
    if not isinstance(entity, TagEntity):
        context.misused(node.name, entity, "a tag")
        return []
    if found is None or not may_write(context, node.name, entity) or entity.type is None:
        return []
    if context.partition is not None and not entity.type.distribution.distributed:
        message = f"`{node.name.id}` is one value for all: it cannot be assigned inside PARALLEL"
        context.report(error("E0316", message, node.span, help="assign it before or after the block"))
        return []
    return _assigned(context, entity, found, node.value, node.span)


# Control.


def _for(context: Context, node: sx.For) -> list[Statement]:
    lower, upper = bound(context, node.lower), bound(context, node.upper)
    inflight = bound(context, node.inflight) if node.inflight is not None else None
    if isinstance(inflight, Number) and inflight.value < 1 and node.inflight is not None:
        context.report(error("E0323", "`inflight` must be at least 1", place(node.inflight)))
    with context.block():
        counter = context.new_tag(node.counter, Type(Element.I64, (), REPLICATED), "counter")
        body = statements(context, node.body)
    if lower is None or upper is None or (inflight is None) != (node.inflight is None):
        return []
    return [For(counter.unique, lower, upper, inflight, body, node.span)]


def _while(context: Context, node: sx.While) -> list[Statement]:
    test = condition(context, node.condition)
    limit = bound(context, node.limit) if node.limit is not None else None
    if node.limit is None:
        help = "for example:  while residual > tol max 10000 { … }"
        message = "`while` needs `max`, the number of iterations after which it gives up"
        context.report(error("E0406", message, place(node.condition), help=help))
    body = block(context, node.body)
    return [While(test, limit, body, node.span)] if test is not None and limit is not None else []


def _if(context: Context, node: sx.If) -> list[Statement]:
    test = condition(context, node.condition)
    then = block(context, node.then)
    otherwise = block(context, node.otherwise) if node.otherwise is not None else ()
    return [If(test, then, otherwise, node.span)] if test is not None else []


def _parallel(context: Context, node: sx.Parallel) -> list[Statement]:
    if context.partition is not None:
        message = "PARALLEL cannot stand inside PARALLEL"
        context.report(error("E0316", message, node.span, help="end the outer block before"))
        block(context, node.body)
        return []
    partition = partition_over(context, node.partition, Span(*_head(node.span)))
    reported = len(context.diagnostics)
    context.partition = partition or PROCS
    body = block(context, node.body)
    context.partition = None
    if partition is None:
        del context.diagnostics[reported:]  # They hang on a partition that is not known.
    return [Parallel(partition, body, node.span)] if partition is not None else []


def _head(span: Span) -> tuple[str, int, int, int, int]:
    """Give the place of the word PARALLEL."""
    return span.path, span.line, span.column, span.line, span.column + len("PARALLEL")


# Calls.


def call(context: Context, node: sx.Call, kind: str) -> list[Statement]:
    """Check a call of a module, a segment, or `swap`; `kind` is the kind of the tags that it makes."""
    entity = _callee(context, node.callee)
    if isinstance(entity, SegmentEntity):
        return inline(context, node, entity, kind, statements)
    if not isinstance(entity, ModuleEntity) or entity.reference is None:
        _poison_without_module(context, node, kind)
        return []
    reference = entity.reference
    if reference.language == "std" and reference.name == "swap":
        return _swap(context, node)
    if reference.language == "std" and reference.name == "reduce":
        message = "`reduce` is no call: it follows the output that it reduces"
        help = "for example:  energy(x) -> e reduce total(sum)"
        context.report(error("E0319", message, node.span, help=help))
        _poison_without_module(context, node, kind)
        return []
    return _module(context, node, reference, kind)


def _callee(context: Context, callee: sx.Dotted) -> Entity | None:
    """Find what a call means; what cannot be called is reported and gives None."""
    first, *rest = callee.parts
    entity = context.frame.find(first.id)
    if entity is None:
        help = did_you_mean(callee.text, context.globals.callables())
        help = help or "modules come from imports; segments are declared in this file"
        context.report(error("E0202", f"unknown module `{callee.text}`", callee.span, help=help))
        return None
    context.globals.used.add(entity.span)
    if isinstance(entity, AliasEntity) and len(rest) == 1:
        return _of_alias(context, entity, rest[0])
    if rest or not isinstance(entity, ModuleEntity | SegmentEntity):
        help = (
            f"call one of its modules:  {first.id}.name(…)"
            if isinstance(entity, AliasEntity) and not rest
            else None
        )
        context.misused(first, entity, "a module" if help is None else "a module of it")
        return None
    if first.id in context.globals.patterns and isinstance(entity, ModuleEntity) and entity.reference is None:
        path = context.globals.patterns[first.id].rpartition(":")[0]
        context.report(no_such_module(first, path, []))
    return entity


def _of_alias(context: Context, alias: AliasEntity, name: sx.Identifier) -> ModuleEntity | None:
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
    check = CallCheck(context, node, reference)
    standard = reference.language == "std"
    if standard and reference.name in OUTSIDE_ONLY and context.partition is not None:
        message = f"`{node.callee.text}` stands outside PARALLEL: every partition would do it"
        check.fail("E0316", message, node.span, directive=False)
    found = targets(check, kind) if not check.failed else None
    outputs: list[Output] = []
    if found is None:
        check.failed = True
    elif standard and reference.name == "print":
        check_print(check)
    elif standard and reference.name in OPERATIONS:
        outputs = check_standard(check, found)
    else:
        outputs = _ordinary(check, found)
    if check.failed or found is None or any(goal is None for goal in found):
        poison(check, kind)
        return []
    return [_where_pieces_are(check.call_site(outputs))]


def _where_pieces_are(site: CallSite) -> Statement:
    """A distributed tag is copied or zeroed where its pieces are, wherever that is written."""
    if site.parallel or site.module.language != "std" or site.module.name not in ("copy", "zero"):
        return site
    partition = site.outputs[0].type.distribution.partition
    if partition is None:
        return site
    inside = replace(site, parallel=True, partition=partition, thread=None)
    return Parallel(partition, (inside,), site.span)


def _ordinary(check: CallCheck, found: list[Target | None]) -> list[Output]:
    arguments = check.arguments()
    if arguments is None:
        return []
    check.check_inputs(arguments)
    if check.failed:
        return []
    return module_outputs(check, found)


def _swap(context: Context, node: sx.Call) -> list[Statement]:
    """`swap(u, v)`: two tags of one type exchange what they stand for."""
    arguments = node.arguments
    if len(arguments) != 2 or node.outputs or any(argument.name is not None for argument in arguments):
        context.report(
            error("E0301", "`swap` takes two tags and gives nothing", node.span, help="swap(u, v)")
        )
        return []
    if context.partition is not None:
        message = "`swap` stands outside PARALLEL: it exchanges names, not pieces"
        context.report(error("E0316", message, node.span))
        return []
    pair = [_swapped(context, argument) for argument in arguments]
    first, second = pair
    if first is None or second is None or first.type is None or second.type is None:
        return []
    if not _exchangeable(context, first.type, second.type):
        message = f"`{first.display}` and `{second.display}` have different types"
        notes = [(first.span, context.show(first.type)), (second.span, context.show(second.type))]
        context.report(error("E0310", message, node.span, notes=notes))
        return []
    if first.unique == second.unique:
        context.report(error("E0310", f"`{first.display}` is swapped with itself", node.span))
        return []
    return [Swap(first.unique, second.unique, node.span)]


def _swapped(context: Context, argument: sx.CallArgument) -> TagEntity | None:
    entity = named_tag(context, argument)
    if entity is not None and entity.kind in ("counter", "input"):
        what = "a loop counter" if entity.kind == "counter" else "an input of the segment"
        message = f"`{entity.display}` is {what}, and cannot be swapped"
        context.report(error("E0204", message, argument.span, notes=[(entity.span, "declared here")]))
        return None
    return entity


def _exchangeable(context: Context, left: Type, right: Type) -> bool:
    shapes = [[context.extent(extent) for extent in type.shape or ()] for type in (left, right)]
    same = replace(left, shape=()) == replace(right, shape=())
    return same and shapes[0] == shapes[1] and len(left.shape or ()) == len(right.shape or ())
