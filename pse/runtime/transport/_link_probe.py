"""How fast the links between nodes are, for readers of a trace: measured before the program begins.

A run on one thread overlaps transfers with calls, so its messages don't tell what the links could do.  The
first rank of each node takes arrays from that of the node above it in a tree, each twice as large as the one
before, until one takes long enough to be timed; the record is a sample of a counter.  Small links are not
burdened: there the first array takes long enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from mpi4py import MPI

from pse.runtime.distribution._trees import NodeTree
from pse.runtime.supervise._backoff import await_request
from pse.runtime.transport._resource_counters import NUMBERS
from pse.trace import EventType, Recorder, clock
from pse.trace.format import LINK_RATE, ValueKind, bits_of

LINK_TAG = 6
FIRST, MOST = 1 << 18, 1 << 23
"""Bytes of the smallest and the largest array."""
LONG = 20_000_000
"""An array that takes so many ns tells the rate."""


def record_links(comm: MPI.Intracomm, nodes: Sequence[int], recorder: Recorder) -> None:
    """Measure the link of each node; every rank calls it, one of each node takes part.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks.
    nodes : sequence of int
        The node of every rank.
    recorder : Recorder
        Gets a sample of the counter `LINK_RATE`, bytes a second, on the first rank of each node but one.
    """
    tree = NodeTree.over(range(comm.Get_size()), nodes)
    tree.ask_upwards(comm.Get_rank(), partial(_measure, comm, recorder), partial(_give, comm))


def _measure(comm: MPI.Intracomm, recorder: Recorder, above: int) -> None:
    rate = bits_of(_take(comm, above))
    recorder.record(EventType.COUNTER, a=NUMBERS[LINK_RATE], b=rate, flags=ValueKind.FLOATING)


def _take(comm: MPI.Intracomm, above: int) -> float:
    """Ask another rank for larger and larger arrays; gives the rate of the last one, bytes a second."""
    size, wanted = FIRST, np.zeros(1, "<i8")
    await_request(comm.Irecv(wanted, above, LINK_TAG))
    while True:
        array = np.empty(size, "u1")
        array.fill(0)  # Its pages are there before it is timed.
        wanted[0] = size
        begin = clock()
        comm.Send(wanted, above, LINK_TAG)
        comm.Recv(array, above, LINK_TAG)
        taken = clock() - begin
        if taken >= LONG or size == MOST:
            wanted[0] = 0
            comm.Send(wanted, above, LINK_TAG)
            return size / max(taken, 1) * 1e9
        size *= 2


def _give(comm: MPI.Intracomm, other: int) -> None:
    """Tell a rank below that it is its turn, then send what it asks for, until that is nothing."""
    wanted, array = np.zeros(1, "<i8"), np.zeros(MOST, "u1")
    comm.Send(wanted, other, LINK_TAG)
    comm.Recv(wanted, other, LINK_TAG)
    while wanted[0]:
        comm.Send(array[: wanted[0]], other, LINK_TAG)
        comm.Recv(wanted, other, LINK_TAG)
