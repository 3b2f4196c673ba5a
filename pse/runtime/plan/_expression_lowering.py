"""Lowering of scalar expressions to terms in postfix order, which the engine evaluates with a stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pse._abi.plan import TermKind, TermRow
from pse.language.types import Apply, Binary, Expression, Name, Number, Unary

_UNARY = {"-": TermKind.NEGATE, "not": TermKind.NOT}
_BINARY = {
    "+": TermKind.ADD, "-": TermKind.SUBTRACT, "*": TermKind.MULTIPLY, "/": TermKind.DIVIDE,
    "%": TermKind.MODULO, "**": TermKind.POWER, "<": TermKind.LESS, "<=": TermKind.LESS_EQUAL,
    ">": TermKind.GREATER, ">=": TermKind.GREATER_EQUAL, "==": TermKind.EQUAL, "!=": TermKind.NOT_EQUAL,
    "and": TermKind.AND, "or": TermKind.OR,
}  # fmt: skip
_FUNCTIONS = {
    "min": TermKind.MINIMUM, "max": TermKind.MAXIMUM, "abs": TermKind.ABSOLUTE, "sqrt": TermKind.SQUARE_ROOT,
    "floor": TermKind.FLOOR, "ceil": TermKind.CEILING, "log2": TermKind.LOG2, "i64": TermKind.TO_INTEGER,
    "f64": TermKind.TO_REAL,
}  # fmt: skip
_SKIPS = {"and": TermKind.SKIP_UNLESS, "or": TermKind.SKIP_WHEN}


class Constant(NamedTuple):
    """A name that stands for a number in this run."""

    value: int | float


class Slot(NamedTuple):
    """A name whose value is in a slot."""

    slot: int


class Extent(NamedTuple):
    """A name that stands for an extent of the array in a slot."""

    slot: int
    axis: int


Operand = Constant | Slot | Extent


def expression_terms(tree: Expression, operand: Callable[[str], Operand]) -> list[TermRow]:
    """Give the terms of an expression.

    Parameters
    ----------
    tree : Expression
        A scalar expression.
    operand : callable
        Says where the value of a name is.
    """
    match tree:
        case Number():
            return [_number(tree.value)]
        case Name():
            return [_name(operand(tree.id))]
        case Unary():
            return [*expression_terms(tree.operand, operand), TermRow(_UNARY[tree.operator])]
        case Binary():
            return _binary(tree, operand)
        case Apply():
            return _apply(tree, operand)
    raise TypeError(f"not a scalar expression: {tree}")


def _name(found: Operand) -> TermRow:
    match found:
        case Constant(value):
            return _number(value)
        case Slot(slot):
            return TermRow(TermKind.SLOT, slot)
        case Extent(slot, axis):
            return TermRow(TermKind.EXTENT, slot, axis)


def _number(value: int | float) -> TermRow:
    if isinstance(value, float):
        return TermRow(TermKind.REAL, value=int(np.float64(value).view(np.int64)))
    return TermRow(TermKind.INTEGER, value=int(value))


def _binary(tree: Binary, operand: Callable[[str], Operand]) -> list[TermRow]:
    """Left, right, operator; before what `and` or `or` may leave out, a term that says how much it is."""
    left, right = expression_terms(tree.left, operand), expression_terms(tree.right, operand)
    skip = [TermRow(_SKIPS[tree.operator], len(right) + 1)] if tree.operator in _SKIPS else []
    return [*left, *skip, *right, TermRow(_BINARY[tree.operator])]


def _apply(tree: Apply, operand: Callable[[str], Operand]) -> list[TermRow]:
    terms = []
    for place, argument in enumerate(tree.arguments):
        terms += expression_terms(argument, operand)
        if len(tree.arguments) == 1 or place > 0:
            terms.append(TermRow(_FUNCTIONS[tree.function]))
    return terms
