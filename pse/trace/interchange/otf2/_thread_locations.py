"""The threads of a rank as locations of their own.

Events of routines and of MPI are those of the thread that the last THREAD event named; all others are the
rank's, and stay in its first location.  Where the rank's next event is in another one, a location says so
by a parameter, the thread's number: so an import puts them together as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pse.trace.format._events import EVENT_DTYPE, NONE, EventType
from pse.trace.format._field_values import Array, distinct

E = EventType
OF_THREADS = (
    *(E.REGION_ENTER, E.REGION_LEAVE, E.MPI_SEND, E.MPI_SEND_COMPLETE, E.MPI_RECEIVE_POST, E.MPI_RECEIVE),
    *(E.MPI_REQUEST_TEST, E.MPI_REQUEST_CANCEL, E.MPI_PROBE, E.MPI_CHANNEL),
    E.MPI_AWAIT,
    *(E.MPI_COLLECTIVE_BEGIN, E.MPI_COLLECTIVE_END),
)
"""Events of a thread; all others are the rank's."""
NAME = "Thread "
"""Begins the names of the locations of further threads; their numbers follow."""
_MOST = 1 << 16  # Threads of a rank; no recorder gives greater numbers.


class ThreadSplitter:
    """Deals the events of a rank out to its threads, chunk by chunk."""

    def __init__(self) -> None:
        self._thread = self._at = 0  # Whose events come, and in whose location the last one is.

    def split(self, events: Array, times: Array) -> Iterator[tuple[int, Array, Array]]:
        """Give for each thread its events and their times."""
        threads = self._threads(events)
        kept = events["type"] != E.THREAD
        events, times, threads = events[kept], times[kept], threads[kept]
        threads = np.where(np.isin(events["type"], OF_THREADS), threads, 0)
        before = np.append(self._at, threads[:-1]) if len(threads) else threads
        self._at = int(np.append(self._at, threads)[-1])
        turns = np.flatnonzero(threads != before)
        said = switches(events["time"][turns], threads[turns])
        events, times, threads = (
            np.insert(column, turns, values)
            for column, values in ((events, said), (times, times[turns]), (threads, before[turns]))
        )
        for thread in distinct(threads).tolist():
            yield thread, events[threads == thread], times[threads == thread]

    def _threads(self, events: Array) -> Array:
        """The thread of each event."""
        rows = np.flatnonzero(events["type"] == E.THREAD)
        named = events["a"][rows].astype("<i8")
        known = np.append(self._thread, np.where((named >= 0) & (named < _MOST), named, 0))
        self._thread = int(known[-1])
        found: Array = known[np.searchsorted(rows, np.arange(len(events)), side="right")]
        return found


def switches(times: Array, threads: Array) -> Array:
    """THREAD events."""
    found = np.zeros(len(times), EVENT_DTYPE)
    found["type"], found["site"] = E.THREAD, NONE
    found["time"], found["a"] = times, threads
    return found


def in_turn(locations: Sequence[Array], numbers: Sequence[int]) -> Array:
    """The order of the events of locations, one after the other, as `ThreadSplitter` has found them.

    `numbers` are those of their threads.  THREAD events are left out; what nobody leads to comes last.
    """
    firsts = np.cumsum([0, *map(len, locations)]).tolist()
    ends = [np.flatnonzero(own["type"] == E.THREAD).tolist() for own in locations]
    places, turns = {number: place for place, number in enumerate(numbers)}, [0] * len(locations)
    parts = [np.empty(0, "<i8")]
    left: int | None = 0
    while left is not None:
        stops = ends[left]
        end = stops[turns[left]] if turns[left] < len(stops) else len(locations[left])
        begin = stops[turns[left] - 1] + 1 if turns[left] else 0
        parts.append(firsts[left] + np.arange(begin, end))
        turns[left] += 1
        left = places.get(int(locations[left]["a"][end])) if end < len(locations[left]) else None
    found = np.concatenate(parts)
    every = np.flatnonzero(np.concatenate([own["type"] != E.THREAD for own in locations]))
    order: Array = np.append(found, np.setdiff1d(every, found, assume_unique=True))
    return order
