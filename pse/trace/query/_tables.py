"""Tables from events: module calls, waits, queues; NumPy all the way, no loop over events.

Times are ns since the run's origin (`Trace.origin`), so they can be compared between ranks and hosts.  A
record that ends something carries the time of its begin, so no enter has to be matched with its leave.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pse.trace.format._events import EventType, ModuleFlag
from pse.trace.format._field_values import Array, high32, low32
from pse.trace.query._column_extraction import Extraction, record_counts
from pse.trace.query._key_matching import match_keys
from pse.trace.store._trace_files import TraceFiles

MODULE_CALL_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("site", "<u4"),
        ("tph", "<u8"),
        ("partition", "<u4"),
        ("enter", "<i8"),  # ns
        ("leave", "<i8"),  # ns
        ("cpu", "<u8"),  # ns
        ("preempted", "<u8"),  # ns
        ("status", "<i4"),  # what the module returned
        ("failed", "?"),
        ("complete", "?"),
    ]
)
WAIT_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("site", "<u4"),
        ("tph", "<u8"),
        ("reason", "<u2"),  # WaitReason
        ("peer", "<u4"),
        ("edge", "<u4"),
        ("begin", "<i8"),  # ns
        ("end", "<i8"),  # ns
        ("complete", "?"),
    ]
)
QUEUE_DTYPE = np.dtype(
    [
        ("time", "<i8"),  # ns
        ("rank", "<u4"),
        ("edge", "<u4"),  # NONE: the whole inbox
        ("sender", "<u4"),  # NONE: all
        ("depth", "<u8"),
        ("limit", "<u8"),  # 0: none
    ]
)

LOOK = 4096  # Records that are looked through at once for the last of a type.


def _interrupted(trace: TraceFiles, rank: int, begin: EventType, end: EventType) -> Array:
    """The last begin of a rank if nothing ended it, as an array of one event or none."""
    file = trace.files[rank]
    if not file.counts[begin]:
        return file.events[:0]
    place = last_place(file.types, begin, end)
    last: Array = file.events[place : place + 1][file.types[place : place + 1] == begin]
    return last


def _with_interrupted(
    trace: TraceFiles,
    table: Array,
    begin: EventType,
    end: EventType,
    row: Callable[[int, Array, Array], Array],
) -> Array:
    """Put the rows of what the end of the trace interrupted behind each rank's others."""
    places = np.cumsum(record_counts(trace, end))
    rests = [(rank, _interrupted(trace, rank, begin, end)) for rank in trace.ranks]
    found = [index for index, (_, event) in enumerate(rests) if len(event)]
    if not found:
        return table
    rows = [row(rank, event, trace.run_times(rank, np.append(event["time"], trace.files[rank].times[1])))
            for rank, event in (rests[index] for index in found)]  # fmt: skip
    return np.insert(table, places[found], np.concatenate(rows))


def last_place(types: Array, *wanted: EventType) -> int:
    """Where the last record of one of these types is; there must be one."""
    end = len(types)
    while not (found := np.isin(types[max(end - LOOK, 0) : end], wanted)).any():
        end -= LOOK
    return max(end - LOOK, 0) + int(np.flatnonzero(found)[-1])


_ENDED_CALLS = Extraction(
    MODULE_CALL_DTYPE,
    site="site",
    tph="tph",
    partition="c.high",
    enter="time(b)",
    leave="time(time)",
    cpu="a",
    status="c.low",
    failed=f"flags&{ModuleFlag.FAILED:d}",
)


def module_calls(trace: TraceFiles) -> Array:
    """See `Trace.module_calls`."""
    ended = _ENDED_CALLS.rows(trace, EventType.MODULE_LEAVE, complete=True)
    _set_preempted(trace, ended)
    return _with_interrupted(trace, ended, EventType.MODULE_ENTER, EventType.MODULE_LEAVE, _open_call)


_PREEMPTIONS = Extraction(
    np.dtype([("rank", "<u4"), ("leave", "<i8"), ("preempted", "<u8")]), leave="time(time)", preempted="a"
)


def _set_preempted(trace: TraceFiles, calls: Array) -> None:
    """Add to each call how long it was preempted: a record of that has the time of the call's end."""
    found = _PREEMPTIONS.rows(trace, EventType.MODULE_PREEMPTED)
    if len(found):
        keys = [(table["rank"], table["leave"].astype("<u8")) for table in (found, calls)]
        records, places = match_keys(*keys)
        calls["preempted"][places] = found["preempted"][records]


def _open_call(rank: int, begun: Array, times: Array) -> Array:
    row = np.zeros(1, MODULE_CALL_DTYPE)
    row["rank"], row["site"], row["tph"], row["partition"] = (
        rank,
        begun["site"],
        begun["tph"],
        low32(begun["a"]),
    )
    row["enter"], row["leave"] = times
    return row


_ENDED_WAITS = Extraction(
    WAIT_DTYPE,
    site="site",
    tph="tph",
    reason="flags",
    peer="a.low",
    edge="a.high",
    begin="time(b)",
    end="time(time)",
)


def waits(trace: TraceFiles) -> Array:
    """See `Trace.waits`."""
    ended = _ENDED_WAITS.rows(trace, EventType.WAIT_END, complete=True)
    return _with_interrupted(trace, ended, EventType.WAIT_BEGIN, EventType.WAIT_END, _open_wait)


def _open_wait(rank: int, begun: Array, times: Array) -> Array:
    row = np.zeros(1, WAIT_DTYPE)
    row["rank"], row["site"], row["tph"], row["reason"] = rank, begun["site"], begun["tph"], begun["flags"]
    row["peer"], row["edge"] = low32(begun["a"]), high32(begun["a"])
    row["begin"], row["end"] = times
    return row


_SAMPLES = Extraction(
    QUEUE_DTYPE,
    time="time(time)",
    edge="a.low",
    sender="a.high",
    depth="b",
    limit="c",
)


def queue_depths(trace: TraceFiles) -> Array:
    """See `Trace.queue_depths`."""
    return _SAMPLES.rows(trace, EventType.QUEUE_DEPTH)
