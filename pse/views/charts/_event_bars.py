"""Bar charts of the time outside of modules: waits, hand-overs, engine: for each processor, and in total."""

from __future__ import annotations

from matplotlib.figure import Figure

from pse.trace import Selection, Trace
from pse.views.charts._bars import draw_by_processor, draw_totals
from pse.views.core._time_breakdown import Bars, event_bars

ABOUT = (
    "Waits by reason; hand-over: giving and taking tags; memory: finding and freeing it; start and end: "
    "before the program's first statement, and after the last thing that a thread does; rest of the engine: "
    "choosing what to do next, and time without a core."
)


def draw_event_time(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw for each processor how long its threads waited, handed over, and were in the engine."""
    bars = event_bars(trace, selection)
    return draw_by_processor(
        trace, selection, bars, title=f"{_what(bars)}, by {bars.row}", label="time",
        notes="" if bars.mpi else f"Time is summed up over all threads of a processor. {ABOUT}",
        width=width, height=height,
    )  # fmt: skip


def draw_event_total(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw how long all ranks together waited, handed over, and were in the engine."""
    bars = event_bars(trace, selection)
    return draw_totals(
        trace, selection, bars, title=f"{_what(bars)}, of all ranks together", label="time, all ranks",
        notes=f"At each bar: time, share, how often. {'' if bars.mpi else ABOUT}".strip(),
        width=width, height=height,
    )  # fmt: skip


def _what(bars: Bars) -> str:
    return "time in MPI" if bars.mpi else "time outside of modules"
