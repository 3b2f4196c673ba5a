"""How each type of event becomes a record of OTF2, and back: one table for both ways.

What a record's own fields can't say is in attributes, so nothing is lost.  Two rules may make the same kind
of record (a module call and a routine are both Enter); all but the first of them write the attribute
``event``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from pse.records import dataclass
from pse.trace.format._events import NONE, Collective, EventType
from pse.trace.format._field_values import Array, high32, low32

PREFIX = "PSE::"
"""Begins the names of all attributes, so that they meet nobody else's."""
EVENT, ADDED = "event", "added"
"""Attributes: the event's type where the record leaves that open; a record that stands for no event."""
GENERAL = {"TPH": ("tph", 0), "call site": ("site", NONE)}
"""Attributes that any event may have: where they come from, and the value that is not written."""

Attributes = Mapping[str, tuple[str, int]]


@dataclass(frozen=True)
class Rule:
    """How events of one type (where `when` holds) become records.

    Parameters
    ----------
    type : EventType
        Of the events.
    record : str
        Name of the record in OTF2.
    values : tuple of str
        Where its fields come from: a field of the event (``a``), a half of one (``b.low``), a definition
        (``region:routine``; ``DEFINED`` says by which field it is numbered), or ``WORKED_OUT``.
    attributes : mapping of str to (str, int)
        Further attributes: source, and the value that is not written.
    when : mapping of str to int
        Sources that must have these values; elsewhere the next rule for the type holds.
    """

    type: EventType
    record: str
    values: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    when: Mapping[str, int] = field(default_factory=dict)

    @property
    def all_attributes(self) -> Attributes:
        """Attributes, and those of `GENERAL` that the fields don't say already."""
        general = {name: rest for name, rest in GENERAL.items() if rest[0] not in self.values}
        return {**general, **self.attributes}


DEFINED = {
    "region:site": "site",
    "region:wait": "flags",
    "region:routine": "a",
    "communicator:tags": None,
    "communicator:partitions": None,
    "communicator:own": "c.low",
    "communicator:named": "a.low",
    "metric:counter": "a",
    "metric:queue": "a",
    "metric:memory": None,
    "parameter:phase": None,
    "parameter:marker": "a",
    "parameter:begin": None,
    "parameter:end": None,
    "parameter:probe": None,
    "parameter:channel": None,
    "parameter:await": None,
    "parameter:neighbors": None,
    "parameter:take": None,
    "parameter:preempted": None,
    "parameter:complete": None,
    "parameter:together": None,
    "parameter:apart": None,
    "parameter:thread": None,
    "parameter:slice": None,
    "parameter:matched": None,
}
"""What a record refers to, and the field with the number of it, if there are several."""

WORKED_OUT = ("root", "held", "stream")
"""What is known only from the events before, or from all fields together: an import needs none of them."""

E = EventType
_TAG = ("b.low", "communicator:tags", "b.high", "a")
_MESSAGE = ("b.low", "communicator:own", "b.high", "a")
_ENDED = ("operation", "communicator:own", "root", "a", "b")
_HOW: Attributes = {"how": ("flags", 0), "sequence": ("c", 0)}
_WAIT: Attributes = {"reason": ("flags", 0), "peer": ("a.low", NONE), "edge": ("a.high", NONE)}
_OF: Attributes = {"communicator": ("c.low", 0)}
_STARTED: Attributes = {"collective": ("flags", 0), "root": ("a", NONE), "shared": ("b", 0), **_OF}
_KIND: Attributes = {"collective": ("flags", 0)}
_BLOCK: Attributes = {"bytes": ("a", 0), "handle": ("b", 0), "how": ("flags", 0)}
_BLOCKING = {"c.high": 0}
_AMONG: Attributes = {
    "tag": ("b.high", 0),
    "how": ("flags", 0),
    "from partition": ("c.low", 0),
    "to partition": ("c.high", 0),
}
_STREAM = ("b.low", "communicator:partitions", "stream", "a")
_TOGETHER: Attributes = {
    "collective": ("flags", 0),
    "partition": ("b.low", NONE),
    "number": ("b.high", 0),
    "root": ("c.low", NONE),
    "scope": ("c.high", 0),
}

RULES = (
    Rule(E.REGION_ENTER, "Enter", ("region:routine",)),
    Rule(E.MODULE_ENTER, "Enter", ("region:site",), {"partition": ("a", NONE)}),
    Rule(E.WAIT_BEGIN, "Enter", ("region:wait",), _WAIT),
    Rule(E.REGION_LEAVE, "Leave", ("region:routine",), {"returned": ("c", 0)}),
    Rule(E.MODULE_LEAVE, "Leave", ("region:site",), {
        "CPU time": ("a", 0), "returned": ("c.low", 0), "partition": ("c.high", NONE),
        "failed": ("flags", 0)}),
    Rule(E.WAIT_END, "Leave", ("region:wait",), _WAIT),
    Rule(E.MPI_SEND, "MpiSend", _MESSAGE, {"mode": ("flags", 0)}, _BLOCKING),
    Rule(E.SEND, "MpiSend", _TAG, _HOW),
    Rule(E.MPI_RECEIVE, "MpiRecv", _MESSAGE, {"mode": ("flags", 0)}, _BLOCKING),
    Rule(E.RECEIVE, "MpiRecv", _TAG, _HOW),
    Rule(E.PARTITION_SEND, "MpiSend", _STREAM, _AMONG),
    Rule(E.PARTITION_RECEIVE, "MpiRecv", _STREAM, _AMONG),
    Rule(E.MPI_SEND, "MpiIsend", (*_MESSAGE, "c.high"), {"mode": ("flags", 0)}),
    Rule(E.MPI_RECEIVE, "MpiIrecv", (*_MESSAGE, "c.high"), {"mode": ("flags", 0)}),
    Rule(E.MPI_SEND_COMPLETE, "MpiIsendComplete", ("c.high",), _OF),
    Rule(E.MPI_RECEIVE_POST, "MpiIrecvRequest", ("c.high",), {
        "bytes": ("a", 0), "sender": ("b.low", NONE), "tag": ("b.high", NONE), "mode": ("flags", 0), **_OF}),
    Rule(E.MPI_REQUEST_TEST, "MpiRequestTest", ("c.high",), _OF),
    Rule(E.MPI_REQUEST_CANCEL, "MpiRequestCancelled", ("c.high",), {
        "receiver": ("b.low", 0), "tag": ("b.high", 0), **_OF}),
    Rule(E.MPI_COLLECTIVE_BEGIN, "MpiCollectiveBegin", (), _STARTED, _BLOCKING),
    Rule(E.MPI_COLLECTIVE_BEGIN, "NonBlockingCollectiveRequest", ("c.high",), _STARTED),
    Rule(E.MPI_COLLECTIVE_END, "MpiCollectiveEnd", _ENDED, _KIND, _BLOCKING),
    Rule(E.MPI_COLLECTIVE_END, "NonBlockingCollectiveComplete", (*_ENDED, "c.high"), _KIND),
    Rule(E.MPI_COMMUNICATOR, "CommCreate", ("communicator:named",), {
        "number": ("a.low", 0), "parent": ("a.high", 0), "leader": ("b.low", 0),
        "leader's number": ("b.high", 0), "size": ("c.low", 0), "rank": ("c.high", 0),
        "groups": ("flags", 0)}),
    Rule(E.MPI_COMMUNICATOR_FREE, "CommDestroy", ("communicator:named",)),
    Rule(E.COUNTER, "Metric", ("metric:counter", "b")),
    Rule(E.QUEUE_DEPTH, "Metric", ("metric:queue", "b"), {
        "edge": ("a.low", NONE), "sender": ("a.high", NONE), "limit": ("c", 0)}),
    Rule(E.ALLOCATE, "Metric", ("metric:memory", "held"), _BLOCK),
    Rule(E.FREE, "Metric", ("metric:memory", "held"), {**_BLOCK, "owner": ("c", 0)}),
    Rule(E.MARKER, "ParameterUnsignedInt", ("parameter:marker", "b"), {"second value": ("c", 0)}),
    Rule(E.CONTEXT_BEGIN, "ParameterUnsignedInt", ("parameter:begin", "tph"), {
        "parent": ("a", 0), "counter": ("b", 0), "loop": ("c.low", NONE), "partition": ("c.high", NONE)}),
    Rule(E.CONTEXT_END, "ParameterUnsignedInt", ("parameter:end", "tph")),
    Rule(E.MODULE_PREEMPTED, "ParameterUnsignedInt", ("parameter:preempted", "a"), {"entered": ("b", 0)}),
    Rule(E.PARTITION_TAKE, "ParameterUnsignedInt", ("parameter:take", "a"), {
        "sender": ("b.low", NONE), **_AMONG}),
    Rule(E.PARTITION_SEND_COMPLETE, "ParameterUnsignedInt", ("parameter:complete", "a"), {
        "receiver": ("b.low", NONE), **_AMONG}),
    Rule(E.PARTITION_COLLECTIVE_BEGIN, "ParameterUnsignedInt", ("parameter:together", "a"), _TOGETHER),
    Rule(E.PARTITION_COLLECTIVE_END, "ParameterUnsignedInt", ("parameter:apart", "a"), _TOGETHER),
    Rule(E.MPI_PROBE, "ParameterUnsignedInt", ("parameter:probe", "a"), {
        "sender": ("b.low", NONE), "tag": ("b.high", NONE), **_OF}),
    Rule(E.MPI_CHANNEL, "ParameterUnsignedInt", ("parameter:channel", "a"), {
        "request": ("c.high", 0), **_OF}),
    Rule(E.MPI_AWAIT, "ParameterUnsignedInt", ("parameter:await", "a"), {
        "how": ("flags", 0), "first": ("b.low", NONE), "last": ("b.high", NONE), **_OF}),
    Rule(E.MPI_NEIGHBORS, "ParameterUnsignedInt", ("parameter:neighbors", "a"), {
        "first neighbor": ("b.low", NONE), "second neighbor": ("b.high", NONE),
        "third neighbor": ("c.low", NONE), "fourth neighbor": ("c.high", NONE), "neighbors": ("flags", 0)}),
    Rule(E.TIME_SLICE, "ParameterUnsignedInt", ("parameter:slice", "a.low"), {
        "communicator": ("a.high", 0), "slice begin": ("b", 0), "exchange": ("c.low", 0),
        "scheduled": ("c.high", 0), "timed": ("flags", 0)}),
    Rule(E.SLICE_MATCH, "ParameterUnsignedInt", ("parameter:matched", "a.low"), {
        "other rank": ("a.high", NONE), "matched": ("b", 0), "request": ("c.high", 0), **_OF,
        "operation": ("flags", 0)}),
    Rule(E.PHASE, "ParameterUnsignedInt", ("parameter:phase", "a"), {"exit code": ("b", 0)}),
    Rule(E.THREAD, "ParameterUnsignedInt", ("parameter:thread", "a"), {"began": ("b", 0)}),
)  # fmt: skip
"""Events of other types are definitions: TEXT, CLOCK_SYNC, CALLERS, MPI_COMMUNICATOR_RANKS."""

SIGNED = ("counter", "returned")
"""Attributes that are shown with a sign."""
NAMES = tuple(dict.fromkeys([EVENT, ADDED, *GENERAL, *(name for rule in RULES for name in rule.attributes)]))
"""All attributes."""

NO_DATA = 0
OPERATIONS = {
    Collective.BARRIER: NO_DATA,
    Collective.BCAST: 1,
    Collective.GATHER: 2,
    Collective.GATHERV: 3,
    Collective.SCATTER: 4,
    Collective.SCATTERV: 5,
    Collective.ALLGATHER: 6,
    Collective.ALLGATHERV: 7,
    Collective.ALLTOALL: 8,
    Collective.ALLTOALLV: 9,
    Collective.ALLTOALLW: 10,
    Collective.ALLREDUCE: 11,
    Collective.REDUCE: 12,
    Collective.REDUCE_SCATTER: 13,
    Collective.SCAN: 14,
    Collective.EXSCAN: 15,
    Collective.REDUCE_SCATTER_BLOCK: 16,
    Collective.CREATE_COMMUNICATOR: NO_DATA,
    Collective.OTHER: NO_DATA,
    Collective.NEIGHBOR_ALLGATHER: 6,
    Collective.NEIGHBOR_ALLGATHERV: 7,
    Collective.NEIGHBOR_ALLTOALL: 8,
    Collective.NEIGHBOR_ALLTOALLV: 9,
    Collective.NEIGHBOR_ALLTOALLW: 10,
}
"""OTF2's numbers of collective operations, those that SCALASCA knows (it ends at any other): what carries no
data is a barrier, and of those among neighbours there is only what comes nearest."""


def is_default(rule: Rule) -> bool:
    """Whether a record without the attribute `EVENT` was made by this rule."""
    return next(other for other in RULES if other.record == rule.record) is rule


def column(events: Array, source: str) -> Array:
    """A field of events, or a half of one: ``a``, ``b.low``, ``c.high``."""
    name, _, half = source.partition(".")
    if not half:
        whole: Array = events[name]
        return whole
    return low32(events[name]) if half == "low" else high32(events[name])


def streams(events: Array) -> Array:
    """Numbers by which messages among partitions are told apart, so that the nth sent is the nth received.

    They are mixed from TPH, call site, partitions and tag, to be the same at both ends; as a message tag of
    OTF2 they are below 2**31.
    """
    mixed = np.zeros(len(events), "<u8")
    for values in (
        events["tph"],
        events["site"].astype("<u8"),
        events["c"],
        high32(events["b"]).astype("<u8"),
    ):
        mixed = (mixed ^ values) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    numbers: Array = mixed >> np.uint64(33)
    return numbers


def put(event: dict[str, Any], source: str, value: int) -> None:
    """Set a field of an event, or a half of one; halves that are not set stay as they are."""
    name, _, half = source.partition(".")
    if not half:
        event[name] = value
    elif half == "low":
        event[name] = event[name] & ~NONE | value
    else:
        event[name] = event[name] & NONE | value << 32


def holds(rule: Rule, events: Array) -> Array:
    """Which of the events a rule's type and conditions hold for, shape (n,)."""
    chosen: Array = events["type"] == rule.type
    for source, value in rule.when.items():
        chosen = chosen & (column(events, source) == value)
    return chosen


BY_TYPE = {kind: tuple(rule for rule in RULES if rule.type == kind) for kind in EventType}


def split(events: Array) -> list[tuple[Rule, Array]]:
    """The rules that events need, each with the positions of its events, in the events' order."""
    found = []
    for kind in np.unique(events["type"]):
        left = events["type"] == kind
        for rule in BY_TYPE.get(kind, ()):
            here = np.flatnonzero(left & holds(rule, events))
            left[here] = False
            if len(here):
                found.append((rule, here))
    return found
