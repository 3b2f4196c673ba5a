"""The table of memory: what tags allocate and free, each change with the rank that allocated it.

The parts of a shared block are allocated by several ranks and freed together, by whoever holds it last.  So a
record of memory that is freed is divided among the ranks that allocated it, which the block's handle tells.
"""

from __future__ import annotations

import numpy as np

from pse.trace.format._events import EventType, MemoryFlag
from pse.trace.format._field_values import Array
from pse.trace.query._column_extraction import Extraction, record_counts
from pse.trace.store._trace_files import TraceFiles

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
_CHANGES = Extraction(
    MEMORY_DTYPE,
    time="time(time)",
    rank="c.low",
    site="site",
    tph="tph",
    handle="b",
    bytes="a",
    local=f"flags&{MemoryFlag.LOCAL:d}",
)
_KINDS = (EventType.ALLOCATE, EventType.FREE)


def memory(trace: TraceFiles) -> Array:
    """See `Trace.memory`."""
    changes = _CHANGES.rows(trace, *_KINDS)
    files = [trace.files[rank].types for rank in trace.ranks]
    freed = np.concatenate([types[np.isin(types, _KINDS)] for types in files]) == EventType.FREE
    writers = np.repeat(np.array(trace.ranks, "<u4"), record_counts(trace, *_KINDS))
    np.copyto(changes["rank"], writers, where=~freed)
    places = _places(trace, changes, writers)
    order = np.lexsort((changes["time"], changes["handle"], places))
    divided = _divided(changes[order], freed[order], places[order])
    return divided[np.argsort(divided["time"], kind="stable")]


def _places(trace: TraceFiles, changes: Array, writers: Array) -> Array:
    """Where the handle of each change means the same block: numbers of hosts' arenas and of processes."""
    hosts = [trace.files[rank].host for rank in trace.ranks]
    known = list(dict.fromkeys(hosts))
    arenas = np.zeros(max(trace.ranks) + 1, "<u4")
    arenas[list(trace.ranks)] = [known.index(host) for host in hosts]
    places: Array = np.where(changes["local"], np.uint32(len(known)) + writers, arenas[writers])
    return places


def _divided(changes: Array, freed: Array, places: Array) -> Array:
    """Divide what is freed among those that allocated it; changes are sorted by place, handle and time.

    A block lives from its first allocation to the record that frees it.  If that frees more or less than was
    allocated, as where a trace is incomplete, the rank that it names gets the rest.
    """
    begins = np.ones(len(changes), bool)
    begins[1:] = freed[:-1] | (places[1:] != places[:-1])
    begins[1:] |= changes["handle"][1:] != changes["handle"][:-1]
    life = np.cumsum(begins) - 1
    ends = np.full(len(changes), -1)
    ends[life[freed]] = np.flatnonzero(freed)
    made = np.flatnonzero(~freed & (ends[life] >= 0))
    parts, rests = changes[ends[life[made]]], changes[freed]
    parts["rank"], parts["bytes"] = changes["rank"][made], -changes["bytes"][made]
    known = np.zeros(len(changes), "<i8")
    np.add.at(known, life[made], changes["bytes"][made])  # exact, where bincount rounds above 2**53
    rests["bytes"] = known[life[freed]] - rests["bytes"]
    return np.concatenate([changes[~freed], parts, rests[rests["bytes"] != 0]])
