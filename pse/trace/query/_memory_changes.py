"""The table of memory: what tags allocate and free, each change with the rank that allocated it.

The parts of a shared block are allocated by several ranks and freed together, by whoever holds it last.  So a
record of memory that is freed is divided among the ranks that allocated it, which the block's handle tells:
a kernel in C does it, in the order of time.
"""

from __future__ import annotations

import numpy as np

from pse.trace._reading import divide
from pse.trace.format._events import EventType, MemoryFlag
from pse.trace.format._field_values import Array
from pse.trace.query._column_extraction import Extraction
from pse.trace.store._rank_file import as_bytes
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
_CHANGE_DTYPE = np.dtype([*MEMORY_DTYPE.descr, ("writer", "<u4"), ("freed", "?")])
_CHANGES = Extraction(
    _CHANGE_DTYPE,
    time="time(time)",
    rank="c.low",
    site="site",
    tph="tph",
    handle="b",
    bytes="a",
    local=f"flags&{MemoryFlag.LOCAL:d}",
    freed=f"type&{EventType.FREE & ~EventType.ALLOCATE:d}",
)


def memory(trace: TraceFiles) -> Array:
    """See `Trace.memory`.

    A block lives from its first allocation to the record that frees it.  If that frees more or less than was
    allocated, as where a trace is incomplete, the rank that it names gets the rest.
    """
    changes = _CHANGES.rows(trace, EventType.ALLOCATE, EventType.FREE, of_writer="writer")
    order = np.argsort(changes["time"], kind="stable")
    slots = np.zeros((2, 1 << len(changes).bit_length()), "<u8")
    freed = int(np.count_nonzero(changes["freed"]))
    rows = np.empty(2 * len(changes) - freed, MEMORY_DTYPE)
    made = divide(
        as_bytes(changes), order, _arenas(trace), slots, np.empty(len(changes), "<u8"), as_bytes(rows)
    )
    return rows[:made]


def _arenas(trace: TraceFiles) -> Array:
    """By rank the number of its host's arena, in which a handle means one block."""
    known: dict[str, int] = {}
    arenas = np.zeros(max(trace.ranks) + 1, "<u4")
    for rank in trace.ranks:
        arenas[rank] = known.setdefault(trace.files[rank].host, len(known))
    return arenas
