"""``pse bench watching``: how much longer a program runs that can be controlled, and one that is watched.

Runs of three kinds, forth and back so that a steady drift cancels out: plain, with ``--control``, and with
three tags watched as a user would.  What all take is the program's own time, from its first round on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, in_turn, ratios, run_program
from pse.errors import RunError
from pse.runtime.control import Recording

MOST = 1.0
"""Percent that either may cost."""
TAGS = ("u", "v", "w")
_KINDS = ("plain", "controlled", "watched")


@dataclass(frozen=True)
class Sizes:
    """How much is measured: rows of the arrays, rounds, steps of other work in each."""

    n: int = 1024
    rounds: int = 2000
    steps: int = 3_000_000


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure runs of all kinds, in turn."""
    samples = in_turn(repeats, [lambda: _forth_and_back(sizes)], say)
    return [
        _figure("that can be controlled", "controlled", samples),
        _figure("of which three tags are watched", "watched", samples),
    ]


def _figure(words: str, name: str, samples: Samples) -> Figure:
    longer = tuple(100 * (ratio - 1) for ratio in ratios(samples[name], samples["plain"]))
    against = Against("plain", "s", tuple(samples["plain"]), tuple(samples[name]))
    return Figure(f"a program {words}: longer than plain", "%", "<=", MOST, longer, against)


def _forth_and_back(sizes: Sizes) -> dict[str, float]:
    times: dict[str, float] = dict.fromkeys(_KINDS, 0.0)
    for kind in (*_KINDS, *reversed(_KINDS)):
        times[kind] += _seconds(kind, sizes) / 2
    return times


def _seconds(kind: str, sizes: Sizes) -> float:
    """Run the program once; gives the seconds of its rounds."""
    name = f"bench-{os.getpid()}"
    watched = [Recording(name, tag) for tag in TAGS] if kind == "watched" else []
    try:
        defines = {"N": sizes.n, "rounds": sizes.rounds, "steps": sizes.steps}
        how = () if kind == "plain" else ("--control", name)
        return float(run_program("watching.coven", defines, more=how, processors=2)["t"][0])
    finally:
        _require_frames(watched)


def _require_frames(recordings: Iterable[Recording]) -> None:
    for recording in recordings:
        if not recording.finish():
            raise RunError(f"no frame of {recording.tag}: {recording.said}", help="give it more rounds")
