"""Times of a rank of which a repair of its clock has moved events."""

from __future__ import annotations

import numpy as np

from pse.records import dataclass
from pse.trace.format._field_values import Array

AMORTISATION = 100_000
"""One n-th of a rank's time is gained after an event was moved, until its own time is reached."""


@dataclass(frozen=True)
class MovedTimes:
    """Which events of a rank were moved, and what that moves with them; all arrays are int64, ns.

    Parameters
    ----------
    were, are : array of int64, shape (events,)
        When events were that had to be moved, ascending, and when they are.  What follows such an event is
        later, too; by one `AMORTISATION`-th less than the time since then.
    ends, shifts : array of int64, shape (ends,)
        Ends of lines, ascending, and how much later times are there beside that; 0 before and after all.
        Where two ends are of one time, the second holds from then on.

    Examples
    --------
    >>> moved = MovedTimes(*map(np.array, ([100], [110], [0, 100, 100], [0, 10, 0])))
    >>> moved.of(np.array([0, 50, 99, 100, 200])).tolist()
    [0, 55, 108, 110, 210]
    """

    were: Array
    are: Array
    ends: Array
    shifts: Array

    def of(self, times: Array) -> Array:
        """Times after events were moved.

        Parameters
        ----------
        times : array of int64, shape (n,)
            Times before, ns.

        Returns
        -------
        array of int64, shape (n,)
            ns.
        """
        if not len(self.were):
            return times
        last = np.searchsorted(self.were, times, side="right") - 1
        since = times - self.were[np.maximum(last, 0)]
        later = self.are[np.maximum(last, 0)] + since - since // AMORTISATION
        moved: Array = np.where(last >= 0, np.maximum(times, later), times)
        return moved + self._shift(times)

    def _shift(self, times: Array) -> Array:
        """What the lines add."""
        at = np.searchsorted(self.ends, times, side="right")
        inside = (at > 0) & (at < len(self.ends))
        left = at[inside] - 1
        since, length = times[inside] - self.ends[left], self.ends[left + 1] - self.ends[left]
        rise = self.shifts[left + 1] - self.shifts[left]
        shift = np.zeros(len(times), "<i8")
        shift[inside] = self.shifts[left] + np.floor(rise / length * since).astype("<i8")
        return shift
