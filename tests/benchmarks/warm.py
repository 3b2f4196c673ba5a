"""Allocate, touch every page of, and free 64 MiB, again and again.

The arena gives the same pages back while they are warm; the system takes NumPy's memory away at every free
and hands out empty pages, one fault each, at every touch.  Runs in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pse.bench import Against, Figure, in_turn, ratios
from pse.bench._floors import touch
from pse.memory import Arena


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: bytes, and how often."""

    size: int = 64 << 20
    turns: int = 10


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure both, in turn."""
    arena = Arena.create(4 * sizes.size)

    def shared() -> NDArray[np.uint8]:
        return arena.allocate(sizes.size, "u1").array

    def fresh() -> NDArray[np.uint8]:
        return np.empty(sizes.size, np.uint8)

    touch(shared())
    measurers = [
        lambda: {"arena": _milliseconds(shared, sizes.turns)},
        lambda: {"numpy": _milliseconds(fresh, sizes.turns)},
    ]
    samples = in_turn(repeats, measurers, say)
    against = Against("numpy.empty, touch, free", "ms", tuple(samples["numpy"]), ours=tuple(samples["arena"]))
    faster = ratios(samples["numpy"], samples["arena"])
    return [Figure("64 MiB allocate, touch, free: times faster than NumPy", "×", ">=", 10.0, faster, against)]


def _milliseconds(allocate: Callable[[], NDArray[np.uint8]], turns: int) -> float:
    """Median of one turn; the array is freed within it."""
    times = []
    for _ in range(turns):
        begin = time.perf_counter_ns()
        touch(allocate())
        times.append(time.perf_counter_ns() - begin)
    return float(np.median(times)) / 1e6
