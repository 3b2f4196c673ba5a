"""The fields of an operation, as the page sends them; each is checked where it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pse.errors import UsageError

Operation = Mapping[str, Any]


def text_of(operation: Operation, name: str) -> str:
    """Give a text that has to be there.

    Raises
    ------
    UsageError
        If it isn't.
    """
    found = optional_text(operation, name)
    if found is None or not found.strip():
        raise UsageError(f"`{operation.get('op')}` needs {name}", help=f"give a text for {name}")
    return found


def optional_text(operation: Operation, name: str) -> str | None:
    """Give a text on one line, or None."""
    found = operation.get(name)
    if found is None:
        return None
    if not isinstance(found, str):
        raise UsageError(
            f"{name} of `{operation.get('op')}` is not a text", help=f'for example  "{name}": "x"'
        )
    return found.strip()


def list_of(operation: Operation, name: str) -> list[Any]:
    """Give a list that is not empty."""
    found = operation.get(name)
    if not isinstance(found, list) or not found:
        raise UsageError(f"`{operation.get('op')}` needs {name}", help=f'for example  "{name}": ["n1"]')
    return found


def mapping_of(operation: Operation, name: str) -> Mapping[str, Any]:
    """Give an object; an empty one if it is missing."""
    found = operation.get(name) or {}
    if not isinstance(found, Mapping):
        raise UsageError(f"{name} of `{operation.get('op')}` is not an object", help="give an object")
    return found
