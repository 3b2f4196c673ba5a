"""The Gantt of a run: threads are rows, module calls are blocks, lines follow TPHs from block to block.

The picture is made of parts, each with its marks, its entries of the legend and its words for the caption;
they are gathered first, for the figure's height follows from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pse.errors import UsageError
from pse.trace import Selection, Trace
from pse.views.core._axes_decoration import grid, height_of_rows, name_rows
from pse.views.core._figure import (
    BODY,
    FONT,
    HEAD,
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
    shortened,
    text_width,
    time_axis,
)
from pse.views.core._rows import Row, rows
from pse.views.core._saving import DPI
from pse.views.gantt._gantt_blocks import Calls
from pse.views.gantt._gantt_data import Blocks
from pse.views.gantt._gantt_lod import blocks
from pse.views.gantt._gantt_message_lines import MessageLines
from pse.views.gantt._gantt_overlays import MADE_BY, Markers, StartAndEnd

PITCH = 0.40
"""Height of a row, inches, if there is room."""
TALLEST = 12.0
"""Height of all rows together, inches, from which on rows become lower."""
LOWEST = 0.014
"""Height of a row, inches, below which the picture grows instead."""
HOSTS = 1.2
"""Longest name of a host, inches."""
MOST_PIXELS = 1_500_000
"""Of all rows together."""


class Part(Protocol):
    """Something that is drawn into the rows."""

    @property
    def handles(self) -> Sequence[Any]:
        """Entries of the legend."""

    @property
    def notes(self) -> Sequence[str]:
        """Sentences of the caption."""

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw it; a row is 1 high in the axes and `pitch` points in the picture."""


def draw_gantt(
    trace: Trace,
    selection: Selection,
    *,
    width: float | None = None,
    height: float | None = None,
    overlays: Iterable[str] = (),
    lines: bool = True,
) -> Figure:
    """Draw the lives of TPHs.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    selection : Selection
        Rows, window of time, modules and TPHs.
    width, height : float, optional
        Of the figure, inches; as needed if not given.
    overlays : iterable of str
        Of `OVERLAYS`: what else to draw over the rows.
    lines : bool
        Whether to draw the lines that follow TPHs.

    Returns
    -------
    Figure
        The picture.

    Raises
    ------
    UsageError
        There is no such overlay.
    TraceError
        The selection leaves nothing.
    """
    chosen = [_overlay(name) for name in dict.fromkeys(overlays)]
    width = width or WIDTH
    shown = rows(trace, selection)
    left, right = _label_room(shown, width), MARGIN + 0.1 + _host_room(shown)
    pixels = max(100, min(int((width - left - right) * DPI), MOST_PIXELS // len(shown)))
    found = blocks(trace, selection, shown=shown, pixels=pixels)
    calls = Calls(trace, found)
    parts: list[Part] = [calls, StartAndEnd(trace, found)]
    parts += [MessageLines(trace, found, selection.tphs is not None)] if lines else []
    parts += [Markers(found), *(overlay(trace, found) for overlay in chosen)]
    high = _rows_height(len(shown), 1 + 0.25 * max(0, calls.depths - 2 + calls.has_calls))
    is_program = calls.has_calls or (trace.definitions is not None and trace.definitions.sites)
    title = "calls and waits of each thread" if is_program else "routines of each rank"
    sides = (left, right, high)
    return _compose(trace, selection, title, found, parts, width=width, height=height, sides=sides)


def _overlay(name: str) -> Any:
    if name not in MADE_BY:
        raise UsageError(f"there is no overlay {name!r}", help=f"the overlays are {', '.join(MADE_BY)}")
    return MADE_BY[name]


def _compose(
    trace: Trace,
    selection: Selection,
    title: str,
    found: Blocks,
    parts: Sequence[Part],
    *,
    width: float,
    height: float | None,
    sides: tuple[float, float, float],
) -> Figure:
    left, right, high = sides
    room = width - 2 * MARGIN
    handles = [handle for part in parts for handle in part.handles]
    notes = caption_lines(
        " ".join([*(note for part in parts for note in part.notes), *_problems(trace)]), room
    )
    legend = legend_height([handle.get_label() for handle in handles], room)
    foot = 0.62 + legend + 0.15 * (len(notes) + 1)
    high = height_of_rows(high, height, foot)
    figure = new_figure(trace, title, width=width, height=HEAD + high + foot, selection=selection)
    axes = add_axes(figure, left=left, top=HEAD, right=right, bottom=foot)
    pitch = 72 * high / len(found.rows)
    _frame(axes, found, pitch)
    for part in parts:
        part.draw(axes, pitch)
    legend_below(figure, handles, top=foot - 0.55, width=room)
    caption(figure, notes)
    return figure


def _frame(axes: Axes, found: Blocks, pitch: float) -> None:
    axes.set_ylim(len(found.rows) - 0.45, -0.55)
    time_axis(axes, found.begin, found.end)
    grid(axes, "x")
    shown = [one.row for one in found.rows]
    _bands(axes, shown, pitch)
    _name_hosts(axes, shown, pitch)
    ticks = _labels(shown, pitch)
    size, width = _size(pitch), float(axes.figure.bbox.width) / axes.figure.dpi
    names = [row_name(label, size, width) for _, label in ticks]
    name_rows(axes, [place for place, _ in ticks], names, size)


def _bands(axes: Axes, shown: Sequence[Row], pitch: float) -> None:
    """Set the processors apart, if there are several and they are high enough to tell."""
    groups = _groups(shown)
    if len(groups) < 2 or pitch * len(shown) / len(groups) < 3:
        return
    for index, (first, last, _) in enumerate(groups):
        if index % 2:
            axes.axhspan(first - 0.5, last + 0.5, color="#F4F5F7", linewidth=0, zorder=0)


def _host_room(shown: Sequence[Row]) -> float:
    hosts = {row.host for row in shown}
    return 0.1 + min(HOSTS, max(text_width(host, SMALL) for host in hosts)) if len(hosts) > 1 else 0.0


def _name_hosts(axes: Axes, shown: Sequence[Row], pitch: float) -> None:
    """Say at the right on which host rows are, if there are several and there is room."""
    runs = [list(run) for _, run in itertools.groupby(enumerate(shown), key=lambda item: item[1].host)]
    if len(runs) < 2 or pitch * len(shown) / len(runs) < SMALL:
        return
    for run in runs:
        first, last, host = run[0][0], run[-1][0], run[0][1].host
        style: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        axes.annotate("", (1.006, first - 0.42), (1.006, last + 0.42), textcoords=style["xycoords"],
                      arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.8}, **style)  # fmt: skip
        name = shortened(host, SMALL, HOSTS)
        axes.annotate(name, (1.006, (first + last) / 2), (4, 0), textcoords="offset points", size=SMALL,
                      family=FONT, color=SOFT, va="center", **style)  # fmt: skip


def _labels(shown: Sequence[Row], pitch: float) -> list[tuple[float, str]]:
    """Labels that fit: of all rows, else of processors, else of every n-th of them."""
    if pitch >= 7.5:
        return [(float(place), row.label) for place, row in enumerate(shown)]
    groups = _groups(shown)
    if len(groups) == 1:
        groups = [(place, place, row.label) for place, row in enumerate(shown)]
    step = next(step for step in _STEPS if step * pitch * len(shown) / len(groups) >= 9 or step == _STEPS[-1])
    return [((first + last) / 2, label) for first, last, label in groups[::step]]


_STEPS = tuple(base * 10**power for power in range(7) for base in (1, 2, 5))


def _groups(shown: Sequence[Row]) -> list[tuple[int, int, str]]:
    """First and last row and the name of each processor."""
    groups = []
    for name, members in itertools.groupby(enumerate(shown), key=lambda item: item[1].group):
        places = [place for place, _ in members]
        groups.append((places[0], places[-1], name or "ranks"))
    return groups


def _size(pitch: float) -> float:
    return min(BODY, max(SMALL - 1, pitch * 0.8))


def _label_room(shown: Sequence[Row], width: float) -> float:
    longest = max(shown, key=lambda row: len(row.label)).label
    size = _size(72 * _rows_height(len(shown)) / len(shown))
    return MARGIN + text_width(row_name(longest, size, width), size) + 0.12


def _rows_height(count: int, stretch: float = 1.0) -> float:
    return max(0.55, min(PITCH * stretch * count, max(TALLEST, LOWEST * count)))


def _problems(trace: Trace) -> list[str]:
    more = [f"And {len(trace.problems) - 3} more problems."] if len(trace.problems) > 3 else []
    return [f"{problem[:1].upper()}{problem[1:]}." for problem in trace.problems[:3]] + more
