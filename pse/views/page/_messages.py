"""Messages of a trace for the page: who sent how much to whom, when, and in which way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pse.analysis import message_tables
from pse.text import time_text
from pse.trace import NONE, EventType, MessageFlag, Trace
from pse.trace.format import Array
from pse.trace.query import Selection, transfer_way
from pse.views.core._rows import Row

MOST_MESSAGES = 200_000
"""Messages that the page holds one by one; of more, those of a stretch of time are summed up."""
MOST_MATCHED = 2_000_000
"""Messages of a trace of which the page has any: all are matched to find those that are shown."""
STRETCHES = 256
"""Stretches of time in which messages are summed up, at most."""
WAYS = (MessageFlag.DESCRIPTOR, MessageFlag.COPIED, MessageFlag.REMOTE, MessageFlag.SCALAR)
MESSAGE_DTYPE = np.dtype(
    [
        ("kind", "u1"),  # of `Messages.kinds`
        ("way", "u1"),  # of `way_names`
        ("sender", "<i8"),  # row
        ("receiver", "<i8"),  # row
        ("edge", "<u4"),
        ("tph", "<u8"),
        ("bytes", "<u8"),
        ("count", "<i8"),
        ("sent", "<i8"),  # ns
        ("received", "<i8"),  # ns
        ("lasted", "<i8"),  # ns, of all of them together
    ]
)
_KEYS = ("kind", "way", "sender", "receiver", "edge")
_SENDS = (EventType.SEND, EventType.PARTITION_SEND, EventType.MPI_SEND)


@dataclass(frozen=True)
class Messages:
    """Messages between rows of the page, by time.

    Parameters
    ----------
    kinds : list of str
        What `kind` counts in.
    table : array of `MESSAGE_DTYPE`
        The messages, or sums of them.
    step : int
        In which stretches of time they are summed up, ns; 0: they are single.
    note : str
        What is left out, or "".
    """

    kinds: list[str]
    table: Array
    step: int
    note: str

    def described(self) -> dict[str, Any]:
        """What the page's head says of them."""
        return {"kinds": self.kinds, "ways": way_names(), "step": self.step}


def way_names() -> list[str]:
    """Names of the ways of messages; that of MPI's is not known."""
    return [*(transfer_way(flag) for flag in WAYS), "by MPI"]


def messages(trace: Trace, selection: Selection, shown: Sequence[Row]) -> Messages:
    """Find the messages between ranks that are shown."""
    count = sum(trace.files[row.rank].counts[kind] for row in shown for kind in _SENDS)
    if count > MOST_MATCHED:
        return Messages([], np.empty(0, MESSAGE_DTYPE), 0, _too_many(count))
    tables = message_tables(trace, selection)
    found = np.concatenate([_rows(number, table, shown) for number, (_, table) in enumerate(tables)])
    found = found[np.argsort(found["sent"], kind="stable")]
    kinds = [kind for kind, _ in tables]
    if len(found) <= MOST_MESSAGES:
        return Messages(kinds, found, 0, "")
    summed, step = _summed_up(found)
    note = (
        f"{len(found):,} messages are summed up in stretches of {time_text(step)}, so no lines are drawn. "
        "A page of a part has them."
    )
    return Messages(kinds, summed, step, note)


def _too_many(count: int) -> str:
    return (
        f"{count:,} messages are too many for one page, which has none of them: pse trace messages counts "
        "them. A page of fewer ranks has them."
    )


def _rows(kind: int, table: Array, shown: Sequence[Row]) -> Array:
    """Messages of one kind between rows that are shown."""
    places = np.full(max(row.rank for row in shown) + 2, -1)  # The last is that of all ranks beyond.
    places[[row.rank for row in shown]] = np.arange(len(shown))
    ends = [places[np.minimum(table[end], len(places) - 1)] for end in ("sender", "receiver")]
    there = (ends[0] >= 0) & (ends[1] >= 0)
    found = np.zeros(int(there.sum()), MESSAGE_DTYPE)
    found["sender"], found["receiver"] = (end[there] for end in ends)
    table = table[there]
    for name in ("bytes", "sent", "received", "tph"):
        if name in (table.dtype.names or ()):
            found[name] = table[name]
    found["kind"], found["count"], found["lasted"] = kind, 1, table["received"] - table["sent"]
    found["edge"] = table["edge"] if "edge" in (table.dtype.names or ()) else NONE
    found["way"] = _ways(table["flags"]) if "flags" in (table.dtype.names or ()) else len(WAYS)
    return found


def _ways(flags: Array) -> Array:
    """The way of each message, as `transfer_way` says it."""
    known, place = np.unique(flags, return_inverse=True)
    names = way_names()
    ways: Array = np.array([names.index(transfer_way(int(flag))) for flag in known], "u1")[place]
    return ways


def _summed_up(found: Array) -> tuple[Array, int]:
    """Sum up messages of the same kind, way, tag and ranks in stretches of time; give how long these are."""
    begin = int(found["sent"][0])
    span = int(found["sent"][-1]) - begin + 1
    stretches = STRETCHES
    while True:
        step = -(-span // stretches)
        summed = _grouped(found, (found["sent"] - begin) // step)
        if len(summed) <= MOST_MESSAGES or stretches == 1:
            return summed[np.argsort(summed["sent"], kind="stable")], step
        stretches //= 4


def _grouped(found: Array, stretch: Array) -> Array:
    # Of messages whose time is not known the mean is not, either: they stay apart.
    columns = [*(found[name] for name in _KEYS), found["lasted"] > 0, stretch]
    order = np.lexsort(columns)
    same = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in columns])
    firsts = np.append(0, np.flatnonzero(~same) + 1)
    made: Array = found[order][firsts]
    for name in ("bytes", "count", "lasted"):
        made[name] = np.add.reduceat(found[name][order], firsts)
    made["received"] = np.maximum.reduceat(found["received"][order], firsts)
    made["tph"] = 0
    return made
