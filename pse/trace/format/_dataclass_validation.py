"""Dataclasses whose fields are checked against their annotations, and made from what JSON gave.

Knows scalars, unions, tuples of one type, mappings from str, and dataclasses in tuples; whole numbers are
those that 64 bits hold.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Hashable, Mapping
from typing import Any

from pse.trace.format._errors import TraceError


def from_values(cls: type, values: Any, where: str) -> Any:
    """Build a frozen dataclass from what JSON gave, its parts included.

    Parameters
    ----------
    cls : type
        The dataclass.
    values : object
        What JSON gave.
    where : str
        What it is, for errors: ``definitions.sites[3]``.

    Raises
    ------
    TraceError
        A field is unknown, missing, or has another type.
    """
    if not isinstance(values, dict):
        raise TraceError(f"{where}: expected an object, found {_shown(values)}")
    hints = _hints(cls)
    names = {item.name for item in dataclasses.fields(cls)}
    required = {item.name for item in dataclasses.fields(cls) if item.default is dataclasses.MISSING}
    for what, wrong in (("unknown", values.keys() - names), ("missing", required - values.keys())):
        if wrong:
            raise TraceError(f"{where}: {what}: {', '.join(sorted(wrong))}")
    return cls(**{name: _converted(hints[name], value, f"{where}.{name}") for name, value in values.items()})


def _converted(hint: Any, value: Any, where: str) -> Any:
    """JSON has lists where definitions have tuples, and objects where they have parts."""
    if typing.get_origin(hint) is not tuple or not isinstance(value, list):
        return value
    part: Any = typing.get_args(hint)[0]
    if isinstance(part, type) and dataclasses.is_dataclass(part):
        return tuple(from_values(part, item, f"{where}[{index}]") for index, item in enumerate(value))
    return tuple(value)


@functools.cache
def _hints(cls: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def check_fields(definition: Any) -> None:
    """Make sure that every field of a dataclass has its type.

    Raises
    ------
    TraceError
        One hasn't; the message says which, what it is and what was expected.
    """
    for name, hint in _hints(definition.__class__).items():
        value = getattr(definition, name)
        if not _fits(hint, value):
            raise TraceError(f"{type(definition).__name__}.{name}: {_expected(hint)}, not {_shown(value)}")


def _fits(hint: Any, value: Any) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin is types.UnionType:
        return any(_fits(choice, value) for choice in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(arguments[0], item) for item in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            isinstance(key, str) and _fits(arguments[1], item) for key, item in value.items()
        )
    if hint is int:
        return type(value) is int and -(2**63) <= value < 2**64
    return isinstance(value, hint)


def _expected(hint: Any) -> str:
    return f"expected {hint.__name__ if isinstance(hint, type) else str(hint).replace('typing.', '')}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
