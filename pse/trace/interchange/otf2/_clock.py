"""Times of an OTF2 archive as nanoseconds: ticks of any frequency, corrected by the archive's clock offsets.

A time t (ticks) is t + o1 + (o2 - o1) / (l2 - l1) * (t - l1) on the archive's common clock, where o1
and o2 are the offsets measured at l1 and l2.  Both steps, correction and ticks to ns, are one exact fraction
that is rounded once, to the nearest ns; a clock of 1 ns a tick without offsets is not changed at all.  What
rounding takes away is known too (`residual`): of a clock that is finer than 1 ns nothing need be lost.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from fractions import Fraction

NS = 10**9
MASK = 2**64 - 1
PARTS = 2**16
"""Residuals are counted in these parts of a ns."""


class Clock:
    """Converts ticks of one location to ns.

    Parameters
    ----------
    resolution : int
        Ticks per second.
    offsets : sequence of (int, int)
        Times and offsets, both in ticks; before the first and after the last two, their line goes on.

    Attributes
    ----------
    is_exact : bool
        Whether every tick is a whole number of ns.
    """

    def __init__(self, resolution: int, offsets: Sequence[tuple[int, int]] = ()) -> None:
        points = sorted(dict(offsets).items())
        if len(points) < 2:
            lines = [(*(points or [(0, 0)])[0], Fraction(0))]
        else:
            lines = [
                (l1, o1, Fraction(o2 - o1, l2 - l1)) for (l1, o1), (l2, o2) in itertools.pairwise(points)
            ]
        self._lines = [_line(resolution, *line) for line in lines]
        self._borders = [time for time, _ in points[1:-1]]
        self.is_exact = all(a % below == 0 and 2 * b % (2 * below) == below for a, b, below in self._lines)

    def ns(self, ticks: int) -> int:
        """The nearest ns, modulo 2**64."""
        a, b, below = self._line_at(ticks)
        return (a * ticks + b) // below & MASK

    def residual(self, ticks: int) -> int:
        """What has to be added to `ns` to have the time itself, in `PARTS` of a ns: from -PARTS/2."""
        a, b, below = self._line_at(ticks)
        return (a * ticks + b) % below * PARTS // below - PARTS // 2

    def _line_at(self, ticks: int) -> tuple[int, int, int]:
        if not self._borders:
            return self._lines[0]
        return self._lines[bisect.bisect_right(self._borders, ticks)]


def _line(resolution: int, time: int, offset: int, slope: Fraction) -> tuple[int, int, int]:
    """Numbers a, b, c so that (a * ticks + b) // c is the nearest ns."""
    factor = (1 + slope) * Fraction(NS, resolution)
    shift = (offset - slope * time) * Fraction(NS, resolution) + Fraction(1, 2)
    below = factor.denominator * shift.denominator
    return int(factor * below), int(shift * below), below
