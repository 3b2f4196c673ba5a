"""The critical path over the rows of its ranks, and below it where its time went.

Rows are the ranks that the path comes through; upright lines are hand-overs.  Where several pieces of the
path lie in one pixel, the one that takes the most of it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pse.analysis import CriticalPath, PathShare, StepKind, critical_path
from pse.text import share_text
from pse.trace import Selection, Trace
from pse.trace.format import Array, TraceError
from pse.trace.query import Names
from pse.views.core._axes_decoration import (
    Total,
    draw_sums,
    grid,
    height_of_rows,
    name_crowded_rows,
    widest_name,
)
from pse.views.core._colours import FAMILIES, Style, module_styles, routine_family
from pse.views.core._figure import (
    HEAD,
    MARGIN,
    SMALL,
    WIDTH,
    add_axes,
    caption,
    caption_lines,
    legend_below,
    legend_height,
    legend_name,
    new_figure,
    row_name,
    text_width,
    time_axis,
)
from pse.views.core._rows import Row, rows
from pse.views.core._saving import DPI

PITCH = 0.4
"""Height of a row, inches, if there is room."""
TALLEST = 9.0
"""Height of all rows together, inches."""
MOST_SHARES = 14
"""Bars of shares; the rest is one bar."""
NAMES = SMALL + 0.5
"""Size of the bars' names, points."""
MOST_LINES = 4000
"""Hand-overs that are drawn as lines of their own; of more, every n-th."""
STYLES = {
    StepKind.HANDOVER: ("hand-over", Style("#4D4D4D")),
    StepKind.WAIT: ("waits", Style("#DADDE2")),
    StepKind.ENGINE: ("engine", Style("#BDBDBD")),
    StepKind.START: ("start", Style("#FFFFFF", "////")),
    StepKind.END: ("end", Style("#FFFFFF", "\\\\\\\\")),
}


@dataclass(frozen=True)
class Pieces:
    """The path's pieces to draw: row, begin, end (ns), and an index of kinds; and what the kinds are."""

    row: Array
    begin: Array
    end: Array
    kind: Array
    labels: list[str]
    styles: list[Style]


def draw_critical_path(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw the critical path."""
    path = critical_path(trace)
    steps = _selected(trace, selection, path.steps)
    if not len(steps):
        raise TraceError(
            "nothing to show: the critical path does not pass through the selection",
            help="without a selection, the whole path is drawn",
        )
    width = width or WIDTH
    touched = set(np.unique(steps["rank"]).tolist())
    shown = [row for row in rows(trace, selection) if row.rank in touched]
    left = MARGIN + widest_name((row.label for row in shown), width) + 0.12
    window = selection.window(trace)
    begin, end = window.begin, max(window.end, window.begin + 1)
    pixels = max(200, int((width - left - MARGIN - 0.1) * DPI))
    pieces = _pieces(trace, path, steps, shown)
    drawn, merged = _merged(pieces, begin, end, pixels)
    counted = path.shares(steps)
    below, handles = _bars_room(counted), _handles(pieces)
    lines = caption_lines(_notes(trace, steps, shown, merged), width - 2 * MARGIN)
    legend = legend_height([handle.get_label() for handle in handles], width - 2 * MARGIN)
    foot = below + 0.95 + legend + 0.15 * (len(lines) + 1)
    high = max(0.6, min(PITCH * len(shown), max(TALLEST, 0.014 * len(shown))))
    high = height_of_rows(high, height, foot)
    total = HEAD + high + foot
    figure = new_figure(trace, _title(counted), width=width, height=total, selection=selection)
    axes = add_axes(figure, left=left, top=HEAD, right=MARGIN + 0.1, bottom=foot)
    _draw(axes, drawn, steps, shown, high)
    time_axis(axes, begin, end)
    legend_below(figure, handles, top=foot - 0.55, width=width - 2 * MARGIN)
    _bars(figure, counted, pieces, top=total - foot + 0.75 + legend, below=below)
    caption(figure, lines)
    return figure


def _title(counted: Sequence[PathShare]) -> str:
    """Say what the path is made of most."""
    whole = sum(share.time for share in counted)
    most = max(counted, key=lambda share: share.time)
    part = share_text(most.time / max(1, whole))
    return f"{part} of the critical path is {legend_name(most.name)}"


def _selected(trace: Trace, selection: Selection, steps: Array) -> Array:
    chosen = steps[np.isin(steps["rank"], np.array(selection.ranks_of(trace), "<u4"))]
    chosen = chosen.copy()
    chosen["begin"], chosen["end"] = selection.limits.clip(chosen["begin"], chosen["end"])
    chosen = chosen[chosen["end"] > chosen["begin"]]
    if selection.modules is not None or selection.tphs is not None:
        chosen = selection.of(trace, chosen)
    left: Array = chosen
    return left


def _pieces(trace: Trace, path: CriticalPath, steps: Array, shown: Sequence[Row]) -> Pieces:
    """Give every step its row and its kind: a module, a routine, or one of `STYLES`."""
    place = np.zeros(int(steps["rank"].max()) + 1, "<i8")
    for number, row in enumerate(shown):
        place[row.rank] = number
    labels: list[str] = []
    kind = np.zeros(len(steps), "<i8")
    styles = module_styles(trace) | {f"MPI: {name}": Style(shade) for name, shade in FAMILIES.items()}
    styles |= dict(STYLES.values())
    names = Names(trace)
    for step in np.unique(steps["kind"]):
        chosen = np.flatnonzero(steps["kind"] == step)
        if step == StepKind.CALL:
            values = steps["site"][chosen]
            texts = [names.module(site) or names.site(site)[1] for site in np.unique(values)]
        elif step == StepKind.ROUTINE:
            blocks = path.activity.blocks[steps["block"][chosen]]
            values = path.activity.routines["routine"][blocks["row"]]
            texts = [_family(path.activity.routine_names[routine]) for routine in np.unique(values)]
        else:
            values, texts = np.zeros(len(chosen), "<u4"), [_other(trace, StepKind(step))]
        labels += [text for text in dict.fromkeys(texts) if text not in labels]
        index = np.array([labels.index(text) for text in texts])
        kind[chosen] = index[np.unique(values, return_inverse=True)[1]]
    found = [styles.get(label, STYLES[StepKind.ENGINE][1]) for label in labels]
    return Pieces(place[steps["rank"]], steps["begin"], steps["end"], kind, labels, found)


def _family(routine: str) -> str:
    return f"MPI: {routine_family(routine)}"


def _other(trace: Trace, step: StepKind) -> str:
    """The engine's time is the program's where nothing but MPI was recorded."""
    return "program" if step == StepKind.ENGINE and trace.definitions is None else STYLES[step][0]


def _merged(pieces: Pieces, begin: int, end: int, pixels: int) -> tuple[Pieces, bool]:
    """Pieces as they are, or where they are too many, for each pixel the one that takes the most of it."""
    if len(pieces.row) <= 4 * pixels:
        return pieces, False
    size = (end - begin) / pixels
    first = ((pieces.begin - begin) / size).astype("<i8")
    last = np.minimum(((pieces.end - begin) / size).astype("<i8"), pixels - 1)
    count = last - first + 1
    piece = np.repeat(np.arange(len(first)), count)
    pixel = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count) + first[piece]
    spent = np.minimum(pieces.end[piece], begin + (pixel + 1) * size)
    spent = spent - np.maximum(pieces.begin[piece], begin + pixel * size)
    kinds = len(pieces.labels)
    cell = (pixel * (int(pieces.row.max()) + 1) + pieces.row[piece]) * kinds + pieces.kind[piece]
    cells, index = np.unique(cell, return_inverse=True)
    total = np.bincount(index, spent)
    order = np.lexsort((total, cells // kinds))
    is_most = np.append(cells[order][1:] // kinds != cells[order][:-1] // kinds, True)
    most = np.sort(cells[order][is_most])
    at, kind = np.divmod(most, kinds)
    at, row = np.divmod(at, int(pieces.row.max()) + 1)
    left, right = begin + at * size, begin + (at + 1) * size
    return Pieces(row, left, right, kind, pieces.labels, pieces.styles), True


def _draw(axes: Axes, pieces: Pieces, steps: Array, shown: Sequence[Row], high: float) -> None:
    axes.set_ylim(len(shown) - 0.45, -0.55)
    axes.hlines(np.arange(len(shown)), 0, 1, transform=axes.get_yaxis_transform(),
                color="#DDDDDD", linewidth=0.8, zorder=1)  # fmt: skip
    grid(axes, "x")
    for number, (label, style) in enumerate(zip(pieces.labels, pieces.styles, strict=True)):
        _kind(axes, pieces, pieces.kind == number, label, style)
    _hand_overs(axes, steps, shown)
    name_crowded_rows(axes, [row.label for row in shown], high)


def _kind(axes: Axes, pieces: Pieces, chosen: Array, label: str, style: Style) -> None:
    """Draw the pieces of one kind; calls are high, what is between them low."""
    half = 0.12 if label in [name for name, _ in STYLES.values()] or label == "program" else 0.38
    x0, x1, y = pieces.begin[chosen], pieces.end[chosen], pieces.row[chosen]
    corners = np.stack(
        [np.stack([x0, x0, x1, x1], axis=1), np.stack([y - half, y + half, y + half, y - half], axis=1)],
        axis=2,
    )
    many = len(x0) > 1500
    part = PolyCollection(
        list(corners.astype(float)), facecolor=style.colour, hatch=style.hatch or None,
        edgecolor=style.colour if many or not style.hatch else "#888888", linewidth=0.3, zorder=3, gid=label,
        rasterized=many,
    )  # fmt: skip
    axes.add_collection(part, autolim=False)


def _hand_overs(axes: Axes, steps: Array, shown: Sequence[Row]) -> None:
    """Draw lines from the rank that handed over to the one that waited."""
    place = {row.rank: number for number, row in enumerate(shown)}
    jumps = steps[steps["kind"] == StepKind.HANDOVER]
    jumps = jumps[:: max(1, -(-len(jumps) // MOST_LINES))]
    lines = [
        [(begin, place[sender]), (end, place[rank])]
        for begin, end, sender, rank in zip(
            *(jumps[name].tolist() for name in ("begin", "end", "sender", "rank")), strict=True
        )
        if sender in place and rank in place
    ]
    many = len(lines) > 300
    drawn = LineCollection(lines, colors="#222222", linewidths=0.3 if many else 0.9, zorder=4)
    drawn.set(gid="hand-overs", alpha=0.35 if many else 1.0)
    axes.add_collection(drawn, autolim=False)


def _handles(pieces: Pieces) -> list[Any]:
    return [
        Patch(
            facecolor=style.colour, hatch=style.hatch, edgecolor="#444444", lw=0.5, label=legend_name(label)
        )
        for label, style in zip(pieces.labels, pieces.styles, strict=True)
    ]


def _bars_room(counted: Sequence[tuple[str, str, int, int]]) -> float:
    return 0.55 + 0.26 * min(len(counted), MOST_SHARES + 1)


def _bars(
    figure: Figure, counted: Sequence[tuple[str, str, int, int]], pieces: Pieces, *, top: float, below: float
) -> None:
    """Draw how much of the path's time each call site took."""
    total = sum(time for *_, time, _ in counted)
    shown = list(counted[:MOST_SHARES])
    rest = counted[MOST_SHARES:]
    if rest:
        shown.append((f"{len(rest)} more", "", sum(time for *_, time, _ in rest), sum(n for *_, n in rest)))
    width, height = (float(side) for side in figure.get_size_inches())
    names = [row_name(label, NAMES, width) for label, *_ in shown]
    left = MARGIN + max(text_width(name, NAMES) for name in names) + 0.15
    axes = add_axes(figure, left=left, top=top, right=MARGIN + 1.9, bottom=height - top - below + 0.4)
    known = dict(zip(pieces.labels, pieces.styles, strict=True))
    styles = [known.get(kind) or known.get(_family(kind), Style("#CCCCCC")) for _, kind, *_ in shown]
    sums = [Total(n, style, *one[2:]) for n, style, one in zip(names, styles, shown, strict=True)]
    draw_sums(axes, sums, total, "time on the critical path", NAMES)


def _notes(trace: Trace, steps: Array, shown: Sequence[Row], merged: bool) -> str:
    calls = int(((steps["kind"] == StepKind.CALL) | (steps["kind"] == StepKind.ROUTINE)).sum())
    jumps = int((steps["kind"] == StepKind.HANDOVER).sum())
    several = " Of several pieces in a pixel the one that takes the most of it is drawn." if merged else ""
    return (
        f"What the end of the run waited for, back to its beginning: {calls:,} calls and {jumps:,} "
        f"hand-overs on {len(shown)} of {len(trace.ranks)} ranks. "
        f"Only what lies on it can make the run shorter.{several}"
    )
