"""Bootstrap over launches: the launch is the unit of repetition, so whole launches are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pse._student import student_quantile

Floats = NDArray[np.float64]
Interval = tuple[float, float] | None

DRAWS = 1000
"""How often launches are drawn again."""
LEAST_LAUNCHES = 3
"""With fewer launches there are no intervals."""


def draw_launches(launches: int, draws: int = DRAWS, seed: int = 0) -> NDArray[np.int64]:
    """Draw launches with replacement: indices, of shape (draws, launches)."""
    return np.random.default_rng(seed).integers(0, launches, (draws, launches))


def percentile_interval(found: Floats, launches: int, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Give the interval of bootstrap replicates, along their first axis.

    The percentiles are expanded for few launches (T. Hesterberg, "What teachers should know about the
    bootstrap", The American Statistician 69, 2015): plain ones give intervals that are too narrow.
    """
    reach = student_quantile((1 + confidence) / 2, launches - 1) * sqrt(launches / (launches - 1))
    share = NormalDist().cdf(-reach)
    low, high = np.nanquantile(found, [share, 1 - share], axis=0)
    return low, high


def launch_interval(
    launched: Sequence[float | np.floating] | Floats, statistic: Callable[..., Floats], seed: int = 0
) -> Interval:
    """Give the 95 % interval of a statistic of a number per launch, by bootstrap.

    Parameters
    ----------
    launched : sequence of float, or numpy.ndarray
        A number of each launch, or a row of each.
    statistic : callable
        Takes an array and its ``axis``, as `numpy.median` does.
    seed : int
        Of what is drawn.

    Returns
    -------
    tuple of (float, float) or None
        The interval; None if launches are too few.

    Examples
    --------
    >>> low, high = pse.ace.launch_interval([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], np.median)
    >>> 1.0 <= low < 1.25 < high <= 1.5
    True
    """
    if len(launched) < LEAST_LAUNCHES:
        return None
    drawn = np.array(launched, float)[draw_launches(len(launched), seed=seed)]
    low, high = percentile_interval(statistic(drawn, axis=1), len(launched))
    return float(low), float(high)
