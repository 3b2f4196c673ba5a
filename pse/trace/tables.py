"""Tables from events: module calls, messages, waits, memory, queues; NumPy all the way, no loop over events.

Times are ns since the run's origin (`Trace.origin`), so they can be compared between ranks and hosts.  A
record that ends something carries the time of its begin, so no enter has to be matched with its leave.  Only
messages are matched, by (sender, receiver, sequence).

May touch: nothing.  Next room: ``summary.py`` counts, ``views`` draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pse.trace.events import EVENT_DTYPE, EventType, MemoryFlag, ModuleFlag
from pse.trace.files import Array

if TYPE_CHECKING:
    from pse.trace.reader import Trace

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


def low(values: Array) -> Array:
    """Low 32 bits of a field that holds two numbers."""
    return (values & 0xFFFFFFFF).astype("<u4")


def high(values: Array) -> Array:
    """High 32 bits of a field that holds two numbers."""
    return (values >> 32).astype("<u4")


def _each_rank(trace: Trace, table: Callable[[Trace, int], Array], dtype: np.dtype[np.void]) -> Array:
    parts = [np.empty(0, dtype), *(table(trace, rank) for rank in trace.ranks)]
    return np.concatenate(parts)


def _interrupted(trace: Trace, rank: int, begin: EventType, end: EventType) -> Array:
    """The last begin of a rank if nothing ended it, as an array of one event or none."""
    last = trace.select(rank, begin, end)[-1:]
    open_one: Array = last[last["type"] == begin]
    return open_one


def _last_time(trace: Trace, rank: int) -> Array:
    return trace.run_times(rank, trace.events(rank)["time"][-1:])


def module_calls(trace: Trace) -> Array:
    """See `Trace.module_calls`."""
    return _each_rank(trace, _rank_module_calls, MODULE_CALL_DTYPE)


def _rank_module_calls(trace: Trace, rank: int) -> Array:
    ended = trace.select(rank, EventType.MODULE_LEAVE)
    open_call = _interrupted(trace, rank, EventType.MODULE_ENTER, EventType.MODULE_LEAVE)
    calls = np.zeros(len(ended) + len(open_call), MODULE_CALL_DTYPE)
    both = np.concatenate([ended, open_call])
    calls["rank"], calls["site"], calls["tph"] = rank, both["site"], both["tph"]
    done, rest = calls[: len(ended)], calls[len(ended) :]
    done["enter"], done["leave"] = trace.run_times(rank, ended["b"]), trace.run_times(rank, ended["time"])
    done["cpu"] = ended["a"]
    done["status"], done["partition"] = low(ended["c"]).view("<i4"), high(ended["c"])
    done["failed"], done["complete"] = ended["flags"] & ModuleFlag.FAILED != 0, True
    if len(open_call):
        rest["enter"], rest["leave"] = trace.run_times(rank, open_call["time"]), _last_time(trace, rank)
        rest["partition"] = low(open_call["a"])
    return calls


def waits(trace: Trace) -> Array:
    """See `Trace.waits`."""
    return _each_rank(trace, _rank_waits, WAIT_DTYPE)


def _rank_waits(trace: Trace, rank: int) -> Array:
    ended = trace.select(rank, EventType.WAIT_END)
    open_wait = _interrupted(trace, rank, EventType.WAIT_BEGIN, EventType.WAIT_END)
    both = np.concatenate([ended, open_wait])
    found = np.zeros(len(both), WAIT_DTYPE)
    found["rank"], found["site"], found["tph"], found["reason"] = (
        rank,
        both["site"],
        both["tph"],
        both["flags"],
    )
    found["peer"], found["edge"] = low(both["a"]), high(both["a"])
    found["begin"], found["end"] = trace.run_times(rank, both["b"]), trace.run_times(rank, both["time"])
    found["complete"][: len(ended)] = True
    if len(open_wait):
        found["begin"][-1:], found["end"][-1:] = found["end"][-1:], _last_time(trace, rank)
    return found


@dataclass(frozen=True)
class Messages:
    """Messages with both ends, and the ends that have no other (RANKED_EVENT_DTYPE)."""

    matched: Array
    sends: Array
    receives: Array


def message_ends(trace: Trace) -> tuple[Array, Array]:
    """All sends and all receives, by rank, then in order: arrays of `RANKED_EVENT_DTYPE`."""
    return _ranked_events(trace, EventType.SEND), _ranked_events(trace, EventType.RECEIVE)


def match_messages(sends: Array, receives: Array) -> Messages:
    """Match sends with receives by (sender, receiver, sequence)."""
    sent, received = match_keys(
        (sends["rank"], low(sends["b"]), sends["c"]), (low(receives["b"]), receives["rank"], receives["c"])
    )
    matched = np.zeros(len(sent), MESSAGE_DTYPE)
    out, back = sends[sent], receives[received]
    matched["sender"], matched["receiver"], matched["edge"] = out["rank"], back["rank"], high(out["b"])
    for name, column in (
        ("sequence", "c"),
        ("bytes", "a"),
        ("flags", "flags"),
        ("site", "site"),
        ("tph", "tph"),
    ):
        matched[name] = out[column]
    matched["sent"], matched["received"] = out["time"], back["time"]
    return Messages(matched, np.delete(sends, sent), np.delete(receives, received))


def _ranked_events(trace: Trace, kind: EventType) -> Array:
    def one(trace: Trace, rank: int) -> Array:
        events = trace.select(rank, kind)
        ranked = np.empty(len(events), RANKED_EVENT_DTYPE)
        for name in EVENT_DTYPE.names or ():
            ranked[name] = events[name]
        ranked["time"], ranked["rank"] = trace.run_times(rank, events["time"]), rank
        return ranked

    return _each_rank(trace, one, RANKED_EVENT_DTYPE)


def match_keys(sends: tuple[Array, ...], receives: tuple[Array, ...]) -> tuple[Array, Array]:
    """Positions of the sends and of the receives that have equal keys."""
    columns = [np.concatenate([left, right]) for left, right in zip(sends, receives, strict=True)]
    is_receive = np.repeat([False, True], [len(sends[0]), len(receives[0])])
    order = np.lexsort((is_receive, *columns))
    if len(order) < 2:
        return order[:0], order[:0]
    same = np.logical_and.reduce([column[order[1:]] == column[order[:-1]] for column in columns])
    pairs = np.flatnonzero(same & ~is_receive[order[:-1]] & is_receive[order[1:]])
    by_send = np.argsort(order[pairs], kind="stable")
    return order[pairs][by_send], (order[pairs + 1] - len(sends[0]))[by_send]


def memory(trace: Trace) -> Array:
    """See `Trace.memory`."""
    changes = _each_rank(trace, _rank_memory, MEMORY_DTYPE)
    return changes[np.argsort(changes["time"], kind="stable")]


def _rank_memory(trace: Trace, rank: int) -> Array:
    events = trace.select(rank, EventType.ALLOCATE, EventType.FREE)
    freed = events["type"] == EventType.FREE
    changes = np.zeros(len(events), MEMORY_DTYPE)
    changes["time"], changes["site"] = trace.run_times(rank, events["time"]), events["site"]
    changes["tph"] = events["tph"]
    changes["rank"] = np.where(freed, events["c"], rank)
    changes["handle"] = events["b"]
    changes["bytes"] = np.where(freed, -events["a"].astype("<i8"), events["a"].astype("<i8"))
    changes["local"] = events["flags"] & MemoryFlag.LOCAL != 0
    return changes


def queue_depths(trace: Trace) -> Array:
    """See `Trace.queue_depths`."""
    return _each_rank(trace, _rank_queue_depths, QUEUE_DTYPE)


def _rank_queue_depths(trace: Trace, rank: int) -> Array:
    events = trace.select(rank, EventType.QUEUE_DEPTH)
    samples = np.zeros(len(events), QUEUE_DTYPE)
    samples["time"], samples["rank"] = trace.run_times(rank, events["time"]), rank
    samples["edge"], samples["sender"] = low(events["a"]), high(events["a"])
    samples["depth"], samples["limit"] = events["b"], events["c"]
    return samples


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
