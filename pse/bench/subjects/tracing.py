"""``pse bench tracing``: what the tools ``trace`` and ``profile`` cost, one by one and together.

An event: rounds of calls through the stack and past it, in turn in one process, under ``trace`` and under
an empty layer; the trace says how many events a round has.  Call paths: what the same rounds add to a call of
MPI, whose callers ``trace`` finds on the stack.

Programs of mpi4py, with all their functions recorded, are started with each tool, with both, under a stack
without tools, and without a stack twice; these jobs take turns (`InterleavedJobs`).  What both tools cost is
set beside what each costs alone.

In all launches large arrays begin at a page's bound (page_malloc.c).
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Final

from pse.bench._figures import Against, Figure
from pse.bench._interleaved_jobs import InterleavedJobs, interval_text
from pse.bench._running import Samples, finish, in_turn, ratios, start, stop
from pse.bench.subjects.tools import compiled, linked
from pse.errors import RunError
from pse.runtime.launch import find_mpiexec
from pse.text import time_text
from pse.toolstack import environment, find_mpi
from pse.trace import open as open_trace

RANKS = 2
"""How many ranks the programs have: one for each core of a small machine."""

_CALLS = 4
"""Calls of MPI in a round of events.c."""
_STACKS: Final[dict[str, tuple[str, ...]]] = {
    "empty": (),
    "profile": ("profile",),
    "trace": ("trace",),
    "both": ("profile", "trace"),
}
_MPI4PY = {
    "heat": "heat conduction on {0} × {0} points",
    "spectrum": "FFTs of {0} × {0}",
    "farm": "a farm, {0} points a task,",
}
_SETTINGS: Final = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
"""What all launches have.  Where malloc maps large arrays anew depends on what was freed before, by a tool
too: a program whose arrays of 240 KB are mapped each time takes 3.5 times as long as with warm ones."""


@dataclass(frozen=True)
class Sizes:
    """Batches in one process, rounds of calls in one.

    Of programs of mpi4py, steps of a batch and points, of each size; batches of a job in a repetition.
    """

    batches: int = 100
    rounds: int = 300
    mpi4py: Mapping[str, Sequence[tuple[int, int]]] = field(
        default_factory=lambda: {
            "heat": ((40, 512), (6, 1024)),
            "spectrum": ((80, 128), (25, 256)),
            "farm": ((9, 10_000),),
        }
    )
    turns: int = 20


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all stacks of tools in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        bed = _Bed(Path(directory), sizes)
        measurers: list[Callable[[], dict[str, float]]] = [
            functools.partial(bed.events, tools) for tools in ("trace", "layer")
        ]
        programs = [_Mpi4pyProgram(name, bed, *size) for name in _MPI4PY for size in sizes.mpi4py[name]]
        samples = in_turn(repeats, [*measurers, *(program.measure for program in programs)], say)
        return [*_figures(samples), *(figure for program in programs for figure in program.figures())]


def _figures(samples: Samples) -> list[Figure]:
    of_round = zip(samples["added trace"], samples["added layer"], samples["events"], strict=True)
    event = tuple((traced - empty) / events for traced, empty, events in of_round)
    calls = Against("the calls themselves, by event", "ns", ratios(samples["calls"], samples["events"]))
    title = "trace adds to an event, above an empty layer"
    return [Figure(title, "ns", "<=", 100.0, event, calls), _of_call(samples)]


def _of_call(samples: Samples) -> Figure:
    rounds = zip(samples["added trace"], samples["added layer"], strict=True)
    call = tuple((traced - empty) / _CALLS for traced, empty in rounds)
    calls = Against("the calls themselves", "ns", tuple(sample / _CALLS for sample in samples["calls"]))
    return Figure("trace with callers adds to a call of MPI", "ns", "<=", 200.0, call, calls)


class _Bed:
    """The programs, the empty layer and the configurations, in a directory."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self.directory, self.sizes, self.mpi = directory, sizes, find_mpi()
        program = compiled(self.mpi, "events.c", directory / "events", [*linked(self.mpi), "-lm"])
        self.rounds = [str(program), str(sizes.batches), str(sizes.rounds)]
        self.layer = self._library("layer", ["-DPAD=16", '-DPAD_TEXT="16"'])
        self.allocator = self._library("page_malloc", ["-fno-builtin"])
        self.results: dict[str, str] = {}

    def _library(self, name: str, flags: Sequence[str]) -> Path:
        return compiled(self.mpi, f"{name}.c", self.directory / f"{name}.so", [*flags, "-shared"])

    def events(self, tool: str) -> dict[str, float]:
        """Measure rounds of calls under a tool: what it adds, and how many events it writes."""
        rounds = self.sizes.batches * self.sizes.rounds
        process = self._start([], self.rounds, self.variables((tool,)))
        try:
            words = finish("the program events.c", process).split()
        finally:
            stop(process)
        found = {f"added {tool}": float(words[0]) - float(words[1])}
        if tool == "trace":
            found["calls"] = float(words[1])
            found["events"] = len(open_trace(self.directory / "trace" / "events").events(0)) // rounds
        return found

    def check_result(self, name: str, result: str) -> None:
        """Refuse what differs from what the program computed before."""
        if self.results.setdefault(name, result) != result:
            raise RunError(f"{name} gave {result}, but {self.results[name]} before, with other tools")

    def started(self, program: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start a program on all ranks, with these variables."""
        return self._start([find_mpiexec().path, "-n", str(RANKS)], program, variables)

    def variables(self, tools: Sequence[str]) -> Mapping[str, str]:
        """Give the variables of a stack with these tools, or with none."""
        return environment(str(self._configuration(tools)), self.mpi)

    def _start(
        self, launcher: Sequence[str], program: Sequence[str], variables: Mapping[str, str]
    ) -> subprocess.Popen[str]:
        before = variables.get("LD_PRELOAD", os.environ.get("LD_PRELOAD", ""))
        preloaded = f"{self.allocator}:{before}".rstrip(":")
        given = [f"{name}={value}" for name, value in {**variables, "LD_PRELOAD": preloaded}.items()]
        return start([*launcher, "env", *given, *program], str(self.directory))

    def _configuration(self, tools: Sequence[str]) -> Path:
        place = self.directory / ("+".join(tools) or "none")
        place.mkdir(exist_ok=True)
        lines = {
            "layer": f"module {self.layer}\n",
            "profile": f"module profile\nargument output {place}/report\n",
            "trace": f"module trace\nargument directory {place}/events\n",
        }
        configuration = place / "tools.conf"
        configuration.write_text("".join(lines[tool] for tool in tools))
        return configuration


class _Mpi4pyProgram:
    """A program of mpi4py: started without a stack, with one without tools, with each tool and with both."""

    def __init__(self, name: str, bed: _Bed, steps: int, points: int) -> None:
        self._title = f"{_MPI4PY[name].format(points)} in mpi4py, {RANKS} ranks"
        self._bed = bed
        scripts = bed.directory / "mpi4py"  # what is installed with Python is not recorded
        with resources.as_file(resources.files("pse.bench") / "stack" / "mpi4py_programs") as shipped:
            shutil.copytree(shipped, scripts, dirs_exist_ok=True)
        turns = bed.sizes.turns
        self._words = [sys.executable, f"{scripts}/{name}.py", str(turns), str(steps), str(points)]
        ways = {way: bed.variables(tools) for way, tools in _STACKS.items()}
        self._jobs = InterleavedJobs(
            functools.partial(self._start, {}),
            {way: functools.partial(self._start, variables) for way, variables in ways.items()},
            RANKS,
            turns,
        )

    def _start(self, tools: Mapping[str, str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
        return self._bed.started(self._words, {**_SETTINGS, **tools, **variables})

    def measure(self) -> dict[str, float]:
        """Let a set of jobs take their turns; what was measured stays here."""
        for said in self._jobs.launch().values():
            self._bed.check_result(self._title, f"{said['result']:.9g}")
        return {}

    def figures(self) -> list[Figure]:
        """Give how much longer its steps take, and how much more its ranks work."""
        start = time_text(1e6 * self._jobs.start_and_end("trace"))
        more = f"{self._title}: with trace and all call paths"
        return [
            self._figure(f"{more} (starts and ends {start} longer), longer", "wall"),
            self._figure(f"{more}, CPU time of all ranks", "cpu"),
            self._figure(f"{more}, longer than with a stack without tools", "wall", over="empty"),
            self._together(),
        ]

    def _together(self) -> Figure:
        """Give what both tools take over what each adds: more than 1 if they disturb each other."""
        profile, trace, both = (self._jobs.more(way, "wall") for way in ("profile", "trace", "both"))
        apart = [100 + one + other for one, other in zip(profile, trace, strict=True)]
        plain = self._jobs.plain("wall")
        name = f"{self._title}: profile and trace together over the sum of each"
        peer = Against(
            "what each adds, on the program without tools",
            "µs",
            tuple(step * percent / 100 for step, percent in zip(plain, apart, strict=True)),
            tuple(step * (1 + more / 100) for step, more in zip(plain, both, strict=True)),
        )
        return Figure(name, "×", "<=", 1.02, ratios([100 + more for more in both], apart), peer)

    def _figure(self, name: str, quantity: str, over: str | None = None) -> Figure:
        jobs = self._jobs
        percents = jobs.more("trace", quantity, over)
        beside = f"without tools, a step; beside itself {interval_text(jobs.control(quantity))}"
        against = Against(beside, "µs", tuple(jobs.plain(quantity)))
        return Figure(name, "%", "<=", 2.0, tuple(percents), against)
