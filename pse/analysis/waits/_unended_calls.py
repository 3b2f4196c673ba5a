"""Calls of MPI that never ended, as in a run that hung and was killed, and who should have ended them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pse.trace.format import NONE, Array, EventType, TextKind, low32
from pse.trace.query import Communicators, Trace, mpi_collectives

UNENDED_CALL_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("thread", "<u4"),  # of the rank
        ("enter", "<i8"),  # ns
        ("routine", "<u4"),  # the rank's own number for it
    ]
)


class UnendedCalls:
    """Finds the calls of MPI that the ranks of a run were in when their traces ended.

    Parameters
    ----------
    trace : Trace
        The run.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._calls = np.concatenate(
            [np.empty(0, UNENDED_CALL_DTYPE), *(_unended(trace, rank) for rank in trace.ranks)]
        )

    def at(self, rank: int, time: int, thread: int | None = None) -> tuple[int, str] | None:
        """When a rank, or one of its threads, began the call that it was in at a time, and its routine."""
        calls = self._calls
        own = (calls["rank"] == rank) & (calls["enter"] <= time)
        if thread is not None:
            own &= calls["thread"] == thread
        if not own.any():
            return None
        call = calls[own][np.argmax(calls["enter"][own])]
        return int(call["enter"]), self._trace.texts(rank)[TextKind.REGION, int(call["routine"])]

    def absent(self, rank: int, enter: int) -> int | None:
        """A rank that did not come to the collective operation that a rank began with such a call."""
        operations = self._operations
        mine = operations[(operations["rank"] == rank) & (operations["begin"] >= enter)]
        if not len(mine) or mine["communicator"][0] == NONE:
            return None
        together = operations["communicator"] == mine["communicator"][0]
        together &= operations["ordinal"] == mine["ordinal"][0]
        came = set(operations["rank"][together].tolist())
        members = self._communicators.members(int(mine["communicator"][0]))
        return next((one for one in members if one not in came), None)

    @cached_property
    def _operations(self) -> Array:
        return mpi_collectives(self._trace)

    @cached_property
    def _communicators(self) -> Communicators:
        return Communicators(self._trace)


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
    found["enter"] = trace.run_times(rank, events["time"][left])
    found["thread"] = np.append(0, events["a"][turns])[np.searchsorted(turns, left)]
    return found
