"""Where the time went: a bar for each processor or rank, which is all of its time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pse.errors import UsageError
from pse.text import did_you_mean, share_text, time_text
from pse.trace import Selection, Trace
from pse.trace.format import Array, TraceError
from pse.views.core._axes_decoration import grid, height_of_rows, name_crowded_rows, widest_name
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
    legend_below,
    legend_height,
    legend_name,
    new_figure,
)
from pse.views.core._time_breakdown import ENGINE_STYLES, Bars, Share, event_bars, module_bars

PITCH = 0.3
"""Height of a row, inches, if there is room."""
TALLEST = 9.0
"""Height of all rows together, inches."""
EDGED = 80
"""Rows up to which their parts have edges, and numbers beside them."""
ORDERS = ("place", "busy", "waiting")
ABOUT = (
    "Waits by reason; hand-over: giving and taking tags; memory: finding and freeing it; start and end: "
    "before the program's first statement, and after the last thing that a thread does; rest of the engine: "
    "choosing what to do next, and time without a core."
)


def draw_time(
    trace: Trace,
    selection: Selection,
    *,
    width: float | None = None,
    height: float | None = None,
    by: str = "processor",
    sort: str = "place",
) -> Figure:
    """Draw where the time of each processor, or of each rank, went: all of it is 100 %."""
    if sort not in ORDERS:
        help = did_you_mean(sort, ORDERS) or f"sort by {', '.join(ORDERS)}"
        raise UsageError(f"bars can't be sorted by {sort!r}", help=help)
    modules, events = module_bars(trace, selection, by), event_bars(trace, selection, by)
    shares = [*modules.shown(), *events.shown()]
    if not shares:
        raise TraceError(
            "nothing to show: the selected ranks spent no time in the selected window",
            help="select more ranks, or a longer window",
        )
    lives = np.sum([share.times for share in shares], axis=0)
    busy, waiting = _sum(modules.shares, lives), _sum(_waits(events), lives)
    order = _order(sort, lives, busy, waiting)
    names = [modules.groups[place] for place in order]
    width = width or WIDTH
    left = MARGIN + widest_name(names, width) + 0.15
    handles = [_patch(share, int(lives.sum())) for share in shares]
    notes = f"{_balance(modules, lives, busy)} {'' if events.mpi else ABOUT}"
    lines = caption_lines(notes.strip(), width - 2 * MARGIN)
    legend = legend_height([str(handle.get_label()) for handle in handles], width - 2 * MARGIN)
    foot = 0.66 + legend + 0.15 * (len(lines) + 1)
    high = height_of_rows(min(PITCH * len(order) + 0.1, TALLEST), height, foot)
    title = _title(modules, lives, busy)
    figure = new_figure(trace, title, width=width, height=HEAD + high + foot, selection=selection)
    axes = add_axes(figure, left=left, top=HEAD, right=MARGIN + 1.6, bottom=foot)
    _stack(axes, shares, order, lives)
    name_crowded_rows(axes, names, high)
    _frame(axes, len(order), modules.row)
    if len(order) <= EDGED:
        _numbers(axes, [lives[place] for place in order], [busy[place] for place in order], high)
    legend_below(figure, handles, top=foot - 0.55, width=width - 2 * MARGIN)
    caption(figure, lines)
    return figure


def _waits(events: Bars) -> list[Share]:
    """Of what isn't in modules, the waits; of MPI alone all that is in it."""
    return [share for share in events.shares if share.label not in ENGINE_STYLES]


def _sum(shares: Sequence[Share], like: Array) -> Array:
    total: Array = np.sum([np.zeros_like(like), *(share.times for share in shares)], axis=0)
    return total


def _order(sort: str, lives: Array, busy: Array, waiting: Array) -> list[int]:
    """Rows from the top down: as placed, or those with the greatest share first."""
    part = {"place": np.zeros(len(lives)), "busy": busy, "waiting": waiting}[sort] / np.maximum(lives, 1)
    order: list[int] = np.argsort(-part, kind="stable").tolist()
    return order


def _title(modules: Bars, lives: Array, busy: Array) -> str:
    part = share_text(float(busy.sum() / max(1, lives.sum())))
    what = "regions outside of MPI" if modules.mpi else "modules"
    return f"{part} of the time of all ranks is spent in {what}"


def _balance(modules: Bars, lives: Array, busy: Array) -> str:
    """How evenly rows are busy."""
    if len(busy) < 2 or not busy.any():
        return ""
    most = int(np.argmax(busy / np.maximum(lives, 1)))
    part, mean = busy[most] / max(1, lives[most]), busy.sum() / max(1, lives.sum())
    name = modules.groups[most]
    return (
        f"Busiest is {name}: {share_text(float(part))} of its time, {part / mean:.2f} times the share of all."
    )


def _patch(share: Share, whole: int) -> Patch:
    style = share.style
    part = share.total / max(1, whole)
    label = f"{legend_name(share.label)} {share_text(part) if part >= 0.005 else '< 1 %'}"
    return Patch(facecolor=style.colour, hatch=style.hatch, edgecolor="#444444", lw=0.5, label=label)


def _stack(axes: Axes, shares: Sequence[Share], order: Sequence[int], lives: Array) -> None:
    """Draw the parts as polygons: a collection for each kind is fast with thousands of rows."""
    half = 0.38 if len(order) <= EDGED else 0.5
    top, bottom = np.arange(len(order)) - half, np.arange(len(order)) + half
    begin = np.zeros(len(order))
    for share in shares:
        times = share.times[order]
        end = begin + 100 * times / np.maximum(lives[order], 1)
        corners = np.stack(
            [np.stack([begin, end, end, begin], 1), np.stack([top, top, bottom, bottom], 1)], axis=2
        )
        parts = PolyCollection(
            list(corners[times > 0]), facecolor=share.style.colour, label=share.label, gid=share.label,
            edgecolor="#444444" if len(order) <= EDGED else "none",
            linewidth=0.4 if len(order) <= EDGED else 0, hatch=share.style.hatch or None,
        )  # fmt: skip
        axes.add_collection(parts, autolim=False)
        begin = end


def _frame(axes: Axes, rows: int, what: str) -> None:
    axes.set_xlim(0, 100)
    axes.set_ylim(rows - 0.45, -0.55)
    grid(axes, "x")
    axes.set_axisbelow(True)
    label = f"share of the time of each {what} (%)"
    axes.set_xlabel(label, fontsize=BODY, color=INK, family=FONT)


def _numbers(axes: Axes, lives: Sequence[int], busy: Sequence[int], high: float) -> None:
    """Write beside each bar how busy it is, of how much time, if there is room."""
    if 72 * high / len(lives) < SMALL:
        return
    for place, (life, part) in enumerate(zip(lives, busy, strict=True)):
        text = f"{share_text(float(part / max(1, life)))} of {time_text(life)}"
        axes.annotate(
            text, (100, place), (6, 0), textcoords="offset points", va="center", fontsize=SMALL, color=SOFT,
            family=FONT, annotation_clip=False,
        )  # fmt: skip
