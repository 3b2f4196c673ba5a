"""``pse bench ace``: how exactly ACE computes, measures messages and predicts run times.

Two ranks have a core each.  Startup time is that of the smallest message, transfer time what each byte of the
largest one adds, by ACE's exchanges and by a plain C loop in turn, in one job; run times are predicted for
two sizes at four loads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, confined_to, in_turn, run_peer, usable_cores
from pse.bench.subjects.tools import compiled, linked
from pse.emulate import (
    Application,
    Configuration,
    LoopCosts,
    Model,
    Results,
    fit,
    loop_costs,
    measure as run_launches,
)
from pse.toolstack import find_mpi

PAPER_ERROR, PAPER_DEVIATION = 1.0, 0.005
"""Percent: by how much the paper's compute times missed, and their standard deviation."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured: bytes of messages, repetitions, cycles, and seconds of one that computes.

    `emulated` are bytes of messages with numbers of cycles; `attempts` is how often the loop runs until the
    kernel leaves it the core all the time.
    """

    sizes: tuple[int, ...] = (1, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20)
    emulated: tuple[tuple[int, int], ...] = ((1024, 10_000), (1 << 20, 300))
    loads: tuple[float, ...] = (10.0, 20.0, 40.0, 80.0)
    repetitions: int = 100
    cycles: int = 300
    batches: int = 20
    compute: float = 1e-3
    attempts: int = 10


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure ACE and the plain program in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory, confined_to(usable_cores()[:2]):
        bed = _Bed(Path(directory), sizes)
        return _figures(in_turn(repeats, [bed.loop, bed.messages, bed.run_times], say))


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
            f"its standard deviation, the core its own (paper {PAPER_DEVIATION} %)",
            "%",
            "<=",
            0.05,
            taken["deviation"],
            Against("whatever else ran on the core", "%", taken["deviation of all"], taken["deviation"]),
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
        peer = Against("a plain C loop, OSU's exchange", unit, plain, ours)
        figures.append(Figure(f"{title}, off a plain C loop's", "%", "<=", 5.0, off, peer))
    for name, title, unit, target in (
        ("prediction", "run time, off what was predicted", "%", 3.0),
        ("load", "load, off what was asked for", "points", 1.0),
    ):
        peer = Against("predicted from one least-squares line", unit, taken[f"{name} line"])
        figures.append(Figure(f"{title}, median of all settings", unit, "<=", target, taken[name], peer))
    return figures


class _Bed:
    """The configuration of ACE's launches, and the plain loop."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self.sizes = sizes
        mpi = find_mpi()
        flags = ["-shared", "-fPIC", *linked(mpi)]
        self.library = compiled(mpi, "oneway.c", directory / "oneway.so", flags)
        self.asked = [self._configuration(size, cycles) for size, cycles in sizes.emulated]

    def _configuration(self, size: int, cycles: int) -> Configuration:
        pairs = Application("pairs", "pairwise", 2, (size,), self.sizes.loads, cycles=cycles)
        return Configuration(
            *((pairs,), 2), launches=1, most_launches=1, waits="mpi", exchange_sizes=self.sizes.sizes
        )

    def loop(self) -> dict[str, float]:
        """How exactly the loop computes, and what it costs: the run in which it lost the core least often."""
        with confined_to(usable_cores()[-1:]):
            runs = list(self._runs())
        found = min(runs, key=lambda run: run.switches)
        return {
            "error": 100 * abs(found.error),
            "deviation": 100 * found.deviation,
            "deviation of all": 100 * float(np.mean([run.deviation**2 for run in runs])) ** 0.5,
            "overhead": 1e6 * max(found.overhead, 0.0),
            "reading": 1e6 * found.reading,
        }

    def _runs(self) -> Iterator[LoopCosts]:
        for _ in range(self.sizes.attempts):
            found = loop_costs(self.sizes.compute, self.sizes.cycles)
            yield found
            if not found.switches:
                return

    def messages(self) -> dict[str, float]:
        """Startup and transfer time, by ACE and by the plain loop."""
        sizes = self.sizes
        ends = min(sizes.sizes), max(sizes.sizes)
        found = run_peer("exchanges", 2, self.library, sizes.batches, sizes.repetitions, *ends)
        costs = {"": _costs(found["ace"]), " plain": _costs(found["plain"])}
        return {
            **{f"alpha{suffix}": 1e6 * alpha for suffix, (alpha, _) in costs.items()},
            **{f"beta{suffix}": 1e9 * beta for suffix, (_, beta) in costs.items()},
        }

    def run_times(self) -> dict[str, float]:
        """How well run times are predicted: medians of all sizes and loads."""
        found = [run_launches(asked) for asked in self.asked]
        settings = [one for own in found for one in _predictions(own, fit(own.exchanges, "paper"))]
        names = ("prediction", "prediction line", "load", "load line")
        return dict(zip(names, (100 * np.median(settings, axis=0)).tolist(), strict=True))


def _costs(seconds: Mapping[str, float]) -> tuple[float, float]:
    """Give what the smallest message takes, s, and what each byte of the largest one adds, s/B."""
    table = sorted((int(size), time) for size, time in seconds.items())
    first, last = table[0], table[-1]
    return first[1], (last[1] - first[1]) / (last[0] - first[0])


def _predictions(found: Results, line: Model) -> Iterator[tuple[float, float, float, float]]:
    """Give for each setting by how much run time and load were missed, and both would be by a line.

    In the order: run time, by the line; load, by the line.
    """
    cycles = found.cycles
    for size, load in {(int(row["size"]), float(row["load"])) for row in cycles[["size", "load"]]}:
        own = cycles[(cycles["size"] == size) & (cycles["load"] == load)]
        compute, communication = own["compute"].sum(), own["communication"].sum()
        asked = load / 100
        expected = 2 * line.seconds(size)  # To and fro.
        of_line = communication / (communication + len(own) * expected * (1 / asked - 1))
        yield (
            abs((compute + communication) / own["predicted"].sum() - 1),
            abs((communication / len(own) + expected * (1 / asked - 1)) / (expected / asked) - 1),
            abs(communication / (compute + communication) - asked),
            abs(of_line - asked),
        )
