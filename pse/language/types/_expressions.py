"""Expressions: nodes, names in them, and how they are written.  `_evaluation` gives them values.

Used by the syntax tree, by types (symbolic shapes) and by the runtime (call arguments, conditions).
Every node keeps its span; equality ignores spans, so that `[N, N]` equals `[N, N]` wherever it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field

from pse.language.diagnostics._source import Span
from pse.records import dataclass
from pse.text import value_text

Value = int | float | complex | bool | str


@dataclass(frozen=True)
class Number:
    """A literal: int, float or bool.

    Parameters
    ----------
    value : int or float or bool
        Its value.
    span : Span or None, optional
        Its place in the text; None for what is not from a text.

    See Also
    --------
    render_expression
    """

    value: int | float | bool
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Text:
    """A string literal, unescaped.

    Parameters
    ----------
    value : str
        The text without quotes.
    span : Span or None, optional
        Its place in the text; None for what is not from a text.

    See Also
    --------
    render_expression
    """

    value: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Name:
    """A name: parameter, `procs`, partition, loop counter or tag.

    Parameters
    ----------
    id : str
        The name.
    span : Span or None, optional
        Its place in the text; None for what is not from a text.

    See Also
    --------
    names_in, substitute
    """

    id: str
    span: Span | None = field(default=None, compare=False)


_POSITION = re.compile(r"partition(?:\[(\d+)\])?(?: over (\w+))?")


def position_name(axis: int | None, partition: str) -> str:
    """Name the partition that is at work, of a set, or its coordinate on an axis of the set's grid."""
    return f"partition{'' if axis is None else f'[{axis}]'} over {partition}"


def read_position(name: str) -> tuple[int | None, str] | None:
    """Give axis (None: the index itself) and set of such a name, "" as it is written; None for any other.

    Parameters
    ----------
    name : str
        A name in an expression.

    Returns
    -------
    tuple of (int or None, str), or None
        Axis and partition set; None if the name is not a position.

    Examples
    --------
    >>> read_position("partition"), read_position(position_name(1, "P")), read_position("P")
    ((None, ''), (1, 'P'), None)
    """
    found = _POSITION.fullmatch(name)
    return found and (None if found[1] is None else int(found[1]), found[2] or "")


@dataclass(frozen=True)
class Unary:
    """`-x`, `not x`.

    Parameters
    ----------
    operator : str
        As it is written.
    operand : Expression
        What it is applied to.
    span : Span or None, optional
        Its place in the text; None for what is not from a text.

    See Also
    --------
    render_expression
    """

    operator: str
    operand: Expression
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Binary:
    """`+ - * / // % **`, comparisons, `and`, `or`.

    Parameters
    ----------
    operator : str
        As it is written.
    left : Expression
        Left operand.
    right : Expression
        Right operand.
    span : Span or None, optional
        Its place in the text; None for what is not from a text.

    See Also
    --------
    render_expression, substitute
    """

    operator: str
    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Apply:
    """A built-in function of scalars: `min max abs sqrt floor ceil log2 i64 f64`.

    In a syntax tree also a list, and what an index chooses from an array of tags (`INDEX`).

    Parameters
    ----------
    function : str
        Name of the function.
    arguments : tuple of Expression
        Its arguments.
    span : Span or None, optional
        Its place in the text; None for what is not from a text.

    See Also
    --------
    names_in, render_expression
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False)


Expression = Number | Text | Name | Unary | Binary | Apply

INDEX = "[]"
"""The function that stands for `levels[l]`, of the array's name and the index."""

_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "not": 3,
    "==": 4,
    "!=": 4,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
    "negative": 7,
    "**": 8,
}
_ATOM = 9


def walk(expression: Expression) -> Iterator[Expression]:
    """Give an expression and all its parts, from left to right."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def children(expression: Expression) -> tuple[Expression, ...]:
    """Give the direct parts of an expression."""
    match expression:
        case Unary():
            return (expression.operand,)
        case Binary():
            return (expression.left, expression.right)
        case Apply():
            return expression.arguments
        case _:
            return ()


def names_in(expression: Expression) -> set[str]:
    """Give every name that an expression uses.

    Parameters
    ----------
    expression : Expression
        Any expression.

    Returns
    -------
    set of str
        The names, each once.

    Examples
    --------
    >>> sorted(names_in(Binary("+", Name("N"), Apply("sqrt", (Name("procs"),)))))
    ['N', 'procs']
    """
    return {node.id for node in walk(expression) if isinstance(node, Name)}


DYNAMIC = "?"
"""What the names of extents begin with that modules decide while the program runs: `?n`."""


def is_dynamic(expression: Expression) -> bool:
    """Say whether an extent is known only while the program runs, because a module decides it.

    Parameters
    ----------
    expression : Expression
        An extent.

    Returns
    -------
    bool
        Whether it is, or depends on, one like `?n`.

    Examples
    --------
    >>> is_dynamic(Binary("*", Number(2), Name("?n"))), is_dynamic(Name("N"))
    (True, False)
    """
    return any(name.startswith(DYNAMIC) for name in names_in(expression))


def substitute(expression: Expression, replace: Callable[[Name], Expression]) -> Expression:
    """Put something in the place of every name; spans of all other nodes stay.

    Parameters
    ----------
    expression : Expression
        Any expression.
    replace : callable
        Gives for each `Name` the expression that takes its place.

    Returns
    -------
    Expression
        A new expression.

    Examples
    --------
    >>> doubled = substitute(Binary("*", Name("N"), Number(2)), lambda name: Number(64))
    >>> render_expression(doubled)
    '64 * 2'
    """
    match expression:
        case Name():
            return replace(expression)
        case Unary(operator, operand, span):
            return Unary(operator, substitute(operand, replace), span)
        case Binary(operator, left, right, span):
            return Binary(operator, substitute(left, replace), substitute(right, replace), span)
        case Apply(function, arguments, span):
            return Apply(function, tuple(substitute(argument, replace) for argument in arguments), span)
        case _:
            return expression


def render_expression(expression: Expression) -> str:
    """Write an expression as in a program, with no more parentheses than it needs.

    Parameters
    ----------
    expression : Expression
        Any expression.

    Returns
    -------
    str
        Its text; parsed again it is the same expression.

    Examples
    --------
    >>> render_expression(Binary("*", Binary("+", Name("N"), Number(1)), Number(2)))
    '(N + 1) * 2'
    """
    return _render(expression)[0]


def _render(expression: Expression) -> tuple[str, int]:
    """Give the text of an expression and how tightly it binds."""
    match expression:
        case Number(value):
            text = value_text(value)
            return text, _PRECEDENCE["negative"] if text.startswith("-") else _ATOM
        case Text(value):
            return quote(value), _ATOM
        case Name(id):
            return id, _ATOM
        case Apply(function, (array, index)) if function == INDEX:
            return f"{render_expression(array)}[{render_expression(index)}]", _ATOM
        case Apply(function, arguments):
            return f"{function}({', '.join(render_expression(argument) for argument in arguments)})", _ATOM
        case Unary("not", operand):
            return f"not {_at_least(operand, _PRECEDENCE['not'])}", _PRECEDENCE["not"]
        case Unary(operator, operand):
            return f"{operator}{_at_least(operand, _PRECEDENCE['negative'])}", _PRECEDENCE["negative"]
        case Binary(operator, left, right):
            level = _PRECEDENCE[operator]
            # A comparison has no chain on either side; a power binds its right side like a sign does.
            left_level = level + (operator == "**" or level == _PRECEDENCE["=="])
            right_level = _PRECEDENCE["negative"] if operator == "**" else level + 1
            return f"{_at_least(left, left_level)} {operator} {_at_least(right, right_level)}", level
        case _:  # A call in a syntax tree, which no expression may have.
            return "…", _ATOM  # type: ignore[unreachable]


def _at_least(expression: Expression, level: int) -> str:
    text, own = _render(expression)
    return text if own >= level else f"({text})"


def quote(text: str) -> str:
    """Write a string as a literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
