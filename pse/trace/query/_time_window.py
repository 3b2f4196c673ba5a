"""A window of a run's time: what lies in it, and which part of a block does."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from pse.records import dataclass
from pse.trace.format._errors import TraceError
from pse.trace.format._field_values import Array

FURTHEST = (1 << 63) - 1
"""ns: no time of a trace is further from its origin."""


@dataclass(frozen=True)
class TimeWindow:
    """A part of a run's time; both ends belong to it.

    Parameters
    ----------
    begin, end : int
        ns since the run's origin (`Trace.origin`).

    Examples
    --------
    >>> window = TimeWindow.of_seconds(0.010, 0.020)
    >>> calls = trace.module_calls()
    >>> int(window.lengths(calls["enter"], calls["leave"]).sum()) // 10**6  # ms in modules, of all ranks
    10
    """

    begin: int
    end: int

    @classmethod
    def of_seconds(cls, begin: float | None, end: float | None) -> Self:
        """Make a window of seconds since the run's origin; None leaves that side open.

        Raises
        ------
        TraceError
            One of them is nan, or the window ends before it begins.
        """
        if any(value is not None and math.isnan(value) for value in (begin, end)):
            raise TraceError(
                "a time window must begin and end at a number of seconds, not at nan",
                help="give the seconds since the run's begin, for example 0.5",
            )
        if begin is not None and end is not None and end < begin:
            message = f"the time window ends at {end:g} s, before it begins at {begin:g} s"
            raise TraceError(message, help="exchange the two times")
        first = -FURTHEST if begin is None else _nanoseconds(begin)
        return cls(first, FURTHEST if end is None else _nanoseconds(end))

    def overlaps(self, begins: Array, ends: Array) -> Array:
        """Tell of each block whether a part of it lies in the window: array of bool, shape (n,)."""
        found: Array = (ends >= self.begin) & (begins <= self.end)
        return found

    def clip(self, begins: Array, ends: Array) -> tuple[Array, Array]:
        """Begin and end of each block's part within the window; outside the end is before the begin."""
        return np.maximum(begins, self.begin), np.minimum(ends, self.end)

    def lengths(self, begins: Array, ends: Array) -> Array:
        """Give how long each block lies in the window, ns: array of int64, shape (n,)."""
        first, last = self.clip(begins, ends)
        found: Array = np.maximum(last - first, 0)
        return found


def _nanoseconds(seconds: float) -> int:
    most = FURTHEST // 10**9
    return round(max(-most, min(seconds, most)) * 1e9)
