"""``pse bench coopwait``: MPI's blocking routines under the tool coopwait, beside MPI's own way to wait.

One program (``stack/waits.c``) runs all routines with all sizes, in turn.  MPI alone is measured with each
setting that a careful user might choose; for each routine and size the best of them is the peer.  With more
ranks than cores MPI_THREAD_SINGLE is left out: its collective operations spin through whole time slices, some
ms for 8 bytes and seconds for 4 MiB.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, confined_to, finish, in_turn, ratios, start, stop, usable_cores
from pse.bench.subjects.tools import compiled, linked
from pse.runtime.launch import find_mpiexec
from pse.text import size_text
from pse.toolstack import environment, find_mpi

_LEVELS = {"single": 0, "multiple": 3}
"""MPI's numbers of its levels of threads, in MPICH and Open MPI."""
_THROTTLE = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}


@dataclass(frozen=True)
class Sizes:
    """With how many ranks, and how many batches of how many ms each routine gets in a launch."""

    ranks: tuple[int, ...] = (2, 3, 4, 5, 8)
    batches: int = 2
    milliseconds: float = 3.0


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all numbers of ranks, alone and beside a process that computes."""
    cores = usable_cores()[:2]
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        bed = _Bed(Path(directory), sizes, cores)
        places = [(ranks, beside) for ranks in sizes.ranks for beside in (False, True)]
        measurers = [measurer for place in places for measurer in bed.measurers(*place)]
        samples = in_turn(repeats, measurers, say)
    return [
        _figure(_chosen(samples, f"{ranks} {beside} "), level, _title(ranks, len(cores), beside))
        for ranks, beside in places
        for level in _LEVELS
    ]


def _chosen(samples: Samples, prefix: str) -> Samples:
    return {name.removeprefix(prefix): of for name, of in samples.items() if name.startswith(prefix)}


def _title(ranks: int, cores: int, beside: bool) -> str:
    on = f"{ranks} ranks on {cores} core{'s' * (cores > 1)}"
    return on + ", a process that computes beside them" * beside


@contextlib.contextmanager
def _computing(beside: bool, cores: list[int]) -> Iterator[None]:
    """Have a process compute meanwhile, if one shall."""
    with confined_to(cores), tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        process = start([sys.executable, "-c", "while True: pass"], directory) if beside else None
        try:
            yield
        finally:
            if process:
                stop(process)


def _figure(samples: Samples, level: str, where: str) -> Figure:
    """Give the routine and size that is worst under the tool, beside the mean of all."""
    times: dict[str, dict[str, list[float]]] = {}
    for name, values in samples.items():
        setting, routine = name.split(":")
        times.setdefault(routine, {})[setting] = values
    found = {routine: _ratios(by_setting, level) for routine, by_setting in times.items()}
    worst = max(found, key=lambda routine: statistics.median(found[routine]))
    means = tuple(statistics.geometric_mean(one) for one in zip(*found.values(), strict=True))
    name = f"coopwait over MPI's best setting, {level}, {where}: worst, {worst}"
    return Figure(name, "×", "<=", 1.1, found[worst], Against(f"mean of {len(found)}", "×", means))


def _ratios(by_setting: Mapping[str, list[float]], level: str) -> tuple[float, ...]:
    bare = [values for setting, values in by_setting.items() if setting.startswith("mpi")]
    return ratios(by_setting[f"tool {level}"], min(bare, key=statistics.median))


class _Bed:
    """The program, and the stack that it runs under."""

    def __init__(self, directory: Path, sizes: Sizes, cores: list[int]) -> None:
        self.directory, self.sizes, self.cores = directory, sizes, cores
        mpi = find_mpi()
        self.program = compiled(mpi, "waits.c", directory / "waits", linked(mpi))
        configuration = directory / "tools.conf"
        configuration.write_text("module coopwait\n")
        self.tool = environment(str(configuration), mpi)

    def measurers(self, ranks: int, beside: bool) -> list[Callable[[], dict[str, float]]]:
        """Give what measures each setting of MPI alone, and the tool at each level."""
        bare = (
            {} if ranks > len(self.cores) else {"mpi single": (0, {}), "mpi single throttled": (0, _THROTTLE)}
        )
        bare |= {"mpi multiple": (3, {}), "mpi multiple throttled": (3, _THROTTLE)}
        tool = {f"tool {name}": (level, self.tool) for name, level in _LEVELS.items()}
        return [
            functools.partial(self._measured, ranks, beside, setting, *how)
            for setting, how in (bare | tool).items()
        ]

    def _measured(
        self, ranks: int, beside: bool, setting: str, level: int, variables: Mapping[str, str]
    ) -> dict[str, float]:
        """Measure the µs of each routine and size."""
        found = {}
        with _computing(beside, self.cores):
            lines = self._run(ranks, level, variables).splitlines()
        for routine, size, time in map(str.split, lines):
            of = f"{routine} of {size_text(int(size), zeros=False)}" if int(size) else routine
            found[f"{ranks} {beside} {setting}:{of}"] = float(time) / 1000
        return found

    def _run(self, ranks: int, level: int, variables: Mapping[str, str]) -> str:
        words = [f"{name}={value}" for name, value in variables.items()]
        numbers = [level, self.sizes.batches, self.sizes.milliseconds]
        command = [
            find_mpiexec().path,
            "-n",
            str(ranks),
            "env",
            *words,
            str(self.program),
            *map(str, numbers),
        ]
        with confined_to(self.cores):
            process = start(command, str(self.directory))
        try:
            return finish("the program that waits", process)
        finally:
            stop(process)
