"""``pse bench tracing``: what the tools ``trace`` and ``profile`` cost, one by one and together.

An event: rounds of calls through the stack and past it, in turn in one process, under ``trace`` and under
an empty layer; the trace says how many events a round has.  Together: two MPI programs run without tools,
with each tool and with both; what both cost is set beside what each costs alone.

Call paths: what the same rounds add to a call of MPI, whose callers ``trace`` finds on the stack; and a
program of mpi4py, with all its functions recorded and without tools.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, finish, in_turn, ratios, start, stop
from pse.bench.subjects.tools import compiled, linked
from pse.errors import RunError
from pse.runtime.launch import find_mpiexec
from pse.toolstack import environment, find_mpi
from pse.trace import open as open_trace

RANKS = 2
"""How many ranks the two programs have: one for each core of a small machine."""

_CALLS = 4
"""Calls of MPI in a round of events.c."""
_PROGRAMS = {"heat": "heat conduction", "spectrum": "2-D FFT"}
_STACKS: dict[str, tuple[str, ...]] = {
    "none": (),
    "profile": ("profile",),
    "trace": ("trace",),
    "both": ("profile", "trace"),
}


@dataclass(frozen=True)
class Sizes:
    """Batches in one process, rounds of calls in one; points of a plate's or frame's side, and its steps."""

    batches: int = 100
    rounds: int = 300
    heat: int = 512
    heat_steps: int = 10
    spectrum: int = 256
    spectrum_steps: int = 1
    python: int = 1024
    python_steps: int = 3


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all stacks of tools in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        bed = _Bed(Path(directory), sizes)
        measurers: list[Callable[[], dict[str, float]]] = [
            functools.partial(bed.events, tools) for tools in ("trace", "layer")
        ]
        measurers += [
            functools.partial(bed.program, program, stack) for program in _PROGRAMS for stack in _STACKS
        ]
        measurers += [functools.partial(bed.program, "python", stack) for stack in ("none", "trace")]
        return _figures(in_turn(repeats, measurers, say))


def _figures(samples: Samples) -> list[Figure]:
    of_round = zip(samples["added trace"], samples["added layer"], samples["events"], strict=True)
    event = tuple((traced - empty) / events for traced, empty, events in of_round)
    calls = Against("the calls themselves, by event", "ns", ratios(samples["calls"], samples["events"]))
    figures = [Figure("trace adds to an event, above an empty layer", "ns", "<=", 100.0, event, calls)]
    figures += _call_paths(samples)
    for program, title in _PROGRAMS.items():
        alone, profile, trace, both = (samples[f"{program} {stack}"] for stack in _STACKS)
        apart = [p + t - a for a, p, t in zip(alone, profile, trace, strict=True)]
        name = f"{title}, {RANKS} ranks: profile and trace together over the sum of each"
        peer = Against("what each adds, on the program without tools", "µs", tuple(apart), tuple(both))
        figures.append(Figure(name, "×", "<=", 1.02, ratios(both, apart), peer))
    return figures


def _call_paths(samples: Samples) -> list[Figure]:
    rounds = zip(samples["added trace"], samples["added layer"], strict=True)
    call = tuple((traced - empty) / _CALLS for traced, empty in rounds)
    calls = Against("the calls themselves", "ns", tuple(sample / _CALLS for sample in samples["calls"]))
    bare, traced = samples["python none"], samples["python trace"]
    longer = tuple(100 * (ratio - 1) for ratio in ratios(traced, bare))
    name = f"heat conduction in mpi4py, {RANKS} ranks: longer with trace and all call paths"
    return [
        Figure("trace with callers adds to a call of MPI", "ns", "<=", 200.0, call, calls),
        Figure(
            name, "%", "<=", 2.0, longer, Against("without tools, a step", "µs", tuple(bare), tuple(traced))
        ),
    ]


class _Bed:
    """The programs, the empty layer and the configurations, in a directory."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self.directory, self.sizes, self.mpi = directory, sizes, find_mpi()
        flags = [*linked(self.mpi), "-lm"]
        self.programs = {
            name: [str(compiled(self.mpi, f"{name}.c", directory / name, flags))]
            for name in ("events", *_PROGRAMS)
        }
        script = resources.files("pse.bench") / "stack" / "heat.py"
        self.programs["python"] = [sys.executable, str(script)]
        self.layer = compiled(
            self.mpi, "layer.c", directory / "layer.so", ["-DPAD=16", '-DPAD_TEXT="16"', "-shared"]
        )
        self.results: dict[str, str] = {}

    def events(self, tool: str) -> dict[str, float]:
        """Measure rounds of calls under a tool: what it adds, and how many events it writes."""
        rounds = self.sizes.batches * self.sizes.rounds
        words = self._run([], "events", (tool,), self.sizes.batches, self.sizes.rounds)
        found = {f"added {tool}": float(words[0]) - float(words[1])}
        if tool == "trace":
            found["calls"] = float(words[1])
            found["events"] = len(open_trace(self.directory / "trace").events(0)) // rounds
        return found

    def program(self, name: str, stack: str) -> dict[str, float]:
        """Measure a program under a stack of tools: µs of a step at rank 0."""
        side, steps = getattr(self.sizes, name), getattr(self.sizes, f"{name}_steps")
        launcher = [find_mpiexec().path, "-n", str(RANKS)]
        time, result = self._run(launcher, name, _STACKS[stack], self.sizes.batches, steps, side)
        if self.results.setdefault(name, result) != result:
            raise RunError(f"{name} gave {result} with tools {stack}, but {self.results[name]} before")
        return {f"{name} {stack}": float(time) / 1000}

    def _run(self, launcher: Sequence[str], program: str, tools: Sequence[str], *sizes: int) -> list[str]:
        variables = environment(str(self._configuration(tools)), self.mpi) if tools else {}
        given = [f"{name}={value}" for name, value in variables.items()]
        process = start(
            [*launcher, "env", *given, *self.programs[program], *map(str, sizes)], str(self.directory)
        )
        try:
            return finish(f"the program {program}", process).split()
        finally:
            stop(process)

    def _configuration(self, tools: Sequence[str]) -> Path:
        lines = {
            "layer": f"module {self.layer}\n",
            "profile": f"module profile\nargument output {self.directory}/report\n",
            "trace": f"module trace\nargument directory {self.directory}/trace\n",
        }
        configuration = self.directory / "tools.conf"
        configuration.write_text("".join(lines[tool] for tool in tools))
        return configuration
