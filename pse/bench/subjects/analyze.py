"""``pse bench analyze``: how fast wait states are found in a trace of MPI, by one process and by several.

The trace is made: a halo exchange along a ring, with an MPI_Allreduce in each iteration.  One process on one
core analyzes it, timed from opening the trace to having the cube, and so do ranks of an MPI job.  Beside it,
the floor: a sum over the same bytes.  A program that does little but communicate runs under the tool
``trace``, and is analyzed by as many ranks as it had: whole commands are timed.

Jobs of 1, 2, 4, … ranks analyze traces with equally many events of each.  The CPU time of the busiest rank,
without its waits, shows how the work of a rank grows with their number (`fit_growth`), also where ranks share
cores; what they send is counted, by what it grows with (`Traffic`).  The time with many ranks follows from
both, and from what a message costs over a network.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pse import trace
from pse.analysis import Traffic
from pse.bench._figures import Against, Figure
from pse.bench._running import (
    Samples,
    finish,
    in_turn,
    measure_apart,
    ratios,
    run_peer,
    start,
    stop,
    usable_cores,
)
from pse.bench._scaling_model import Growth, fit_growth
from pse.bench._synthetic_mpi_trace import EVENTS, PERIOD, write_mpi_trace
from pse.bench._synthetic_trace import room_for
from pse.bench.subjects.tools import compiled, linked
from pse.runtime.launch import find_mpiexec
from pse.text import size_text, time_text
from pse.toolstack import environment, find_mpi

STREAMS = 4
_BYTES = ("partners", "trees", "tables", "results")
RATE, MEMORY, OWN_TIME = 5.0, 2.0, 1.0


@dataclass(frozen=True)
class Sizes:
    """Events of the trace; ranks that analyze it; batches and steps of the program, and its plate's side.

    How often it is run and analyzed in a repetition.  Events of each rank and numbers of ranks whose work
    and messages are counted, in how many jobs; how many there are when the time is predicted, and the
    seconds of a message and of a byte then.
    """

    events: int = 10_000_000
    ranks: tuple[int, ...] = (1, 2, 4)
    batches: int = 100
    steps: int = 4000
    side: int = 16
    runs: int = 3
    counted_events: int = 250_000
    counted_ranks: tuple[int, ...] = (1, 2, 4, 8, 16)
    counted_jobs: int = 3
    predicted_ranks: int = 100_000
    latency: float = 10e-6
    per_byte: float = 1e-9


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure one process, its floor, several processes and the program in turn; count messages once."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        made = Path(directory) / "made"
        events = _made(made, sizes.events, STREAMS)
        program = _Program(Path(directory), sizes)
        measurers: list[Callable[[], dict[str, float]]]
        measurers = [functools.partial(measure_apart, __name__, what, made) for what in ("analyze", "floor")]
        measurers += [functools.partial(_by_ranks, number, made) for number in sizes.ranks]
        measurers += [_counting(Path(directory), number, sizes) for number in sizes.counted_ranks]
        samples = in_turn(repeats, [*measurers, program.measure], say)
    return [*_of_one(samples, events), *_of_several(samples, sizes), *_of_many(samples, sizes, events)]


def _of_one(samples: Samples, events: int) -> list[Figure]:
    """Rate and memory of one process."""
    million, size = events / 1e6, events * trace.EVENT_DTYPE.itemsize
    rate, floor = (tuple(million / seconds for seconds in samples[name]) for name in ("analyze", "floor"))
    peaks = tuple(peak / 1e9 for peak in samples["memory"])
    whole = Against("the trace", "GB", (size / 1e9,), peaks)
    held = tuple(peak / whole.value for peak in peaks)
    of = f"{million:.3g} million events"
    passed = Against("a sum over the same bytes", "M events/s", floor)
    return [
        Figure(f"wait states of {of}, one process", "M events/s", ">=", RATE, rate, passed),
        Figure(f"memory for {of}, of the trace's size", "×", "<=", MEMORY, held, whole),
    ]


def _of_several(samples: Samples, sizes: Sizes) -> list[Figure]:
    """Times of several ranks over that of one, and of a real program over its own."""
    first, cores = sizes.ranks[0], len(usable_cores())
    alone = Against(f"{first} rank", "s", tuple(samples[f"ranks {first}"]))
    figures = [
        Figure(
            f"the same by {number} ranks on {min(number, cores)} cores, over one",
            "×",
            "<=",
            1.2 / min(number, cores),
            ratios(samples[f"ranks {number}"], alone.samples),
            alone,
        )
        for number in sizes.ranks[1:]
    ]
    own = Against("the traced run", "s", tuple(samples["run"]), tuple(samples["analysis"]))
    name = "heat conduction of 2 ranks, nearly all MPI: analysis by 2 ranks over the run"
    return [*figures, Figure(name, "×", "<=", OWN_TIME, ratios(own.ours, own.samples), own)]


def _of_many(samples: Samples, sizes: Sizes, events: int) -> list[Figure]:
    """How what a rank does and sends grows, and the time that follows for many ranks."""
    numbers = sizes.counted_ranks
    counts = {
        number: {name: samples[f"{name} {number}"][-1] for name in Traffic._fields} for number in numbers
    }
    times = [[1e3 * seconds for seconds in samples[f"work {number}"]] for number in numbers]
    growth, each = fit_growth(numbers, times), events // STREAMS
    messages, size = _scaled(
        counts[numbers[-1]], numbers[-1], sizes.predicted_ranks, each / sizes.counted_events
    )
    way = sizes.latency * messages + sizes.per_byte * size
    more = [
        growth.more(numbers, repetition, sizes.predicted_ranks) / 1e3
        for repetition in zip(*times, strict=True)
    ]
    predicted = tuple(
        seconds / STREAMS + added + way for seconds, added in zip(samples["analyze"], more, strict=True)
    )
    own = Against("the traced run", "s", (each / EVENTS * PERIOD / 1e9,))
    title = (
        f"{sizes.predicted_ranks:,} ranks with {each / 1e6:.3g} million events each: predicted, with "
        f"{messages:,.0f} messages and {size_text(size)} of a rank"
    )
    return [
        _of_work(growth, times, sizes),
        _of_bytes(counts, sizes),
        Figure(title, "s", "<=", own.value, predicted, own),
    ]


def _of_work(growth: Growth, times: Sequence[Sequence[float]], sizes: Sizes) -> Figure:
    """How the work of the busiest rank grows with their number."""
    first, last = sizes.counted_ranks[0], sizes.counted_ranks[-1]
    low, high = growth.interval
    first_time, added = time_text(1e6 * growth.first), time_text(1e6 * growth.added)
    law = f"{first_time} + {added} · {growth.law} (95 %: {low:.2g} to {high:.2g})"
    name = (
        f"work of the busiest of {last} ranks with {sizes.counted_events:,} events each, "
        f"over that of {first}; of p ranks {law}"
    )
    own = Against(f"{first} {'rank' if first == 1 else 'ranks'}", "ms", tuple(times[0]), tuple(times[-1]))
    return Figure(name, "×", "<=", 1.5, ratios(times[-1], times[0]), own)


def _of_bytes(counts: Mapping[int, Mapping[str, float]], sizes: Sizes) -> Figure:
    """How what a rank sends grows; one alone sends nothing."""
    few, *_, many = (number for number in counts if number > 1)
    sent = {number: sum(counts[number][name] for name in _BYTES) / 1e3 for number in (few, many)}
    law = Against(f"{few} ranks", "KB", (sent[few],), (sent[many],))
    name = f"bytes of a rank of {many}, over one of {few}, with {sizes.counted_events:,} events each"
    growth = sent[many] / sent[few]
    return Figure(name, "×", "<=", 1.5, (growth,), law, bounds=(growth, growth))


def _scaled(counted: Mapping[str, float], few: int, many: int, events: float) -> tuple[float, float]:
    """Messages and bytes of a rank of `many` from those of one of few, with so many times the events."""
    logarithm = math.log2(many) / math.log2(few)
    growth = {
        "partners": events,
        "trees": logarithm,
        "tables": many / few * logarithm,
        "results": many / few,
    }
    size = sum(counted[name] * factor for name, factor in growth.items())
    return counted["messages"] * logarithm + many, size


def _made(directory: Path, events: int, ranks: int) -> int:
    with room_for(directory, events):
        return write_mpi_trace(directory, events, ranks)


def _counting(directory: Path, ranks: int, sizes: Sizes) -> Callable[[], dict[str, float]]:
    """Make a trace, and give what analyzes it by so many ranks: CPU time of the busiest, messages, bytes.

    Of several jobs each rank counts with its least time: the busiest of many ranks in one job would be the
    one that the machine disturbed most.
    """
    made = directory / f"counted-{ranks}"
    _made(made, sizes.counted_events * ranks, ranks)

    def measurer() -> dict[str, float]:
        jobs = [run_peer("analyze", ranks, made) for _ in range(sizes.counted_jobs)]
        busiest = np.min([job["works"] for job in jobs], axis=0).max()
        counted = {name: float(jobs[0][name]) for name in Traffic._fields} | {"work": float(busiest)}
        return {f"{name} {ranks}": value for name, value in counted.items()}

    return measurer


def _by_ranks(ranks: int, directory: Path) -> dict[str, float]:
    return {f"ranks {ranks}": run_peer("analyze", ranks, directory)["seconds"]}


def main(what: str, directory: str) -> None:
    """Analyze a trace, or sum up its bytes, and print seconds and the most memory in bytes as JSON."""
    from pse.analysis import analyze

    begin = time.perf_counter()
    if what == "analyze":
        analyze(directory)
    else:
        for path in Path(directory).glob("*.events"):
            np.memmap(path, "<u8", mode="r").sum()
    taken = time.perf_counter() - begin
    found = {what: taken}
    if what == "analyze":
        found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(found))


class _Program:
    """Heat conduction on so small a plate that its ranks nearly only communicate."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self._directory, self._mpi, self._turns = directory, find_mpi(), itertools.count()
        self._program = compiled(self._mpi, "heat.c", directory / "heat", [*linked(self._mpi), "-lm"])
        self._words = [str(size) for size in (sizes.batches, sizes.steps, sizes.side)]
        self._runs = sizes.runs

    def measure(self) -> dict[str, float]:
        """Run and analyze it several times, and give those times whose ratio is the median."""
        pairs = sorted(
            (self._run_and_analyze() for _ in range(self._runs)), key=lambda pair: pair[1] / pair[0]
        )
        run, analysis = pairs[len(pairs) // 2]
        return {"run": run, "analysis": analysis}

    def _run_and_analyze(self) -> tuple[float, float]:
        """Run it under the tool `trace`, and analyze that."""
        events, configuration = self._directory / f"heat-{next(self._turns)}", self._directory / "tools.conf"
        configuration.write_text(f"module trace\nargument directory {events}\n")
        given = [f"{name}={value}" for name, value in environment(str(configuration), self._mpi).items()]
        run = self._timed("the program heat", ["env", *given, str(self._program), *self._words])
        command = [sys.executable, "-m", "pse", "analyze", "--top", "0", str(events)]
        analysis = self._timed("the analysis", command)
        for path in events.iterdir():
            path.unlink()
        return run, analysis

    def _timed(self, what: str, command: list[str]) -> float:
        begin = time.perf_counter()
        process = start([find_mpiexec().path, "-n", "2", *command], str(self._directory))
        try:
            finish(what, process)
        finally:
            stop(process)
        return time.perf_counter() - begin
