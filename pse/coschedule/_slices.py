"""How long time slices are."""

from typing import Final

from pse._abi.coschedule import DEFAULT_FAR_SLICE, DEFAULT_SLICE, SHORTEST_SLICE
from pse.errors import UsageError
from pse.text import time_text

_NEAR, _FAR = (time_text(length, zeros=False) for length in (DEFAULT_SLICE, DEFAULT_FAR_SLICE))
DEFAULTS: Final = f"{_NEAR} on one node and {_FAR} on several"


def slice_length(seconds: float) -> int:
    """Give the ns of a time slice.

    Raises
    ------
    UsageError
        It is too short.
    """
    length = round(seconds * 1e9)
    if length < SHORTEST_SLICE:
        raise UsageError(
            f"a time slice of {time_text(length)} is too short: the shortest is {time_text(SHORTEST_SLICE)}",
            help=f"the default, {DEFAULTS}, suits most machines",
        )
    return length
