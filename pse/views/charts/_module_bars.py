"""The bar chart of module run time, of all ranks together."""

from __future__ import annotations

from matplotlib.figure import Figure

from pse.trace import Selection, Trace
from pse.trace.format import TraceError
from pse.views.charts._bars import draw_totals, totals_title
from pse.views.core._time_breakdown import Bars, module_bars


def draw_module_total(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw how long all ranks together were in which module."""
    bars = _bars(trace, selection)
    return draw_totals(
        trace, selection, bars, title=totals_title(bars, _what(bars)), label="run time, all ranks",
        notes="At each bar: time, share of the time of all, number of calls.", width=width, height=height,
    )  # fmt: skip


def _what(bars: Bars) -> str:
    return "run time of regions outside of MPI" if bars.mpi else "run time of modules"


def _bars(trace: Trace, selection: Selection) -> Bars:
    bars = module_bars(trace, selection)
    if not bars.shown():
        raise TraceError(
            "nothing to show: the trace has no module calls within the selection",
            help="the view event-total shows the time in MPI",
        )
    return bars
