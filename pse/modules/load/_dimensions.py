"""Dimension names of a directive: their values from the shapes of what a module is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pse.errors import EvaluationError
from pse.language.types import (
    Binary,
    Expression,
    Name,
    Number,
    Parameter,
    evaluate,
    names_in,
    render_expression,
)
from pse.modules._errors import ModuleError
from pse.modules.directives._interface import declared
from pse.text import count_text

if TYPE_CHECKING:
    from pse.modules.load._loader import LoadedModule


def bind_dimensions(module: LoadedModule, inputs: Sequence[Any], known: Mapping[str, int]) -> dict[str, int]:
    """Find the value of every dimension name that the inputs determine.

    Parameters
    ----------
    module : LoadedModule
        Whose directive names the dimensions.
    inputs : sequence
        Values of the `in` and `inout` parameters in declared order.
    known : mapping of name to int
        Values that are known already.

    Raises
    ------
    ModuleError
        If the number of inputs, or the axes or extents of an array, don't agree with the directive.
    """
    expected = module.signature.inputs
    if len(expected) != len(inputs):
        listed = ", ".join(declared(parameter) for parameter in expected)
        raise ModuleError(
            f"module `{module.name}` takes {len(expected)} inputs ({listed}), got {len(inputs)}",
            help="give one value for each input of the directive, in its order",
        )
    values = dict(known)
    for parameter, value in zip(expected, inputs, strict=True):
        if parameter.type.scalar and isinstance(value, int | np.integer) and not isinstance(value, bool):
            values[parameter.name] = int(value)
    for parameter, value in zip(expected, inputs, strict=True):
        if parameter.shape and isinstance(value, np.ndarray):
            _match(module, parameter, value, values)
    return values


def _match(module: LoadedModule, parameter: Parameter, array: np.ndarray, values: dict[str, int]) -> None:
    shape = parameter.shape or ()
    got = ", ".join(map(str, array.shape))
    if len(shape) != array.ndim:
        message = f"`{declared(parameter)}` has {len(shape)} axes, got an array [{got}]"
        help = f"give an array of {count_text(len(shape), 'axis', 'axes')}, as the directive says"
        raise ModuleError(f"module `{module.name}` ({module.place}): {message}", help=help)
    for axis, length in zip(shape, array.shape, strict=True):
        wanted = extent(axis, values)
        solved = _solve(axis, length, values) if wanted is None else {}
        values.update(solved)
        wrong = help = ""
        if wanted not in (None, length):
            wrong = f"an axis must be {wanted} long"
            help = "extents of one name in the directive are equal: give arrays that fit each other"
        elif any(value < 0 for value in solved.values()):
            wrong = f"an axis is too short for `{render_expression(axis)}`"
            help = "a dimension of a directive is at least 0: give a longer array"
        if wrong:
            message = f"`{declared(parameter)}`: {wrong}, got an array [{got}]"
            raise ModuleError(f"module `{module.name}` ({module.place}): {message}", help=help)


def extent(axis: Expression, values: Mapping[str, int]) -> int | None:
    """Evaluate an axis; None if a name in it has no value."""
    if not names_in(axis) <= values.keys():
        return None
    try:
        value = evaluate(axis, values)
    except EvaluationError:
        return None
    return value if isinstance(value, int) else None


def _solve(axis: Expression, length: int, values: Mapping[str, int]) -> dict[str, int]:
    """Solve `name`, `name + c` and `name - c` for the name; anything else determines nothing."""
    if isinstance(axis, Name):
        return {axis.id: length}
    if isinstance(axis, Binary) and axis.operator in "+-" and isinstance(axis.left, Name):
        offset = extent(axis.right, values) if not isinstance(axis.right, Number) else int(axis.right.value)
        if offset is not None:
            return {axis.left.id: length - offset if axis.operator == "+" else length + offset}
    return {}
