"""The bar chart of the time outside of modules: waits, hand-overs, engine, of all ranks together."""

from __future__ import annotations

from matplotlib.figure import Figure

from pse.trace import Selection, Trace
from pse.views.charts._bars import draw_totals, totals_title
from pse.views.charts._time_shares import ABOUT
from pse.views.core._time_breakdown import Bars, event_bars


def draw_event_total(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw how long all ranks together waited, handed over, and were in the engine."""
    bars = event_bars(trace, selection)
    return draw_totals(
        trace, selection, bars, title=totals_title(bars, _what(bars)), label="time, all ranks",
        notes=f"At each bar: time, share, how often. {'' if bars.mpi else ABOUT}".strip(),
        width=width, height=height,
    )  # fmt: skip


def _what(bars: Bars) -> str:
    return "time in MPI" if bars.mpi else "time outside of modules"
