"""`levels[l + 1]` in a statement: the tag that it is, by whose name the statement is checked."""

from __future__ import annotations

from typing import TypeVar, cast

from pse.language.check._context import Context
from pse.language.check._scalars import bound, place
from pse.language.check._scope import TagArray, TagEntity
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._expressions import (
    INDEX,
    Apply,
    Binary,
    Expression,
    Name,
    Unary,
    names_in,
    render_expression,
    walk,
)
from pse.records import replace

Node = TypeVar("Node", bound=sx.Statement)


def with_tags(context: Context, node: Node) -> Node:
    """Put names of tags in the place of what indices choose, but not in the blocks of a statement."""
    return cast(Node, _with_tags(context, node))


def _with_tags(context: Context, node: sx.Statement) -> sx.Statement:
    match node:
        case sx.Call():
            outputs = tuple(_output(context, output) for output in node.outputs)
            return replace(node, arguments=_arguments(context, node.arguments), outputs=outputs)
        case sx.Let():
            return replace(node, value=_value(context, node.value))
        case sx.Var():
            return replace(node, value=_optional(context, node.value))
        case sx.Assignment():
            name = _target(context, node.name, node.index)
            return replace(node, name=name, value=_value(context, node.value), index=None)
        case sx.For():
            lower, upper = _value(context, node.lower), _value(context, node.upper)
            return replace(node, lower=lower, upper=upper, inflight=_optional(context, node.inflight))
        case sx.While():
            condition, limit = _value(context, node.condition), _optional(context, node.limit)
            return replace(node, condition=condition, limit=limit)
        case sx.If():
            return replace(node, condition=_value(context, node.condition))
        case _:
            return node


def _arguments(context: Context, given: tuple[sx.CallArgument, ...]) -> tuple[sx.CallArgument, ...]:
    return tuple(replace(argument, value=_value(context, argument.value)) for argument in given)


def _output(context: Context, node: sx.OutputNode) -> sx.OutputNode:
    reduction = node.reduction
    if reduction is not None:
        reduction = replace(reduction, target=_target(context, reduction.target, reduction.index), index=None)
    return replace(node, name=_target(context, node.name, node.index), reduction=reduction, index=None)


def _target(context: Context, name: sx.Identifier, index: sx.SyntaxExpression | None) -> sx.Identifier:
    """Name the tag that is written."""
    if index is None:
        return name
    end = place(index)
    span = replace(name.span, end_line=end.end_line, end_column=end.end_column + 1)
    return sx.Identifier(_chosen(context, name, index, span), span)


def _optional(context: Context, node: sx.SyntaxExpression | None) -> sx.SyntaxExpression | None:
    return _value(context, node) if node is not None else None


def _value(context: Context, node: sx.SyntaxExpression) -> sx.SyntaxExpression:
    """Name the tags in an expression."""
    if isinstance(node, sx.CallExpression):
        return replace(node, arguments=_arguments(context, node.arguments))
    return _named(context, node) if _has_index(node) else node


def _has_index(node: Expression) -> bool:
    return any(isinstance(part, Apply) and part.function == INDEX for part in walk(node))


def _named(context: Context, node: Expression) -> Expression:
    match node:
        case Apply(function, (Name() as array, index)) if function == INDEX:
            entity, name = context.frame.find(array.id), sx.Identifier(array.id, place(array))
            if entity is not None:
                context.globals.used.add(entity.span)
            return Name(_chosen(context, name, index, place(node)), node.span)
        case Unary():
            return replace(node, operand=_named(context, node.operand))
        case Binary():
            return replace(node, left=_named(context, node.left), right=_named(context, node.right))
        case Apply():
            return replace(node, arguments=tuple(_named(context, one) for one in node.arguments))
        case _:
            return node


def _chosen(context: Context, name: sx.Identifier, index: sx.SyntaxExpression, span: Span) -> str:
    """Give the name of the tag that an index chooses; what chooses none is reported and has no type."""
    found = context.frame.find(name.id)
    number = _number(context, name, index, span) if isinstance(found, TagArray) else None
    if not isinstance(found, TagArray):
        _refuse_index(context, name, span)
    elif number is not None:
        if number in found.indices:
            return found.member(number)
        _refuse_range(context, found, number, index, span)
    shown = f"{name.id}[{'…' if isinstance(index, sx.CallExpression) else render_expression(index)}]"
    context.frame.declare(TagEntity(shown, shown, span, None, "var"))
    return shown


def _refuse_index(context: Context, name: sx.Identifier, span: Span) -> None:
    """Report an index behind a name that is no array of tags."""
    entity = context.frame.find(name.id)
    if entity is None:
        _unknown(context, name)
        return
    help = "declare one:  var f64[8] u[l in 0 .. 4]   then  u[0]  to  u[3]  are its tags"
    if not isinstance(entity, TagEntity) or entity.type is None or entity.type.scalar:
        if not isinstance(entity, TagEntity) or entity.type is not None:
            context.misused(name, entity, "an array of tags", help)
        return
    message = f"`{name.id}` is one array, and programs do not work on its elements"
    help = f"pass it to a module, which works on its elements:  module({name.id}) -> value"
    context.report(error_at("E0304", message, span, label=context.show(entity.type), help=help))


def _unknown(context: Context, name: sx.Identifier) -> None:
    """Report an unknown name before an index, or a type of another language before a shape."""
    from pse.language.syntax._foreign_names import FOREIGN_TYPES  # Ranks have no use for them.

    if name.id not in FOREIGN_TYPES:
        context.unknown(name)
        return
    known = FOREIGN_TYPES[name.id]
    help = f"the type is called `{known}`:  {known}[…] x"
    context.report(error_at("E0201", f"unknown name `{name.id}`", name.span, help=help))


def _number(context: Context, name: sx.Identifier, index: sx.SyntaxExpression, span: Span) -> int | None:
    """Work out an index; one that is not known is reported and gives None."""
    found = bound(context, index)
    if found is None:
        return None
    value = context.value(found)
    if isinstance(value, int) or (value is None and depends_on_inputs(context, found)):
        return value
    message = f"which tag of `{name.id}` this is must be known before the run"
    help = "use numbers, parameters with a value, counters of loops over these, and `let` of them"
    if names_in(found) & context.globals.files.live:
        help = context.known_help(found)
    context.report(error_at("E0327", message, place(index), help=help))
    return None


def depends_on_inputs(context: Context, expression: Expression) -> bool:
    """Whether a value is not known because it is an input of a segment that nobody calls."""
    known = context.constant(expression)
    return known is not None and bool(names_in(known) & context.open_inputs)


def _refuse_range(
    context: Context, array: TagArray, number: int, index: sx.SyntaxExpression, span: Span
) -> None:
    """Report an index that no tag of an array has."""
    name, first, last = array.display, min(array.indices), max(array.indices)
    which = f"the indices of `{name}` are {first} to {last}"
    if first == last:
        which = f"the only index of `{name}` is {first}"
    message = f"`{name}[{number}]` does not exist: {which}"
    counters = [f"{word} = {value}" for word, value in context.frame.known_counters() if _uses(index, word)]
    notes = [(array.span, f"`{name}` is declared here")]
    help = f"give an index from {first} to {last}" if first < last else f"write:  {name}[{first}]"
    if counters:
        help += ", or let the loop end earlier"
    context.report(error_at("E0327", message, span, label=", ".join(counters), notes=notes, help=help))


def _uses(index: sx.SyntaxExpression, name: str) -> bool:
    return not isinstance(index, sx.CallExpression) and name in names_in(index)
