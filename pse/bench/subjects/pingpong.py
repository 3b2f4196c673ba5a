"""``pse bench pingpong``: 256 MB go to and fro between two threads, with shared memory and without.

The experiment of the multithreading paper.  Each thread works on the whole array before it gives it back;
what is not work is hand-over.  How much work that is decides every share; in the paper the run took 14.2 s
with shared memory and 33.9 s without, 14.2 parts of work to 19.7 of copying.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pse.bench._figures import Against, Figure
from pse.bench._running import Arrays, Samples, in_turn, ratios, run_program
from pse.errors import RunError

PAPER_SECONDS = 14.2, 33.9
"""With shared memory and without."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: bytes; how often to and fro; passes of each thread."""

    bytes: int = 256_000_000
    rounds: int = 4
    passes: int = 6


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure both, in turn."""
    samples = in_turn(repeats, [lambda: _run(sizes, "on"), lambda: _run(sizes, "off")], say)
    return _figures(samples)


def _figures(samples: Samples) -> list[Figure]:
    share = Against("the same through MPI", "% of the run", tuple(samples["off share"]))
    seconds = Against("through MPI", "s", tuple(samples["off"]), tuple(samples["on"]))
    ratio = ratios(samples["on"], samples["off"])
    paper = PAPER_SECONDS[0] / PAPER_SECONDS[1]
    name = f"run with shared memory over run without (the paper: {paper:.2f})"
    return [
        Figure("hand-overs, shared memory", "% of the run", "<=", 0.1, tuple(samples["on share"]), share),
        Figure(name, "×", "<=", 1.0, ratio, seconds),
    ]


def _run(sizes: Sizes, shared: str) -> dict[str, float]:
    """Seconds of the run, and the share of it that is not work."""
    defines = {"bytes": sizes.bytes, "rounds": sizes.rounds, "passes": sizes.passes}
    kept = run_program("pingpong.coven", defines, options=[f"shared_memory={shared}"])
    _check(kept, sizes)
    visits = np.concatenate([kept["a"], kept["b"]])
    run = visits[:, 1].max() - visits[:, 0].min()
    working = (visits[:, 1] - visits[:, 0]).sum()
    return {shared: float(run) / 1e9, f"{shared} share": 100 * float(1 - working / run)}


def _check(kept: Arrays, sizes: Sizes) -> None:
    """Make sure that every visit found the array as the other thread left it."""
    marks = np.sort(np.concatenate([kept["a"][:, 2], kept["b"][:, 2]]))
    if not np.array_equal(marks, sizes.passes * np.arange(2 * sizes.rounds + 1)):
        raise RunError(f"the array was changed on its way: its marks are {marks}")
