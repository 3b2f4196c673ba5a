"""Tables from events: module calls, messages, waits, memory, queues; NumPy all the way, no loop over events.

Times are ns since the run's origin (`Trace.origin`), so they can be compared between ranks and hosts.  A
record that ends something carries the time of its begin, so no enter has to be matched with its leave.  Only
messages are matched, by (sender, receiver, sequence).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pse.trace._reading import match
from pse.trace.format._events import EVENT_DTYPE, EventType, MemoryFlag, ModuleFlag
from pse.trace.query._column_extraction import Rows, counts_of
from pse.trace.store._files import Array

if TYPE_CHECKING:
    from pse.trace.query._reader import Trace

MODULE_CALL_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("site", "<u4"),
        ("tph", "<u8"),
        ("partition", "<u4"),
        ("enter", "<i8"),  # ns
        ("leave", "<i8"),  # ns
        ("cpu", "<u8"),  # ns
        ("status", "<i4"),  # what the module returned
        ("failed", "?"),
        ("complete", "?"),
    ]
)
MESSAGE_DTYPE = np.dtype(
    [
        ("sender", "<u4"),
        ("receiver", "<u4"),
        ("edge", "<u4"),
        ("sequence", "<u8"),
        ("bytes", "<u8"),
        ("flags", "<u2"),  # MessageFlag
        ("site", "<u4"),  # that defined the tag
        ("tph", "<u8"),
        ("sent", "<i8"),  # ns
        ("received", "<i8"),  # ns
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
MEMORY_DTYPE = np.dtype(
    [
        ("time", "<i8"),  # ns
        ("rank", "<u4"),  # whose memory it is: the one that allocated it
        ("site", "<u4"),
        ("tph", "<u8"),
        ("handle", "<u8"),
        ("bytes", "<i8"),  # negative: freed
        ("local", "?"),  # the process's own memory, not the node's arena
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
RANKED_EVENT_DTYPE = np.dtype(
    [("time", "<i8"), *((name, EVENT_DTYPE[name]) for name in (EVENT_DTYPE.names or ())[1:]), ("rank", "<u4")]
)


MOST_WAYS = (1 << 64) - 1
LOOK = 4096  # Records that are looked through at once for the last of a type.


def low(values: Array) -> Array:
    """Low 32 bits of a field that holds two numbers."""
    return (values & 0xFFFFFFFF).astype("<u4")


def high(values: Array) -> Array:
    """High 32 bits of a field that holds two numbers."""
    return (values >> 32).astype("<u4")


def _interrupted(trace: Trace, rank: int, begin: EventType, end: EventType) -> Array:
    """The last begin of a rank if nothing ended it, as an array of one event or none."""
    file = trace.files[rank]
    if not file.counts[begin]:
        return file.events[:0]
    place = last_place(file.types, begin, end)
    last: Array = file.events[place : place + 1][file.types[place : place + 1] == begin]
    return last


def _with_interrupted(
    trace: Trace, table: Array, begin: EventType, end: EventType, row: Callable[[int, Array, Array], Array]
) -> Array:
    """Put the rows of what the end of the trace interrupted behind each rank's others."""
    places = np.cumsum(counts_of(trace, end))
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


_ENDED_CALLS = Rows(
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


def module_calls(trace: Trace) -> Array:
    """See `Trace.module_calls`."""
    ended = _ENDED_CALLS.of(trace, EventType.MODULE_LEAVE, complete=True)
    return _with_interrupted(trace, ended, EventType.MODULE_ENTER, EventType.MODULE_LEAVE, _open_call)


def _open_call(rank: int, begun: Array, times: Array) -> Array:
    row = np.zeros(1, MODULE_CALL_DTYPE)
    row["rank"], row["site"], row["tph"], row["partition"] = (
        rank,
        begun["site"],
        begun["tph"],
        low(begun["a"]),
    )
    row["enter"], row["leave"] = times
    return row


_ENDED_WAITS = Rows(
    WAIT_DTYPE,
    site="site",
    tph="tph",
    reason="flags",
    peer="a.low",
    edge="a.high",
    begin="time(b)",
    end="time(time)",
)


def waits(trace: Trace) -> Array:
    """See `Trace.waits`."""
    ended = _ENDED_WAITS.of(trace, EventType.WAIT_END, complete=True)
    return _with_interrupted(trace, ended, EventType.WAIT_BEGIN, EventType.WAIT_END, _open_wait)


def _open_wait(rank: int, begun: Array, times: Array) -> Array:
    row = np.zeros(1, WAIT_DTYPE)
    row["rank"], row["site"], row["tph"], row["reason"] = rank, begun["site"], begun["tph"], begun["flags"]
    row["peer"], row["edge"] = low(begun["a"]), high(begun["a"])
    row["begin"], row["end"] = times
    return row


@dataclass(frozen=True)
class Messages:
    """Messages with both ends, and the ends that have no other (RANKED_EVENT_DTYPE)."""

    matched: Array
    sends: Array
    receives: Array


def message_ends(trace: Trace) -> tuple[Array, Array]:
    """All sends and all receives, by rank, then in order: arrays of `RANKED_EVENT_DTYPE`."""
    return _ENDS.of(trace, EventType.SEND), _ENDS.of(trace, EventType.RECEIVE)


def match_messages(sends: Array, receives: Array) -> Messages:
    """Match sends with receives by (sender, receiver, sequence)."""
    sent, received = match_keys(
        (sends["rank"], low(sends["b"]), sends["c"]), (low(receives["b"]), receives["rank"], receives["c"])
    )
    out = sends if len(sent) == len(sends) else sends[sent]
    matched = np.empty(len(sent), MESSAGE_DTYPE)
    for name, column in _OF_SENDS.items():
        matched[name] = out[column]
    matched["receiver"], matched["edge"] = low(out["b"]), high(out["b"])
    matched["received"] = receives["time"][received]
    return Messages(matched, _without(sends, sent), _without(receives, received))


_OF_SENDS = {
    "sender": "rank",
    "sequence": "c",
    "bytes": "a",
    "flags": "flags",
    "site": "site",
    "tph": "tph",
    "sent": "time",
}


def _without(ends: Array, places: Array) -> Array:
    return ends[:0] if len(places) == len(ends) else np.delete(ends, places)


_ENDS = Rows(
    RANKED_EVENT_DTYPE,
    time="time(time)",
    type="type",
    flags="flags",
    site="site",
    tph="tph",
    a="a",
    b="b",
    c="c",
)


def match_keys(sends: tuple[Array, ...], receives: tuple[Array, ...]) -> tuple[Array, Array]:
    """Places of the sends, ascending, and of the receives that have equal keys.

    Columns of a key are unsigned.  It is fastest where the last one ascends among those that are equal in all
    others, as numbers of messages do.
    """
    ways: list[Array] = [np.zeros(len(ends[0]), "<u8") for ends in (sends, receives)]
    size = 1
    for columns in zip(sends[:-1], receives[:-1], strict=True):
        values, more = _few(columns, MOST_WAYS // size)
        if size * more > MOST_WAYS:
            ways, size = _few(ways, 0)
        ways = [way * np.uint64(more) + value for way, value in zip(ways, values, strict=True)]
        size *= more
    out, back = (_in_order(way, ends[-1], size) for way, ends in zip(ways, (sends, receives), strict=True))
    least = min(len(sends[0]), len(receives[0]))
    left, right = np.empty(least, "<i8"), np.empty(least, "<i8")
    found = match(*out[1:], *back[1:], left, right)
    partners = np.full(len(sends[0]), -1, "<i8")
    partners[out[0][left[:found]]] = back[0][right[:found]]
    sent = np.flatnonzero(partners >= 0)
    return sent, partners[sent]


def ordinals(columns: Sequence[Array], times: Array | None = None) -> Array:
    """The how manieth of its kind each row is: by time, else in the order of the rows; int64, shape (n,)."""
    order = np.lexsort([*([] if times is None else [times]), *columns])
    is_first = np.ones(len(order), bool)
    for column in columns:
        is_first[1:] &= column[order[1:]] == column[order[:-1]]
    is_first[1:] = ~is_first[1:]
    places = np.arange(len(order))
    found = np.empty(len(order), "<i8")
    found[order] = places - np.maximum.accumulate(np.where(is_first, places, 0)) if len(order) else places
    return found


def _few(columns: Sequence[Array], limit: int) -> tuple[list[Array], int]:
    """Two columns with numbers below a bound, and the bound; over the limit, places among all values."""
    bound = 1 + max((int(column.max()) for column in columns if len(column)), default=0)
    if bound <= limit:
        return list(columns), bound
    places = np.unique(np.concatenate(columns), return_inverse=True)[1].astype("<u8")
    return np.split(places, [len(columns[0])]), max(len(places), 1)


def _in_order(ways: Array, numbers: Array, size: int) -> tuple[Array, Array, Array]:
    """The order of keys (way, number), and both in it; there are `size` ways."""
    order = np.argsort(ways.astype("<u2") if size <= 1 << 16 else ways, kind="stable")  # Two bytes: faster.
    way, number = ways[order], numbers[order].astype("<u8")
    if ((way[1:] == way[:-1]) & (number[1:] < number[:-1])).any():
        order = np.lexsort((numbers, ways))
        way, number = ways[order], numbers[order].astype("<u8")
    return order, way, number


_CHANGES = Rows(
    MEMORY_DTYPE,
    time="time(time)",
    rank="c.low",
    site="site",
    tph="tph",
    handle="b",
    bytes="a",
    local=f"flags&{MemoryFlag.LOCAL:d}",
)


def memory(trace: Trace) -> Array:
    """See `Trace.memory`."""
    kinds = (EventType.ALLOCATE, EventType.FREE)
    changes = _CHANGES.of(trace, *kinds)
    files = [trace.files[rank].types for rank in trace.ranks]
    freed = np.concatenate([types[np.isin(types, kinds)] for types in files]) == EventType.FREE
    owners = np.repeat(np.array(trace.ranks, "<u4"), counts_of(trace, *kinds))
    np.copyto(changes["rank"], owners, where=~freed)
    np.negative(changes["bytes"], out=changes["bytes"], where=freed)
    return changes[np.argsort(changes["time"], kind="stable")]


_SAMPLES = Rows(
    QUEUE_DTYPE,
    time="time(time)",
    edge="a.low",
    sender="a.high",
    depth="b",
    limit="c",
)


def queue_depths(trace: Trace) -> Array:
    """See `Trace.queue_depths`."""
    return _SAMPLES.of(trace, EventType.QUEUE_DEPTH)


def texts(trace: Trace, rank: int) -> dict[tuple[int, int], str]:
    """See `Trace.texts`."""
    return decode_texts(trace.select(rank, EventType.TEXT))


def decode_texts(parts: Array) -> dict[tuple[int, int], str]:
    """Put together what TEXT records of one rank name, by (`TextKind`, number)."""
    parts = parts[np.lexsort((high(parts["a"]), low(parts["a"]), parts["flags"]))]
    data = np.stack([parts["b"], parts["c"]], axis=1).astype("<u8").tobytes()
    begins = np.flatnonzero(high(parts["a"]) == 0)
    ends = np.append(begins[1:], len(parts))
    return {
        (int(parts["flags"][begin]), int(low(parts["a"][begin]))): _decoded(data[16 * begin : 16 * end])
        for begin, end in zip(begins, ends, strict=False)
    }


def _decoded(data: bytes) -> str:
    return data.rstrip(b"\0").decode(errors="replace")
