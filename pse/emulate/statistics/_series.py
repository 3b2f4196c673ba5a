"""Time series of cycles: autocorrelation, outliers, their period, and places where the level changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import exp, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pse.emulate.statistics._bootstrap import Floats

LAGS = 10
"""Autocorrelations are given for so many lags."""
FAR = 6.0
"""An outlier is so many standard deviations from the median; the median of absolute deviations tells them."""
LEAST_SHARE = 0.05
"""Outliers and changes are at least so large a part of the median."""
LEAST_CYCLES = 16
"""Levels last so many cycles at least."""
LEVEL = 1e-3
"""Probability of a change of level, or of a period, in a series that has none."""
WHOLE = 0.02
"""A fitted period that is so near to a whole number of cycles is that number."""
_MAD = 1 / NormalDist().inv_cdf(0.75)


@dataclass(frozen=True)
class Change:
    """A cycle from which on a series has another level.

    Parameters
    ----------
    cycle : int
        The first one, as a place in the series.
    before, after : float
        Medians on both sides, up to the changes next to this one.

    See Also
    --------
    find_changes
    """

    cycle: int
    before: float
    after: float


@dataclass(frozen=True)
class Period:
    """Outliers that come again.

    Parameters
    ----------
    cycles : float
        From one to the next.
    first : int
        The first of them, as a place in the series.
    count : int
        How many there are.
    excess : float
        By how much they exceed the median of all, itself a median.

    See Also
    --------
    find_period
    """

    cycles: float
    first: int
    count: int
    excess: float


def autocorrelation(series: Floats, lags: int = LAGS) -> Floats:
    """Give the autocorrelation of a series.

    Parameters
    ----------
    series : array, shape (n,)
        Values in their order.
    lags : int, default 10
        The greatest lag.

    Returns
    -------
    array, shape (lags,)
        For lags from 1 on; nan where the series is too short or constant.

    Examples
    --------
    >>> import numpy as np
    >>> autocorrelation(np.tile([1.0, -1.0], 50), 2).round(2).tolist()
    [-0.99, 0.98]
    """
    centred = series - series.mean()
    power = float(centred @ centred)
    found = np.full(lags, np.nan)
    if power > 1e-24 * float(series @ series):
        for lag in range(1, min(lags, len(series) - 2) + 1):
            found[lag - 1] = float(centred[lag:] @ centred[:-lag]) / power
    return found


def outliers(series: Floats) -> NDArray[np.bool_]:
    """Say which values are far from the median: by `FAR` deviations, and by `LEAST_SHARE` of it."""
    centre = float(np.median(series))
    away = np.abs(series - centre)
    return np.asarray(away > max(FAR * _MAD * float(np.median(away)), LEAST_SHARE * abs(centre)))


def find_period(series: Floats) -> Period | None:
    """Find the period with which large values come again.

    The spectrum of the places of outliers tells it: it is the lowest frequency whose power is near the
    greatest.  Irregular outliers may be more than periodic ones, so all are tried, then the greater ones.

    Parameters
    ----------
    series : array, shape (n,)
        Values in their order.

    Returns
    -------
    Period or None
        None: large values come irregularly, or are too few.

    Examples
    --------
    >>> import numpy as np
    >>> series = np.linspace(1.0, 1.01, 1000)
    >>> series[5::100] += 1.0
    >>> find_period(series).cycles
    100.0
    """
    excess = series - np.median(series)
    far = outliers(series) & (excess > 0)
    while 4 <= far.sum() <= len(series) / 2:
        found = _period_of(series, far)
        if found is not None:
            return found
        far &= excess > 2 * excess[far].min()
    return None


def _period_of(series: Floats, far: NDArray[np.bool_]) -> Period | None:
    """Guess a period from the spectrum, fit it to the places near its multiples, and test it."""
    places, room = np.flatnonzero(far), 8 * len(series)
    power = np.abs(np.fft.rfft(far, room)) / len(places)
    power[: room // len(series)] = 0  # Fewer than one period in the series.
    lowest = int(np.argmax(power >= 0.9 * power.max()))
    while lowest + 1 < len(power) and power[lowest + 1] > power[lowest]:
        lowest += 1
    if not lowest:
        return None
    steps = np.cumsum(np.concatenate([[0], np.round(np.diff(places) * lowest / room)]))
    kept = np.abs(places - places[0] - steps * room / lowest) <= max(1.0, 0.1 * room / lowest)
    if kept.sum() < 4 or np.ptp(steps[kept]) < 3:
        return None
    slope, start = np.polyfit(steps[kept], places[kept], 1)
    if slope < 2:
        return None
    if abs(slope - round(slope)) < WHOLE:
        slope = round(slope)
    off = np.abs(start + slope * np.round((places - start) / slope) - places)
    for reach, window in ((0.5, 1), (1.0, 3)):
        regular = places[off <= reach]
        if _is_regular(len(regular), len(places), slope, len(series), window):
            excess = float(np.median(series[regular]) - np.median(series))
            return Period(round(float(slope), 2), int(regular[0]), len(regular), excess)
    return None


def _is_regular(regular: int, count: int, period: float, length: int, window: int) -> bool:
    """Say whether more of some places are in windows about a period's multiples than chance puts there.

    Each window has one of the places with the same probability; there are as many periods and phases to
    choose from as the series is long, times the period.
    """
    expected = max(int(length / period), regular)
    if regular < 0.7 * max(count, expected):
        return False
    ways = lgamma(expected + 1) - lgamma(regular + 1) - lgamma(expected - regular + 1)
    chance = min(1.0, window * count / length)
    return ways + regular * log(chance) + log(length * period) < log(LEVEL)


def find_changes(series: Floats) -> tuple[Change, ...]:
    """Find where the level of a series changes, by binary segmentation.

    The statistic is the greatest cumulative sum of ranks over their long-run deviation, so that neither late
    messages nor autocorrelation look like a change.

    Parameters
    ----------
    series : array, shape (n,)
        Values in their order.

    Returns
    -------
    tuple of Change
        In their order; those of less than 5 % of the level are left out.

    Examples
    --------
    >>> import numpy as np
    >>> find_changes(np.repeat([1.0, 2.0], 100))
    (Change(cycle=100, before=1.0, after=2.0),)
    """
    cuts = sorted(_cuts(series, 0, len(series)))
    edges = [0, *cuts, len(series)]
    levels = [float(np.median(series[begin:end])) for begin, end in pairwise(edges)]
    return tuple(
        Change(cut, before, after)
        for cut, (before, after) in zip(cuts, pairwise(levels), strict=True)
        if abs(after - before) >= LEAST_SHARE * abs(before)
    )


def _cuts(series: Floats, begin: int, end: int) -> list[int]:
    part = series[begin:end]
    if len(part) < 2 * LEAST_CYCLES or np.ptp(part) == 0:
        return []
    ordinal = _ordinals(part)
    sums = np.cumsum(ordinal)[:-1]
    allowed = np.abs(sums[LEAST_CYCLES - 1 : len(part) - LEAST_CYCLES])
    cut = int(allowed.argmax()) + LEAST_CYCLES
    deviation = _long_run_deviation(ordinal, cut)
    reach = float(allowed.max()) / (deviation * sqrt(len(part)))
    if 2 * exp(-2 * reach**2) > LEVEL:  # The tail of Kolmogorov's distribution.
        return []
    return [begin + cut, *_cuts(series, begin, begin + cut), *_cuts(series, begin + cut, end)]


def _ordinals(part: Floats) -> Floats:
    """Give the rank of each value among all, centred; equal values share a rank."""
    _, where, counts = np.unique(part, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(middles[where] - (len(part) + 1) / 2)


def _long_run_deviation(ordinal: Floats, cut: int) -> float:
    """Give the deviation of sums per root of their length, each side of the cut about its own mean."""
    left = np.concatenate([ordinal[:cut] - ordinal[:cut].mean(), ordinal[cut:] - ordinal[cut:].mean()])
    size = max(1, round(len(left) ** (1 / 3)))
    batches = left[: len(left) // size * size].reshape(-1, size).sum(axis=1)
    first = float(np.nan_to_num(autocorrelation(left, 1)[0]).clip(0.0, 0.95))
    markov = float(left.std()) * sqrt((1 + first) / (1 - first))
    return max(float(batches.std()) / sqrt(size), markov, 1e-12)
