"""``pse bench reading``: how fast a trace of many events becomes tables, its summary, its Gantt.

The trace is made (``traces.py``) and lies in the page cache.  Each reading is a process of its own on one
core, timed from opening the trace to having all its tables, one after the other.  Beside it, the floor: a sum
over the same bytes, mapped in the same way.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pse import trace
from pse.bench._figures import Against, Figure
from pse.bench._running import in_turn, measure_apart
from pse.bench._synthetic_trace import room_for, write_trace

TABLES = ("module_calls", "waits", "messages", "memory", "queue_depths", "routine_calls")


@dataclass(frozen=True)
class Sizes:
    """How many events the trace has."""

    events: int = 50_000_000


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure tables, summary, Gantt and floor, in turn."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory:
        with room_for(directory, sizes.events):
            events = write_trace(directory, sizes.events)
        measurers = [functools.partial(measure_apart, __name__, what, directory) for what in READINGS]
        samples = in_turn(repeats, measurers, say)
    size, million = events * trace.EVENT_DTYPE.itemsize, events / 1e6
    rates = {name: tuple(million / seconds for seconds in samples[name]) for name in ("tables", "floor")}
    floor = Against("a sum over the same bytes", "M events/s", rates["floor"])
    passed = Against("a sum over the same bytes", "s", tuple(samples["floor"]))
    peaks = tuple(peak / 1e9 for peak in samples["summary memory"])
    whole = Against("the trace", "GB", (size / 1e9,) * repeats, peaks)
    drawn = tuple(peak / (1 << 20) for peak in samples["gantt memory"])
    file = Against("the trace", "MiB", (size / (1 << 20),) * repeats)
    held = tuple(peak / whole.value for peak in peaks)
    of = f"of {million:.3g} million events"
    return [
        Figure(f"a trace {of} into tables", "M events/s", ">=", 20.0, rates["tables"], floor),
        Figure(f"summary {of}", "s", "<=", 10.0, tuple(samples["summary"]), passed),
        Figure(f"memory of the summary {of}, of the trace's size", "×", "<=", 1.5, held, whole),
        Figure(f"Gantt {of}", "s", "<=", 5.0, tuple(samples["gantt"]), passed),
        Figure(f"memory of the Gantt {of}", "MiB", "<=", 2048.0, drawn, file),
    ]


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


def _floor(directory: str) -> None:
    for name in os.listdir(directory):
        if name.endswith(".events"):
            np.memmap(Path(directory) / name, "<u8", mode="r").sum()


READINGS: Mapping[str, Callable[[str], None]] = {
    "tables": _tables,
    "summary": _summary,
    "gantt": _gantt,
    "floor": _floor,
}
