"""Times of an OTF2 archive as nanoseconds: ticks of any frequency, corrected by the archive's clock offsets.

A time t (ticks) is t + o1 + (o2 - o1) / (l2 - l1) * (t - l1) on the archive's common clock, where o1
and o2 are the offsets measured at l1 and l2.  Both steps, correction and ticks to ns, are one exact fraction
that is rounded once, to the nearest ns; a clock of 1 ns a tick without offsets is not changed at all.

May touch: nothing.  Next room: ``otf2_location_reader.py`` converts every event with it.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

NS = 10**9
MASK = 2**64 - 1


def converter(resolution: int, offsets: Sequence[tuple[int, int]] = ()) -> Callable[[int], int]:
    """Make a function from ticks of one location to ns.

    Parameters
    ----------
    resolution : int
        Ticks per second.
    offsets : sequence of (int, int)
        Times and offsets, both in ticks; before the first and after the last two, their line goes on.
    """
    points = sorted(dict(offsets).items())
    if len(points) < 2:
        return _line(resolution, *(points or [(0, 0)])[0], Fraction(0))
    lines = [
        _line(resolution, l1, o1, Fraction(o2 - o1, l2 - l1))
        for (l1, o1), (l2, o2) in itertools.pairwise(points)
    ]
    if len(lines) == 1:
        return lines[0]
    borders = [time for time, _ in points[1:-1]]
    return lambda ticks: lines[bisect.bisect_right(borders, ticks)](ticks)


def _line(resolution: int, time: int, offset: int, slope: Fraction) -> Callable[[int], int]:
    factor = (1 + slope) * Fraction(NS, resolution)
    shift = (offset - slope * time) * Fraction(NS, resolution) + Fraction(1, 2)
    if factor == 1 and shift == Fraction(1, 2):
        return lambda ticks: ticks
    below = factor.denominator * shift.denominator
    a, b = int(factor * below), int(shift * below)
    return lambda ticks: (a * ticks + b) // below & MASK
