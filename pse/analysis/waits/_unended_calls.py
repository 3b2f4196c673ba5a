"""Calls of MPI that never ended, as in a run that hung and was killed, and who should have ended them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse.analysis.waits._awaited_operations import AwaitedOperations, OperationReader
from pse.trace.format import Array, EventType, TextKind, low32
from pse.trace.query import Trace

UNENDED_CALL_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("thread", "<u4"),  # of the rank
        ("enter", "<i8"),  # ns
        ("began", "<u8"),  # the same by the rank's clock
        ("routine", "<u4"),  # the rank's own number for it
    ]
)


@dataclass(frozen=True)
class UnendedCall:
    """A call of MPI that never ended.

    Parameters
    ----------
    enter : int
        When it began, ns.
    routine : str
        The routine's name.
    awaited : AwaitedOperations
        What it waited for.
    """

    enter: int
    routine: str
    awaited: AwaitedOperations


class UnendedCalls:
    """Finds the calls of MPI that the ranks of a run were in when their traces ended.

    Parameters
    ----------
    trace : Trace
        The run.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._operations = OperationReader(trace)
        self._calls = np.concatenate(
            [np.empty(0, UNENDED_CALL_DTYPE), *(_unended(trace, rank) for rank in trace.ranks)]
        )

    def abort(self) -> tuple[int, int] | None:
        """The rank that ended the run by MPI_Abort, and when it called that (ns).

        The call may return: MPICH's does, and the rank goes on until it is killed.
        """
        found = [
            (int(time), rank)
            for rank in self._trace.ranks
            for time in _enters(self._trace, rank, "MPI_Abort")
        ]
        return min(found)[::-1] if found else None

    def at(self, rank: int, time: int, thread: int | None = None) -> UnendedCall | None:
        """The call that a rank, or one of its threads, was in at a time."""
        calls = self._calls
        own = (calls["rank"] == rank) & (calls["enter"] <= time)
        if thread is not None:
            own &= calls["thread"] == thread
        if not own.any():
            return None
        call = calls[own][np.argmax(calls["enter"][own])]
        routine = self._trace.texts(rank)[TextKind.REGION, int(call["routine"])]
        awaited = self._operations.of_call(rank, int(call["thread"]), int(call["began"]))
        return UnendedCall(int(call["enter"]), routine, awaited)


def unended_routines(trace: Trace, rank: int) -> list[str]:
    """The routines of MPI that a rank never left, each once, the first entered first."""
    names, calls = trace.texts(rank), _unended(trace, rank)
    return list(dict.fromkeys(names[TextKind.REGION, number] for number in calls["routine"].tolist()))


def _enters(trace: Trace, rank: int, routine: str) -> Array:
    """When a rank entered a routine, ns."""
    numbers = [number for (kind, number), name in trace.texts(rank).items() if name == routine]
    if not numbers:
        return np.empty(0, "<i8")
    events = trace.select(rank, EventType.REGION_ENTER)
    return trace.run_times(rank, events["time"][np.isin(low32(events["a"]), numbers)])


def _unended(trace: Trace, rank: int) -> Array:
    """The calls of MPI of which a rank has the begin only."""
    events = trace.select(rank, EventType.THREAD, EventType.REGION_ENTER, EventType.REGION_LEAVE)
    routines = [
        number
        for (kind, number), name in trace.texts(rank).items()
        if kind == TextKind.REGION and name.startswith("MPI_")
    ]
    in_mpi = np.isin(low32(events["a"]), routines)
    begins = np.flatnonzero(in_mpi & (events["type"] == EventType.REGION_ENTER))
    ends = events[in_mpi & (events["type"] == EventType.REGION_LEAVE)]
    left = begins[~np.isin(events["time"][begins], ends["b"])]
    turns = np.flatnonzero(events["type"] == EventType.THREAD)
    found = np.zeros(len(left), UNENDED_CALL_DTYPE)
    found["rank"], found["routine"] = rank, low32(events["a"][left])
    found["began"] = events["time"][left]
    found["enter"] = trace.run_times(rank, events["time"][left])
    found["thread"] = np.append(0, events["a"][turns])[np.searchsorted(turns, left)]
    return found
