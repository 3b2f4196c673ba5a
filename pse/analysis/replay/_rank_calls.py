"""One pass over the events of a rank: its tree of calls, and the operations of MPI with their calls."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from pse._abi.replay import CALL_DTYPE, NODE_DTYPE, OPERATION_DTYPE, SPAN_DTYPE
from pse.analysis._replay import CallPathReader
from pse.trace import EventType
from pse.trace.format import Array, high32
from pse.trace.query import Trace, program_span
from pse.trace.store import chunks, residuals

OPERATIONS = (
    *(EventType.MPI_SEND, EventType.MPI_SEND_COMPLETE, EventType.MPI_RECEIVE_POST, EventType.MPI_RECEIVE),
    *(EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END, EventType.MPI_PROBE),
    *(EventType.MPI_REQUEST_TEST, EventType.MPI_REQUEST_CANCEL, EventType.MPI_CHANNEL),
)
_ENDS = (EventType.REGION_LEAVE, EventType.MODULE_LEAVE, EventType.WAIT_END)
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
    spans : array of SPAN_DTYPE
        When the time of nodes was spent, in the order of ends; none if they were not asked for.
    is_shifted : bool
        Whether times of operations are those of the rank's clock, which is off by the same time always; if
        not, they are the run's.
    lost_ends, open_calls, outside : int
        Ends of calls without begin, calls without end, operations outside of all calls.
    """

    rank: int
    nodes: Array
    node: Array
    enter: Array
    leave: Array
    operations: Array
    spans: Array
    is_shifted: bool
    lost_ends: int
    open_calls: int
    outside: int

    @functools.cached_property
    def types(self) -> Array:
        """`EventType` of each operation."""
        return np.ascontiguousarray(self.operations["type"])

    @functools.cached_property
    def on(self) -> Array:
        """What each operation is on: the rank's number of a communicator, and above that of a request."""
        return np.ascontiguousarray(self.operations["c"])

    @functools.cached_property
    def requests(self) -> Array:
        """The number of the request of each operation; 0: it is blocking."""
        return high32(self.on)

    @functools.cached_property
    def ends(self) -> tuple[Array, Array]:
        """When calls were entered and left, with nan behind: the call -1 is not in the trace."""
        return np.append(self.enter, np.nan), np.append(self.leave, np.nan)

    def times(self, trace: Trace, rows: Array) -> Array:
        """When some of the operations were, ns since the run's origin, float64."""
        columns = (self.operations[name][rows] for name in ("time", "residual"))
        return _run_times(trace, self.rank, self.is_shifted, *columns)

    def span_times(self, trace: Trace) -> tuple[Array, Array]:
        """When the spans begin and end, ns since the run's origin, float64."""
        begin, end = (
            _run_times(trace, self.rank, self.is_shifted, self.spans[at], self.spans[f"{at}_residual"])
            for at in ("begin", "end")
        )
        return begin, end


def read_rank(trace: Trace, rank: int, *, spans: bool = False) -> RankCalls:
    """Read the events of a rank."""
    file = trace.files[rank]
    room = sum(file.counts[kind] for kind in OPERATIONS)
    calls, operations = np.empty(room, CALL_DTYPE), np.empty(room, OPERATION_DTYPE)
    reader = CallPathReader(calls.view("u1"), operations.view("u1"), spans)
    is_shifted = trace.clock.shift(rank) is not None
    _pass_over(trace, rank, reader, is_shifted)
    call_count, count, *defects = reader.counts
    nodes, calls = np.frombuffer(reader.nodes, NODE_DTYPE), calls[:call_count]
    enter, leave = (
        _run_times(trace, rank, is_shifted, calls[end], calls[f"{end}_residual"])
        for end in ("enter", "leave")
    )
    kept = np.frombuffer(reader.spans, SPAN_DTYPE) if spans else np.empty(0, SPAN_DTYPE)
    operations = operations[:count]
    return RankCalls(rank, nodes, calls["node"].copy(), enter, leave, operations, kept, is_shifted, *defects)


def _run_times(trace: Trace, rank: int, is_shifted: bool, times: Array, residual: Array) -> Array:
    """Times as ns since the run's origin, float64: exact for 104 days."""
    converted = (trace.run_times(rank, times) if is_shifted else times).astype("<f8")
    if residual.any():
        converted += residual / PARTS
    return converted


def _pass_over(trace: Trace, rank: int, reader: CallPathReader, is_shifted: bool) -> None:
    """Read all events; those of a clock that runs at another speed than the run's with the run's times."""
    events, added, at, last = trace.events(rank), residuals(trace, rank), 0, 0
    parts = None if added is None else np.rint(added * PARTS).astype("<i2")
    rests_from = _end_of_work(trace, rank)
    for chunk in chunks(events):
        if not is_shifted:
            chunk = in_run_time(trace, rank, chunk)
        own = None if parts is None else parts[at : at + len(chunk)]
        work = min(max(rests_from - at, 0), len(chunk))
        reader.take(chunk[:work].view("u1"), None if own is None else own[:work])
        if work > 0 and at + work == rests_from:
            reader.rest(int(chunk["time"][work - 1]), 0 if own is None else int(own[work - 1]))
        reader.take(chunk[work:].view("u1"), None if own is None else own[work:])
        at, last = at + len(chunk), int(chunk["time"][-1])
    reader.finish(last)


def _end_of_work(trace: Trace, rank: int) -> int:
    """How many events a rank has until its program's last one; all of them where the trace doesn't say."""
    file = trace.files[rank]
    span = program_span(trace, rank, file.types) if file.counts[EventType.PHASE] else None
    return len(file.types) + 1 if span is None or span[1] is None else span[1] + 1


def in_run_time(trace: Trace, rank: int, events: Array) -> Array:
    """Events with the run's times, also of the begins that ends of calls tell."""
    events = events.copy()
    events["time"] = np.maximum(trace.run_times(rank, events["time"]), 0)
    ends = np.flatnonzero(np.isin(events["type"], _ENDS))
    events["b"][ends] = np.maximum(trace.run_times(rank, events["b"][ends]), 0)
    return events
