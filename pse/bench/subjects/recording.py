"""``pse bench recording``: how much longer a program runs when it is recorded.

Pairs of runs, one with ``--trace`` and one without, each second pair the other way round: what both take is
the programs' own time, from their first frame or unit to their last.  An FFT of frame after frame, and the
synthetic application, which computes and communicates on emulated nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pse.bench._calibrate import steps_in
from pse.bench._environments import Place, nodes
from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, in_turn, ratios, run_program, usable_cores

MOST = 1.0
"""Percent that recording may cost."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition.

    Parameters
    ----------
    n, frames : int
        Points of a frame's side; frames, of which the first only warms up.
    units : int
        Units of the synthetic application.
    seconds : float
        What a unit's computing takes; its communicating takes half of that.
    emulated : bool
        Whether the nodes are emulated.
    """

    n: int = 2048
    frames: int = 65
    units: int = 8
    seconds: float = 0.2
    emulated: bool = True

    @property
    def numbers(self) -> int:
        """Numbers that a link of 100 Mbit/s carries in half a unit's time."""
        return max(int(100e6 * self.seconds / 2 / 64), 1)


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure pairs of both programs, in turn."""
    with nodes(2, "100mbit", emulated=sizes.emulated) as place:
        steps = steps_in(sizes.seconds * place.share, usable_cores()[-1])
        measurers = [
            _pairs("fft", functools.partial(_transform, sizes)),
            _pairs("synthetic", functools.partial(_synthetic, sizes, place, steps)),
        ]
        samples = in_turn(repeats, measurers, say)
        words = f"synthetic application, two threads; {place.words}"
    frames = f"2-D FFTs of {sizes.n} × {sizes.n} on one thread"
    return [_figure(frames, "fft", samples), _figure(words, "synthetic", samples)]


def _pairs(name: str, run: Callable[[bool], float]) -> Callable[[], dict[str, float]]:
    """Give what measures two pairs of runs, forth and back, so that a steady drift cancels out."""

    def measurer() -> dict[str, float]:
        off, on, on_again, off_again = (run(traced) for traced in (False, True, True, False))
        return {f"{name}, off": (off + off_again) / 2, f"{name}, on": (on + on_again) / 2}

    return measurer


def _figure(words: str, name: str, samples: Samples) -> Figure:
    off, on = samples[f"{name}, off"], samples[f"{name}, on"]
    longer = tuple(100 * (ratio - 1) for ratio in ratios(on, off))
    against = Against("not recorded", "s", tuple(off), tuple(on))
    return Figure(f"{words}: longer when recorded", "%", "<=", MOST, longer, against)


def _transform(sizes: Sizes, traced: bool) -> float:
    """Median seconds of a frame."""
    times = run_program("fft.coven", {"N": sizes.n, "frames": sizes.frames}, traced=traced)["t"]
    return float(np.median(times[1:, 1] - times[1:, 0])) / 1e9


def _synthetic(sizes: Sizes, place: Place, steps: int, traced: bool) -> float:
    """Seconds of all units, computing and communicating at once."""
    times = run_program(
        "synthetic_2.coven",
        {"units": sizes.units, "steps": steps, "numbers": sizes.numbers},
        options=place.options,
        traced=traced,
        processors=place.processors,
        place=place,
    )["t"].reshape(place.processors, 6)
    return float(times[:, 5].max() - times[:, 4].min()) / 1e9
