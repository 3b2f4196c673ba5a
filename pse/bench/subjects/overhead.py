"""``pse bench overhead``: what the engine adds to one execution of a call site, and the recorder to an event.

The modules of the program do nothing, so all the time is the engine's: finding the call ready, allocating its
output, binding, calling, accounting, releasing its input.  Beside it: the same calls by hand, in a
Python loop that allocates each output with NumPy and calls the compiled module by ctypes.
"""

from __future__ import annotations

import ctypes
import itertools
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pse.bench import _floors
from pse.bench._figures import Against, Figure
from pse.bench._kernels import call, native
from pse.bench._running import Samples, in_turn, run_program
from pse.trace import Recorder
from pse.trace.format import EventType

SITES = 20
"""Call sites in each iteration of the program."""

ELEMENTS = 128


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: iterations of the program, events, calls by hand."""

    rounds: int = 10_000
    events: int = 200_000
    calls: int = 20_000


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all of it."""
    measurers = [
        lambda: {"off": _per_site(sizes.rounds, traced=False)},
        lambda: {"on": _per_site(sizes.rounds, traced=True)},
        lambda: _recorder(sizes.events),
        lambda: {"by hand": _by_hand(sizes.calls), "empty": _floors.empty_call(sizes.events)},
    ]
    samples = in_turn(repeats, measurers, say)
    return _site_figures(samples) + _event_figures(samples)


def _site_figures(samples: Samples) -> list[Figure]:
    by_hand = Against("np.empty and a ctypes call, by hand", "µs", tuple(samples["by hand"]))
    return [
        Figure("call site, tracing on", "µs", "<=", 2.0, tuple(samples["on"]), by_hand),
        Figure("call site, tracing off", "µs", "<=", 1.2, tuple(samples["off"]), by_hand),
    ]


def _event_figures(samples: Samples) -> list[Figure]:
    empty = Against("empty call in C", "ns", tuple(samples["empty"]))
    return [
        Figure("recorder, an event from C", "ns", "<=", 50.0, tuple(samples["c"]), empty),
        Figure("recorder, an event from Python", "ns", "<=", 100.0, tuple(samples["python"]), empty),
    ]


def _per_site(rounds: int, *, traced: bool) -> float:
    begin, end = run_program("overhead.coven", {"rounds": rounds, "n": ELEMENTS}, traced=traced)["t"]
    return float(end - begin) / (rounds * SITES) / 1000


def _recorder(events: int) -> dict[str, float]:
    """Mean ns of an event from C and from Python, after the recorder's file has grown once."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory, Recorder(directory, 0) as recorder:
        _floors.record_events(recorder, events // 10)
        in_c = _floors.record_events(recorder, events)
        record, enter, site = recorder.record, int(EventType.MODULE_ENTER), 7
        begin = time.perf_counter_ns()
        for _ in itertools.repeat(None, events):
            record(enter, site)
        return {"c": in_c, "python": (time.perf_counter_ns() - begin) / events}


def _by_hand(calls: int) -> float:
    """Mean µs of a step by hand."""
    step, size = native("overhead.c", "step"), ctypes.c_int64(ELEMENTS)
    x = np.empty(ELEMENTS)
    begin = time.perf_counter_ns()
    for _ in itertools.repeat(None, calls):
        y = np.empty(ELEMENTS)
        call(step, x, y, size)
        x = y
    return (time.perf_counter_ns() - begin) / calls / 1000
