"""``pse bench coopwait``: what waiting by the tool coopwait costs, beside MPI's own way to wait.

One program measures both in turn, batch by batch: through ``MPI_Allreduce``, which the tool has, and past it
through ``PMPI_Allreduce``.  With more ranks than cores, MPI's spinning ranks keep the others from running;
with a core for each, the tool should cost next to nothing.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, confined_to, finish, in_turn, ratios, start, stop, usable_cores
from pse.bench.subjects.tools import compiled, linked
from pse.runtime.launch import find_mpiexec
from pse.toolstack import environment, find_mpi

CROWD = 4
"""Ranks that share two cores."""

_NAMES = ("allreduce", "allreduce mpi", "half round", "half round mpi")


@dataclass(frozen=True)
class Sizes:
    """How many operations a batch has, alone and crowded, and how many batches there are in one process."""

    batches: int = 10
    rounds: int = 2_000
    crowded: int = 10


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure; figures that need two cores are left out where there is only one."""
    cores = usable_cores()[:2]
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        bed = _Bed(Path(directory), sizes.batches, cores)
        measurers: list[Callable[[], dict[str, float]]] = [
            functools.partial(bed.run, CROWD, sizes.crowded, "crowded")
        ]
        if len(cores) > 1:
            measurers.append(functools.partial(bed.run, 2, sizes.rounds, "alone"))
        return _figures(in_turn(repeats, measurers, say), len(cores))


def _figures(samples: Samples, cores: int) -> list[Figure]:
    crowd = f"{CROWD} ranks on {cores} core" + "s" * (cores > 1)
    own = Against(f"MPI's own, {crowd}", "µs", tuple(samples["crowded allreduce mpi"]))
    figures = [
        Figure(f"allreduce of 8 bytes, {crowd}", "µs", "<=", 100.0, tuple(samples["crowded allreduce"]), own)
    ]
    operations = {"allreduce": "allreduce of 8 bytes", "half round": "8 bytes one way"} if cores > 1 else {}
    for key, title in operations.items():
        ours, mpi = samples[f"alone {key}"], samples[f"alone {key} mpi"]
        peer = Against("MPI's own, 2 ranks", "µs", tuple(mpi), tuple(ours))
        figures.append(
            Figure(f"{title} over MPI's own, a core for each rank", "×", "<=", 1.2, ratios(ours, mpi), peer)
        )
    return figures


class _Bed:
    """The program, and the stack that it runs under."""

    def __init__(self, directory: Path, batches: int, cores: list[int]) -> None:
        self.directory, self.batches, self.cores = directory, batches, cores
        mpi = find_mpi()
        self.program = compiled(mpi, "waits.c", directory / "waits", linked(mpi))
        configuration = directory / "tools.conf"
        configuration.write_text("module coopwait\n")
        self.variables = [f"{name}={value}" for name, value in environment(str(configuration), mpi).items()]

    def run(self, ranks: int, rounds: int, key: str) -> dict[str, float]:
        """Median µs of each operation, at rank 0."""
        command = [find_mpiexec().path, "-n", str(ranks), "env", *self.variables, str(self.program)]
        with confined_to(self.cores):
            process = start([*command, str(self.batches), str(rounds)], str(self.directory))
        try:
            medians = finish("the program that waits", process).split()
        finally:
            stop(process)
        return {f"{key} {name}": float(median) / 1000 for name, median in zip(_NAMES, medians, strict=False)}
