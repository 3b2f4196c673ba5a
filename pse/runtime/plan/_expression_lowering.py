"""Lowering of scalar expressions and strings to postfix terms, which the engine evaluates with a stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pse._abi.elements import ELEMENT_CODES
from pse._abi.plan import TermKind, TermRow
from pse.language.types import Apply, Binary, Element, Expression, Name, Number, Text, Unary, Value

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


def operation(kind: TermKind) -> tuple[str, int] | None:
    """Give the operator or function that a term stands for, if it does, and how many operands it has."""
    words = {code: word for table in (_UNARY, _BINARY, _FUNCTIONS) for word, code in table.items()}
    takes_two = kind in _BINARY.values() or kind in (TermKind.MINIMUM, TermKind.MAXIMUM)
    return (words[kind], 2 if takes_two else 1) if kind in words else None


class Constant(NamedTuple):
    """A name that has the same value in the whole run."""

    value: Value


class Slot(NamedTuple):
    """A name whose value is in a slot."""

    slot: int


class Extent(NamedTuple):
    """A name that stands for an extent of the array in a slot."""

    slot: int
    axis: int


Operand = Constant | Slot | Extent


class ExpressionLowering(NamedTuple):
    """Gives the terms of expressions.

    Attributes
    ----------
    operand : callable
        Says where the value of a name is.
    element : callable
        Gives the element type of an expression.
    text : callable
        Keeps a string for the life of the plan; gives its address.
    """

    operand: Callable[[str], Operand]
    element: Callable[[Expression], Element]
    text: Callable[[str], int]

    def terms(self, tree: Expression) -> list[TermRow]:
        """Give the terms of an expression."""
        match tree:
            case Number() | Text():
                return self._constant(tree.value)
            case Name():
                return self._name(self.operand(tree.id))
            case Unary():
                return [*self.terms(tree.operand), TermRow(_UNARY[tree.operator])]
            case Binary():
                return self._binary(tree)
            case Apply():
                return self._apply(tree)

    def _name(self, found: Operand) -> list[TermRow]:
        match found:
            case Constant(value):
                return self._constant(value)
            case Slot(slot):
                return [TermRow(TermKind.SLOT, slot)]
            case Extent(slot, axis):
                return [TermRow(TermKind.EXTENT, slot, axis)]

    def _constant(self, value: Value) -> list[TermRow]:
        match value:
            case str():
                return [TermRow(TermKind.TEXT, value=self.text(value))]
            case float():
                return [_real(TermKind.REAL, value)]
            case complex():
                parts = [_real(TermKind.REAL, value.real), _real(TermKind.IMAGINARY, value.imag)]
                return [*parts, TermRow(TermKind.ADD)]
        return [TermRow(TermKind.INTEGER, value=int(value))]

    def _binary(self, tree: Binary) -> list[TermRow]:
        """Left, right, operator; before what `and` or `or` may leave out, a term that says how much it is."""
        if tree.operator == "+" and self.element(tree) is Element.STRING:
            return [*self._as_text(tree.left), *self._as_text(tree.right), TermRow(TermKind.JOIN)]
        left, right = self.terms(tree.left), self.terms(tree.right)
        skip = [TermRow(_SKIPS[tree.operator], len(right) + 1)] if tree.operator in _SKIPS else []
        return [*left, *skip, *right, TermRow(_BINARY[tree.operator])]

    def _as_text(self, tree: Expression) -> list[TermRow]:
        """Give the terms of what is joined with a string."""
        element = self.element(tree)
        written = [] if element is Element.STRING else [TermRow(TermKind.FORMAT, ELEMENT_CODES[element])]
        return [*self.terms(tree), *written]

    def _apply(self, tree: Apply) -> list[TermRow]:
        terms = []
        for place, argument in enumerate(tree.arguments):
            terms += self.terms(argument)
            if len(tree.arguments) == 1 or place > 0:
                terms.append(TermRow(_FUNCTIONS[tree.function]))
        return terms


def _real(kind: TermKind, value: float) -> TermRow:
    return TermRow(kind, value=int(np.float64(value).view(np.int64)))
