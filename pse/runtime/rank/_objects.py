"""Tags of type `object`: any Python value, pickled.  A program opts in by declaring the type, tag by tag.

The only place in pse where anything is pickled; everything else travels as typed arrays and numbers.
"""

from __future__ import annotations

import pickle
from typing import Any

from pse.errors import RunError
from pse.text import exception_text


def to_bytes(value: Any, name: str) -> bytes:
    """Pickle a value for the tag `name`.

    Raises
    ------
    RunError
        If it can't be pickled.
    """
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(
            f"the object {name} of type {type(value).__name__} can't be handed over: {exception_text(error)}",
            help="hand over what pickle can store, or arrays and numbers",
        ) from error


def from_bytes(data: bytes | memoryview) -> Any:
    """Give the value that `to_bytes` pickled."""
    return pickle.loads(data)
