"""``pse bench fft``: the 2-D FFT as a program, all its work on one thread, and written by hand.

Both call the same compiled kernel and transpose with the same code; what is left is what the engine adds from
the moment that a frame is there to the moment that its spectrum is: scatter, four call sites, gather, and two
hand-overs.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pse.bench._figures import Against, Figure
from pse.bench._running import in_turn, run_peer, run_program
from pse.errors import RunError


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: points of a side; frames, of which the first only warms up."""

    n: int = 4096
    frames: int = 4


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure both, in turn."""
    samples = in_turn(repeats, [lambda: _program(sizes), lambda: _by_hand(sizes)], say)
    both = zip(samples["ours"], samples["by hand"], strict=True)
    overhead = tuple(100 * (ours / by_hand - 1) for ours, by_hand in both)
    against = Against("by hand, one rank", "s", tuple(samples["by hand"]), tuple(samples["ours"]))
    name = f"2-D FFT of {sizes.n} × {sizes.n} on one thread: longer than by hand"
    return [Figure(name, "%", "<=", 1.0, overhead, against)]


def _program(sizes: Sizes) -> dict[str, float]:
    times = run_program("fft.coven", {"N": sizes.n, "frames": sizes.frames})["t"]
    _check_sums(times[:, 2], sizes)
    return {"ours": float(np.median(times[1:, 1] - times[1:, 0])) / 1e9}


def _by_hand(sizes: Sizes) -> dict[str, float]:
    found = run_peer("fft", 1, sizes.n, sizes.frames)
    _check_sums(found["first"], sizes)
    return {"by hand": statistics.median(found["seconds"][1:])}


def _check_sums(firsts: object, sizes: Sizes) -> None:
    """Make sure that a spectrum was made: its first number is the sum of the frame."""
    sums = [_frame_sum(sizes.n, k) for k in range(sizes.frames)]
    if not np.allclose(np.asarray(firsts, dtype=float), sums, rtol=1e-9):
        raise RunError(f"the spectra are wrong: {firsts} instead of {sums}")


@functools.cache
def _frame_sum(n: int, k: int) -> float:
    """Sum of the numbers of the k-th frame (``programs/frame.c``)."""
    cells = np.arange(n * n, dtype=np.uint64) * np.uint64(2654435761)
    return float(((cells + np.uint64(k)) % np.uint64(1024)).sum()) / 1024
