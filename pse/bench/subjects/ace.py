"""``pse bench ace``: how exactly ACE computes, measures messages and predicts run times.

Two ranks have a core each.  Startup time is that of the smallest message, transfer time what each byte of the
largest one adds, by ACE's exchanges and by a plain C program of the same round; run times are predicted for
two sizes at four loads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, confined_to, finish, in_turn, start, stop, usable_cores
from pse.bench.subjects.tools import compiled, linked
from pse.emulate import (
    EXCHANGE,
    Application,
    Configuration,
    Model,
    Results,
    fit,
    loop_costs,
    measure as run_launches,
)
from pse.runtime.launch import find_mpiexec
from pse.toolstack import find_mpi

PAPER_ERROR, PAPER_DEVIATION = 1.0, 0.005
"""Percent: by how much the paper's compute times missed, and their standard deviation."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured: bytes of messages, repetitions, cycles, and seconds of one that computes."""

    sizes: tuple[int, ...] = (1, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20)
    emulated: tuple[int, ...] = (1024, 1 << 20)
    loads: tuple[float, ...] = (10.0, 20.0, 40.0, 80.0)
    repetitions: int = 1000
    cycles: int = 300
    batches: int = 20
    compute: float = 1e-3


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure ACE and the plain program in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory, confined_to(usable_cores()[:2]):
        bed = _Bed(Path(directory), sizes)
        return _figures(in_turn(repeats, [bed.loop, bed.messages], say))


def _figures(samples: Samples) -> list[Figure]:
    taken = {name: tuple(values) for name, values in samples.items()}
    repeats = len(taken["error"])
    figures = [
        Figure(
            "computing, off what was calculated",
            "%",
            "<=",
            0.1,
            taken["error"],
            Against("the paper", "%", (PAPER_ERROR,) * repeats),
        ),
        Figure(
            "its standard deviation",
            "%",
            "<=",
            0.05,
            taken["deviation"],
            Against("the paper", "%", (PAPER_DEVIATION,) * repeats),
        ),
        Figure(
            "own overhead of a cycle",
            "µs",
            "<=",
            1.0,
            taken["overhead"],
            Against("a reading of the clock from Python", "µs", taken["reading"]),
        ),
    ]
    for name, title, unit in (("alpha", "startup time α", "µs"), ("beta", "transfer time β", "ns/B")):
        ours, plain = taken[name], taken[f"{name} plain"]
        off = tuple(100 * abs(one / other - 1) for one, other in zip(ours, plain, strict=True))
        peer = Against("a plain C program", unit, plain, ours)
        figures.append(Figure(f"{title}, off a plain C program's", "%", "<=", 5.0, off, peer))
    for name, title, unit, target in (
        ("prediction", "run time, off what was predicted", "%", 3.0),
        ("load", "load, off what was asked for", "points", 1.0),
    ):
        peer = Against("predicted from one least-squares line", unit, taken[f"{name} line"])
        figures.append(Figure(f"{title}, median of all settings", unit, "<=", target, taken[name], peer))
    return figures


class _Bed:
    """The configuration of ACE's launches, and the plain program."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self.directory, self.sizes = directory, sizes
        mpi = find_mpi()
        self.program = compiled(mpi, "oneway.c", directory / "oneway", linked(mpi))
        pairs = Application("pairs", "pairwise", 2, sizes.emulated, sizes.loads, cycles=sizes.cycles)
        self.asked = Configuration(
            (pairs,),
            2,
            launches=1,
            most_launches=1,
            waits="mpi",
            exchange_sizes=sizes.sizes,
            repetitions=sizes.repetitions,
        )

    def loop(self) -> dict[str, float]:
        """How exactly the loop computes, and what it costs."""
        found = loop_costs(self.sizes.compute, self.sizes.cycles)
        return {
            "error": 100 * abs(found.error),
            "deviation": 100 * found.deviation,
            "overhead": 1e6 * max(found.overhead, 0.0),
            "reading": 1e6 * found.reading,
        }

    def messages(self) -> dict[str, float]:
        """The models of ACE and of the plain program, and how well run times were predicted."""
        found = run_launches(self.asked)
        ends = {"": _ends(found.exchanges), " plain": _ends(self._plain())}
        return {
            **{f"alpha{suffix}": 1e6 * alpha for suffix, (alpha, _) in ends.items()},
            **{f"beta{suffix}": 1e9 * beta for suffix, (_, beta) in ends.items()},
            **_predictions(found, fit(found.exchanges, "paper")),
        }

    def _plain(self) -> NDArray[np.void]:
        """What the plain program measures, as exchanges."""
        words = [str(self.program), str(self.sizes.batches), *map(str, self.sizes.sizes)]
        process = start([find_mpiexec().path, "-n", "2", *words], str(self.directory))
        try:
            times = [float(word) * 1e-9 for word in finish("the plain program", process).split()]
        finally:
            stop(process)
        exchanges = np.zeros(len(times), EXCHANGE)
        exchanges["partner"], exchanges["size"], exchanges["seconds"] = 1, self.sizes.sizes, times
        return exchanges


def _ends(exchanges: NDArray[np.void]) -> tuple[float, float]:
    """Give what the smallest message takes, s, and what each byte of the largest one adds, s/B."""
    table = fit(exchanges).table
    first, last = table[0], table[-1]
    return first.seconds, (last.seconds - first.seconds) / (last.size - first.size)


def _predictions(found: Results, line: Model) -> dict[str, float]:
    """Give medians over settings: by how much run times and loads were missed, and would be by a line."""
    errors, loads = [], []
    cycles = found.cycles
    for size, load in {(int(row["size"]), float(row["load"])) for row in cycles[["size", "load"]]}:
        own = cycles[(cycles["size"] == size) & (cycles["load"] == load)]
        compute, communication = own["compute"].sum(), own["communication"].sum()
        asked = load / 100
        expected = 2 * line.seconds(size)  # To and fro.
        of_line = communication / (communication + len(own) * expected * (1 / asked - 1))
        errors.append(
            (
                abs((compute + communication) / own["predicted"].sum() - 1),
                abs((communication / len(own) + expected * (1 / asked - 1)) / (expected / asked) - 1),
            )
        )
        loads.append((abs(communication / (compute + communication) - asked), abs(of_line - asked)))
    names = ("prediction", "prediction line"), ("load", "load line")
    medians = [100 * np.median(values, axis=0) for values in (errors, loads)]
    return {
        name: float(value)
        for pair, values in zip(names, medians, strict=True)
        for name, value in zip(pair, values, strict=True)
    }
