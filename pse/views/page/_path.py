"""The critical path of a run for the page: its pieces over time, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pse.analysis import CriticalPath, StepKind, critical_path
from pse.trace import EventType, Trace
from pse.trace.format import Array
from pse.trace.query import Names
from pse.views.core._rows import Row

MOST_EVENTS = 2_000_000
"""Calls, waits and routines of a trace of which the page has the critical path."""
_ENDS = (EventType.MODULE_LEAVE, EventType.WAIT_END, EventType.REGION_LEAVE)


def path_columns(trace: Trace, rows: Sequence[Row]) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """Give what the path's pieces are, and columns of them: place of the row plus 1, length, what it is.

    Each piece begins where the one before it ends, the first at ``begin`` of `path_begin`.
    """
    count = sum(trace.files[rank].counts[kind] for rank in trace.ranks for kind in _ENDS)
    names = ("path_begin", "path_length", "path_row", "path_part")
    if count > MOST_EVENTS or not len((path := critical_path(trace)).steps):
        return [], {name: np.empty(0, "<u8") for name in names}
    steps, parts = path.steps, _parts(path)
    named = [path.shares(steps[parts == part])[0][:2] for part in range(parts.max() + 1)]
    whats = list(dict.fromkeys(named))  # Of different causes may have one name: they are one share.
    parts = np.array([whats.index(what) for what in named])[parts]
    places = np.zeros(max(trace.ranks) + 1, "<i8")
    places[[row.rank for row in rows]] = np.arange(1, len(rows) + 1)
    columns = (steps["begin"], steps["end"] - steps["begin"], places[steps["rank"]], parts)
    described = [{"name": name, "kind": kind} for name, kind in whats]
    return described, dict(zip(names, columns, strict=True))


def _parts(path: CriticalPath) -> Array:
    """The number of each piece's part: pieces of a part have one name."""
    steps, names = path.steps, Names(path.activity.trace)
    kind = steps["kind"]
    ranks, place = np.unique(steps["rank"], return_inverse=True)
    threads = np.unique([names.thread(rank) for rank in ranks.tolist()], return_inverse=True)[1][place]
    of_routine = (kind == StepKind.ROUTINE) & (steps["block"] >= 0)
    routine = np.zeros(len(steps), "<i8")
    rows = path.activity.blocks["row"][steps["block"][of_routine]]
    routine[of_routine] = path.activity.routines["routine"][rows]
    what = np.where(kind == StepKind.CALL, steps["site"], routine)
    what = np.where(kind == StepKind.HANDOVER, steps["cause"], what)
    where = np.where(kind == StepKind.CALL, threads, steps["thread"])
    parts: Array = np.unique(np.stack([kind, what, where], axis=1), axis=0, return_inverse=True)[1]
    return parts.reshape(-1)
