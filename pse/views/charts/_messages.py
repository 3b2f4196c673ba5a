"""The message matrix: who sent how much to whom, and how often.

Tags, messages among partitions and those of MPI have a pair of squares each.  Colours are logarithmic; what
nobody sent is left empty.  Of more ranks than a picture has room for, neighbours are summed up in one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from pse.analysis import message_tables, no_messages
from pse.text import count_text, size_text, time_text
from pse.trace import Selection, Trace
from pse.trace.format import Array
from pse.views.charts._bars import round_steps
from pse.views.core._figure import (
    BODY,
    FONT,
    HEAD,
    INK,
    MARGIN,
    SMALL,
    WIDTH,
    add_axes,
    caption,
    caption_lines,
    new_figure,
    row_name,
    text_width,
)
from pse.views.core._palette import ink
from pse.views.core._rows import Row, rows

MOST_CELLS = 240
"""Along a side, which has twice as many pixels: more ranks than this share cells, so that none is lost."""
LEAST = 1.2
"""Side of a square up to which two stand side by side; smaller ones stand below each other, inches."""
GAP = 1.35
"""Beside each square, for its scale of colours, inches."""
SPAN = 10.0
"""Least ratio between the ends of a scale, so that small differences don't look large."""
FEW = 40
"""Up to so many cells along a side have lines between them."""
WRITTEN = 0.5
"""Size of a cell from which on its value is written into it, inches."""
MOST_TICKS = 5
"""Between the ends of a scale."""
COLOURS = "viridis_r"
EMPTY = "#F2F2F2"
BINARY = ("bytes", "maximum rate", "rate")
UNITS: dict[str, Callable[[float], str]] = {
    "bytes": lambda value: size_text(value, zeros=False),
    "maximum rate": lambda value: f"{size_text(value, zeros=False)}/s",
    "rate": lambda value: f"{size_text(value, zeros=False)}/s",
    "time": lambda value: time_text(1e9 * value, zeros=False),
    "minimum duration": lambda value: time_text(value, zeros=False),
}
"""How values are written; others are counts."""


@dataclass(frozen=True)
class Matrix:
    """Messages of one kind: their sizes and their number by sender (first axis) and receiver."""

    title: str
    bytes: Array
    count: Array


@dataclass(frozen=True)
class Square:
    """A matrix that is drawn: values by sender (first axis) and receiver, nan or 0 where nothing was sent."""

    title: str
    what: str
    values: Array
    beside: Sequence[Array] = ()
    """Values of other squares that have the same colours."""


@dataclass(frozen=True)
class Labels:
    """Texts of a picture of squares: names of cells with their places, what is below it, and of both axes."""

    cells: Sequence[tuple[float, str]]
    notes: str
    x: str = "receiver"
    y: str = "sender"


Head = Callable[[float, float], Figure]
"""Makes a figure of so many inches, width and height, with a head that says what it shows."""


def draw_messages(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw how many bytes and messages each rank sent to each other."""
    shown = rows(trace, selection)
    step = -(-len(shown) // MOST_CELLS)
    matrices = [matrix for matrix in _matrices(trace, selection, shown, step) if matrix.count.any()]
    if not matrices:
        raise no_messages(trace)
    squares = [
        Square(f"{matrix.title}: {what}", what, values)
        for matrix in matrices
        for what, values in (("bytes", matrix.bytes), ("messages", matrix.count))
    ]
    labels = Labels(_labels(shown, step), _notes(len(shown), step))
    sent, moved = (sum(float(getattr(one, name).sum()) for one in matrices) for name in ("count", "bytes"))
    title = f"Ranks send each other {size_text(moved)} in {count_text(int(sent), 'message')}"
    head = trace_head(trace, title, selection)
    return draw_squares(head, squares, labels, width=width, height=height)


def trace_head(trace: Trace, title: str, selection: Selection | None) -> Head:
    """Give what makes a figure whose head says what is shown of a run."""
    return lambda width, height: new_figure(trace, title, width=width, height=height, selection=selection)


def draw_squares(
    head: Head, squares: Sequence[Square], texts: Labels, *, width: float | None, height: float | None
) -> Figure:
    """Draw squares, two beside each other where there is room."""
    width = width or WIDTH
    labels = [(place, row_name(name, SMALL, width / 2)) for place, name in texts.cells]
    left = MARGIN + 0.45 + max(text_width(label, SMALL) for _, label in labels)
    columns = 2 if width - 2 * left - 2 * GAP >= 2 * LEAST else 1
    side = max(0.8, (width - columns * (left + GAP)) / columns)
    if height is not None:
        side = min(side, max(0.8, (height - HEAD - 0.6) * columns / len(squares) - 1.35))
    lines = caption_lines(texts.notes, width - 2 * MARGIN)
    foot = 0.15 * (len(lines) + 1) + 0.1
    tall = side + 0.4 + _below(labels, side, len(squares[0].values))
    total = HEAD + -(-len(squares) // columns) * tall + foot
    figure = head(width, total)
    for number, square in enumerate(squares):
        line, column = divmod(number, columns)
        top, x = HEAD + line * tall + 0.3, left + column * (side + GAP + left)
        axes = add_axes(figure, left=x, top=top, right=width - x - side, bottom=total - top - side)
        _square(figure, axes, square, labels)
        axes.set_xlabel(texts.x, fontsize=BODY, color=INK, family=FONT)
        axes.set_ylabel(texts.y, fontsize=BODY, color=INK, family=FONT)
    caption(figure, lines)
    return figure


def _matrices(trace: Trace, selection: Selection, shown: Sequence[Row], step: int) -> list[Matrix]:
    place = np.full(max(trace.ranks) + 1, -1)
    place[[row.rank for row in shown]] = np.arange(len(shown)) // step
    size = -(-len(shown) // step)
    found = []
    for title, table in message_tables(trace, selection):
        table = table[(table["sender"] < len(place)) & (table["receiver"] < len(place))]
        sender, receiver = place[table["sender"]], place[table["receiver"]]
        inside = (sender >= 0) & (receiver >= 0)
        cells = sender[inside] * size + receiver[inside]
        count = np.bincount(cells, minlength=size * size).reshape(size, size)
        total = np.bincount(cells, table["bytes"][inside], size * size).reshape(size, size)
        found.append(Matrix(title, total, count))
    return found


def _square(figure: Figure, axes: Axes, square: Square, labels: Sequence[tuple[float, str]]) -> None:
    title, what, values = square.title, square.what, np.nan_to_num(square.values)
    shown = np.ma.masked_less_equal(values.astype(float), 0)
    edges = np.arange(len(values) + 1) - 0.5
    few = len(values) <= FEW
    image = axes.pcolormesh(
        edges, edges, shown, cmap=COLOURS, norm=_norm([values, *square.beside]), rasterized=not few, gid=title
    )  # Not an image: in a PDF its pixels would not be where the lines are.
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set_facecolor(EMPTY)
    axes.set_title(title, fontsize=BODY, color=INK, family=FONT, loc="left", pad=6)
    places, names = [place for place, _ in labels], [name for _, name in labels]
    side = axes.get_position().width * figure.get_size_inches()[0]
    turned = _is_turned(labels, side, len(values))
    axes.set_xticks(places, names, fontsize=SMALL, family=FONT, rotation=90 if turned else 0)
    axes.set_yticks(places, names, fontsize=SMALL, family=FONT)
    axes.tick_params(length=2)
    for spine in axes.spines.values():
        spine.set_visible(True)
    if few:
        lines = np.arange(len(values) - 1) + 0.5
        axes.hlines(lines, -0.5, len(values) - 0.5, color="white", linewidth=0.8)
        axes.vlines(lines, -0.5, len(values) - 0.5, color="white", linewidth=0.8)
    if side / len(values) >= WRITTEN:
        _write(axes, image, values, what, side / len(values))
    _scale(figure, axes, image, what)


def _write(axes: Axes, image: Any, values: Array, what: str, room: float) -> None:
    """Write the numbers into cells of `room` inches, with the unit below where they are narrow."""
    texts = {(at[0], at[1]): _text(values[tuple(at)], what) for at in np.argwhere(values > 0).tolist()}
    narrow = any(text_width(text, SMALL) > 0.85 * room for text in texts.values())
    for (sender, receiver), text in texts.items():
        shade = to_hex(image.cmap(image.norm(values[sender, receiver])))
        axes.text(receiver, sender, text.replace(" ", "\n") if narrow else text, ha="center", va="center",
                  fontsize=SMALL, color=ink(shade), family=FONT)  # fmt: skip


def _text(value: float, what: str) -> str:
    return UNITS[what](value) if what in UNITS else f"{value:,.0f}"


def _norm(values: Sequence[Array]) -> Normalize:
    """Give the scale of colours of all values together."""
    shown = np.concatenate([one[one > 0] for one in values])
    if not shown.size:
        return Normalize(0, 1)
    low, high = float(shown.min()), float(shown.max())
    return LogNorm(min(low, high / SPAN), high)


def _scale(figure: Figure, axes: Axes, image: Any, what: str) -> None:
    """Colours' meaning: a few powers, and both ends, in words."""
    box, width = axes.get_position(), figure.get_size_inches()[0]
    own = figure.add_axes((box.x1 + 0.12 / width, box.y0, 0.12 / width, box.height))
    bar = figure.colorbar(image, cax=own)
    low, high = image.norm.vmin, image.norm.vmax
    least = [low] if (values := np.ma.compressed(image.get_array())).size and values.min() <= low else []
    bar.set_ticks([*least, *_powers(low, high, 1024 if what in BINARY else 10), high])
    own.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _text(value, what)))
    own.yaxis.set_minor_formatter(NullFormatter())
    own.minorticks_off()
    own.tick_params(labelsize=SMALL, length=2, labelfontfamily=FONT)
    bar.outline.set_linewidth(0.5)


def _powers(low: float, high: float, base: int) -> list[float]:
    """Round numbers well between two others on a logarithmic scale: powers, or what lies between them."""
    if high <= low:
        return []
    powers = float(base) ** np.arange(-12, 16)  # Times are seconds, of microseconds too.
    steps = 2.0 ** np.arange(10) if base == 1024 else np.array((1.0, 2.0, 5.0))
    for numbers in (powers, np.outer(powers, steps).ravel()):
        share = np.log(numbers / low) / np.log(high / low)
        inside: list[float] = numbers[(share > 0.08) & (share < 0.92)].tolist()
        if len(inside) > 1:
            return inside[:: -(-len(inside) // MOST_TICKS)]
    return inside


def _labels(shown: Sequence[Row], step: int) -> list[tuple[float, str]]:
    """Names of cells, as many as can be read: of all ranks, or of every n-th."""
    every = next(size for size in round_steps() if len(shown) / size <= 24)
    known = shown[::every]
    short = [row.group or str(row.rank) for row in known]
    tell = every > 1 and len(set(short)) == len(known)  # Of many threads of a processor they don't.
    names = short if tell else [row.label for row in known]
    return [(place * every / step, name) for place, name in enumerate(names)]


def _is_turned(labels: Sequence[tuple[float, str]], side: float, cells: int) -> bool:
    longest = max(text_width(label, SMALL) for _, label in labels) + 0.1
    apart = labels[1][0] - labels[0][0] if len(labels) > 1 else cells
    return longest > side * apart / cells


def _below(labels: Sequence[tuple[float, str]], side: float, cells: int) -> float:
    """Inches below a square: labels and the axis' name."""
    longest = max(text_width(label, SMALL) for _, label in labels)
    return 0.5 + (longest if _is_turned(labels, side, cells) else 0.12)


def _notes(ranks: int, step: int) -> str:
    together = f" Each cell sums up {step} × {step} of the {ranks:,} ranks." if step > 1 else ""
    return f"Colours are logarithmic; grey: nothing was sent.{together}"
