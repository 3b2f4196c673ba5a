"""Lowering of scalar expressions to terms in postfix order, which the engine evaluates with a stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pse.language.types import Apply, Binary, Expression, Name, Number, Unary
from pse.runtime.plan._rows import TermRow

_INTEGER, _REAL, _SLOT, _EXTENT = range(4)
_UNARY = {"-": 4, "not": 5}
_BINARY = {
    "+": 6, "-": 7, "*": 8, "/": 9, "%": 10, "**": 11, "<": 12, "<=": 13, ">": 14, ">=": 15, "==": 16,
    "!=": 17,
    "and": 18, "or": 19,
}  # fmt: skip
_FUNCTIONS = {
    "min": 20, "max": 21, "abs": 22, "sqrt": 23, "floor": 24, "ceil": 25, "log2": 26, "i64": 27, "f64": 28,
}  # fmt: skip
_SKIPS = {"and": 29, "or": 30}


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
            return TermRow(_SLOT, slot)
        case Extent(slot, axis):
            return TermRow(_EXTENT, slot, axis)


def _number(value: int | float) -> TermRow:
    if isinstance(value, float):
        return TermRow(_REAL, bits=int(np.float64(value).view(np.int64)))
    return TermRow(_INTEGER, bits=int(value))


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
