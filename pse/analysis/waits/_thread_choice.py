"""The threads of ranks that call MPI, where only routines were recorded: which one is asked about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse.analysis._activity import Activity
from pse.text import list_text
from pse.trace.format import Array, TraceError
from pse.trace.query import TimeWindow, routine_threads, thread_begins

_NEVER = np.iinfo("<i8").max


class RankThreads:
    """The threads of all ranks.

    Parameters
    ----------
    activity : Activity
        What the ranks did.

    Attributes
    ----------
    of_call : array of uint32, shape (routines,)
        The thread of each call of a routine.
    several : dict of int to list of int
        The threads in MPI of ranks that have several of them, and neither modules nor waits between calls.
    """

    def __init__(self, activity: Activity) -> None:
        self._calls, self._names = activity.routines, activity.routine_names
        self._trace = activity.trace
        self.of_call = routine_threads(activity.trace)
        is_mpi = np.array([name.startswith("MPI_") for name in self._names], bool)
        self._mpi = is_mpi[self._calls["routine"]]
        other = set(np.unique(np.concatenate([activity.calls["rank"], activity.waits["rank"]])).tolist())
        self.several: dict[int, list[int]] = {}
        for rank in np.unique(self._calls["rank"][self.of_call > 0]).tolist():
            found = np.unique(self.of_call[self._mpi & (self._calls["rank"] == rank)]).tolist()
            if rank not in other and found and found != [0]:
                self.several[rank] = sorted({0, *found})

    def chosen(self, rank: int, wanted: int | None, waiting: Sequence[int]) -> int:
        """Choose the thread of a rank that is wanted, else the first that waits, else the first one.

        Raises
        ------
        TraceError
            The rank has no such thread.
        """
        if wanted is None:
            return waiting[0] if waiting and rank in self.several else 0
        known = self.several.get(rank, [0])
        if wanted not in known:
            listed = list_text([str(thread) for thread in known])
            raise TraceError(
                f"rank {rank} has no thread {wanted} that calls MPI",
                help=f"choose one of its threads: {listed}" if len(known) > 1 else "leave --thread out",
            )
        return wanted

    def around(self, rank: int, thread: int, time: int) -> tuple[int | None, int]:
        """When a thread left MPI before a time, and enters it after that, ns.

        Of one that has not called MPI before it is when the thread started, or if the trace doesn't tell
        that, when its first function began; None if there was none yet.  That it does not enter is far away.
        """
        own = self._own(rank, thread)
        before, after = own["leave"][own["leave"] <= time], own["enter"][own["enter"] > time]
        known = self._calls["enter"][(self._calls["rank"] == rank) & (self.of_call == thread)]
        started = thread_begins(self._trace, rank).get(thread, np.empty(0, "<i8"))
        before = np.append(before, started[started <= time])
        begin = before.max() if len(before) else known.min(initial=_NEVER)
        return int(begin) if begin <= time else None, int(after.min(initial=_NEVER))

    def spent(self, rank: int, thread: int, begin: int, end: int) -> tuple[tuple[str, int], ...]:
        """Where the time of a thread went, by routines of MPI and the program, the most first."""
        own = self._own(rank, thread)
        lengths = TimeWindow(begin, end).lengths(own["enter"], own["leave"])
        times = {"program": end - begin - int(lengths.sum())}
        for number in np.unique(own["routine"][lengths > 0]).tolist():
            times[self._names[number]] = int(lengths[own["routine"] == number].sum())
        return tuple(sorted(times.items(), key=lambda item: -item[1]))

    def _own(self, rank: int, thread: int) -> Array:
        own: Array = self._calls[self._mpi & (self._calls["rank"] == rank) & (self.of_call == thread)]
        return own
