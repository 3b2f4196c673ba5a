"""The controlled logical clock over the messages and collective operations of a trace."""

from __future__ import annotations

import numpy as np

from pse._abi.replay import SHIFT_DTYPE
from pse.analysis._replay import logical_clock
from pse.analysis.clocks._clock_condition import is_scan, senders_and_receivers
from pse.analysis.patterns._collective import Operations
from pse.trace.format import Array
from pse.trace.store import AMORTISATION, MovedTimes

LATENCY = 1
"""ns that what is not measured takes at least."""
REACH = 100
"""Before an event that was moved, n times as much time is stretched."""
_MOST = 1 << 61  # ns; times of damaged traces may be anything.
POINT_DTYPE = np.dtype([("rank", "<u4"), ("is_end", "u1"), ("time", "<i8")])
MOVED_DTYPE = np.dtype([("rank", "<u4"), ("is_line", "u1"), ("time", "<i8"), ("value", "<i8")])
"""Of an event that was moved when it was and when it is; of the end of a line its time and its shift; ns."""


def repair_clocks(
    messages: tuple[Array, Array], latency: Array, parts: Array, rows: Operations | None
) -> Array:
    """Move events that are earlier than what happened before them, and gently those around.

    ``C(e) = max(T(e), C(m) + (1 - 1/a)(T(e) - T(m)), max C(f) + l)``: T is a rank's own time, m the event of
    the rank that was moved last, f all events that happened before e on other ranks, a `AMORTISATION`, and
    l how long messages take at least, `LATENCY` in collective operations.  Each jump is spread over `REACH`
    times as much time before m: the shift of events there falls linearly to 0, or sooner where events that
    happened after them on other ranks would be less than l later.

    Parameters
    ----------
    messages : tuple of arrays of POINT_DTYPE, shape (messages,)
        The sends, and their receives.
    latency : array of int64, shape (messages,)
        How long each takes at least, ns.
    parts : array with ``rank``, ``operation``, ``begin`` and ``end``, shape (rows,)
        Ranks' parts in collective operations.
    rows : Operations or None
        The same rows; None if there are none.

    Returns
    -------
    array of MOVED_DTYPE
        By rank.  Events that wait for each other in a circle keep their rank's order only.
    """
    points = np.concatenate([*messages, _points(parts, "begin"), _points(parts, "end")])
    order = np.lexsort((1 - points["is_end"], points["time"], points["rank"]))
    place = np.empty(len(points), "<u8")
    place[order] = np.arange(len(points), dtype="<u8")
    sends, receives, begins, ends = np.split(
        place, np.cumsum([len(messages[0]), len(messages[1]), len(parts)])
    )
    edges, joins = [(sends, receives, latency)], 0
    if rows is not None:
        found, joins = _collective_edges(parts["operation"], rows, begins, ends, len(points))
        edges += found
    points = points[order]
    is_first = np.ones(len(points), "u1")
    is_first[1:] = points["rank"][1:] != points["rank"][:-1]
    corrected, moved = np.empty(len(points) + joins, "<i8"), np.zeros(len(points), "u1")
    before, after, least = (np.concatenate(column) for column in zip(*edges, strict=True))
    times = np.clip(points["time"], -_MOST, _MOST)
    _, shifts = logical_clock(
        *(times, is_first, before.astype("<u8"), after.astype("<u8"), least.astype("<i8")),
        *(AMORTISATION, REACH, corrected, moved),
    )
    return _rows(points, corrected, np.flatnonzero(moved), np.frombuffer(shifts, SHIFT_DTYPE)[::-1])


def points_of(ranks: Array, times: Array, is_end: bool) -> Array:
    """Events as rows of POINT_DTYPE; times are ns, float64."""
    points = np.empty(len(ranks), POINT_DTYPE)
    points["rank"], points["time"], points["is_end"] = ranks, np.rint(times).astype("<i8"), is_end
    return points


def _points(parts: Array, name: str) -> Array:
    return points_of(parts["rank"], parts[name], name == "end")


def _collective_edges(
    operation: Array, rows: Operations, begins: Array, ends: Array, first_join: int
) -> tuple[list[tuple[Array, Array, Array]], int]:
    """Edges by joins: of each group of an operation, and of each row of a scan, after the one before."""
    senders, receivers = senders_and_receivers(operation, rows)
    scan = is_scan(operation)
    operations = int(rows.of_row[-1]) + 1
    join, left = (
        first_join + np.where(scan, operations + np.arange(len(scan)), of_row).astype("<u8")
        for of_row in (rows.of_row, rows.partners_of_row)
    )
    into, out = senders | (scan & rows.sends), receivers | (scan & rows.receives)
    next_in_scan = np.flatnonzero(scan[1:] & (rows.of_row[1:] == rows.of_row[:-1]))
    edges = [
        (begins[into], join[into], 0),
        (left[out], ends[out], LATENCY),
        (join[next_in_scan], join[next_in_scan + 1], 0),
    ]
    return [(one, other, np.full(len(one), least)) for one, other, least in edges], operations + len(scan)


def _rows(points: Array, corrected: Array, moved: Array, shifts: Array) -> Array:
    """Rows of MOVED_DTYPE: moved events, and the ends of lines before them."""
    found = np.empty(len(moved) + len(shifts), MOVED_DTYPE)
    found["rank"] = points["rank"][np.append(moved, shifts["event"].astype("<i8"))]
    found["is_line"] = np.arange(len(found)) >= len(moved)
    found["time"] = np.append(points["time"][moved], shifts["time"])
    found["value"] = np.append(corrected[moved], shifts["shift"])
    rows: Array = found[np.argsort(found["rank"], kind="stable")]
    return rows


def moved_times(rows: Array) -> dict[int, MovedTimes]:
    """Moved events by rank, from rows of `repair_clocks`."""
    borders = np.flatnonzero(rows["rank"][1:] != rows["rank"][:-1]) + 1
    found = {}
    for own in np.split(rows, borders) if len(rows) else []:
        lines = own["is_line"] > 0
        columns = (own[name][here].copy() for here in (~lines, lines) for name in ("time", "value"))
        found[int(own["rank"][0])] = MovedTimes(*columns)
    return found
