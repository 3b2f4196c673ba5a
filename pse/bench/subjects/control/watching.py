"""``pse bench watching``: how much longer a program runs that can be controlled, and one that is watched.

Plain runs and runs with ``--control``, forth and back so that a steady drift cancels out; what they take is
the program's own time, from its first round on.  And a run whose three tags are watched, as a user would, and
left alone in turn: rounds while they are watched are set beside those just before and after, so that nothing
between two launches counts.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, in_turn, ratios, run_program
from pse.errors import RunError
from pse.runtime.control import Recording, running

MOST = 1.0
"""Percent that either may cost."""
TAGS = ("u", "v", "w")
_KINDS = ("plain", "controlled")


@dataclass(frozen=True)
class Sizes:
    """How much is measured: rows of the arrays, rounds, steps of other work in each; seconds of a turn."""

    n: int = 1024
    rounds: int = 2000
    watched_rounds: int = 2000  # Of the run that is watched in turns.
    steps: int = 3_000_000
    turn: float = 0.5


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure runs of all kinds, in turn."""
    samples = in_turn(repeats, [lambda: _forth_and_back(sizes), lambda: _watched_in_turns(sizes)], say)
    return [
        _figure("that can be controlled: longer than plain", "controlled", "plain", samples),
        _figure("while three tags are watched: longer than unwatched", "watched", "unwatched", samples),
    ]


def _figure(words: str, name: str, base: str, samples: Samples) -> Figure:
    longer = tuple(100 * (ratio - 1) for ratio in ratios(samples[name], samples[base]))
    against = Against(base, "s", tuple(samples[base]), tuple(samples[name]))
    return Figure(f"a program {words}", "%", "<=", MOST, longer, against)


def _forth_and_back(sizes: Sizes) -> dict[str, float]:
    times: dict[str, float] = dict.fromkeys(_KINDS, 0.0)
    for kind in (*_KINDS, *reversed(_KINDS)):
        ends = _round_ends(sizes, sizes.rounds, _name() if kind == "controlled" else None)
        times[kind] += float(ends[-1] - ends[0]) / 2
    return times


def _name() -> str:
    return f"bench-{os.getpid()}"


def _round_ends(sizes: Sizes, rounds: int, name: str | None) -> npt.NDArray[np.float64]:
    """Run the program once, controlled by a name; gives the clock at its beginning and after each round."""
    defines = {"N": sizes.n, "rounds": rounds, "steps": sizes.steps}
    how = ("--control", name) if name else ()
    return run_program("watching.coven", defines, more=how, processors=2)["t"]


def _watched_in_turns(sizes: Sizes) -> dict[str, float]:
    """Give the seconds of a round, in the median of turns, while tags are watched and while they are not."""
    watcher = _Watcher(_name(), sizes.turn)
    try:
        ends = _round_ends(sizes, sizes.watched_rounds, _name())
    finally:
        watcher.finish()
    rounds = np.array([_rounds(ends, begin, end, sizes.turn) for begin, end in watcher.turns])
    rounds = rounds[np.isfinite(rounds).all(axis=1)] if watcher.turns else rounds
    if not len(rounds):
        raise RunError(f"no turn was watched: {watcher.said}", help="give it more rounds")
    unwatched = float(np.median(rounds[:, 0]))
    return {"unwatched": unwatched, "watched": unwatched * float(np.median(rounds[:, 1] / rounds[:, 0]))}


def _rounds(ends: npt.NDArray[np.float64], begin: float, end: float, turn: float) -> tuple[float, float]:
    """Give the mean seconds of a round just before and after a turn, and in it; NaN where there is none."""
    beside = _mean_round(ends, begin - turn, begin) + _mean_round(ends, end, end + turn)
    return beside / 2, _mean_round(ends, begin, end)


def _mean_round(ends: npt.NDArray[np.float64], begin: float, end: float) -> float:
    inside = ends[(ends >= begin) & (ends <= end)]
    return float(inside[-1] - inside[0]) / (len(inside) - 1) if len(inside) > 1 else np.nan


class _Watcher(threading.Thread):
    """Watches tags of a run in every second turn; `turns` says from when to when, by the monotonic clock."""

    def __init__(self, name: str, turn: float) -> None:
        super().__init__(daemon=True)
        self.turns: list[tuple[float, float]] = []
        self.said = "the run was too short"
        self._name, self._turn, self._over = name, turn, threading.Event()
        self.start()

    def run(self) -> None:
        while self._name not in running() and not self._over.wait(self._turn / 10):
            pass
        while not self._over.wait(self._turn):
            begin = time.monotonic()
            recordings = [Recording(self._name, tag) for tag in TAGS]
            self._over.wait(self._turn)
            frames = [recording.finish() for recording in recordings]
            if any(frames):
                self.turns.append((begin, time.monotonic()))
            else:
                self.said = "; ".join(recording.said for recording in recordings)

    def finish(self) -> None:
        """End it, when the run has."""
        self._over.set()
        self.join()
