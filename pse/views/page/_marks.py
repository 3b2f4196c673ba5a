"""Marks that the program or a tool set, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pse.trace import EventType, TextKind, Trace
from pse.views.core._rows import Row

MOST_MARKS = 5_000
"""Marks that the page holds; of more, the first ones."""


def marks(trace: Trace, rows: Sequence[Row], begin: int, end: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Give row, time and text of the marks in a window of time, and a note if some are left out."""
    found: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        if not trace.files[row.rank].counts[EventType.MARKER]:
            continue
        events, texts = trace.select(row.rank, EventType.MARKER), trace.texts(row.rank)
        times = trace.run_times(row.rank, events["time"])
        for at in np.flatnonzero((times >= begin) & (times <= end)):
            text = texts.get((TextKind.MARKER, int(events["a"][at])), "mark")
            found.append({"row": index, "time": int(times[at]), "text": text})
    found.sort(key=lambda mark: int(mark["time"]))
    left = len(found) - MOST_MARKS
    return found[:MOST_MARKS], [f"The last {left:,} marks are left out."] if left > 0 else []
