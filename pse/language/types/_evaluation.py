"""The value of an expression: total, so that no program can make it raise anything but ``EvaluationError``.

Integers are 64-bit and overflow is an error; ``/`` between integers is floor division.  Used when parameters
are bound, for constants while checking, and by every rank for loop bounds, conditions and arguments.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from pse._abi.elements import MAX_TEXT
from pse.errors import EvaluationError
from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Apply, Binary, Expression, Name, Number, Text, Unary, Value
from pse.text import value_text

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def evaluate(expression: Expression, environment: Mapping[str, Value]) -> Value:
    """Work out an expression.

    Parameters
    ----------
    expression : Expression
        What to work out.
    environment : mapping of str to Value
        The value of every name in it.

    Returns
    -------
    int, float, bool or str
        Its value.

    Raises
    ------
    EvaluationError
        If it has no value; the error's span is the smallest part that has none.

    Examples
    --------
    >>> from pse.language.types import Binary, Name, Number
    >>> evaluate(Binary("*", Number(4), Name("procs")), {"procs": 3})
    12
    """
    match expression:
        case Number(value, span) | Text(value, span):
            return _checked(value, span, f"this {_noun(value)}")
        case Name(id, span):
            if id not in environment:
                raise EvaluationError(f"`{id}` has no value here", span)
            return environment[id]
        case Binary("and" | "or" as word, left, right):
            first = bool(evaluate(left, environment))
            return first if first == (word == "or") else bool(evaluate(right, environment))
        case Unary(word, operand, span):
            return _apply(_UNARY[word], [evaluate(operand, environment)], word, span)
        case Binary(word, left, right, span):
            values = [evaluate(left, environment), evaluate(right, environment)]
            return _apply(_BINARY[word], values, word, span)
        case Apply(function, arguments, span):
            values = [evaluate(argument, environment) for argument in arguments]
            return _apply(_FUNCTIONS[function], values, function, span)


def without_value(word: str, values: list[Value]) -> str:
    """Say why an operator or function has no value for these operands.

    Parameters
    ----------
    word : str
        The operator or the function's name.
    values : list of number
        Its operands.

    Returns
    -------
    str
        A clause, such as ``division by zero in `5 % 0```.

    Examples
    --------
    >>> without_value("/", [1, 0])
    'division by zero in `1 / 0`'
    """
    table = _FUNCTIONS if word in _FUNCTIONS else _UNARY if len(values) == 1 else _BINARY
    try:
        _apply(table[word], values, word, None)
    except EvaluationError as error:
        return error.message
    return f"{_operation(word, values)} has no value"


def _operation(word: str, values: list[Value]) -> str:
    """Write an operation with the values of its operands."""
    shown = [_show(value) for value in values]
    if word in _FUNCTIONS:
        return f"`{word}({', '.join(shown)})`"
    return f"`{word}{shown[0]}`" if len(shown) == 1 else f"`{f' {word} '.join(shown)}`"


def _apply(function: Callable[..., Any], values: list[Value], word: str, span: Span | None) -> Value:
    """Call an operator or function and turn every way it can fail into one error."""
    try:
        return _checked(function(*values), span, f"the value of {_operation(word, values)}")
    except ZeroDivisionError:
        raise EvaluationError(f"division by zero in {_operation(word, values)}", span) from None
    except OverflowError:
        raise EvaluationError(f"the value of {_operation(word, values)} is too large", span) from None
    except (TypeError, ValueError):
        raise EvaluationError(f"{_operation(word, values)} has no value", span) from None


def _show(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _noun(value: Value) -> str:
    return "string" if isinstance(value, str) else "integer" if isinstance(value, int) else "number"


def _checked(value: Any, span: Span | None, subject: str) -> Value:
    """Refuse what the language has no value for; `subject` is what has it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise EvaluationError(f"{subject} does not fit in 64 bits", span)
    if isinstance(value, float) and not math.isfinite(value):
        raise EvaluationError(f"{subject} is not finite", span)
    if isinstance(value, complex) and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        raise EvaluationError(f"{subject} is not finite", span)
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise EvaluationError(f"{subject} is longer than {MAX_TEXT:,} characters", span)
    result: Value = value
    return result


def _add(left: Any, right: Any) -> Value:
    if isinstance(left, str) or isinstance(right, str):
        return value_text(left) + value_text(right)
    result: Value = left + right
    return result


def _divide(left: Any, right: Any) -> Value:
    integers = isinstance(left, int) and isinstance(right, int)
    result: Value = left // right if integers else left / right
    return result


def _modulo(left: Any, right: Any) -> Value:
    if isinstance(left, str):
        raise TypeError  # Python would format.
    result: Value = left % right
    return result


def _multiply(left: Any, right: Any) -> Value:
    if isinstance(left, str) or isinstance(right, str):
        raise TypeError  # Python would repeat.
    result: Value = left * right
    return result


def _power(base: Any, exponent: Any) -> Value:
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent < 0:
            raise ValueError
        if abs(base) > 1 and exponent > 64:
            raise OverflowError
        if abs(base) <= 1:
            exponent = min(exponent, 2 + exponent % 2)
    result: Value = base**exponent
    if isinstance(result, complex) and not isinstance(base, complex) and not isinstance(exponent, complex):
        raise ValueError
    return result


def _extreme(choose: Callable[..., Any]) -> Callable[..., Value]:
    """Make `min` or `max`: real as soon as one argument is."""

    def function(*values: Any) -> Value:
        chosen: Value = choose(values)
        return float(chosen) if any(isinstance(value, float) for value in values) else chosen  # type: ignore[arg-type]

    return function


def _negate(value: Any) -> Value:
    result: Value = -value
    return result


def _square_root(value: Any) -> float:
    return math.sqrt(value)


_UNARY: dict[str, Callable[..., Any]] = {"-": _negate, "not": operator.not_}
_BINARY: dict[str, Callable[..., Any]] = {
    "+": _add,
    "-": operator.sub,
    "*": _multiply,
    "/": _divide,
    "%": _modulo,
    "**": _power,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": _extreme(min),
    "max": _extreme(max),
    "abs": abs,
    "sqrt": _square_root,
    "floor": math.floor,
    "ceil": math.ceil,
    "log2": math.log2,
    "i64": int,
    "f64": float,
}
