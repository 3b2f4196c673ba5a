"""The Gantt of a run: threads are rows, module calls are blocks, lines follow TPHs from block to block.

May touch: nothing.  Next room: ``blocks.py`` says what is to be drawn.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from pse.trace import Trace
from pse.trace.selection import Selection
from pse.views.figure import WIDTH, add_axes, new_figure, time_axis


def draw_gantt(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw the lives of TPHs."""
    figure = new_figure(trace, "TPH lifetime", width=width or WIDTH, height=height or 4)
    axes = add_axes(figure, left=1.2, top=0.8, right=0.3, bottom=0.8)
    time_axis(axes, 0, trace.span)
    return figure
