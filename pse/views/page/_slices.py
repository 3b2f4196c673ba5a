"""Time slices of the coscheduled layer, and what was matched in them, as columns for the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse.trace import Trace
from pse.trace.format import Array
from pse.trace.query import Selection
from pse.views.core._rows import Row

MOST_SLICES = 100_000
"""Slices that the page holds, and as many matches; of more, the first ones."""


def slice_columns(
    trace: Trace, selection: Selection, shown: Sequence[Row]
) -> tuple[dict[str, Array], list[str]]:
    """Give columns of slices and of matches, each by time, and a note if some are left out.

    A match is of a receive or probe (0), a collective operation (1) or a send (2).
    """
    slices, matches = (
        _of_rows(selection.of(trace, table), shown) for table in (trace.time_slices(), trace.slice_matches())
    )
    begin, left = selection.window(trace).begin, len(slices) + len(matches)
    slices, matches = slices[:MOST_SLICES], matches[:MOST_SLICES]
    left -= len(slices) + len(matches)
    notes = [f"The last {left:,} time slices and matches are left out."] if left else []
    return _columns("slice", slices, begin, shown) | {
        "slice_exchange": slices["exchange"], "slice_operations": slices["operations"],
        "slice_timed": slices["timed"],
    } | _columns("match", matches, begin, shown) | {
        "match_kind": matches["collective"] + 2 * matches["send"],
    }, notes  # fmt: skip


def _of_rows(table: Array, shown: Sequence[Row]) -> Array:
    table = table[np.isin(table["rank"], [row.rank for row in shown])]
    return table[np.argsort(table["begin"], kind="stable")]


def _columns(name: str, table: Array, begin: int, shown: Sequence[Row]) -> dict[str, Array]:
    """What both have: the time since the one before, how long it took, row and number of the slice."""
    places = {row.rank: place for place, row in enumerate(shown)}
    times = np.maximum(table["begin"], begin)
    return {
        f"{name}_gap": np.diff(times, prepend=begin),
        f"{name}_length": np.maximum(table["end"] - times, 0),
        f"{name}_row": np.array([places[rank] for rank in table["rank"].tolist()], "<i8"),
        f"{name}_number": table["slice"],
    }
