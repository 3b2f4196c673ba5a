"""``pse bench programs``: whole programs beside the same work by hand, in C and MPI and in mpi4py.

All of them call the same compiled kernels, have the same inputs and counts of iterations, and live at once
and take turns (`JobsInTurn`).  After each turn their results are compared, bit for bit; the first turn only
warms up.  By hand there are a blocking and an overlapping version, each started in all the ways that a
careful user would try; the quickest one decides.  The sources are in ``tests/benchmarks/programs``, since
they use the kernels of ``programs/``: an installed package has neither.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import numpy as np

from pse.bench._environments import MODES, Mode, Place, nodes, said_of_processors
from pse.bench._figures import Against, Figure
from pse.bench._interleaved_jobs import JobsInTurn, Round, Start
from pse.bench._running import SOURCE_TREE, in_turn, program_command, ratios, start
from pse.bench.subjects.tools import compiled, linked
from pse.errors import RunError
from pse.modules import build_module
from pse.runtime.launch import find_mpiexec
from pse.toolstack import find_mpi

OURS, C, PYTHON = "pse", "C", "mpi4py"
SOURCES = SOURCE_TREE / "tests" / "benchmarks" / "programs"
_PARTITIONS = 4
"""Partitions of a processor, at most: each waits for turns."""
INCLUDES = Path(str(resources.files("pse.modules") / "include"))
"""The directory of coven.h."""
_FLAGS = ["-O3", "-march=native"]


@dataclass(frozen=True)
class Program:
    """A program: its files' name, what it is called, its kernels, and the values of its parameters.

    Attributes
    ----------
    name, title : str
    kernels : tuple of str
        Paths from the top of the source tree.
    values : mapping of str to int
        By the parameters' names in Coven; by hand they are arguments in this order.
    target : float
        How much longer than the best by hand it may take on one machine.
    hides : bool
        Whether communication can hide behind computing.
    rooted : bool
        Whether its two threads are on one processor, and by hand two ranks.
    languages : tuple of str
        In which it is written by hand.
    """

    name: str
    title: str
    kernels: tuple[str, ...]
    values: Mapping[str, int]
    target: float = 1.05
    hides: bool = True
    rooted: bool = False
    languages: tuple[str, ...] = (C, PYTHON)

    def ranks(self, processors: int) -> int:
        """Give how many ranks it has by hand."""
        return 2 if self.rooted else processors


def _heat(side: int, steps: int, target: float = 1.05) -> Program:
    title = f"heat {side:,}²"
    return Program("heat", title, ("programs/heat.c",), {"N": side, "steps": steps}, target, hides=False)


PROGRAMS = (
    _heat(128, 1000, 1.3),
    _heat(1024, 40),
    _heat(4096, 4),
    Program("nbody", "n-body, 4,096 bodies", ("programs/gravity.c",), {"N": 4096, "steps": 2}),
    Program("matmul", "matmul 768²", ("programs/summa.c",), {"N": 768, "width": 64}),
    Program("fft2d", "fft2d, 3 frames of 1,024²", ("programs/kernels/fft.c",), {"N": 1024, "frames": 3}),
    Program(
        "pingpong",
        "pingpong, 8 MB",
        ("programs/kernels/pingpong.c",),
        {"numbers": 1_000_000, "rounds": 400},
        hides=False,
        rooted=True,
    ),
)


@dataclass(frozen=True)
class Sizes:
    """What is measured: programs, on how many processors of this machine, and on how many nodes.

    `turns` are those that each job has in a repetition, the first of which only warms up.  `megabits` is what
    the link of each node carries in a second.  With `whole`, starting and ending are measured, too.
    """

    programs: Sequence[Program] = PROGRAMS
    processors: tuple[int, ...] = (1, 2)
    nodes: tuple[int, ...] = (2, 4)
    turns: int = 4
    megabits: int = 1000
    modes: Sequence[Mode] = MODES
    emulated: bool = True
    whole: bool = True


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all programs of a place in turn, one place after the other."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        bed = _Bed(Path(directory), sizes)
        figures = []
        for number in sizes.processors:
            here = Place(number, words=f"{number} processor" + "s" * (number > 1))
            figures += bed.measure(here, repeats, said_of_processors(say, number))
        for number in sizes.nodes:
            with nodes(number, f"{sizes.megabits}mbit", emulated=sizes.emulated) as place:
                if place.cluster is None:
                    say(f"nothing is measured on nodes: {place.words}")
                else:
                    figures += bed.measure(place, repeats, said_of_processors(say, number))
        return figures


def start_job(
    command: list[str], variables: Mapping[str, str], directory: str, place: Place
) -> subprocess.Popen[str]:
    """Start a job that takes turns, with these variables."""
    given = [f"{name}={value}" for name, value in variables.items()]
    return start(["env", *given, *command], directory, place)


class _Bed:
    """The programs, built, in a directory."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self.directory, self.sizes = directory, sizes
        self.turns = build_module(str(SOURCES / "turns.c")).library
        self.kernels = {
            program.name: [build_module(str(SOURCE_TREE / path)).library for path in program.kernels]
            for program in sizes.programs
        }
        for name in self.kernels:
            self._compile(name)

    def _compile(self, name: str) -> None:
        """Compile a program by hand with the very libraries of modules that Coven programs load."""
        mpi = find_mpi()
        sources = [str(SOURCES / "peer.c"), *map(str, self.kernels[name]), str(self.turns)]
        flags = [*_FLAGS, "-I", str(INCLUDES), *sources, *linked(mpi), "-lm"]
        compiled(mpi, str(SOURCES / f"{name}.c"), self.directory / name, flags)

    def measure(self, place: Place, repeats: int, say: Callable[[str], None]) -> list[Figure]:
        """Measure all programs of a place in turn."""
        cases = [_Case(self, program, place) for program in self.sizes.programs if _fits(program, place)]
        if cases:
            in_turn(repeats, [case.measure for case in cases], say)
        return [figure for case in cases for figure in case.figures()]


def _fits(program: Program, place: Place) -> bool:
    return not program.rooted or (place.cluster is None and place.processors == 2)


@dataclass
class _Case:
    """A program in a place: ours, and all ways to start it by hand."""

    bed: _Bed
    program: Program
    place: Place
    jobs: JobsInTurn = field(init=False)

    def __post_init__(self) -> None:
        most = _PARTITIONS * self.place.processors
        self.jobs = JobsInTurn({OURS: self._ours} | self._by_hand(), most, self.bed.sizes.turns, warm=1)

    def _by_hand(self) -> dict[str, Start]:
        alone = self.program.ranks(self.place.processors) == 1
        modes = self.bed.sizes.modes[:1] if alone else self.bed.sizes.modes
        overlaps = ("blocking",) if alone else ("blocking", "overlap")
        return {
            f"{language}, {self._said(overlap)}{'' if alone else f', {mode.name}'}": functools.partial(
                start, overlap, mode
            )
            for language, start in ((C, self._c), (PYTHON, self._python))
            if language in self.program.languages
            for overlap in overlaps
            for mode in modes
        }

    def _said(self, overlap: str) -> str:
        if self.program.rooted:
            return "messages" if overlap == "blocking" else "shared window"
        return overlap if overlap == "blocking" else "non-blocking"

    def _ours(self, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        processors = 1 if self.program.rooted else self.place.processors
        path = str(SOURCES / f"{self.program.name}.coven")
        values = {**self.program.values, "turns": self.bed.sizes.turns}
        return self._start(program_command(path, values, processors), variables)

    def _c(self, overlap: str, mode: Mode, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        program = str(self.bed.directory / self.program.name)
        return self._on_ranks([program, overlap, mode.level], [], mode, variables)

    def _python(self, overlap: str, mode: Mode, variables: Mapping[str, str]) -> subprocess.Popen[str]:
        script = str(SOURCES / f"{self.program.name}.py")
        libraries = [*map(str, self.bed.kernels[self.program.name]), str(self.bed.turns)]
        return self._on_ranks([sys.executable, script, overlap], libraries, mode, variables)

    def _on_ranks(
        self, command: list[str], libraries: list[str], mode: Mode, variables: Mapping[str, str]
    ) -> subprocess.Popen[str]:
        ranks = self.program.ranks(self.place.processors)
        mpiexec = [find_mpiexec().path, *self.place.hosts(1), "-n", str(ranks)]
        arguments = [str(self.bed.sizes.turns), *libraries, *map(str, self.program.values.values())]
        return self._start([*mpiexec, *command, *arguments], {**mode.variables, **variables})

    def _start(self, command: list[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
        return start_job(command, variables, str(self.bed.directory), self.place)

    def measure(self) -> dict[str, float]:
        """Let a set of jobs take their turns; what was measured stays here."""
        self.jobs.launch(self._check)
        return {}

    def _check(self, said: Round) -> None:
        """Refuse results that aren't the same, bit for bit."""
        results = {way: found["result"] for way, found in said.items()}
        if len(set(results.values())) > 1:
            raise RunError(
                f"{self.program.title}, {self.place.words}: results differ: {results}",
                help="this is a mistake in pse, or in the program by hand: please report it",
            )

    def figures(self) -> list[Figure]:
        """Give how much longer ours takes than the best by hand, and than others."""
        return self._here() if self.place.cluster is None else self._on_nodes()

    def _here(self) -> list[Figure]:
        hand = self._best("")
        title, target = self._title, self.program.target
        loop, whole = self._loop, self._whole
        found = [self._figure(f"{title}: over the best by hand", target, loop(OURS), hand, loop(hand))]
        if PYTHON in self.program.languages:
            python, name = self._best(PYTHON), f"{title}: over the best with mpi4py"
            found.append(self._figure(name, target, loop(OURS), python, loop(python)))
        if self.bed.sizes.whole:
            name = f"{title}: with start and end"
            found.append(self._figure(name, target, whole(OURS), hand, whole(hand)))
        return found

    def _on_nodes(self) -> list[Figure]:
        loop = self._loop
        hidden, blocking = self._best("", "non-blocking"), self._best("", "blocking")
        found = [self._figure(f"{self._title}: over non-blocking", 1.02, loop(OURS), hidden, loop(hidden))]
        if self.program.hides:
            name = f"{self._title}: over blocking"
            found.append(self._figure(name, 0.85, loop(OURS), blocking, loop(blocking)))
        return found

    @property
    def _title(self) -> str:
        return f"{self.program.title}, {'two threads' if self.program.rooted else self.place.words}"

    def _figure(self, name: str, target: float, ours: list[float], way: str, hand: list[float]) -> Figure:
        against = Against(f"by hand: {way}", "ms", tuple(hand), tuple(ours))
        return Figure(name, "×", "<=", target, ratios(ours, hand), against)

    def _best(self, language: str, overlap: str = "") -> str:
        """Give the way by hand whose median over all launches is least."""
        ways = [way for way in self._by_hand() if way.startswith(language) and f", {overlap}" in way]
        return min(ways, key=lambda way: float(np.median(self._loop(way))))

    def _loop(self, way: str) -> list[float]:
        return [time / 1e3 for time in self.jobs.medians(way, "wall")]

    def _whole(self, way: str) -> list[float]:
        turns = self.bed.sizes.turns
        both = zip(self._loop(way), self.jobs.starts_and_ends(way), strict=True)
        return [turns * loop + rest for loop, rest in both]
