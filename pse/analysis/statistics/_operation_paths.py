"""In which call path each operation of MPI happened, without a search for wait states."""

from __future__ import annotations

import numpy as np

from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._peers import Alone
from pse.analysis.replay._rank_calls import read_rank
from pse.text import call_path_text, source_line
from pse.trace import NONE, EventType
from pse.trace.format import Array
from pse.trace.query import Trace

_KINDS = (EventType.MPI_SEND, EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END)
UNKNOWN = "MPI"


class OperationPaths:
    """The call paths of sends and of collective operations.

    Parameters
    ----------
    trace : Trace
        A run under the tool `trace`, or an archive of OTF2.

    Examples
    --------
    >>> OperationPaths(pse.trace.open("mpi1")).at(0, 4_020)
    'MPI_Send'
    """

    def __init__(self, trace: Trace) -> None:
        self._tree = CallTree(trace, Alone())
        self._ranks = {rank: self._read(trace, rank) for rank in trace.ranks}
        self._texts: list[str] = [self._text(path) for path in range(len(self._tree.paths))]

    def at(self, rank: int, time: float) -> str:
        """Give the call path of a rank's operation.

        Parameters
        ----------
        rank : int
            Rank of the job.
        time : float
            When it began or ended, ns since the run's origin.

        Returns
        -------
        str
            From the outermost function to the routine of MPI; ``MPI`` where the trace doesn't tell.
        """
        times, paths = self._ranks[rank]
        if not len(times):
            return UNKNOWN
        after = int(np.searchsorted(times, time).clip(max=len(times) - 1))
        before = max(after - 1, 0)
        nearest: int = min((after, before), key=lambda place: abs(times[place] - time))
        return self._texts[int(paths[nearest])]

    def _read(self, trace: Trace, rank: int) -> tuple[Array, Array]:
        """Give when a rank's operations were, ascending, and their call paths."""
        calls = read_rank(trace, rank)
        found = self._tree.add_rank(calls)
        rows = np.flatnonzero(np.isin(calls.types, _KINDS))
        rows = rows[calls.operations["call"][rows] != NONE]
        times = calls.times(trace, rows)
        order = np.argsort(times, kind="stable")
        return times[order], found[calls.node[calls.operations["call"][rows[order]]]]

    def _text(self, path: int) -> str:
        names: list[str] = []
        while path > 0:
            own = self._tree.paths[path]
            place = source_line(own.place)
            names.append(f"{own.name} ({place})" if place else own.name)
            path = own.parent
        return call_path_text(names[::-1]) or UNKNOWN
