"""Medians and their confidence intervals, without assumptions about how times are distributed.

The interval of a median is between two of the sorted values: that the median lies outside of the k-th
smallest and the k-th largest of n has the probability 2 P(B < k), B binomial with n and 1/2.  Few values
can't give much confidence (5 give 93.75 % at most), so the confidence is always said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

CONFIDENCE = 0.95
"""What an interval is to have if there are values enough."""


class Interval(NamedTuple):
    """A median, the bounds of its confidence interval, and that confidence."""

    median: float
    low: float
    high: float
    confidence: float


def median(values: Sequence[float]) -> Interval:
    """Give the median and the narrowest symmetric interval of order statistics with 95 % confidence.

    Where all values together have less (fewer than six), they are the interval, with the confidence that it
    has.

    Parameters
    ----------
    values : sequence of float
        At least one.

    Examples
    --------
    >>> median([5.0, 1.0, 2.0, 3.0, 4.0])
    Interval(median=3.0, low=1.0, high=5.0, confidence=0.9375)
    >>> median([2.0])
    Interval(median=2.0, low=2.0, high=2.0, confidence=0.0)
    """
    ordered = sorted(values)
    count = len(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    outside = 1
    while outside < (count + 1) // 2 and _confidence(count, outside + 1) >= CONFIDENCE:
        outside += 1
    return Interval(middle, ordered[outside - 1], ordered[-outside], _confidence(count, outside))


def _confidence(count: int, outside: int) -> float:
    """How likely the median lies between the `outside`-th smallest and largest of so many values."""
    return max(0.0, 1.0 - 2.0 * sum(math.comb(count, k) for k in range(outside)) / 2.0**count)
