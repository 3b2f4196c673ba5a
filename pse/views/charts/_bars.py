"""Two kinds of bar charts: a stacked bar for each processor, and a bar for each kind in total."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pse.text import time_text
from pse.trace import Selection, Trace
from pse.trace.format import TraceError
from pse.views.core._axes_decoration import Total, draw_sums, grid, height_of_rows
from pse.views.core._figure import (
    BODY,
    FONT,
    HEAD,
    INK,
    MARGIN,
    SMALL,
    SOFT,
    WIDTH,
    add_axes,
    caption,
    caption_lines,
    duration_axis,
    legend_below,
    legend_height,
    legend_name,
    new_figure,
    row_name,
    text_width,
)
from pse.views.core._time_breakdown import Bars, Share

HEIGHT = 3.2
"""Of the bars for processors, inches."""
PITCH = 0.34
"""Of a bar in total, inches."""
BROADEST = 1.3
"""Of a bar for a processor, inches."""
MOST_TOTALS = 60
"""Bars in total; the rest is summed up in one."""
EDGED = 200
"""Bars from which on their parts have no edges: these would hide them."""


def draw_by_processor(
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
    """Draw a stacked bar for each processor.

    Parameters
    ----------
    title, label, notes : str
        What the picture shows, what its y axis is, and the words below it.
    """
    shown = _any(bars)
    width = width or WIDTH
    room = width - 2 * MARGIN
    handles = [_patch(share) for share in shown]
    lines = caption_lines(notes, room)
    legend = legend_height([str(handle.get_label()) for handle in handles], room)
    foot = 0.75 + legend + 0.15 * (len(lines) + 1)
    high = height_of_rows(HEIGHT, height, foot)
    figure = new_figure(trace, title, width=width, height=HEAD + high + foot, selection=selection)
    axes = add_axes(figure, left=0.95, top=HEAD, right=MARGIN + 0.1, bottom=foot)
    _stack(axes, shown, len(bars.groups), width - 0.95 - MARGIN - 0.1)
    tops = np.sum([share.times for share in shown], axis=0)
    axes.set_ylim(0, 1.12 * tops.max())
    duration_axis(axes, "y", 1.12 * tops.max(), label)
    grid(axes, "y")
    _group_labels(axes, bars.groups, bars.row, width - 0.95 - MARGIN)
    _top_labels(axes, tops, width - 0.95 - MARGIN)
    legend_below(figure, handles, top=foot - 0.68, width=room)
    caption(figure, lines)
    return figure


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
    """Draw a bar for each kind, the longest first; see `draw_by_processor`."""
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


def _any(bars: Bars) -> list[Share]:
    shown = bars.shown()
    if not shown:
        raise TraceError(
            "nothing to show: the selected ranks spent no time in anything of this kind",
            help="select more ranks, or a longer window",
        )
    return shown


def _patch(share: Share) -> Patch:
    style = share.style
    label = legend_name(share.label)
    return Patch(facecolor=style.colour, hatch=style.hatch, edgecolor="#444444", lw=0.5, label=label)


def _stack(axes: Axes, shown: Sequence[Share], count: int, room: float) -> None:
    """Draw the parts as polygons: a collection for each kind is fast with thousands of bars."""
    half = min(0.36, BROADEST / 2 * count / room) if count <= EDGED else 0.5
    left, right = np.arange(count) - half, np.arange(count) + half
    floor = np.zeros(count)
    for share_ in shown:
        top = floor + share_.times
        corners = np.stack(
            [np.stack([left, right, right, left], 1), np.stack([floor, floor, top, top], 1)], axis=2
        )
        parts = PolyCollection(
            list(corners[share_.times > 0]),
            facecolor=share_.style.colour,
            edgecolor="#444444" if count <= EDGED else "none",
            linewidth=0.5 if count <= EDGED else 0,
            hatch=share_.style.hatch or None,
            label=share_.label,
            gid=share_.label,
        )
        axes.add_collection(parts, autolim=False)
        floor = top
    axes.set_xlim(-0.5, count - 0.5)


def _group_labels(axes: Axes, groups: Sequence[str], what: str, room: float) -> None:
    """Name all bars, else every second, fifth, tenth and so on, as many as fit."""
    needed = (max(text_width(group, BODY) for group in groups) + 0.08) * len(groups)
    step = next(step for step in round_steps() if needed / step <= room)
    places = list(range(0, len(groups), step))
    axes.set_xticks(places, [groups[place] for place in places], fontsize=BODY, family=FONT)
    axes.tick_params(axis="x", length=0 if step == 1 else 3)
    axes.set_xlabel(what, fontsize=BODY, color=INK, fontfamily=FONT)


def round_steps() -> list[int]:
    """How many labels may be passed over, so that those that are shown are of round numbers."""
    return [base * 10**power for power in range(8) for base in (1, 2, 5)]


def _top_labels(axes: Axes, tops: Sequence[float], room: float) -> None:
    """Write each bar's height above it, where all of these fit."""
    texts = [time_text(top) for top in tops]
    if max(text_width(text, SMALL) for text in texts) + 0.06 > room / len(tops):
        return
    for place, (top, text) in enumerate(zip(tops, texts, strict=True)):
        axes.annotate(
            text, (place, top), (0, 2), textcoords="offset points", ha="center", va="bottom",
            fontsize=SMALL, color=SOFT, family=FONT,
        )  # fmt: skip
