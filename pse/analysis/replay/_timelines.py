"""When a rank spent its time in which call path, its waits left out: a second pass over its events."""

from __future__ import annotations

import numpy as np

from pse._abi.replay import PROFILE_DTYPE
from pse.analysis._replay import time_profiles
from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._rank_calls import read_rank
from pse.trace.format import Array
from pse.trace.query import Trace

_STARTS = ("MPI_Init", "MPI_Init_thread")


class Timeline:
    """The time of a rank by call path.

    Parameters
    ----------
    trace : Trace
        With its events.
    rank : int
        The rank of the job.
    tree : CallTree
        The call paths of this process.
    waits : array of WAITING_DTYPE
        The waits of the rank: this time is left out, as is that in which threads wait for others to end.

    Attributes
    ----------
    started : float
        ns: when it left MPI_Init, -inf if it did not; ranks wait there for each other too.
    """

    def __init__(self, trace: Trace, rank: int, tree: CallTree, waits: Array) -> None:
        calls = read_rank(trace, rank, spans=True)
        path, thread = tree.add_rank(calls)[calls.spans["node"]], calls.spans["thread"]
        order = np.argsort(thread, kind="stable")
        path, thread = path[order], thread[order]
        begin, end = (times[order] for times in calls.span_times(trace))
        self._tree = tree
        self.started = float(end[self._is_start(path)].max(initial=-np.inf))
        joins = np.array([metric == "thread_wait" for metric in tree.metrics])[path]
        borders = np.searchsorted(thread, np.arange(int(thread.max(initial=0)) + 2))
        self._with_waits = (begin, end, path, borders.astype("<u8"))
        parts = []
        for one, other in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            own = one + np.flatnonzero(~joins[one:other])
            parts.append(_without(begin[own], end[own], path[own], waits))
        threads = np.cumsum([0, *(len(part[0]) for part in parts)]).astype("<u8")
        begin, end, path = (np.concatenate(column) for column in zip(*parts, strict=True))
        self._without_waits = (begin, end, path, threads)

    def profiles(self, starts: Array, stops: Array, *, with_waits: bool = False) -> Array:
        """The time in intervals by this process's call paths: array of PROFILE_DTYPE."""
        begin, end, path, threads = self._with_waits if with_waits else self._without_waits
        return np.frombuffer(
            time_profiles(
                *(begin, end, path, len(self._tree.paths), threads),
                *(np.ascontiguousarray(times, "<f8") for times in (starts, stops)),
            ),
            PROFILE_DTYPE,
        )

    def _is_start(self, path: Array) -> Array:
        found: Array = np.array([own.name in _STARTS for own in self._tree.paths])[path]
        return found


def _without(begin: Array, end: Array, path: Array, waits: Array) -> tuple[Array, Array, Array]:
    """Spans of a thread without the waits that are in them."""
    if not len(begin) or not len(waits):
        return begin, end, path
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
