"""Distributed Fourier transforms of the standard library beside FFTW's own MPI transform.

Spectra stay cut along the second axis on both sides, so that one exchange is enough.  All jobs live at once
and take turns, as in ``pse bench programs``; frames are made by one function, and after each turn the sums of
the last frame are compared, which are exact.  FFTW's MPI library is the one that `PSE_FFTW_MPI` names (built
for this MPI: ``examples/experiments/build_fftw_mpi.sh``), started in all the ways that a careful user would
try; the quickest one decides.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from pse.bench._environments import MODES, Mode, Place, nodes, said_of_processors
from pse.bench._figures import Against, Figure
from pse.bench._interleaved_jobs import JobsInTurn, Round, Start
from pse.bench._running import in_turn, program_command, ratios, usable_cores
from pse.bench.subjects.fft3 import LIBRARY_VARIABLE, THREE, library
from pse.bench.subjects.whole.programs import SOURCES, start_job
from pse.errors import RunError
from pse.modules import build_module
from pse.runtime.launch import find_mpiexec

ONE = 1
_THREADS = 3
"""Of each processor, at most: their ranks wait for turns."""


@dataclass(frozen=True)
class Transform:
    """A transform of a frame of complex numbers.

    Attributes
    ----------
    axes, side : int
    megabits : float
        What the link of a node carries in a second: so much that computing and communicating take about as
        long on two nodes with nearly a whole core each.
    """

    axes: int
    side: int
    megabits: float

    @property
    def title(self) -> str:
        """What it is called in figures."""
        return f"FFT {self.side:,}{'²³'[self.axes - 2]}"


@dataclass(frozen=True)
class Sizes:
    """What is transformed, on how many processors of this machine and on how many nodes, and how often."""

    transforms: tuple[Transform, ...] = (
        Transform(3, 128, 2000),
        Transform(3, 256, 2000),
        Transform(2, 4096, 2000),
    )
    processors: tuple[int, ...] = field(
        default_factory=lambda: tuple(number for number in (1, 2) if number <= len(usable_cores()))
    )
    nodes: tuple[int, ...] = (2,)
    turns: int = 6
    emulated: bool = True


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure the transforms, place by place; none where FFTW's library isn't."""
    if library() == "-":
        say(
            "no transforms are measured beside FFTW's: build its MPI library with "
            f"examples/experiments/build_fftw_mpi.sh, and name it in {LIBRARY_VARIABLE}"
        )
        return []
    figures = []
    for number in sizes.processors:
        here = Place(number, words=f"{number} processor{'s' * (number > 1)}")
        figures += _measured(repeats, [_Case(one, here, sizes.turns) for one in sizes.transforms], say)
    for number in sizes.nodes:
        for one in sizes.transforms:
            with nodes(number, f"{one.megabits:.0f}mbit", emulated=sizes.emulated) as place:
                if place.cluster is None:
                    say(f"no transforms are measured on nodes: {place.words}")
                else:
                    figures += _measured(repeats, [_Case(one, place, sizes.turns)], say)
    return figures


def _measured(repeats: int, cases: list[_Case], say: Callable[[str], None]) -> list[Figure]:
    """Measure the cases of a place, one after the other."""
    in_turn(repeats, [case.measure for case in cases], said_of_processors(say, cases[0].place.processors))
    return [figure for case in cases for figure in case.figures()]


@dataclass
class _Case:
    """A transform in a place: one frame, on nodes three as well, ours and by FFTW in all ways."""

    transform: Transform
    place: Place
    turns: int
    jobs: JobsInTurn = field(init=False)

    def __post_init__(self) -> None:
        starts: dict[str, Start] = {}
        for frames in self._frames:
            starts[_way("pse", frames)] = functools.partial(self._ours, frames)
            for mode in self._modes:
                starts[_way(mode.name, frames)] = functools.partial(self._fftw, frames, mode)
        self.jobs = JobsInTurn(starts, _THREADS * self.place.processors, self.turns, warm=1)

    @property
    def _frames(self) -> tuple[int, ...]:
        return (ONE, THREE) if self.place.cluster else (ONE,)

    @property
    def _modes(self) -> tuple[Mode, ...]:
        return MODES[:1] if self.place.processors == 1 else MODES

    def _ours(self, frames: int, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        path = SOURCES / f"slabs_{self.transform.axes}d.coven"
        values = {"N": self.transform.side, "frames": frames, "turns": self.turns}
        return self._start(program_command(str(path), values, self.place.processors), variables)

    def _fftw(self, frames: int, mode: Mode, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        mpiexec = [find_mpiexec().path, *self.place.hosts(1), "-n", str(self.place.processors)]
        turns = build_module(str(SOURCES / "turns.c")).library
        numbers = (self.transform.side, self.transform.axes, frames)
        words = ["blocking", self.turns, turns, turns, *numbers]
        command = [*mpiexec, sys.executable, str(SOURCES / "slabs.py"), *map(str, words)]
        return self._start(command, {**mode.variables, **variables})

    def _start(self, command: list[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
        return start_job(command, variables, tempfile.gettempdir(), self.place)

    def measure(self) -> dict[str, float]:
        """Let a set of jobs take their turns; what was measured stays here."""
        self.jobs.launch(self._check)
        return {}

    def _check(self, said: Round) -> None:
        """Refuse spectra whose last frames have other sums."""
        for frames in self._frames:
            sums = {way: found["result"] for way, found in said.items() if way.startswith(f"{frames} ")}
            if len(set(sums.values())) > 1:
                raise RunError(
                    f"{self.transform.title}, {self.place.words}: first numbers of spectra differ: {sums}",
                    help="this is a mistake in pse, or in the library that "
                    f"{LIBRARY_VARIABLE} names: please report it",
                )

    def figures(self) -> list[Figure]:
        """Give how much longer one takes than FFTW's, and on nodes how much less time three in flight do."""
        title = f"{self.transform.title}, {self.place.words}"
        ours, theirs, against = self._beside(ONE)
        found = [
            Figure(f"{title}: over FFTW's own MPI transform", "×", "<=", 1.05, ratios(ours, theirs), against)
        ]
        if THREE in self._frames:
            ours, theirs, against = self._beside(THREE)
            saved = tuple(100 * (1 - ratio) for ratio in ratios(ours, theirs))
            name = f"{title}: three in flight, less time than FFTW's back to back"
            found.append(Figure(name, "%", ">=", 25.0, saved, against))
        return found

    def _beside(self, frames: int) -> tuple[list[float], list[float], Against]:
        """Give ms of ours and of FFTW's quickest way."""
        ways = [_way(mode.name, frames) for mode in self._modes]
        best = min(ways, key=lambda way: float(np.median(self._ms(way))))
        ours, theirs = self._ms(_way("pse", frames)), self._ms(best)
        return ours, theirs, Against(f"FFTW: {best.partition(' ')[2]}", "ms", tuple(theirs), tuple(ours))

    def _ms(self, way: str) -> list[float]:
        return [time / 1e3 for time in self.jobs.medians(way, "wall")]


def _way(name: str, frames: int) -> str:
    return f"{frames} {name}"
