"""Steps over time below the rows: the memory that a rank holds, and how much its queues hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pse.text import time_text
from pse.trace import Trace
from pse.trace.format import Array
from pse.trace.query import Selection
from pse.views.core._rows import Row

MOST_SAMPLES = 20_000
"""Samples of a series; of more, the greatest of each stretch of time is kept."""


def series(
    trace: Trace, selection: Selection, rows: Sequence[Row], begin: int, end: int
) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """Give what each series is, and the columns of all of them: times as gaps, values."""
    described, gaps, values = [], [np.empty(0, "<i8")], [np.empty(0, "<i8")]
    for name, table in (("memory", _memory(trace)), ("queues", _queues(trace))):
        for row, changes in enumerate(_of_rows(table, rows)):
            time, value, note = _thinned(*_clipped(*changes, begin, end), begin, end)
            if value.any():
                described.append({"name": name, "row": row, "count": len(time), "note": note})
                gaps.append(np.diff(time, prepend=begin))
                values.append(value)
    return described, {"series_gap": np.concatenate(gaps), "series_value": np.concatenate(values)}


def _memory(trace: Trace) -> tuple[Array, Array, Array]:
    """Rank, time and change of held bytes."""
    table = trace.memory()
    return table["rank"], table["time"], table["bytes"]


def _queues(trace: Trace) -> tuple[Array, Array, Array]:
    """Rank, time and change of the entries in all queues of the rank."""
    table = trace.queue_depths()
    order = np.lexsort((np.arange(len(table)), table["sender"], table["edge"], table["rank"]))
    ordered = table[order]
    depth = ordered["depth"].astype("<i8")
    same = np.zeros(len(table), bool)
    for name in ("rank", "edge", "sender"):
        same[1:] |= ordered[name][1:] != ordered[name][:-1]
    change = np.diff(depth, prepend=0)
    change[same] = depth[same]
    return ordered["rank"], ordered["time"], change


def _of_rows(table: tuple[Array, Array, Array], rows: Sequence[Row]) -> list[tuple[Array, Array]]:
    """For each row its times, and the sum of the changes up to each."""
    rank, time, change = table
    found = []
    for row in rows:
        own = np.flatnonzero(rank == row.rank)
        own = own[np.argsort(time[own], kind="stable")]
        found.append((time[own], np.maximum(np.cumsum(change[own]), 0)))
    return found


def _clipped(time: Array, value: Array, begin: int, end: int) -> tuple[Array, Array]:
    """What lies in the window, and what was so when it begins."""
    first, last = np.searchsorted(time, (begin, end + 1))
    before = value[first - 1 : first] if first else value[:0]
    return np.append(np.full(len(before), begin), time[first:last]), np.append(before, value[first:last])


def _thinned(time: Array, value: Array, begin: int, end: int) -> tuple[Array, Array, str]:
    if len(time) <= MOST_SAMPLES:
        return time, value, ""
    bin = (end - begin) // MOST_SAMPLES + 1
    cell = (time - begin) // bin
    firsts = np.append(0, np.flatnonzero(cell[1:] != cell[:-1]) + 1)
    return time[firsts], np.maximum.reduceat(value, firsts), f"greatest in each {time_text(bin)}"
