"""One pass over the events of a rank: its tree of calls, and the operations of MPI with their calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse._abi.replay import CALL_DTYPE, NODE_DTYPE, OPERATION_DTYPE
from pse.analysis._replay import CallPathReader
from pse.trace import EventType
from pse.trace.format import Array
from pse.trace.query import Trace
from pse.trace.store import chunks, residuals

OPERATIONS = (
    *(EventType.MPI_SEND, EventType.MPI_SEND_COMPLETE, EventType.MPI_RECEIVE_POST, EventType.MPI_RECEIVE),
    *(EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END),
)
PARTS = 65536


@dataclass(frozen=True)
class RankCalls:
    """What one rank did.

    Parameters
    ----------
    rank : int
        The rank.
    nodes : array of NODE_DTYPE
        Its tree of calls; parents come before children.
    node : array of uint32, shape (calls,)
        Call path of each call in which operations happened.
    enter, leave : array of float64, shape (calls,)
        When these calls were entered and left, ns since the run's origin.
    operations : array of OPERATION_DTYPE
        The operations in the order of the events.
    lost_ends, open_calls, outside : int
        Ends of calls without begin, calls without end, operations outside of all calls.
    """

    rank: int
    nodes: Array
    node: Array
    enter: Array
    leave: Array
    operations: Array
    lost_ends: int
    open_calls: int
    outside: int


def read_rank(trace: Trace, rank: int) -> RankCalls:
    """Read the events of a rank."""
    file = trace.files[rank]
    room = sum(file.counts[kind] for kind in OPERATIONS)
    calls, operations = np.empty(room, CALL_DTYPE), np.empty(room, OPERATION_DTYPE)
    reader = CallPathReader(calls.view("u1"), operations.view("u1"))
    _pass_over(trace, rank, reader)
    call_count, count, *defects = reader.counts
    nodes, calls = np.frombuffer(reader.nodes, NODE_DTYPE), calls[:call_count]
    enter, leave = (
        run_times(trace, rank, calls[end], calls[f"{end}_residual"]) for end in ("enter", "leave")
    )
    return RankCalls(rank, nodes, calls["node"].copy(), enter, leave, operations[:count], *defects)


def run_times(trace: Trace, rank: int, times: Array, residual: Array) -> Array:
    """Times of a rank's clock as ns since the run's origin, float64: exact for 104 days."""
    converted = trace.run_times(rank, times).astype("<f8")
    if residual.any():
        converted += residual / PARTS
    return converted


def _pass_over(trace: Trace, rank: int, reader: CallPathReader) -> None:
    events, added, at = trace.events(rank), residuals(trace, rank), 0
    parts = None if added is None else np.rint(added * PARTS).astype("<i2")
    for chunk in chunks(events):
        reader.take(chunk.view("u1"), None if parts is None else parts[at : at + len(chunk)])
        at += len(chunk)
    reader.finish(int(events["time"][-1]) if len(events) else 0)
