"""How a round of control grows with the number of processors: fits, and a simulation of the protocol.

In a round every processor contributes a number, and gets the result back: up to the first processor and down
again, along a tree or (flat) straight.  Every message costs its sender and its receiver a while, one after
the other, and is under way for α + β · bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Model:
    """What a message costs, in seconds.

    Attributes
    ----------
    latency : float
        α: how long one without content is under way.
    per_byte : float
        β: how much longer for each byte.
    handling : float
        What its sender spends on it, and its receiver.
    """

    latency: float
    per_byte: float
    handling: float

    def under_way(self, size: float) -> float:
        """Seconds that so many bytes are under way."""
        return self.latency + self.per_byte * size


def fit_line(sizes: Sequence[float], times: Sequence[float]) -> tuple[float, float]:
    """Fit α + β · size to measured times, each weighted by 1/time²; both at least 0.

    Examples
    --------
    >>> fit_line([0, 1000, 100_000], [2.0, 2.1, 12.0])
    (2.0, 0.0001)
    """
    x, t = np.asarray(sizes, float), np.asarray(times, float)
    (alpha, beta), *_ = np.linalg.lstsq(np.stack([1 / t, x / t], axis=1), np.ones(len(t)), rcond=None)
    return max(round(float(alpha), 12), 0.0), max(round(float(beta), 15), 0.0)


def power(numbers: Sequence[float], times: Sequence[float]) -> float:
    """Fit times ∝ number^p; gives p.

    Examples
    --------
    >>> round(power([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(np.asarray(numbers, float)), np.log(np.asarray(times, float)), 1)[0])


def simulate(processors: int, model: Model, arity: int, content: int) -> float:
    """Time of a round along a tree in which each processor has up to `arity` below it, in seconds.

    Parameters
    ----------
    processors : int
        How many; the tree is a heap, its top is the first.  With an arity of `processors` it is flat.
    model : Model
        What a message costs.
    arity : int
        How many there are below each.
    content : int
        Bytes of a message.
    """
    way = model.under_way(content)
    return _down(processors, arity, way, model.handling, _up(processors, arity, way, model.handling))


def _children(place: int, processors: int, arity: int) -> range:
    first = place * arity + 1
    return range(first, min(first + arity, processors))


def _up(processors: int, arity: int, way: float, handling: float) -> float:
    """When the top has taken all contributions: each place sends on when it has all from below it."""
    sent = np.zeros(processors)
    for place in range(processors - 1, -1, -1):
        now = 0.0
        for came in sorted(sent[child] + way for child in _children(place, processors, arity)):
            now = max(now, came) + handling
        sent[place] = now + handling * (place > 0)
    return float(sent[0])


def _down(processors: int, arity: int, way: float, handling: float, start: float) -> float:
    """When the last has the result; each place tells those below it one after the other."""
    has = np.zeros(processors)
    has[0] = start
    for place in range(processors):
        for order, child in enumerate(_children(place, processors, arity)):
            has[child] = has[place] + (order + 1) * handling + way + handling
    return float(has.max())
