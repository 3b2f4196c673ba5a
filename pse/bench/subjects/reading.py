"""``pse bench reading``: how fast a trace of many events becomes tables, summary, Gantt, critical path.

The trace is made (``traces.py``) and lies in the page cache.  Each reading is a process of its own on one
core, timed from opening the trace to having all its tables, one after the other.  Beside it, the floors: a
sum over the same bytes, mapped in the same way, and a copy of them.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pse import trace
from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, in_turn, measure_apart, ratios
from pse.bench._synthetic_trace import room_for, write_trace

TABLES = ("module_calls", "waits", "messages", "memory", "queue_depths", "routine_calls")


@dataclass(frozen=True)
class Sizes:
    """How many events the trace has."""

    events: int = 50_000_000


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure what is made of a trace, and the floors, in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        with room_for(directory, sizes.events):
            events = write_trace(directory, sizes.events)
        measurers = [functools.partial(measure_apart, __name__, what, directory) for what in READINGS]
        samples = in_turn(repeats, measurers, say)
    return _figures(samples, events)


def _figures(samples: Samples, events: int) -> list[Figure]:
    size, million, of = (
        events * trace.EVENT_DTYPE.itemsize,
        events / 1e6,
        f"of {events / 1e6:.3g} million events",
    )
    tables, floor, copy = (tuple(samples[name]) for name in ("tables", "floor", "copy"))
    rates = tuple(million / seconds for seconds in tables)
    summed = Against("a sum over the same bytes", "s", floor, tables)
    copied = Against("a copy of the same bytes", "s", copy, tables)
    found = [
        Figure(
            f"a trace {of} into tables, over a sum of its bytes",
            "×",
            "<=",
            16.0,
            ratios(tables, floor),
            summed,
        ),
        Figure(f"a trace {of} into tables", "M events/s", ">=", 25.0, rates, copied),
        Figure(
            *(f"summary {of}", "s", "<=", 5.0),
            tuple(samples["summary"]),
            Against("a sum over the same bytes", "s", floor),
        ),
        Figure(
            *(f"Gantt {of}", "s", "<=", 5.0),
            tuple(samples["gantt"]),
            Against("a sum over the same bytes", "s", floor),
        ),
    ]
    for what, limit in (("summary", 1.5), ("critical path", 1.5)):
        peaks = tuple(peak / 1e9 for peak in samples[f"{what} memory"])
        whole = Against("the trace", "GB", (size / 1e9,) * len(peaks), peaks)
        held = tuple(peak / whole.value for peak in peaks)
        found.append(Figure(f"memory of the {what} {of}, of the trace's size", "×", "<=", limit, held, whole))
    drawn = tuple(peak / (1 << 20) for peak in samples["gantt memory"])
    file = Against("the trace", "MiB", (size / (1 << 20),) * len(drawn))
    return [*found, Figure(f"memory of the Gantt {of}", "MiB", "<=", 2048.0, drawn, file)]


def main(what: str, directory: str) -> None:
    """Run one of `READINGS` here, and print what it took as JSON: seconds, and the most memory in bytes."""
    begin = time.perf_counter()
    READINGS[what](directory)
    taken = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({what: taken, f"{what} memory": peak}))


def _tables(directory: str) -> None:
    read = trace.open(directory)
    for name in TABLES:
        getattr(read, name)()


def _summary(directory: str) -> None:
    trace.summarize(trace.open(directory))


def _gantt(directory: str) -> None:
    """What ``pse view`` does, its imports included."""
    from pse import views

    views.save(views.draw(trace.open(directory), "gantt"), Path(directory) / "gantt.png")


def _critical_path(directory: str) -> None:
    """What ``pse trace critical`` does."""
    from pse import analysis

    list(analysis.critical_path_text(analysis.critical_path(trace.open(directory))))


def _floor(directory: str) -> None:
    for words in _mapped(directory):
        words.sum()


def _copy(directory: str) -> None:
    for words in _mapped(directory):
        np.array(words)


def _mapped(directory: str) -> Iterator[NDArray[np.uint64]]:
    for name in os.listdir(directory):
        if name.endswith(".events"):
            yield np.memmap(Path(directory) / name, "<u8", mode="r")


READINGS: Mapping[str, Callable[[str], None]] = {
    "tables": _tables,
    "summary": _summary,
    "gantt": _gantt,
    "critical path": _critical_path,
    "floor": _floor,
    "copy": _copy,
}
