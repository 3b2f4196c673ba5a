"""How long calls take: a strip for each call site, a dot for each call, from the shortest to the longest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pse.text import count_text, time_text
from pse.trace import Selection, Trace
from pse.trace.format import Array, TraceError
from pse.views.charts._load import Load, loads
from pse.views.core._axes_decoration import grid, height_of_rows, name_rows, widest_name
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
    new_figure,
    row_name,
)

PITCH = 0.4
"""Height of a strip, inches."""
MOST_ROWS = 60
"""Call sites that are shown: those with the most run time."""
MANY = 20
"""Calls from which on the 95th percentile says something."""
GRID = (900, 24)
"""Dots that a strip has room for: calls that fall on the same one are drawn once."""


def draw_durations(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw how long each call of each call site took."""
    found = loads(trace, selection)
    if not found:
        raise TraceError(
            "nothing to show: no module call ended within the selection",
            help="a trace of MPI alone has no module calls; the view event-total shows its routines",
        )
    shown = found[:MOST_ROWS]
    width = width or WIDTH
    left = MARGIN + widest_name((one.label for one in shown), width) + 0.15
    lines = caption_lines(_notes(len(found) - len(shown)), width - 2 * MARGIN)
    handles = _handles()
    legend = legend_height([str(handle.get_label()) for handle in handles], width - 2 * MARGIN)
    foot = 0.66 + legend + 0.15 * (len(lines) + 1)
    high = height_of_rows(PITCH * len(shown) + 0.15, height, foot)
    figure = new_figure(trace, _title(shown), width=width, height=HEAD + high + foot, selection=selection)
    axes = add_axes(figure, left=left, top=HEAD, right=MARGIN + 2.3, bottom=foot)
    _frame(axes, shown, [row_name(one.label, BODY, width) for one in shown])
    for place, one in enumerate(shown):
        _strip(axes, place, one)
    legend_below(figure, handles, top=foot - 0.55, width=width - 2 * MARGIN)
    caption(figure, lines)
    return figure


def _title(shown: Sequence[Load]) -> str:
    """Say whose durations are the least even, of the call sites that matter."""
    whole = sum(float(one.times.sum()) for one in shown)
    those = [one for one in shown if len(one.times) > 1 and one.times.sum() >= 0.05 * whole] or shown[:1]
    one = max(those, key=lambda it: _far(it) / _quantile(it, 50))
    name, median = one.label.partition(" · ")[0], time_text(_quantile(one, 50))
    if len(one.times) == 1:
        return f"{name} takes {median}"
    if _far(one) < 1.5 * _quantile(one, 50):
        return "Calls of one call site take about the same time"
    far = time_text(_far(one))
    tail = f"one call of 20 takes {far} or longer" if len(one.times) >= MANY else f"the longest takes {far}"
    return f"{name} takes {median} in the median, but {tail}"


def _far(one: Load) -> float:
    """What few calls exceed: the 95th percentile, of few calls the longest."""
    return _quantile(one, 95 if len(one.times) >= MANY else 100)


def _quantile(one: Load, percent: float) -> float:
    return float(np.percentile(one.times, percent))


def _frame(axes: Axes, shown: Sequence[Load], names: Sequence[str]) -> None:
    least = min(float(one.times.min()) for one in shown)
    most = max(float(one.times.max()) for one in shown)
    axes.set_xscale("log")
    axes.set_xlim(0.8 * least, 1.25 * most)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.hlines(np.arange(len(shown) - 1) + 0.5, *axes.get_xlim(), color="#EEEEEE", linewidth=0.6, zorder=0.5)
    grid(axes, "x")
    axes.xaxis.set_major_formatter(lambda value, _: time_text(value))
    axes.xaxis.set_minor_formatter(lambda *_: "")
    name_rows(axes, range(len(shown)), names)
    axes.set_xlabel("duration of a call, logarithmic", fontsize=BODY, color=INK, family=FONT)


def _strip(axes: Axes, place: int, one: Load) -> None:
    x, y = _dots(one.times, axes.get_xlim())
    axes.scatter(
        x, place + y, s=9, c=one.style.colour, edgecolors="#333333", linewidths=0.25, alpha=0.75, zorder=3,
        gid=one.label, rasterized=len(x) > 2000,
    )  # fmt: skip
    many = len(one.times) >= MANY
    for percent, colour, thick in ((50, "#111111", 2.2), (95, "#B00020", 1.6))[: 1 + many]:
        at, order = _quantile(one, percent), 4 if many else 2
        edges = [place - 0.42, place + 0.42]
        axes.plot([at, at], edges, color="white", linewidth=thick + 2, zorder=order)
        axes.plot([at, at], edges, color=colour, linewidth=thick, zorder=order + 0.1, gid=f"p{percent}")
    high = time_text(_quantile(one, 95)) if many else "–"
    texts = [time_text(_quantile(one, 50)), high, time_text(float(one.times.max()))]
    axes.annotate(
        f"{' · '.join(texts)}\n{count_text(len(one.times), 'call')}, {time_text(one.times.sum())} in all",
        (1, place), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
        fontsize=SMALL, color=SOFT, family=FONT, annotation_clip=False,
    )  # fmt: skip


def _dots(times: Array, edges: tuple[float, float]) -> tuple[Array, Array]:
    """Durations and heights that keep dots apart; each place once."""
    low, high = np.log(edges)
    column = ((np.log(times) - low) / (high - low) * GRID[0]).astype("<i8")
    line = (np.arange(len(times)) * 0.618034 % 1 * GRID[1]).astype("<i8")
    if len(times) == 1:
        line[:] = GRID[1] // 2
    _, first = np.unique(column * GRID[1] + line, return_index=True)
    return times[first], 0.7 * ((line[first] + 0.5) / GRID[1] - 0.5)


def _handles() -> list[Line2D]:
    dot = Line2D([], [], marker="o", linestyle="none", markersize=3.5, markeredgewidth=0.4, label="a call")
    dot.set(markerfacecolor="#BBBBBB", markeredgecolor="#333333")
    bars = [
        Line2D(
            [], [], marker="|", linestyle="none", markersize=10, markeredgewidth=2, color=colour, label=text
        )
        for colour, text in (("#111111", "median"), ("#B00020", "95 % take at most so long"))
    ]
    return [dot, *bars]


def _notes(left_out: int) -> str:
    rest = f" {left_out:,} call sites with less run time are left out." if left_out > 0 else ""
    return (
        f"At the right: median, 95th percentile (of {MANY} calls and more), longest call; number and time "
        f"of all. Heights within a strip only keep dots apart.{rest}"
    )
