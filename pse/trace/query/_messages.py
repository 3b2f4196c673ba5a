"""Hand-overs of tags: sends matched with receives by (sender, receiver, sequence)."""

from __future__ import annotations

import numpy as np

from pse.records import dataclass
from pse.trace.format._events import EVENT_DTYPE, EventType, MessageFlag
from pse.trace.format._field_values import Array, high32, low32
from pse.trace.query._column_extraction import Extraction
from pse.trace.query._key_matching import match_keys
from pse.trace.store._trace_files import TraceFiles

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
RANKED_EVENT_DTYPE = np.dtype(
    [("time", "<i8"), *((name, EVENT_DTYPE[name]) for name in (EVENT_DTYPE.names or ())[1:]), ("rank", "<u4")]
)


@dataclass(frozen=True)
class MatchedMessages:
    """Messages with both ends, and the ends that have no other (RANKED_EVENT_DTYPE)."""

    matched: Array
    sends: Array
    receives: Array


def message_ends(trace: TraceFiles) -> tuple[Array, Array]:
    """All sends and all receives, by rank, then in order: arrays of `RANKED_EVENT_DTYPE`.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.

    Returns
    -------
    tuple of two structured arrays, shapes (sends,) and (receives,)
        Sends and receives.
    """
    return _ENDS.rows(trace, EventType.SEND), _ENDS.rows(trace, EventType.RECEIVE)


def match_messages(sends: Array, receives: Array) -> MatchedMessages:
    """Match sends with receives by (sender, receiver, sequence).

    Parameters
    ----------
    sends : structured array, shape (sends,)
        Rows of `RANKED_EVENT_DTYPE`.
    receives : structured array, shape (receives,)
        Likewise.

    Returns
    -------
    MatchedMessages
        Messages of which both ends are there, and the ends that are left over.

    Examples
    --------
    >>> found = match_messages(*message_ends(trace))
    >>> len(found.matched), len(found.sends), len(found.receives)
    (4, 0, 0)
    """
    sent, received = match_keys(
        (sends["rank"], low32(sends["b"]), sends["c"]),
        (low32(receives["b"]), receives["rank"], receives["c"]),
    )
    out = sends if len(sent) == len(sends) else sends[sent]
    matched = np.empty(len(sent), MESSAGE_DTYPE)
    for name, column in _OF_SENDS.items():
        matched[name] = out[column]
    matched["receiver"], matched["edge"] = low32(out["b"]), high32(out["b"])
    matched["received"] = receives["time"][received]
    return MatchedMessages(matched, _without(sends, sent), _without(receives, received))


def all_messages(trace: TraceFiles) -> Array:
    """The messages of a trace, those too whose sender's events are missing: `sent` is when they came then.

    Parameters
    ----------
    trace : TraceFiles
        Where the records are.

    Returns
    -------
    structured array, shape (messages,)
        Fields as in `Trace.messages`; times in ns.

    Examples
    --------
    >>> all_messages(trace)[["sender", "receiver", "bytes"]].tolist()
    [(0, 1, 4096), (0, 1, 4096), (1, 0, 4096), (1, 0, 4096)]
    """
    found = match_messages(*message_ends(trace))
    halves = np.zeros(len(found.receives), MESSAGE_DTYPE)
    halves["sender"], halves["receiver"] = low32(found.receives["b"]), found.receives["rank"]
    halves["edge"], halves["sequence"] = high32(found.receives["b"]), found.receives["c"]
    for name, column in (("bytes", "a"), ("flags", "flags"), ("site", "site"), ("tph", "tph")):
        halves[name] = found.receives[column]
    halves["sent"] = halves["received"] = found.receives["time"]
    return np.concatenate([found.matched, halves])


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


_ENDS = Extraction(
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


def transfer_way(flags: int) -> str:
    """Say how a message went: ``by descriptor``, ``copied``, ``between nodes``, ``in the message``.

    Parameters
    ----------
    flags : int
        Its `MessageFlag`.

    Returns
    -------
    str
        The way in words.

    Examples
    --------
    >>> from pse.trace import MessageFlag
    >>> transfer_way(MessageFlag.DESCRIPTOR), transfer_way(MessageFlag.REMOTE)
    ('by descriptor', 'between nodes')
    """
    if flags & MessageFlag.REMOTE:
        return "between nodes"
    if flags & MessageFlag.DESCRIPTOR:
        return "by descriptor"
    return "in the message" if flags & MessageFlag.SCALAR else "copied"
