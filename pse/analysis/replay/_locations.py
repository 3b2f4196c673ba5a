"""Where the ranks of a trace ran: machine, node, process and thread of each."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

import numpy as np

from pse.analysis.cube._cube import Location
from pse.analysis.replay._metahosts import assign_metahosts, split_nodes
from pse.analysis.replay._peers import Peers
from pse.analysis.replay._stream_placement import Streams
from pse.errors import UsageError
from pse.trace import NONE, Definitions
from pse.trace.format import Array, distinct


class Metahosts:
    """The metahosts of ranks as numbers.

    Parameters
    ----------
    numbers : array of uint32, shape (ranks of the job,)
        That of each rank; `NONE` of those that the trace has not.
    """

    def __init__(self, numbers: Array) -> None:
        self._numbers = np.append(numbers, np.array([NONE], "<u4"))
        self.several = len(distinct(numbers[numbers != NONE])) > 1

    def of(self, ranks: Array) -> Array:
        """The metahost of each rank of the job, `NONE` of those that the trace has not."""
        found: Array = self._numbers[np.minimum(ranks, len(self._numbers) - 1)]
        return found


@dataclass(frozen=True)
class Places:
    """Where ranks ran.

    Parameters
    ----------
    locations : list of Location
        On process 0 the location of each rank with a stream, ascending.
    metahosts : Metahosts
        Their metahosts, on all processes.
    problems : list of str
        What is odd with them, on process 0.
    """

    locations: list[Location]
    metahosts: Metahosts
    problems: list[str]


def share_metahosts(
    streams: Streams, definitions: Definitions | None, path: str | os.PathLike[str] | None, peers: Peers
) -> Places:
    """Find out where ranks ran; collective.

    Raises
    ------
    UsageError
        The file of metahosts can't be read or contradicts itself; on all processes.
    """
    found, problems, failed = list[Location](), list[str](), ["", ""]
    numbers = np.full(len(streams.owner), NONE, "<i8")
    if peers.rank == 0:
        try:
            found, problems = placed(streams, definitions, path)
        except UsageError as error:
            failed = [error.message, error.help or ""]
        names = {place.machine: number for number, place in enumerate(found)}
        if found:
            numbers[streams.ranks] = [names[place.machine] for place in found]
    shared = peers.least(np.append(numbers, np.array([not failed[0]], "<i8")))
    if not shared[-1]:
        message, advice = peers.combined(failed, lambda one, _: one)
        raise UsageError(message, help=advice or None)
    return Places(found, Metahosts(shared[:-1].astype("<u4")), problems)


def placed(
    streams: Streams, definitions: Definitions | None, path: str | os.PathLike[str] | None
) -> tuple[list[Location], list[str]]:
    """The location of each rank, with the metahosts that a file says, and what is odd there."""
    found, problems = locations(streams, definitions), list[str]()
    if path is not None:
        found, problems = assign_metahosts(found, path)
    hosts, began = streams.host[streams.ranks].tolist(), streams.began[streams.ranks].tolist()
    nodes = [location.node for location in found]  # Of two machines nodes may have one name.
    same = hosts if _is_imported(definitions) else list(zip(nodes, began, strict=True))
    return found, [*problems, *split_nodes(found, same)]


def _is_imported(definitions: Definitions | None) -> bool:
    return definitions is not None and "imported from" in definitions.environment


def locations(streams: Streams, definitions: Definitions | None) -> list[Location]:
    """The location of each rank of a trace, in the order of `Streams.ranks`.

    Ranks of imported traces may be threads of one process; a host of several machines is ``machine/node``.
    """
    known = {rank.rank: rank for rank in definitions.ranks} if definitions else {}
    imported = _is_imported(definitions)
    threads: Counter[int] = Counter()
    found = []
    for rank in streams.ranks.tolist():
        machine, _, node = streams.hosts[streams.host[rank]].rpartition("/")
        own = known.get(rank)
        process = own.processor if own is not None and imported else None
        process = rank if process is None else process
        name = "" if own is None else own.thread
        found.append(Location(machine or "machine", node, process, threads[process], name))
        threads[process] += 1
    return found
