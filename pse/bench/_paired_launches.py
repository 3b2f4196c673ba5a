"""Launches of one program in several ways, compared with the same launched plainly.

Each round launches it in all ways, in another order, and plainly twice: a way is compared with the geometric
mean of its round's two plain launches, so that neighbours and slow drift cancel out; and one plain launch
with the other, which shows what the comparison can tell apart.  The launch is what is repeated, since where
memory and ranks are placed differs between launches, not within one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from math import sqrt

import numpy as np

from pse.bench._running import ratios
from pse.emulate import launch_interval

Launch = Callable[[], Mapping[str, float]]
"""Launches a program, and gives what it measured, by name."""
_PLAIN = ("plain", "plain again")


class PairedLaunches:
    """Launches of a program in turn, plainly and in other ways.

    Parameters
    ----------
    plain : callable
        Launches the program plainly.
    ways : mapping of str to callable
        Launch it in other ways.
    """

    def __init__(self, plain: Launch, ways: Mapping[str, Launch]) -> None:
        self._ways = dict.fromkeys(_PLAIN, plain) | dict(ways)
        self._order, self._random = list(self._ways), random.Random(0)
        self.rounds: list[dict[str, Mapping[str, float]]] = []

    def launch(self, rounds: int) -> None:
        """Launch the program in all ways, so many times."""
        for _ in range(rounds):
            self._random.shuffle(self._order)
            self.rounds.append({way: self._ways[way]() for way in self._order})

    def plain(self, quantity: str) -> list[float]:
        """Give what was measured plainly in each round."""
        first, second = (self._of(way, quantity) for way in _PLAIN)
        return [sqrt(one * other) for one, other in zip(first, second, strict=True)]

    def more(self, way: str, quantity: str, over: str | None = None) -> list[float]:
        """Give by how many percent a way had more than plain launches, or another way, in each round."""
        base = self._of(over, quantity) if over else self.plain(quantity)
        return _percents(self._of(way, quantity), base)

    def control(self, quantity: str) -> list[float]:
        """Give by how many percent one plain launch had more than the other, in each round."""
        first, second = (self._of(way, quantity) for way in _PLAIN)
        return _percents(second, first)

    def added(self, way: str, quantity: str) -> float:
        """Give the median of what a way had more than plain launches, in the quantity's unit."""
        return float(np.median(np.subtract(self._of(way, quantity), self.plain(quantity))))

    def _of(self, way: str, quantity: str) -> list[float]:
        return [found[way][quantity] for found in self.rounds]


def _percents(upper: list[float], lower: list[float]) -> list[float]:
    return [100 * (ratio - 1) for ratio in ratios(upper, lower)]


def interval_text(percents: list[float]) -> str:
    """Write the 95 % interval of a median by bootstrap; few launches have none."""
    interval = launch_interval(percents, np.median)
    return "no interval" if interval is None else f"95 %: {interval[0]:.2f} to {interval[1]:.2f} %"
