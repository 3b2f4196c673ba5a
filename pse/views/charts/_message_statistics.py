"""Matrices of messages between metahosts, nodes or ranks: bytes, number, highest rate, shortest duration."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from pse.analysis import MessageStatistics, message_statistics
from pse.text import count_text, size_text
from pse.trace import Selection, Trace
from pse.trace.format import Array
from pse.views.charts._messages import MOST_CELLS, Labels, Square, draw_squares, trace_head

SHOWN = (
    ("bytes", "bytes", np.nansum),
    ("messages", "messages", np.nansum),
    ("maximum rate", "rate", np.nanmax),
    ("minimum duration", "duration", np.nanmin),
)
"""What is drawn, the column, and what several places that share a cell have together."""
MOST_NAMES = 24


def draw_message_statistics(
    trace: Trace,
    selection: Selection,
    *,
    width: float | None = None,
    height: float | None = None,
    by: str | None = None,
    metahosts: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw bytes, messages, maximum rates and minimum durations between metahosts, nodes or ranks."""
    found = message_statistics(trace, by, metahosts=metahosts, selection=selection)
    step = -(-len(found.names) // MOST_CELLS)
    squares = [
        Square(f"{kind}: {title}", title, summed_up(found.matrix(kind, column), step, together))
        for kind in found.tables
        for title, column, together in SHOWN
        if not np.isnan(found.matrix(kind, column)).all()
    ]
    texts = Labels(cell_names(found.names, step), _notes(found, step))
    moved, sent = (
        sum(int(table[name].sum()) for table in found.tables.values()) for name in ("bytes", "messages")
    )
    title = f"{size_text(moved)} in {count_text(sent, 'message')} between {found.by}s"
    head = trace_head(trace, title, selection)
    return draw_squares(head, squares, texts, width=width, height=height)


def summed_up(matrix: Array, step: int, together: Callable[..., Array]) -> Array:
    """One cell for some neighbours each; nan where nothing was sent."""
    if step == 1:
        return matrix
    size = -(-len(matrix) // step)
    room = np.full((size * step,) * 2, np.nan)
    room[: len(matrix), : len(matrix)] = matrix
    blocks = room.reshape(size, step, size, step).transpose(0, 2, 1, 3).reshape(size * size, step * step)
    sent = ~np.isnan(blocks).all(axis=1)
    found = np.full(size * size, np.nan)
    found[sent] = together(blocks[sent], axis=1)
    return found.reshape(size, size)


def cell_names(names: Sequence[str], step: int) -> list[tuple[float, str]]:
    """Give names with their places where every cell is of `step` of them, as many as can be read."""
    every = -(-len(names) // MOST_NAMES)
    return [(place / step, name) for place, name in list(enumerate(names))[::every]]


def _notes(found: MessageStatistics, step: int) -> str:
    several = (
        f" Each cell is of {step} × {step} of {count_text(len(found.names), found.by)}." if step > 1 else ""
    )
    return (
        "A message lasts from the begin of its send to the end of its receive. Colours are logarithmic; "
        f"grey: there is none.{several}"
    )
