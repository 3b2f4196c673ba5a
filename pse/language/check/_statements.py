"""The walk over a program's body: every statement checked and resolved, segments inlined.

Data flow: syntax tree → resolved statements.  A statement that is wrong is reported and left out; what it
would have declared is declared without a type, so that one mistake is reported once.
"""

from __future__ import annotations

from dataclasses import replace

from pse.language.check._call_resolution import call
from pse.language.check._context import REPLICATED, Context, reserved
from pse.language.check._ir import (
    Assign,
    For,
    If,
    Parallel,
    Statement,
    While,
)
from pse.language.check._scalars import Scalar, bound, condition, place, scalar, written
from pse.language.check._scope import PROCS, TagEntity
from pse.language.check._targets import may_write
from pse.language.check._type_resolution import ELEMENTS, partition_over, written_type
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._words import MAX_NESTING
from pse.language.types._elements import fits
from pse.language.types._expressions import Expression, Name, render_expression
from pse.language.types._types import Distribution, Element, Pattern, Type
from pse.text import did_you_mean

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
        help = "use fewer blocks within each other, or segments that call fewer others"
        context.report(error_at("E0008", message, node.span, help=help))
        return ()
    result: list[Statement] = []
    for item in node.statements:
        if context.calls > MAX_CALLS:
            if not any(d.code == "E0211" for d in context.diagnostics):
                message = f"the program has more than {MAX_CALLS:,} calls with its segments inlined"
                context.report(
                    error_at("E0211", message, item.span, help="use loops instead of repeated segments")
                )
            break
        result += statement(context, item)
    return tuple(result)


def statement(context: Context, node: sx.Statement) -> list[Statement]:
    """Check one statement; a segment gives several, a wrong one none."""
    match node:
        case sx.Call():
            return call(context, node, "produced", statements)
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
        return call(context, _as_call(node.name, node.value, node.span), "let", statements)
    copied = _is_array(context, node.value, f"copy it:  copy({{}}) -> {node.name.id}")
    found = scalar(context, node.value) if not copied else None
    if found is None or _is_object(context, found, node.value):
        context.new_tag(node.name, None, "let")
        return []
    entity = context.new_tag(node.name, Type(found.element, (), _spread(found)), "let")
    constant = context.constant(found.expression) if found.partition is None else None
    if constant is not None:
        context.constants[entity.unique] = constant
    return [Assign(entity.unique, found.expression, context.reached(node.span))]


def _is_array(context: Context, value: sx.SyntaxExpression, help: str) -> bool:
    """Refuse to assign a whole array; the help, with its name put in, says how it is copied."""
    entity = context.frame.find(value.id) if isinstance(value, Name) else None
    if not isinstance(entity, TagEntity) or entity.type is None or entity.type.scalar:
        return False
    context.globals.used.add(entity.span)
    message = f"`{entity.display}` is an array, and arrays are not assigned"
    label = context.show(entity.type)
    context.report(error_at("E0304", message, place(value), label=label, help=help.format(entity.display)))
    return True


def _is_object(context: Context, found: Scalar, value: sx.SyntaxExpression) -> bool:
    """Refuse to name or assign an object: only modules handle them."""
    if found.element is Element.OBJECT:
        message = "an object can only be passed to modules"
        help = "use the name that the module gave it as an input:  module(name)"
        context.report(error_at("E0308", message, place(value), help=help))
    return found.element is Element.OBJECT


def _spread(found: Scalar) -> Distribution:
    return REPLICATED if found.partition is None else Distribution(Pattern.BLOCK, partition=found.partition)


def _is_callable(context: Context, value: sx.CallExpression) -> bool:
    """An unknown function is more likely one of expressions: `scalar` reports it then."""
    return context.frame.find(value.callee.parts[0].id) is not None


def _var(context: Context, node: sx.Var) -> list[Statement]:
    if node.name.id in ELEMENTS and node.type.element.id not in ELEMENTS:
        help = f"the type stands before the name:  var {node.name.id} {node.type.element.id}"
        context.report(error_at("E0305", f"unknown type `{node.type.element.id}`", node.type.span, help=help))
        context.new_tag(node.type.element, None, "var")
        return []
    type = written_type(context, node.type)
    if context.partition is not None:
        message = "`var` is not allowed inside PARALLEL: it declares a tag of the whole program"
        context.report(error_at("E0316", message, node.span, help="declare it before the block"))
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        context.new_tag(node.name, type, "var")
        return call(context, _as_call(node.name, node.value, node.span), "var", statements)
    copied = False
    if type is not None and not type.scalar and node.value is not None:
        shown = f"var {context.show(type)} {node.name.id}"
        copied = _is_array(
            context, node.value, f"declare it, then copy:  {shown}   copy({{}}) -> {node.name.id}"
        )
    found = scalar(context, node.value) if node.value is not None and not copied else None
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
        shown = "0"
        if fits(found.element, type.element, found.expression) and not isinstance(value, sx.CallExpression):
            shown = render_expression(value)
        help = f"fill it:  fill({shown}) -> {entity.display}"
        if (span.line, span.column) < (entity.span.line, entity.span.column):  # That of its declaration.
            help = (
                f"declare it, then {help.replace(':', f':  var {context.show(type)} {entity.display} ', 1)}"
            )
        context.report(error_at("E0304", message, place(value), help=help))
        return []
    if found.partition is not None and not type.distribution.distributed:
        one = f"`{entity.display}` has one value for all partitions"
        message = f"{one}, but this value differs from partition to partition"
        context.report(
            error_at(
                "E0315",
                message,
                place(value),
                help="reduce the value where it is made:  -> own reduce total(sum)",
            )
        )
        return []
    if not fits(found.element, type.element, found.expression):
        message = f"`{entity.display}` is of type {type.element.label}, but {found.element.label} is assigned"
        help = f"declare it as {found.element.label}, or convert the value"
        context.report(error_at("E0303", message, place(value), label=found.element.label, help=help))
        return []
    return [Assign(entity.unique, found.expression, context.reached(span))]


def _assignment(context: Context, node: sx.Assignment) -> list[Statement]:
    if isinstance(node.value, sx.CallExpression) and _is_callable(context, node.value):
        return call(context, _as_call(node.name, node.value, node.span), "produced", statements)
    entity = context.frame.find(node.name.id)
    known = entity.type if isinstance(entity, TagEntity) else None
    if (known is None or not known.scalar) and _is_array(
        context, node.value, f"copy it:  copy({{}}) -> {node.name.id}"
    ):
        return []
    found = scalar(context, node.value)
    if node.name.id == PROCS:
        context.report(reserved(node.name.span))
        return []
    if entity is None and isinstance(node.value, sx.CallExpression):
        context.new_tag(node.name, None, "var")  # What it calls was reported.
        return []
    if entity is None:
        near = did_you_mean(node.name.id, context.frame.visible())
        context.new_tag(node.name, None, "var")
        type = context.show(Type(found.element, (), REPLICATED)) if found is not None else "f64"
        given = f"{node.name.id} = {written(node.value)}"
        help = near or f"declare it:  let {given}   or, to write it again:  var {type} {given}"
        context.report(error_at("E0201", f"unknown name `{node.name.id}`", node.name.span, help=help))
        return []
    if not isinstance(entity, TagEntity):
        context.misused(node.name, entity, "a tag", "choose another name for the tag")
        return []
    if found is None or not may_write(context, node.name, entity, assigned=True) or entity.type is None:
        return []
    if context.partition is not None and not entity.type.distribution.distributed:
        message = f"`{node.name.id}` has one value for all partitions: it cannot be assigned inside PARALLEL"
        context.report(error_at("E0316", message, node.span, help="assign it before or after the block"))
        return []
    return _assigned(context, entity, found, node.value, node.span)


# Control.


def _for(context: Context, node: sx.For) -> list[Statement]:
    lower, upper = bound(context, node.lower), bound(context, node.upper)
    inflight = _limit(context, node.inflight) if node.inflight is not None else None
    with context.block():
        counter = context.new_tag(node.counter, Type(Element.I64, (), REPLICATED), "counter")
        body = statements(context, node.body)
    if lower is None or upper is None or (inflight is None) != (node.inflight is None):
        return []
    return [For(counter.unique, lower, upper, inflight, body, context.reached(node.span))]


def _limit(context: Context, node: sx.SyntaxExpression) -> Expression | None:
    """Check how many iterations a loop may have, or have at a time; a `let` is what it stands for."""
    found = bound(context, node)
    known = context.constant(found) if found is not None else None
    return found if known is None else replace(known, span=place(node))


def _while(context: Context, node: sx.While) -> list[Statement]:
    test = condition(context, node.condition)
    limit = _limit(context, node.limit) if node.limit is not None else None
    if node.limit is None:
        help = f"for example:  while {written(node.condition)} max 10000 {{ … }}"
        message = "`while` needs `max`, the number of iterations after which it gives up"
        context.report(error_at("E0406", message, place(node.condition), help=help))
    body = block(context, node.body)
    if test is None or limit is None:
        return []
    return [While(test, limit, body, context.reached(node.span))]


def _if(context: Context, node: sx.If) -> list[Statement]:
    test = condition(context, node.condition)
    then = block(context, node.then)
    otherwise = block(context, node.otherwise) if node.otherwise is not None else ()
    return [If(test, then, otherwise, context.reached(node.span))] if test is not None else []


def _parallel(context: Context, node: sx.Parallel) -> list[Statement]:
    if context.partition is not None:
        message = "PARALLEL is not allowed inside PARALLEL"
        context.report(error_at("E0316", message, node.span, help="close the outer block first"))
        block(context, node.body)
        return []
    partition = partition_over(context, node.partition, Span(*_head(node.span)))
    reported = len(context.diagnostics)
    context.partition = partition or PROCS
    body = block(context, node.body)
    context.partition = None
    if partition is None:
        del context.diagnostics[reported:]  # They depend on a partition that is not known.
    return [Parallel(partition, body, context.reached(node.span))] if partition is not None else []


def _head(span: Span) -> tuple[str, int, int, int, int]:
    """Give the place of the word PARALLEL."""
    return span.path, span.line, span.column, span.line, span.column + len("PARALLEL")
