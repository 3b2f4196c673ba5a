"""Types of scalar expressions: which element type an operation gives, and what fits where.

Pure functions on `Element`; names are looked up by the caller.
"""

from __future__ import annotations

from collections.abc import Callable

from pse.language.types._expressions import Apply, Binary, Expression, Name, Number, Text, Unary
from pse.language.types._types import Element

INTEGERS = (Element.U8, Element.U16, Element.I32, Element.I64)
REALS = (Element.F32, Element.F64)
COMPLEX = (Element.C64, Element.C128)
NUMERIC = (*INTEGERS, *REALS, *COMPLEX)

_INTEGER_RANGE = {
    Element.U8: (0, 2**8 - 1),
    Element.U16: (0, 2**16 - 1),
    Element.I32: (-(2**31), 2**31 - 1),
    Element.I64: (-(2**63), 2**63 - 1),
}


def literal_element(value: object) -> Element:
    """Give the element type of a literal."""
    if isinstance(value, bool):
        return Element.BOOL
    if isinstance(value, int):
        return Element.I64
    return Element.STRING if isinstance(value, str) else Element.F64


def fits(have: Element, want: Element, expression: Expression | None = None) -> bool:
    """Say whether a value of one type can be given where another is wanted, without loss of kind.

    A literal fits every type that holds its value; other values widen (integer to real to complex) only.
    """
    if have is want:
        return True
    value = _literal(expression)
    if isinstance(value, int) and want in _INTEGER_RANGE:
        low, high = _INTEGER_RANGE[want]
        return low <= value <= high
    if value is not None and want in (*REALS, *COMPLEX):
        return True
    if have not in NUMERIC or want not in NUMERIC or (have, want) == (Element.F64, Element.C64):
        return False
    return (
        have is not Element.F64 or want is not Element.F32
        if NUMERIC.index(have) < NUMERIC.index(want)
        else False
    )


def _literal(expression: Expression | None) -> int | float | None:
    """Give the value of a numeric literal, with or without a sign."""
    sign = 1
    while isinstance(expression, Unary) and expression.operator == "-":
        expression, sign = expression.operand, -sign
    if isinstance(expression, Number) and not isinstance(expression.value, bool):
        return sign * expression.value
    return None


def binary_element(operator: str, left: Element, right: Element) -> Element | None:
    """Give the type of `left operator right`; None if there is no such operation."""
    if operator in ("and", "or"):
        return Element.BOOL if left is right is Element.BOOL else None
    if operator == "+" and Element.STRING in (left, right):
        return Element.STRING if {left, right} <= {Element.STRING, Element.BOOL, *NUMERIC} else None
    numeric = left in NUMERIC and right in NUMERIC
    if operator in ("==", "!="):
        return Element.BOOL if numeric or (left is right and left in (Element.BOOL, Element.STRING)) else None
    if operator in ("<", "<=", ">", ">="):
        ordered = numeric and left not in COMPLEX and right not in COMPLEX
        return Element.BOOL if ordered or left is right is Element.STRING else None
    if not numeric or (operator == "%" and (left in COMPLEX or right in COMPLEX)):
        return None
    return _wider(left, right)


def _wider(left: Element, right: Element) -> Element:
    if left in INTEGERS and right in INTEGERS:
        return Element.I64
    wide = max(left, right, key=NUMERIC.index)
    return Element.C128 if wide is Element.C64 and Element.F64 in (left, right) else wide


def unary_element(operator: str, operand: Element) -> Element | None:
    """Give the type of `-x` or `not x`."""
    if operator == "not":
        return Element.BOOL if operand is Element.BOOL else None
    return operand if operand in NUMERIC else None


def apply_element(function: str, arguments: list[Element]) -> Element | None:
    """Give the type of a built-in function; None if it does not take such arguments."""
    real = (*INTEGERS, *REALS)
    if function in ("min", "max"):
        if len(arguments) < 2 or not all(argument in real for argument in arguments):
            return None
        result = arguments[0]
        for argument in arguments[1:]:
            result = _wider(result, argument)
        return result
    if len(arguments) != 1 or arguments[0] not in (NUMERIC if function == "abs" else real):
        return None
    if function == "abs":
        return Element.F64 if arguments[0] in COMPLEX else arguments[0]
    return Element.I64 if function in ("floor", "ceil", "i64") else Element.F64


def expression_element(expression: Expression, lookup: Callable[[str], Element]) -> Element:
    """Give the element type of a checked expression.

    Parameters
    ----------
    expression : Expression
        An expression that the checker has accepted.
    lookup : callable
        Gives the element type of a name.

    Returns
    -------
    Element
        Its type.

    Examples
    --------
    >>> expression_element(Binary("+", Text("k = "), Number(3)), lambda name: Element.I64).label
    'string'
    """
    match expression:
        case Number(value) | Text(value):
            return literal_element(value)
        case Name(id):
            return lookup(id)
        case Unary(word, operand):
            found = unary_element(word, expression_element(operand, lookup))
        case Binary(word, left, right):
            found = binary_element(word, expression_element(left, lookup), expression_element(right, lookup))
        case Apply(word, arguments):
            found = apply_element(word, [expression_element(argument, lookup) for argument in arguments])
    assert found is not None, "the checker refuses what has no type"
    return found
