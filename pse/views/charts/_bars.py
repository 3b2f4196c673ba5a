"""Bar charts of sums: a bar for each kind of time, of all ranks together."""

from __future__ import annotations

from matplotlib.figure import Figure

from pse.text import share_text, time_text
from pse.trace import Selection, Trace
from pse.trace.format import TraceError
from pse.views.core._axes_decoration import Total, draw_sums, grid, height_of_rows
from pse.views.core._figure import (
    BODY,
    HEAD,
    MARGIN,
    WIDTH,
    add_axes,
    caption,
    caption_lines,
    legend_name,
    new_figure,
    row_name,
    text_width,
)
from pse.views.core._time_breakdown import Bars, Share

PITCH = 0.34
"""Of a bar in total, inches."""
MOST_TOTALS = 60
"""Bars in total; the rest is summed up in one."""


def draw_totals(
    trace: Trace,
    selection: Selection,
    bars: Bars,
    *,
    title: str,
    label: str,
    notes: str,
    width: float | None,
    height: float | None,
) -> Figure:
    """Draw a bar for each kind, the longest first.

    Parameters
    ----------
    title, label, notes : str
        What the picture shows, what its x axis is, and the words below it.
    """
    found = sorted(_any(bars), key=lambda one: -one.total)
    shown, rest = found[:MOST_TOTALS], found[MOST_TOTALS:]
    time = time_text(sum(one.total for one in rest))
    more = f" {len(rest)} kinds with {time} are left out." if rest else ""
    width = width or WIDTH
    lines = caption_lines(notes + more, width - 2 * MARGIN)
    names = [row_name(one.label, BODY, width) for one in shown]
    left = MARGIN + max(text_width(name, BODY) for name in names) + 0.15
    foot = 0.62 + 0.15 * (len(lines) + 1)
    high = height_of_rows(max(0.7, PITCH * len(shown)), height, foot)
    figure = new_figure(trace, title, width=width, height=HEAD + high + foot, selection=selection)
    axes = add_axes(figure, left=left, top=HEAD, right=MARGIN + 1.9, bottom=foot)
    grid(axes, "x")
    sums = [Total(name, one.style, one.total, one.count) for name, one in zip(names, shown, strict=True)]
    draw_sums(axes, sums, sum(one.total for one in shown), label)
    caption(figure, lines)
    return figure


def totals_title(bars: Bars, what: str) -> str:
    """Say which kind of time is the most of what is shown."""
    shown = _any(bars)
    whole, most = sum(share.total for share in shown), max(shown, key=lambda share: share.total)
    return f"{share_text(most.total / max(1, whole))} of the {what} is {legend_name(most.label)}"


def _any(bars: Bars) -> list[Share]:
    shown = bars.shown()
    if not shown:
        raise TraceError(
            "nothing to show: the selected ranks spent no time in anything of this kind",
            help="select more ranks, or a longer window",
        )
    return shown


def round_steps() -> list[int]:
    """How many labels may be passed over, so that those that are shown are of round numbers."""
    return [base * 10**power for power in range(8) for base in (1, 2, 5)]
