"""Statistics of messages between places: what went from each to each, how fast at best, how soon at best."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pse.analysis.cube._cube import Location
from pse.analysis.replay._locations import placed
from pse.analysis.replay._trace_input import whole
from pse.errors import UsageError
from pse.text import count_text, did_you_mean
from pse.trace import NONE, EventType, MessageFlag, Selection, Trace, TraceError
from pse.trace.format import Array
from pse.trace.query import all_messages, mpi_messages

LEVELS = ("metahost", "node", "rank")
"""What messages can be between."""
PAIR_DTYPE = np.dtype(
    [
        ("sender", "<u4"),  # place
        ("receiver", "<u4"),  # place
        ("messages", "<u8"),
        ("bytes", "<u8"),
        ("rate", "<f8"),  # bytes/s of the fastest message that moved bytes; nan: there is none
        ("duration", "<f8"),  # ns from the begin of its send to the end of its receive, of the shortest; nan
    ]
)


@dataclass(frozen=True)
class MessageStatistics:
    """What went from each place to each.

    Parameters
    ----------
    by : str
        What places are: one of `LEVELS`.
    names : tuple of str
        Names of the places, in the order of their first ranks.
    tables : mapping of str to array of PAIR_DTYPE, shape (pairs,)
        For each kind of messages that there are, by sender, then by receiver: ``sender`` and ``receiver``
        (uint32, places), ``messages``, ``bytes``, ``rate`` (bytes/s, of the fastest message), ``duration``
        (ns from the begin of the send to the end of the receive, of the shortest message).
    problems : tuple of str
        What is missing, a sentence each.

    Examples
    --------
    >>> found = pse.analysis.message_statistics(pse.trace.open("mpi1"), by="node")
    >>> int(found.tables["MPI"]["bytes"].sum())
    8
    """

    by: str
    names: tuple[str, ...]
    tables: Mapping[str, Array]
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give all as JSON: of each kind a list of pairs; a rate or duration that is not known is null."""
        return {
            "by": self.by,
            "names": list(self.names),
            "units": {"rate": "bytes/s", "duration": "ns"},
            "tables": {kind: [self._row(pair) for pair in table] for kind, table in self.tables.items()},
            "problems": list(self.problems),
        }

    def _row(self, pair: Any) -> dict[str, Any]:
        ends = {end: self.names[pair[end]] for end in ("sender", "receiver")}
        counts = {name: int(pair[name]) for name in ("messages", "bytes")}
        extremes = {
            name: None if np.isnan(pair[name]) else float(pair[name]) for name in ("rate", "duration")
        }
        return ends | counts | extremes

    def matrix(self, kind: str, name: str) -> Array:
        """A column of a kind's table by sender (first axis) and receiver, float64; nan where nothing went."""
        table, found = self.tables[kind], np.full((len(self.names),) * 2, np.nan)
        found[table["sender"], table["receiver"]] = table[name]
        return found


def message_statistics(
    trace: Trace,
    by: str | None = None,
    *,
    metahosts: str | os.PathLike[str] | None = None,
    selection: Selection | None = None,
) -> MessageStatistics:
    """Find out what went from each metahost, node or rank to each.

    Parameters
    ----------
    trace : Trace
        The run.
    by : str, optional
        One of `LEVELS`; by default the first one of which there are several.
    metahosts : path, optional
        A file that says on which metahosts ranks ran, instead of what the trace says.
    selection : Selection, optional
        Which messages count; all by default.

    Returns
    -------
    MessageStatistics
        Messages, bytes, maximum rates and minimum durations.

    Raises
    ------
    UsageError
        There is no such level, or the file of metahosts can't be read or contradicts itself.
    TraceError
        There are no messages.

    Examples
    --------
    >>> pse.analysis.message_statistics(pse.trace.open("run1"), by="node").names
    ('node0',)
    """
    locations, problems = placed(whole(trace, []).streams, trace.definitions, metahosts)
    by = by or next((level for level in LEVELS if len(set(_names(locations, level))) > 1), LEVELS[-1])
    named = _names(locations, by)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(named))}
    place_of = np.full(max(trace.ranks) + 2, NONE, "<u4")  # The last is that of all ranks beyond.
    place_of[list(trace.ranks)] = [numbers[name] for name in named]
    tables = {}
    for kind, messages in message_tables(trace, selection):
        places = [place_of[np.minimum(messages[end], len(place_of) - 1)] for end in ("sender", "receiver")]
        known = (places[0] != NONE) & (places[1] != NONE)
        problems += _defects(kind, messages, known)
        if known.any():
            tables[kind] = _pairs(messages[known], *(place[known] for place in places))
    if not tables:
        raise no_messages(trace)
    return MessageStatistics(by, tuple(numbers), tables, tuple(problems))


def no_messages(trace: Trace) -> TraceError:
    """Say that nothing was sent, and name what the trace has of MPI instead.

    Parameters
    ----------
    trace : Trace
        The run.

    Returns
    -------
    TraceError
        The error, to be raised.

    Examples
    --------
    >>> str(no_messages(pse.trace.open("run1")))
    'nothing to show: the selected ranks sent nothing to each other'
    """
    said = "nothing to show: the selected ranks sent nothing to each other"
    count, calls = (
        sum(file.counts[kind] for file in trace.files.values())
        for kind in (EventType.MPI_COLLECTIVE_BEGIN, EventType.REGION_ENTER)
    )
    if not count:
        recorded = f"pse trace summary {trace.path} shows what they called"
        unrecorded = "messages of MPI are recorded by the tool `trace`: pse run … --tools CONF"
        return TraceError(said, help=recorded if calls else unrecorded)
    parts = count_text(count, "part of a collective operation", "parts of collective operations")
    return TraceError(
        f"{said} in messages; the trace has {parts}",
        help=f"pse analyze {trace.path} shows the time and bytes of these",
    )


def message_tables(trace: Trace, selection: Selection | None = None) -> list[tuple[str, Array]]:
    """Give all messages between ranks of a trace by kind, with the fields of their kinds.

    Parameters
    ----------
    trace : Trace
        The run.
    selection : Selection, optional
        Which messages count; all by default.

    Returns
    -------
    list of (str, structured array)
        Kind and rows, with ``sender``, ``receiver`` (uint32), ``bytes``, ``sent`` and ``received`` (int64,
        ns).  Where the time of an end is not known, it is that of the other end.

    Examples
    --------
    >>> [(kind, len(messages)) for kind, messages in pse.analysis.message_tables(trace)]
    [('tags handed over', 4), ('among partitions', 0), ('MPI', 0)]
    """
    tables = (
        ("tags handed over", all_messages(trace)),
        ("among partitions", trace.partition_messages()),
        ("MPI", mpi_messages(trace)),
    )
    return [(kind, _chosen(trace, selection or Selection(), table)) for kind, table in tables]


def _chosen(trace: Trace, selection: Selection, table: Array) -> Array:
    if not len(table):
        return table
    table = table.copy()
    for end, other in (("sent", "received"), ("received", "sent")):
        table[end] = np.where(table[end] < 0, table[other], table[end])
    chosen: Array = selection.of(trace, table)
    return chosen


def _names(locations: Sequence[Location], level: str) -> list[str]:
    """The place of each location; nodes of one name on several metahosts are told apart."""
    if level == "metahost":
        return [location.machine for location in locations]
    if level == "rank":
        return [f"rank {location.rank}" for location in locations]
    if level != "node":
        raise UsageError(
            f"messages can't be counted by {level!r}",
            help=did_you_mean(level, LEVELS) or "count them by metahost, node or rank",
        )
    several = len({location.machine for location in locations}) > 1
    return [f"{location.machine}/{location.node}" if several else location.node for location in locations]


def _defects(kind: str, messages: Array, known: Array) -> list[str]:
    early = int((messages["received"][known] < messages["sent"][known]).sum())
    lost = int((~known).sum())
    told = []
    if lost:
        told.append(f"{kind}: {count_text(lost, 'message')} of ranks that the trace does not have")
    if early:
        told.append(
            f"{kind}: {count_text(early, 'message')} received before being sent, as the clocks say: left out "
            "of rates and durations"
        )
    return told


def _pairs(messages: Array, sender: Array, receiver: Array) -> Array:
    """Count and compare the messages of each pair of places."""
    keys, group = np.unique(sender.astype("<u8") << np.uint64(32) | receiver, return_inverse=True)
    found = np.empty(len(keys), PAIR_DTYPE)
    found["sender"], found["receiver"] = keys >> np.uint64(32), keys & np.uint64(NONE)
    found["messages"] = np.bincount(group)
    found["bytes"] = np.rint(np.bincount(group, messages["bytes"].astype("<f8")))
    lasted = (messages["received"] - messages["sent"]).astype("<f8")
    timed = lasted > 0
    duration, rate = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
    np.minimum.at(duration, group[timed], lasted[timed])
    timed &= _are_moved(messages)
    np.maximum.at(rate, group[timed], messages["bytes"][timed] / lasted[timed] * 1e9)
    found["duration"], found["rate"] = (np.where(np.isinf(own), np.nan, own) for own in (duration, rate))
    return found


def _are_moved(messages: Array) -> Array:
    """Which messages move bytes: those of tags that are handed over on a node may be descriptors only."""
    if "flags" not in (messages.dtype.names or ()):
        return np.ones(len(messages), bool)
    flags = messages["flags"]
    moved: Array = (flags & MessageFlag.REMOTE > 0) | (flags & MessageFlag.DESCRIPTOR == 0)
    return moved
