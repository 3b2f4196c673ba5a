"""Messages and collective operations among partitions: what became of each, from the records of all ranks.

The nth message of one TPH, call site, pair of ranks and of partitions, and tag that was sent is the nth that
came.  A message whose bytes stay with their sender (`MessageFlag.RENDEZVOUS`) is taken, too, and complete for
its sender when that knows.
"""

from __future__ import annotations

import numpy as np

from pse.trace.format._events import NONE, EventType, MessageFlag
from pse.trace.format._field_values import Array
from pse.trace.query._column_extraction import Extraction
from pse.trace.query._key_matching import match_keys, ordinals
from pse.trace.query._messages import MESSAGE_DTYPE
from pse.trace.store._trace_files import TraceFiles

PARTITION_MESSAGE_DTYPE = np.dtype(
    [
        ("sender", "<u4"),  # rank
        ("receiver", "<u4"),  # rank
        ("source", "<u4"),  # partition that sends
        ("target", "<u4"),  # partition that receives
        ("tag", "<u4"),  # of a part of a collective operation: which of its scope's
        ("collective", "?"),  # a part of a collective operation
        ("bytes", "<u8"),
        ("flags", "<u2"),  # MessageFlag
        ("site", "<u4"),  # that sent it
        ("tph", "<u8"),
        ("sent", "<i8"),  # ns; a missing end: -1
        ("received", "<i8"),  # ns when it came to the receiver's rank; a missing end: -1
        ("taken", "<i8"),  # ns when the receiver had the bytes, where they lay with the sender; else -1
        ("done", "<i8"),  # ns when the sender, which kept the bytes, knew; else -1
    ]
)
PARTITION_COLLECTIVE_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("partition", "<u4"),
        ("instance", "<i8"),  # the same for all partitions of one operation
        ("operation", "<u2"),  # Collective
        ("number", "<u4"),  # which of its scope's it is, from 1
        ("scope", "<u4"),  # set of partitions in one thread
        ("root", "<u4"),  # NONE: it has none
        ("site", "<u4"),
        ("tph", "<u8"),
        ("bytes", "<u8"),  # of this partition's own elements
        ("begin", "<i8"),  # ns
        ("end", "<i8"),  # ns; -1: it is not there
    ]
)
_WAY = {"flags": "flags", "site": "site", "tph": "tph", "bytes": "a", "tag": "b.high", "source": "c.low",
        "target": "c.high", "collective": f"flags&{MessageFlag.COLLECTIVE:d}"}  # fmt: skip
_END_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("other", "<u4"),
        ("time", "<i8"),
        *((name, PARTITION_MESSAGE_DTYPE[name]) for name in _WAY),
    ]
)
_ENDS = Extraction(_END_DTYPE, other="b.low", time="time(time)", **_WAY)
_BEGUN = Extraction(
    PARTITION_COLLECTIVE_DTYPE,
    partition="b.low",
    operation="flags",
    number="b.high",
    scope="c.high",
    root="c.low",
    site="site",
    tph="tph",
    bytes="a",
    begin="time(time)",
)
_ENDED = Extraction(
    PARTITION_COLLECTIVE_DTYPE,
    partition="b.low",
    number="b.high",
    scope="c.high",
    tph="tph",
    begin="time(a)",
    end="time(time)",
)


def partition_messages(trace: TraceFiles) -> Array:
    """See `Trace.partition_messages`."""
    sends, receives, takes, completions = (
        _ENDS.rows(trace, kind)
        for kind in (
            EventType.PARTITION_SEND,
            EventType.PARTITION_RECEIVE,
            EventType.PARTITION_TAKE,
            EventType.PARTITION_SEND_COMPLETE,
        )
    )
    sent, received = match_keys(_keys(sends, "rank", "other"), _keys(receives, "other", "rank"))
    whole = _messages(sends[sent], "sender", "receiver", "sent")
    whole["received"] = receives["time"][received]
    messages = np.concatenate(
        [
            whole,
            _messages(np.delete(sends, sent), "sender", "receiver", "sent"),
            _messages(np.delete(receives, received), "receiver", "sender", "received"),
        ]
    )
    kept = messages["flags"] & MessageFlag.RENDEZVOUS != 0
    near = kept & (messages["flags"] & MessageFlag.REMOTE == 0)
    _join(messages, "done", kept, completions["time"], _keys(completions, "rank", "other"))
    _join(messages, "taken", near, takes["time"], _keys(takes, "other", "rank"))
    return messages


def messages_between_ranks(messages: Array) -> Array:
    """Those of which both ends are there, on two ranks, as views draw them: an array of `MESSAGE_DTYPE`.

    Parameters
    ----------
    messages : structured array, shape (messages,)
        From `mpi_messages`.

    Returns
    -------
    structured array, shape (n,)
        Rows of `MESSAGE_DTYPE`; times in ns.

    Examples
    --------
    >>> len(messages_between_ranks(trace.partition_messages()))  # run1 has none.
    0
    """
    both = (
        (messages["sent"] >= 0) & (messages["received"] >= 0) & (messages["sender"] != messages["receiver"])
    )
    chosen = messages[both]
    made = np.zeros(len(chosen), MESSAGE_DTYPE)
    for name in ("sender", "receiver", "bytes", "flags", "site", "tph", "sent", "received"):
        made[name] = chosen[name]
    made["edge"] = NONE
    return made


def _messages(ends: Array, mine: str, other: str, time: str) -> Array:
    """Messages of which one end is known."""
    made = np.zeros(len(ends), PARTITION_MESSAGE_DTYPE)
    for name in _WAY:
        made[name] = ends[name]
    made[mine], made[other] = ends["rank"], ends["other"]
    for name in ("sent", "received", "taken", "done"):
        made[name] = ends["time"] if name == time else -1
    return made


def _join(messages: Array, field: str, chosen: Array, times: Array, keys: tuple[Array, ...]) -> None:
    """Give the chosen messages the times of the ends that are theirs."""
    places = np.flatnonzero(chosen)
    if not len(places) or not len(times):
        return
    known = messages[places]
    sent = np.where(known["sent"] >= 0, known["sent"], known["received"])
    found, theirs = match_keys(_keys(known, "sender", "receiver", sent), keys)
    messages[field][places[found]] = times[theirs]


def _keys(ends: Array, sender: str, receiver: str, times: Array | None = None) -> tuple[Array, ...]:
    """What tells messages apart: its position among those of its kind comes last."""
    columns = [ends[name] for name in ("tph", "site", sender, receiver, "source", "target", "tag")]
    columns.append(ends["collective"].astype("<u4"))
    return (*columns, ordinals(columns, times))


def partition_collectives(trace: TraceFiles) -> Array:
    """See `Trace.partition_collectives`."""
    begun = _BEGUN.rows(trace, EventType.PARTITION_COLLECTIVE_BEGIN, end=-1)
    ended = _ENDED.rows(trace, EventType.PARTITION_COLLECTIVE_END)
    operations = ("tph", "scope", "number")
    keys = [
        [table[name] for name in (*operations, "partition")] for table in (begun, ended)
    ]  # Of one partition at most one is under way with one number.
    times = [ordinals(columns, table["begin"]) for columns, table in zip(keys, (begun, ended), strict=True)]
    found, theirs = match_keys((*keys[0], times[0]), (*keys[1], times[1]))
    begun["end"][found] = ended["end"][theirs]
    shared = np.stack([*(begun[name].astype("<u8") for name in operations), times[0].astype("<u8")], axis=1)
    begun["instance"] = np.unique(shared, axis=0, return_inverse=True)[1].reshape(-1) if len(begun) else 0
    return begun
