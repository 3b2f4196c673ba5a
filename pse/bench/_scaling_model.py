"""How a time grows with the number of ranks: the law that fits what was measured, and how sure it is.

T(p) = a + b · f(p), with f(p) = log₂ p or p: what p ranks do in trees, or for each rank.  The law is
the one that leaves less of what was measured unexplained; its interval comes from repetitions that are drawn
anew, since jobs of one repetition share the state of the machine (B. Efron: Bootstrap methods, Annals of
Statistics 7 (1979)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LAWS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {"log₂ p": np.log2, "p": np.asarray}
_DRAWN = 2000
_SHARE = 95  # % of drawn fits that lie in an interval.


@dataclass(frozen=True)
class Growth:
    """A law of growth, T(p) = first + added · f(p).

    Parameters
    ----------
    law : str
        f(p): ``log₂ p`` or ``p``.
    first, added : float
        The fit to all repetitions, in the unit of the times; `added` may be below 0 by chance.
    drawn : array of float64, shape (fits, 2)
        The same of repetitions drawn anew.
    """

    law: str
    first: float
    added: float
    drawn: NDArray[np.float64]

    @property
    def interval(self) -> tuple[float, float]:
        """Where 95 % of the drawn fits have `added`."""
        low, high = np.percentile(self.drawn[:, 1], [50 - _SHARE / 2, 50 + _SHARE / 2])
        return float(low), float(high)

    def more(self, numbers: Sequence[int], times: Sequence[float], number: int) -> float:
        """What one repetition's fit of the law adds for a number of ranks; growth below 0 counts as none."""
        f = _LAWS[self.law]
        _, added = _fit(f(np.asarray(numbers, float)), np.asarray(times, float))
        return max(float(added), 0.0) * float(f(np.array([float(number)]))[0])


def fit_growth(numbers: Sequence[int], times: Sequence[Sequence[float]]) -> Growth:
    """Fit a law to times of jobs with several numbers of ranks.

    Parameters
    ----------
    numbers : sequence of int
        How many ranks; at least two different numbers.
    times : sequence of sequences of float
        For each number a time of each repetition.

    Returns
    -------
    Growth
        The law that fits best, by least squares.

    Examples
    --------
    >>> found = fit_growth([1, 2, 4, 8], [[5.0, 5.0], [6.0, 6.0], [7.0, 7.0], [8.0, 8.0]])
    >>> found.law, round(found.first, 6), round(found.added, 6)
    ('log₂ p', 5.0, 1.0)
    """
    measured = np.asarray(times, float)
    ranks = np.asarray(numbers, float)
    fits = {law: _fit(f(ranks), measured.mean(axis=1)) for law, f in _LAWS.items()}
    left = {law: _left(_LAWS[law](ranks), measured, fit) for law, fit in fits.items()}
    law = min(left, key=lambda name: left[name])
    draws = np.random.default_rng(0).integers(0, measured.shape[1], (_DRAWN, measured.shape[1]))
    drawn = np.array([_fit(_LAWS[law](ranks), measured[:, draw].mean(axis=1)) for draw in draws])
    return Growth(law, float(fits[law][0]), float(fits[law][1]), drawn)


def _fit(x: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intercept and slope by least squares."""
    slope = float(((x - x.mean()) * (times - times.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return np.array([times.mean() - slope * x.mean(), slope])


def _left(x: NDArray[np.float64], measured: NDArray[np.float64], fit: NDArray[np.float64]) -> float:
    """The squares that a fit leaves."""
    return float(((measured - (fit[0] + fit[1] * x)[:, None]) ** 2).sum())
