"""Comparing the clocks of nodes, so that times in a trace can be compared between them.

The first rank of each node asks that of the node above it in a tree what time it is, some times, and keeps
the answer that came soonest: half of that round trip is what the comparison may be wrong by.  It is recorded
at the start and at the end of a run; the reader interpolates between the two.  The nodes of each metahost
(METAHOST_VARIABLE) have a tree of their own, below that of the metahosts, so that few comparisons are between
these.

Ranks that wait for their turn sleep; those in a round trip don't, or the sleep would be in what they measure.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse._abi.environment import METAHOST_VARIABLE
from pse.runtime.distribution._trees import NodeTree
from pse.runtime.supervise._backoff import await_request
from pse.runtime.supervise._launcher_records import boot_id
from pse.trace import EventType, Recorder, clock

CLOCK_TAG = 5
ROUND_TRIPS = 10


def record_clock(comm: MPI.Intracomm, nodes: Sequence[int], recorder: Recorder) -> None:
    """Compare the clocks of all nodes; every rank calls it, one of each node takes part.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks.
    nodes : sequence of int
        The node of every rank.
    recorder : Recorder
        Gets a CLOCK_SYNC on the first rank of each node but the first.
    """
    if not any(nodes):
        return
    rank = comm.Get_rank()
    metahosts = _numbered(comm, os.environ.get(METAHOST_VARIABLE, ""))
    ask = partial(_ask, comm, recorder, _numbered(comm, _own_clock()))
    own = [other for other, metahost in enumerate(metahosts) if metahost == metahosts[rank]]
    for tree in (NodeTree.over(range(len(nodes)), metahosts), NodeTree.over(own, nodes)):
        tree.ask_upwards(rank, ask, partial(_answer, comm))


def _own_clock() -> str:
    """Which clock this rank has: hosts of one kernel share it, but for what a namespace adds."""
    offsets = Path("/proc/self/timens_offsets")  # Kernels without namespaces of time have no such file.
    return boot_id() + (offsets.read_text() if offsets.exists() else "")


def _numbered(comm: MPI.Intracomm, text: str) -> list[int]:
    """What every rank says, as a number that is the same for all ranks that say the same."""
    import hashlib  # Most runs are on one node.

    digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest()
    found = np.empty(comm.Get_size(), "<u8")
    await_request(comm.Iallgather(np.frombuffer(digest, "<u8"), found))
    numbers: list[int] = np.unique(found, return_inverse=True)[1].tolist()
    return numbers


def _ask(comm: MPI.Intracomm, recorder: Recorder, clocks: Sequence[int], above: int) -> None:
    """Compare this clock with that of another rank, when it is ready to answer; `clocks` are all ranks'."""
    time_there = np.zeros(1, "<i8")
    await_request(comm.Irecv(time_there, above, CLOCK_TAG))
    trips = []
    for _ in range(ROUND_TRIPS):
        sent = clock()
        comm.Send(time_there, above, CLOCK_TAG)
        comm.Recv(time_there, above, CLOCK_TAG)
        trips.append((clock() - sent, sent, int(time_there[0])))
    trip, sent, there = min(trips)
    here = sent + trip // 2
    offset, bound = there - here, (trip + 1) // 2
    if clocks[comm.Get_rank()] == clocks[above] and abs(offset) <= bound:
        offset = 0  # What was measured is how uneven the two ways were.
    recorder.record_at(here, EventType.CLOCK_SYNC, a=offset & (2**64 - 1), b=bound, c=above)


def _answer(comm: MPI.Intracomm, other: int) -> None:
    """Tell a rank below that it is its turn, then the time as often as it asks."""
    time_here = np.zeros(1, "<i8")
    comm.Send(time_here, other, CLOCK_TAG)
    for _ in itertools.repeat(None, ROUND_TRIPS):
        comm.Recv(time_here, other, CLOCK_TAG)
        time_here[0] = clock()
        comm.Send(time_here, other, CLOCK_TAG)
