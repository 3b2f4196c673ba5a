"""What the engine did between calls, for the page: handed over, found and freed memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse.trace import Trace
from pse.trace.format import Array
from pse.trace.query import Selection
from pse.views.core._rows import Row
from pse.views.core._time_breakdown import ENGINE_PARTS, engine_parts

MOST_EVENTS = 2_000_000
"""Events of a trace of which the page parts the engine's time: to do so, all are read."""
MOST_PARTS = 200_000
"""Times that the page holds one by one; of more, those of a stretch of time are summed up."""
STRETCHES = 500
PART_DTYPE = np.dtype([("row", "<i8"), ("part", "<i8"), ("begin", "<i8"), ("end", "<i8"), ("time", "<i8")])


def engine_columns(
    trace: Trace, selection: Selection, shown: Sequence[Row]
) -> tuple[list[str], dict[str, Array]]:
    """Give what the engine did, and columns of when: begin, length, how much of that, row, and what."""
    found = np.concatenate([np.empty(0, PART_DTYPE), *_all(trace, selection, shown)])
    window = selection.window(trace)
    if len(found) > MOST_PARTS:
        found = _summed_up(found, window.begin, window.end)
    columns = {
        "begin": found["begin"] - window.begin,
        "length": found["end"] - found["begin"],
        **{name: found[name] for name in ("time", "row", "part")},
    }
    return list(ENGINE_PARTS) if len(found) else [], {f"engine_{name}": columns[name] for name in columns}


def _all(trace: Trace, selection: Selection, shown: Sequence[Row]) -> list[Array]:
    if sum(len(trace.files[row.rank].types) for row in shown) > MOST_EVENTS:
        return []
    return [_of_row(place, *engine_parts(trace, row.rank, selection)) for place, row in enumerate(shown)]


def _of_row(place: int, part: Array, begin: Array, end: Array) -> Array:
    made = np.zeros(len(part), PART_DTYPE)
    made["row"], made["part"], made["begin"], made["end"] = place, part, begin, end
    made["time"] = end - begin
    return made


def _summed_up(found: Array, begin: int, end: int) -> Array:
    """Sum up what a row did of one kind in each stretch of time."""
    stretch = (found["begin"] - begin) // ((end - begin) // STRETCHES + 1)
    key = (found["row"] * len(ENGINE_PARTS) + found["part"]) * (STRETCHES + 1) + stretch
    order = np.argsort(key, kind="stable")
    firsts = np.append(0, np.flatnonzero(np.diff(key[order])) + 1)
    made: Array = found[order][firsts]
    made["end"] = np.maximum.reduceat(found["end"][order], firsts)
    made["time"] = np.add.reduceat(found["time"][order], firsts)
    return made
