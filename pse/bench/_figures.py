"""What a bench finds: figures with their targets, and what they were measured against.

The rules of the bench (docs/performance.md) that numbers can keep are here, for all subjects.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pse.emulate import launch_interval

Sense = Literal["<=", ">="]

_RISK, _TOLERANCE = 0.05, 1e-9
LEAST_LAUNCHES = 10
"""With fewer launches a figure has no interval, and its verdict is open."""


def interval_of(samples: Sequence[float]) -> tuple[float, float] | None:
    """Give the 95 % interval of the median of launches, by bootstrap; None if they are too few.

    Parameters
    ----------
    samples : sequence of float
        One of each launch.

    Returns
    -------
    tuple of (float, float) or None
        Its ends.

    Examples
    --------
    >>> interval_of([1.0] * 10), interval_of([1.0] * 9)
    ((1.0, 1.0), None)
    """
    return launch_interval(samples, np.median) if len(samples) >= LEAST_LAUNCHES else None


def share_bounds(found: int, trials: int) -> tuple[float, float]:
    """Give the bounds of a share of independent trials, each exact by the binomial law and of 95 %.

    Parameters
    ----------
    found : int
        In how many trials it happened.
    trials : int
        How many there were, at least one.

    Returns
    -------
    tuple of (float, float)
        The lower and the upper one, percent.

    Examples
    --------
    >>> [round(share_bounds(0, trials)[1], 2) for trials in (40, 60)]
    [7.22, 4.87]
    """
    return 100 - _upper_bound(trials - found, trials), _upper_bound(found, trials)


def _upper_bound(found: int, trials: int) -> float:
    """Give the share, percent, with which so few are found in 5 % of all cases: by bisection."""
    low, high = found / trials, 1.0
    while found < trials and high - low > _TOLERANCE:
        share = (low + high) / 2
        fewer = sum(math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(found + 1))
        low, high = (share, high) if fewer > _RISK else (low, share)
    return 100 * high


def _check_samples(what: str, samples: Sequence[float]) -> None:
    if not samples or not all(math.isfinite(sample) for sample in samples):
        raise ValueError(f"{what}: expected at least one sample, all finite, got {list(samples)}")


@dataclass(frozen=True)
class Against:
    """A floor or peer, measured in the same run as the figure.

    Parameters
    ----------
    name : str
        What it is.
    unit : str
        Unit of all its numbers.
    samples : tuple of float
        One for each repetition.
    ours : tuple of float
        What our side measured, in the same unit; empty where the figure's own samples are that.
    bound : bool
        Whether it is the least that our side could ever measure.

    Raises
    ------
    ValueError
        There are no samples, or one isn't finite.

    See Also
    --------
    Figure
    """

    name: str
    unit: str
    samples: tuple[float, ...]
    ours: tuple[float, ...] = ()
    bound: bool = False

    def __post_init__(self) -> None:
        _check_samples(self.name, self.samples)

    @property
    def value(self) -> float:
        """Median of the samples."""
        return statistics.median(self.samples)

    def to_json(self) -> dict[str, Any]:
        """Give what JSON can say."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "samples": list(self.samples),
            "ours": list(self.ours),
        }


@dataclass(frozen=True)
class Figure:
    """One number that a bench measures.

    Parameters
    ----------
    name : str
        What was measured, under which circumstances.
    unit : str
        Its unit; "×" for a ratio.
    sense : str
        "<=" or ">=": on which side of the target is good.
    target : float
        What it should reach.
    samples : tuple of float
        One for each repetition, in the order they were taken.
    against : Against, optional
        The floor or peer of the same run.
    bounds : tuple of (float, float), optional
        Its 95 % interval, where it is not a median of launches; twice the value of what is counted.

    Raises
    ------
    ValueError
        There are no samples, one isn't finite, or the sense is another.

    Examples
    --------
    >>> figure = Figure("hop", "µs", "<=", 4.0, (3.0, 2.5, 3.5), Against("MPI", "µs", (1.5,)))
    >>> figure.value, figure.verdict, figure.ratio
    (3.0, 'open', 2.0)
    """

    name: str
    unit: str
    sense: Sense
    target: float
    samples: tuple[float, ...]
    against: Against | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        _check_samples(self.name, self.samples)
        if self.sense not in ("<=", ">="):
            raise ValueError(f"{self.name}: sense must be <= or >=, not {self.sense!r}")

    @property
    def value(self) -> float:
        """Median of the samples."""
        return statistics.median(self.samples)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval, by default of the median; None if there are too few launches."""
        return self.bounds or interval_of(self.samples)

    @property
    def verdict(self) -> str:
        """Whether the target is reached.

        "holds" or "missed" if all of the interval is on one side of it, "open" if the target is inside, and
        "wrong bound" if less was measured than a bound allows.
        """
        low, high = self.interval or (-math.inf, math.inf)
        if self._beats_bound:
            return "wrong bound"
        if self.sense == ">=":
            low, high = -high, -low
        target = self.target if self.sense == "<=" else -self.target
        return "holds" if high <= target else "missed" if low > target else "open"

    @property
    def _beats_bound(self) -> bool:
        """Whether our side was quicker than its bound, round by round, by more than noise."""
        if self.against is None or not self.against.bound:
            return False
        ours = self.against.ours or self.samples
        interval = interval_of([a / b for a, b in zip(ours, self.against.samples, strict=True)])
        return interval is not None and interval[1] < 1.0

    @property
    def ratio(self) -> float | None:
        """Our median over the floor's or peer's, in one unit; None where there is nothing to compare with."""
        if self.against is None or self.against.value == 0:
            return None
        return statistics.median(self.against.ours or self.samples) / self.against.value

    def to_json(self) -> dict[str, Any]:
        """Give what JSON can say."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "sense": self.sense,
            "target": self.target,
            "verdict": self.verdict,
            "interval": list(self.interval) if self.interval else None,
            "samples": list(self.samples),
            "against": self.against.to_json() if self.against else None,
        }


@dataclass(frozen=True)
class Result:
    """What one bench found, and where.

    Parameters
    ----------
    bench : str
        Its name.
    figures : tuple of Figure
        What was measured.
    environment : mapping of str to value
        From `describe_machine`.

    See Also
    --------
    Figure, print_result
    """

    bench: str
    figures: tuple[Figure, ...]
    environment: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Give the object that ``pse bench NAME --json`` prints."""
        return {
            "bench": self.bench,
            "figures": [figure.to_json() for figure in self.figures],
            "environment": dict(self.environment),
        }
