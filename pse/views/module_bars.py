"""Bar charts of module run time: for each processor, and in total.

May touch: nothing.  Next rooms: ``shares.py`` counts, ``bars.py`` draws.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from pse.trace import Selection, Trace
from pse.trace.errors import TraceError
from pse.views.bars import draw_by_processor, draw_totals
from pse.views.shares import Bars, module_bars


def draw_module_time(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw for each processor how long its threads were in which module."""
    return draw_by_processor(
        trace, selection, _bars(trace, selection), title="module run time of each processor",
        label="run time", notes="Run time is summed up over all threads of a processor.",
        width=width, height=height,
    )  # fmt: skip


def draw_module_total(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw how long all ranks together were in which module."""
    return draw_totals(
        trace, selection, _bars(trace, selection), title="module run time in total",
        label="run time, all ranks", notes="At each bar: time, share of all modules' time, number of calls.",
        width=width, height=height,
    )  # fmt: skip


def _bars(trace: Trace, selection: Selection) -> Bars:
    bars = module_bars(trace, selection)
    if not bars.shown():
        raise TraceError(
            "the trace shows no time in modules here: it has MPI's events only, or the selection leaves none",
            help="event-time and event-total show the time in MPI",
        )
    return bars
