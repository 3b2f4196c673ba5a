"""Where the ranks of a trace ran: machine, node, process and thread of each."""

from __future__ import annotations

from collections import Counter

from pse.analysis.cube._cube import Location
from pse.trace.query import Trace


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
