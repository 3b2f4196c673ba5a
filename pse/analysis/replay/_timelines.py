"""When a rank's threads spent their time in which call path: a second pass over its events.

Before a thread began the first thread's time counts, which starts it; while that waits for other threads, and
where a thread is in no region nor call, the program's.  The trace has when a thread began that
`pthread_create` started; of another one the first thread's time counts until its first event.
"""

from __future__ import annotations

import numpy as np

from pse._abi.replay import PROFILE_DTYPE
from pse.analysis._replay import time_profiles
from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._rank_calls import read_rank
from pse.analysis.replay._synchronizations import JOIN, WAITING_DTYPE
from pse.trace.format import Array
from pse.trace.query import Trace, thread_begins

_STARTS = ("MPI_Init", "MPI_Init_thread")
_Spans = tuple[Array, Array, Array]
"""Begins, ends and call paths of spans, in the order of time."""


class Timeline:
    """The time of a rank's threads by call path.

    Parameters
    ----------
    trace : Trace
        With its events.
    rank : int
        The rank of the job.
    tree : CallTree
        The call paths of this process.

    Attributes
    ----------
    started : float
        ns: when it left MPI_Init, -inf if it did not; ranks wait there for each other too.
    """

    def __init__(self, trace: Trace, rank: int, tree: CallTree) -> None:
        calls = read_rank(trace, rank, spans=True)
        path, thread = tree.add_rank(calls)[calls.spans["node"]], calls.spans["thread"]
        columns = (*calls.span_times(trace), path)
        self._rank, self._count = rank, len(tree.paths)
        self._numbers = np.union1d(thread, [0]).astype("<u4")  # Damaged traces may have any.
        self._threads = [
            _chosen(columns, np.flatnonzero(thread == number)) for number in self._numbers.tolist()
        ]
        self._began = thread_begins(trace, rank)
        self._is_mpi = np.array([own.name.startswith("MPI_") for own in tree.paths])
        self._is_join = np.array([metric == "thread_wait" for metric in tree.metrics])
        is_start = np.array([own.name in _STARTS for own in tree.paths])
        self.started = float(columns[1][is_start[path]].max(initial=-np.inf))
        self._active = self._threads

    def threads_at(self, times: Array) -> Array:
        """Which thread began a call of MPI at each time, or else was in one; the first one if none was."""
        likely = np.zeros((len(self._threads), len(times)), "u1")
        for own, (begin, end, path) in zip(likely, self._threads, strict=True):
            if len(begin):
                at = np.searchsorted(begin, times, side="right") - 1
                in_mpi = (at >= 0) & (times <= end[at]) & self._is_mpi[path[at]]
                own[in_mpi] = 1 + (begin[at] == times)[in_mpi]
        threads: Array = self._numbers[likely.argmax(axis=0)]
        return threads

    def joins(self) -> Array:
        """Waits of threads for others of the rank to end: array of WAITING_DTYPE.

        The one that ended last before a join's end is the one that is waited for.
        """
        found = [np.empty(0, WAITING_DTYPE)]
        for number, (begin, end, path) in enumerate(self._threads):
            for row in np.flatnonzero(self._is_join[path]).tolist():
                found.append(self._join(number, begin[row], end[row]))
        return np.concatenate(found)

    def _join(self, number: int, begin: float, end: float) -> Array:
        """The wait of a thread for the one that ended last in a time; none if none did."""
        ended = [
            (self._ended(other, begin, end), other) for other in range(len(self._threads)) if other != number
        ]
        time, late = max(ended, default=(-np.inf, 0))
        if time <= begin:
            return np.empty(0, WAITING_DTYPE)
        return _waiting(self._rank, int(self._numbers[number]), int(self._numbers[late]), begin, time)

    def _ended(self, number: int, begin: float, end: float) -> float:
        """When a thread ended in a time; -inf: it did not, or went on after it."""
        begins, ends, _ = self._threads[number]
        last = np.searchsorted(ends, end, side="right") - 1
        goes_on = last + 1 < len(begins) and begins[last + 1] <= end
        return -np.inf if last < 0 or goes_on or ends[last] <= begin else float(ends[last])

    def starts(self) -> Array:
        """When threads began, as rows of WAITING_DTYPE: they follow the first thread of the rank."""
        first = [np.empty(0, WAITING_DTYPE)]
        for number, (begins, _, _) in zip(self._numbers[1:].tolist(), self._threads[1:], strict=True):
            if len(begins):
                known = self._began.get(number, np.empty(0, "<i8"))
                for time in known.tolist() or [self._started_before(float(begins[0]))]:
                    first.append(_waiting(self._rank, number, 0, time, time))
        return np.concatenate(first)

    def _started_before(self, time: float) -> float:
        """When a thread was there of which the trace has nothing before a time.

        The first thread starts none while it waits for others to end.
        """
        begin, end, path = self._threads[0]
        in_join = self._is_join[path] & (begin < time) & (end > time)
        return float(begin[in_join].max(initial=-np.inf)) if in_join.any() else time

    def leave_out(self, waits: Array) -> None:
        """Leave out waits of the rank (array of WAITING_DTYPE), and that threads wait for each other."""
        active = []
        for number, own in zip(self._numbers.tolist(), self._threads, strict=True):
            kept = _chosen(own, np.flatnonzero(~self._is_join[own[2]]))
            active.append(_without(kept, waits[waits["thread"] == number]))
        self._active = self._filled(active, _without(self._before(), waits[waits["thread"] == 0]))

    def profiles(self, starts: Array, stops: Array, threads: Array, *, with_waits: bool = False) -> Array:
        """The time of threads in intervals by this process's call paths: array of PROFILE_DTYPE."""
        spans = self._filled(self._threads, self._before()) if with_waits else self._active
        found = [np.empty(0, PROFILE_DTYPE)]
        for thread in np.unique(threads).tolist():
            own = np.flatnonzero(threads == thread)
            begin, end, path = spans[int(np.searchsorted(self._numbers, thread))]
            rows = np.frombuffer(
                time_profiles(
                    *(begin, end, path, self._count, np.array([0, len(begin)], "<u8")),
                    *(np.ascontiguousarray(times[own], "<f8") for times in (starts, stops)),
                ),
                PROFILE_DTYPE,
            ).copy()
            rows["interval"] = own[rows["interval"]]
            found.append(rows)
        return np.concatenate(found)

    def _before(self) -> _Spans:
        """What counts for threads that the trace does not know yet."""
        begin, end, path = self._threads[0]
        return begin, end, np.where(self._is_join[path], 0, path)

    def _filled(self, spans: list[_Spans], before: _Spans) -> list[_Spans]:
        """Spans of threads with what counts before they begin and between their regions."""
        filled = [spans[0]]
        for number, own, whole in zip(self._numbers[1:].tolist(), spans[1:], self._threads[1:], strict=True):
            filled.append(_filled(own, whole, before, self._began.get(number, np.empty(0, "<i8"))))
        return filled


def _chosen(spans: _Spans, rows: Array) -> _Spans:
    begin, end, path = (column[rows] for column in spans)
    return begin, end, path


def _filled(own: _Spans, whole: _Spans, first: _Spans, known: Array) -> _Spans:
    """Spans of a thread, those of the first one before it began, and where it was in no region."""
    begins, ends, _ = whole
    if not len(begins):
        return own
    began = min([begins[0], *known[:1]])
    before = _chosen(first, np.flatnonzero(first[0] < began))
    ends = np.append(began, ends[:-1])
    gaps = np.flatnonzero(ends < begins)
    parts = (
        (before[0], np.minimum(before[1], began), before[2]),
        own,
        (ends[gaps], begins[gaps], np.zeros(len(gaps), "<u4")),
    )
    begin, end, path = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _chosen((begin, end, path), np.argsort(begin, kind="stable"))


def _waiting(rank: int, thread: int, late: int, begin: float, time: float) -> Array:
    """A wait of a thread for another one of its rank."""
    row = np.zeros(1, WAITING_DTYPE)
    row["rank"], row["late"], row["state"] = rank, rank, JOIN
    row["thread"], row["late_thread"] = thread, late
    row["begin"], row["time"], row["wait"] = begin, time, time - begin
    return row


def _without(spans: _Spans, waits: Array) -> _Spans:
    """Spans of a thread without the waits that are in them."""
    begin, end, path = spans
    if not len(begin) or not len(waits):
        return spans
    place = np.searchsorted(begin, waits["begin"], side="right") - 1
    inside = (place >= 0) & (waits["begin"] < end[place]) & (path[place] == waits["path"])
    place, first = np.unique(place[inside], return_index=True)
    chosen = waits[inside][first]
    after = np.minimum(chosen["begin"] + chosen["wait"], end[place])
    cut = end.copy()
    cut[place] = chosen["begin"]
    return (
        np.insert(begin, place + 1, after),
        np.insert(cut, place + 1, end[place]),
        np.insert(path, place + 1, path[place]),
    )
