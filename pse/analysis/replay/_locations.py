"""Where the ranks of a trace ran: machine, node, process and thread of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import numpy as np

from pse.analysis.cube._cube import Location
from pse.analysis.replay._metahosts import assign_metahosts, split_nodes
from pse.trace import NONE
from pse.trace.format import Array
from pse.trace.query import Trace


class MetahostNumbers:
    """The metahosts of ranks as numbers.

    Parameters
    ----------
    ranks : sequence of int
        Ranks of the trace, ascending.
    places : sequence of Location
        Where each ran.

    Attributes
    ----------
    are_several : bool
        Whether there is more than one.
    """

    def __init__(self, ranks: Sequence[int], places: Sequence[Location]) -> None:
        names = {place.machine: number for number, place in enumerate(places)}
        self.are_several = len(names) > 1
        self._ranks = np.array(ranks, "<u4")
        self._numbers = np.array([names[place.machine] for place in places], "<u4")

    def of(self, ranks: Array) -> Array:
        """The metahost of each rank of the job, `NONE` of those that the trace has not."""
        found = np.minimum(np.searchsorted(self._ranks, ranks), len(self._ranks) - 1)
        return np.where(self._ranks[found] == ranks, self._numbers[found], NONE).astype("<u4")


def placed(trace: Trace, metahosts: str | os.PathLike[str] | None) -> tuple[list[Location], list[str]]:
    """The location of each rank of a trace, with the metahosts that a file says, and what is odd there."""
    found, problems = locations(trace), list[str]()
    if metahosts is not None:
        found, problems = assign_metahosts(found, metahosts)
    return found, [*problems, *split_nodes(found)]


def locations(trace: Trace) -> list[Location]:
    """The location of each rank of a trace, in the order of `Trace.ranks`.

    Ranks of imported traces may be threads of one process; a host of several machines is ``machine/node``.
    """
    definitions = trace.definitions
    known = {rank.rank: rank for rank in definitions.ranks} if definitions else {}
    imported = definitions is not None and "imported from" in definitions.environment
    threads: Counter[int] = Counter()
    found = []
    for rank in trace.ranks:
        machine, _, node = trace.files[rank].host.rpartition("/")
        own = known.get(rank)
        process = own.processor if own is not None and imported else None
        process = rank if process is None else process
        name = "" if own is None else own.thread
        found.append(Location(machine or "machine", node, process, threads[process], name))
        threads[process] += 1
    return found
