"""The matrix of pairs of ranks: the time of the smallest measured message, and the rate of the largest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pse.emulate import Results
from pse.errors import UsageError
from pse.text import size_text
from pse.trace.format import Array
from pse.views.charts._message_statistics import cell_names, summed_up
from pse.views.charts._messages import MOST_CELLS, Labels, Square, draw_squares
from pse.views.charts._panels import NUMBERED, about
from pse.views.core._figure import headed_figure


def draw_matrix(
    results: Sequence[Results], *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw what each pair of ranks measured in phase one; several results have squares of their own."""
    measured = {number: one for number, one in enumerate(results, 1) if len(one.exchanges)}
    if not measured:
        raise UsageError(
            "these results have no exchanges: phase one was not measured",
            help="measure with phase one: sizes in [exchanges], and matrix = true for all pairs",
        )
    names = max((_names(one) for one in measured.values()), key=len)
    step = -(-len(names) // MOST_CELLS)
    squares = {number: _squares(one, len(names), step) for number, one in measured.items()}
    if len(results) > 1:
        squares = {number: [_beside(one, number, squares) for one in own] for number, own in squares.items()}
    notes = _notes([*measured.values()], len(names), step) + NUMBERED * (len(results) > 1)
    texts = Labels(cell_names(names, step), notes, x="partner", y="rank")

    def head(width: float, height: float) -> Figure:
        return headed_figure("messages between pairs of ranks", about(results), width=width, height=height)

    drawn = [square for own in squares.values() for square in own]
    return draw_squares(head, drawn, texts, width=width, height=height)


def _beside(square: Square, number: int, squares: Mapping[int, Sequence[Square]]) -> Square:
    """Number a square by its result, and give it the colours of others that measured the same."""
    alike = [one.values for own in squares.values() for one in own if one.title == square.title]
    return replace(square, title=f"({number}) {square.title}", beside=alike)


def _names(one: Results) -> list[str]:
    """Name the ranks, with their nodes if there are several."""
    ends = one.exchanges["rank"], one.exchanges["partner"]
    ranks = max(int(one.metadata.get("ranks", 0)), *(1 + int(side.max()) for side in ends))
    hosts, nodes = one.metadata.get("hosts", ()), one.metadata.get("nodes", ())
    if len(hosts) < 2 or len(nodes) < ranks:
        return [str(rank) for rank in range(ranks)]
    return [f"{rank} {hosts[nodes[rank]]}" for rank in range(ranks)]


def _squares(one: Results, ranks: int, step: int) -> list[Square]:
    sizes = [int(one.exchanges["size"].min()), int(one.exchanges["size"].max())]
    small, large = (size_text(size, zeros=False) for size in sizes)
    times, rates = (_medians(one.exchanges, size, ranks) for size in sizes)
    found = [Square(f"{small}: time", "time", summed_up(times, step, np.nanmedian))]
    if sizes[1] > 0:
        found.append(Square(f"{large}: rate", "rate", summed_up(sizes[1] / rates, step, np.nanmedian)))
    return found


def _medians(exchanges: NDArray[np.void], size: int, ranks: int) -> Array:
    """Give the median time of messages of a size by rank and partner, s; nan: not measured."""
    rows = exchanges[exchanges["size"] == size]
    pairs = rows["rank"].astype(np.int64) * ranks + rows["partner"]
    order = np.argsort(pairs, kind="stable")
    known, begins = np.unique(pairs[order], return_index=True)
    found = np.full(ranks * ranks, np.nan)
    for pair, times in zip(known, np.split(rows["seconds"][order], begins[1:]), strict=True):
        found[pair] = np.median(times)
    return found.reshape(ranks, ranks)


def _notes(measured: Sequence[Results], ranks: int, step: int) -> str:
    pairs = {tuple(sorted(pair)) for one in measured for pair in _pairs(one)}
    missing = ranks * (ranks - 1) // 2 - len(pairs)
    lacking = " Only neighbours were measured: matrix = true in [exchanges] measures all pairs." * (
        missing > 0
    )
    several = f" Each cell is the median of {step} × {step} ranks." if step > 1 else ""
    return (
        "One way, half of a round trip as the rank measured it: the median over repetitions and launches."
        f" Colours are logarithmic; grey: not measured.{lacking}{several}"
    )


def _pairs(one: Results) -> list[tuple[int, int]]:
    ends = np.unique(one.exchanges[["rank", "partner"]])
    return list(zip(ends["rank"].tolist(), ends["partner"].tolist(), strict=True))
