"""The declaration of arrays of tags: which indices there are, and the types of the tags that these have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from pse.errors import EvaluationError
from pse.language.check._context import Context
from pse.language.check._scalars import bound, place
from pse.language.check._scope import ParameterEntity, TagArray
from pse.language.check.arrays._indices import depends_on_inputs
from pse.language.diagnostics._diagnostic import error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import (
    Apply,
    Binary,
    Expression,
    Name,
    Number,
    Unary,
    names_in,
    substitute,
)
from pse.records import replace

MAX_ROUNDS = 1_000
"""Most tags of an array, and most iterations of a loop whose counter chooses among them."""


def index_range(context: Context, node: sx.IndexRange) -> range | None:
    """Work out the indices of an array of tags; everything wrong is reported and gives None."""
    what = "how many tags an array has"
    found = known_range(context, (node.lower, node.upper, None), what)
    if found is None or not _is_free(context, node.name):
        return None
    if not found:
        message = f"this array has no tags: its indices would be {found.start} .. {found.stop}"
        help = "the upper bound is not reached; for 4 tags write, for example:  [l in 0 .. 4]"
        context.report(error_at("E0327", message, node.span, help=help))
        return None
    return found


def _is_free(context: Context, name: sx.Identifier) -> bool:
    """Whether the name of an index means nothing else there."""
    taken = context.frame.find(name.id)
    if taken is None or name.id in context.globals.standard:
        return True
    notes = [(taken.span, "it is declared here first")]
    message = f"`{name.id}` is declared twice"
    context.report(error_at("E0203", message, name.span, notes=notes, help="choose another name"))
    return False


Declaration = TypeVar("Declaration", sx.Var, sx.Field)

Bounds = tuple[sx.SyntaxExpression, sx.SyntaxExpression, sx.SyntaxExpression | None]
"""What is counted: from, up to, and by how much."""


def known_range(context: Context, bounds: Bounds, what: str) -> range | None:
    """Work out bounds that must be known before the run; everything wrong is reported and gives None."""
    numbers = [_integer(context, bound, what) for bound in bounds if bound is not None]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or known[2:] == [0]:
        return None
    found, last = range(*known), bounds[1]
    if len(found) > MAX_ROUNDS:
        message = f"{what} is at most {MAX_ROUNDS:,}: this is {len(found):,}"
        context.report(error_at("E0327", message, place(last), help="choose bounds that are nearer"))
        return None
    return found


def _integer(context: Context, node: sx.SyntaxExpression, what: str) -> int | None:
    found = bound(context, node)
    value = context.value(found) if found is not None else None
    if found is None or isinstance(value, int) or depends_on_inputs(context, found):
        return value if isinstance(value, int) else None
    message, help = f"{what} must be known before the run", "use numbers, parameters, and `let` of these"
    names = names_in(context.constant(found) or found)
    valueless = sorted(names & context.globals.files.valueless)
    if valueless:
        help = f"give the parameter a default:  param i64 {valueless[0]} = 4"
    elif names & context.globals.files.live:
        help = context.known_help(found)
    context.report(error_at("E0327", message, place(node), help=help))
    return None


def members(context: Context, node: Declaration, found: range) -> Iterator[Declaration]:
    """Give the declarations of an array's tags, one for each; values have the index in them still."""
    assert node.indices is not None, "it is an array"
    array, own = TagArray(node.name.id, node.name.span, found), node.indices.name.id
    for index in found:
        name = sx.Identifier(array.member(index), node.name.span)
        yield replace(node, name=name, type=_with_index(context, node.type, own, index), indices=None)


def value_at(node: sx.SyntaxExpression, name: str, index: int) -> sx.SyntaxExpression:
    """Put a number in the place of the index in a value."""
    if isinstance(node, sx.CallExpression):
        given = tuple(replace(one, value=value_at(one.value, name, index)) for one in node.arguments)
        return replace(node, arguments=given)
    return substitute(node, lambda use: Number(index, use.span) if use.id == name else use)


def _with_index(context: Context, node: sx.TypeNode, name: str, index: int) -> sx.TypeNode:
    """Put a number in the place of the index in a type."""

    def value(use: Name) -> Expression:
        entity = context.frame.find(use.id)
        known = context.constants.get(entity.unique) if isinstance(entity, ParameterEntity) else None
        return Number(index, use.span) if use.id == name else known or use

    def known(tree: Expression) -> Expression:
        return _folded(substitute(tree, value), tree.span)

    where = node.distribution
    if where is not None:
        arguments, halo = (tuple(map(known, trees)) for trees in (where.arguments, where.halo))
        where = replace(where, arguments=arguments, halo=halo)
    shape = tuple(map(known, node.shape)) if node.shape is not None else None
    return replace(node, shape=shape, distribution=where)


def _folded(tree: Expression, span: Span | None) -> Expression:
    """Put numbers in the place of parts of an expression that have no names."""
    if isinstance(tree, Unary | Binary | Apply) and not names_in(tree):
        try:
            value = evaluate(tree, {})
        except EvaluationError:  # It is reported where the type is read.
            return tree
        return Number(value, tree.span or span) if isinstance(value, int | float) else tree
    match tree:
        case Unary():
            return replace(tree, operand=_folded(tree.operand, span))
        case Binary():
            left, right = _folded(tree.left, span), _folded(tree.right, span)
            if tree.operator in "*/" and right == Number(1):
                return left
            if tree.operator == "*" and left == Number(1):
                return right
            return replace(tree, left=left, right=right)
        case Apply():
            return replace(tree, arguments=tuple(_folded(one, span) for one in tree.arguments))
        case _:
            return tree
