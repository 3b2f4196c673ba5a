"""Memory use over time: the arena of each host, and below it the memory of each thread's tags.

A row is one thread; all rows have one scale.  A pixel shows the most that was held at any time within it.
Past some tens of threads, shades take the place of heights.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from pse.text import size_text
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
    new_figure,
    time_axis,
)
from pse.views.core._memory_balance import imbalance
from pse.views.core._rows import Row, rows
from pse.views.core._saving import DPI

_size = partial(size_text, zeros=False)

ARENA = 1.3
"""Height of a host's arena, inches."""
MOST_HOSTS = 8
"""Arenas that are drawn; of more hosts those with the highest peaks."""
PITCH = 0.42
"""Height of a thread's row, inches, if there is room."""
TALLEST = 9.0
"""Height of all rows together, inches."""
HEIGHTS = 48
"""Threads up to which heights show memory; of more, shades do."""
SPAN = 1000.0
"""Ratio between the ends of the scale of shades, at most."""
COLOURS, EMPTY = "viridis_r", "#F2F2F2"
FILL, EDGE = "#9CC9E8", "#0072B2"


def draw_memory(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw the memory in use over time."""
    shown = rows(trace, selection)
    changes = trace.memory()
    if not len(changes):
        raise TraceError(
            "nothing to show: no memory for tags was allocated in this trace",
            help="`pse trace summary` says what the run recorded",
        )
    width = width or WIDTH
    left = MARGIN + max(0.75, widest_name((row.label for row in shown), width) + 0.12)
    window = selection.window(trace)
    begin, end = window.begin, max(window.end, window.begin + 1)
    edges = np.linspace(begin, end, max(100, int((width - left - MARGIN) * DPI)) + 1)
    arenas = _arenas(trace, changes, {row.host for row in shown}, edges)
    held = [_most(changes[changes["rank"] == row.rank], edges) for row in shown]
    notes = [_notes(arenas, len(shown) <= HEIGHTS), *imbalance(trace)]
    lines = caption_lines(" ".join(notes), width - 2 * MARGIN)
    foot = 0.6 + 0.15 * (len(lines) + 1)
    room = ARENA * len(arenas) + 0.35
    high = min(PITCH * len(shown), max(TALLEST, 0.014 * len(shown)))
    high = height_of_rows(high, height, room + foot)
    total = HEAD + room + high + foot
    figure = new_figure(
        trace, _title(arenas, _most(changes, edges)), width=width, height=total, selection=selection
    )
    box = {"left": left, "right": MARGIN + 0.75}
    for place, (host, values) in enumerate(arenas):
        top = HEAD + 0.25 + place * ARENA
        axes = add_axes(figure, top=top, bottom=total - top - ARENA + 0.4, **box)
        _curve(axes, edges, values, f"arena of {host}" if len(arenas) > 1 else "arena")
    axes = add_axes(figure, top=HEAD + room, bottom=foot, **box)
    _rows(figure, axes, shown, held, edges, high)
    time_axis(axes, begin, end)
    caption(figure, lines)
    return figure


def _title(arenas: Sequence[tuple[str, Array]], together: Array) -> str:
    if not arenas:
        return f"Without shared memory, all threads together hold at most {_size(together.max(initial=0))}"
    host, values = max(arenas, key=lambda item: float(item[1].max(initial=0)))
    return f"The arena{f' of {host}' if len(arenas) > 1 else ''} holds at most {_size(values.max(initial=0))}"


def _arenas(trace: Trace, changes: Array, hosts: set[str], edges: Array) -> list[tuple[str, Array]]:
    """The most that each host's arena held, by pixel; the hosts with the highest peaks.

    With shared memory off there is none.
    """
    if changes["local"].all():
        return []
    shared = changes[~changes["local"]]
    ranks = {host: [rank for rank in trace.ranks if trace.files[rank].host == host] for host in hosts}
    found = [(host, _most(shared[np.isin(shared["rank"], ranks[host])], edges)) for host in sorted(hosts)]
    highest = sorted(found, key=lambda item: -float(item[1].max(initial=0)))[:MOST_HOSTS]
    return sorted(highest)


def _most(changes: Array, edges: Array) -> Array:
    """The most bytes held within each pixel, shape (pixels,); `changes` are in the order of time."""
    held = np.append(0, np.cumsum(changes["bytes"]))
    first = np.searchsorted(changes["time"], edges[:-1], side="right")
    last = np.searchsorted(changes["time"], edges[1:], side="right")
    most: Array = held[first].astype(float)
    busy = np.flatnonzero(last > first)
    if len(busy):
        within = np.maximum.reduceat(
            np.append(held, 0), np.stack([first[busy], last[busy] + 1], 1).reshape(-1)
        )
        most[busy] = within[::2]
    return most


def _curve(axes: Axes, edges: Array, values: Array, label: str) -> None:
    axes.stairs(values, edges, fill=True, color=FILL, linewidth=0, gid=label)
    axes.stairs(values, edges, color=EDGE, linewidth=0.9, baseline=None)
    peak = max(float(values.max()), 1.0)
    axes.set_xlim(edges[0], edges[-1])
    lowest = min(float(values.min()), 0.0)
    axes.set_ylim(1.1 * lowest, 1.1 * peak)
    step = _round_step(max(peak, -lowest) / 2)
    axes.set_yticks(np.arange(step * np.ceil(lowest / step), 1.1 * peak, step))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.tick_params(axis="x", labelbottom=False)
    grid(axes)
    title = f"shared memory ({label}): at most {_size(peak)}"
    axes.set_title(title, fontsize=BODY, color=INK, family=FONT, loc="left", pad=4)


def _round_step(value: float) -> float:
    """The power of two, or half way to the next, below a number of bytes."""
    power = 2.0 ** np.floor(np.log2(max(value, 1)))
    return float(power * 1.5 if power * 1.5 <= value else power)


def _rows(
    figure: Figure, axes: Axes, shown: Sequence[Row], held: Sequence[Array], edges: Array, high: float
) -> None:
    most = max(1.0, max(float(values.max()) for values in held))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_title(
        f"allocated by each thread: the height of a row is {_size(most)}" if len(shown) <= HEIGHTS
        else "allocated by each thread",
        fontsize=BODY, color=INK, family=FONT, loc="left", pad=4,
    )  # fmt: skip
    if len(shown) <= HEIGHTS:
        _heights(axes, held, edges, most)
    else:
        _shades(figure, axes, held, edges, most)
    name_crowded_rows(axes, [row.label for row in shown], high)


def _heights(axes: Axes, held: Sequence[Array], edges: Array, most: float) -> None:
    grid(axes, "x")
    for place, values in enumerate(held):
        floor = place + 0.42
        corners = np.stack([np.repeat(edges, 2)[1:-1], floor - 0.84 * np.repeat(values, 2) / most], axis=1)
        closed = np.concatenate([[[edges[0], floor]], corners, [[edges[-1], floor]]])
        part = PolyCollection([closed], facecolor=FILL, edgecolor=EDGE, linewidth=0.7, gid=f"row {place}")
        axes.add_collection(part, autolim=False)
        axes.annotate(
            _size(values.max()), (edges[-1], place), (5, 0), textcoords="offset points", va="center",
            fontsize=SMALL, color=SOFT, family=FONT, annotation_clip=False,
        )  # fmt: skip


def _shades(figure: Figure, axes: Axes, held: Sequence[Array], edges: Array, most: float) -> None:
    values = np.stack(held)
    shown = np.ma.masked_less_equal(values, 0)  # Logarithmic: a row with little is seen beside one with much.
    least = max(most / SPAN, float(shown.min()) if shown.count() else 1.0)
    low = min(least, most / 2)
    image = axes.imshow(
        shown, cmap=COLOURS, norm=LogNorm(low, most), aspect="auto", interpolation="nearest",
        extent=(edges[0], edges[-1], len(held) - 0.5, -0.5),
    )  # fmt: skip
    axes.set_facecolor(EMPTY)
    box, width = axes.get_position(), figure.get_size_inches()[0]
    own = figure.add_axes((box.x1 + 0.12 / width, box.y0, 0.12 / width, box.height))
    bar = figure.colorbar(image, cax=own)
    bar.set_ticks([low, (low * most) ** 0.5, most])
    own.minorticks_off()
    own.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    own.tick_params(labelsize=SMALL, length=2, labelfontfamily=FONT)


def _notes(arenas: Sequence[tuple[str, Array]], peaks: bool) -> str:
    hosts = (
        f" Of more than {MOST_HOSTS} hosts those with the most are shown."
        if len(arenas) == MOST_HOSTS
        else ""
    )
    peak = "At the right: its peak. " if peaks else ""
    arena = (
        "The arena is shared by all threads of a host."
        if arenas
        else "The run had no shared memory: each thread has its own copies."
    )
    return f"A thread has what it allocated until it is freed, wherever that is. {peak}{arena}{hosts}"


def _tick(value: float) -> str:
    return f"{'−' if value < 0 else ''}{_size(abs(value))}" if value else "0"
