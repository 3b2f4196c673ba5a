"""How fast the links between nodes are, for readers of a trace: measured before the program begins.

A run on one thread overlaps transfers with calls, so its messages don't tell what the links could do.  The
first rank of each node takes arrays from that of the node above it in a tree, each twice as large as the one
before, until one takes long enough to be timed, then some more of that size: the quickest of these tells the
rate, since the others may have waited for a core.  The record is a sample of a counter.  Small links are not
burdened: there the first array takes long enough.  Both ends sleep between looks, as ranks do: spinning would
use up what a node with a share of a core has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from mpi4py import MPI

from pse.runtime.distribution._trees import NodeTree
from pse.runtime.supervise._backoff import Backoff
from pse.runtime.transport._resource_counters import NUMBERS
from pse.trace import EventType, Recorder, clock
from pse.trace.format import LINK_RATE, ValueKind, bits_of

LINK_TAG = 6
FIRST, MOST = 1 << 18, 1 << 23
"""Bytes of the smallest and the largest array."""
LONG = 20_000_000
"""An array that takes so many ns tells the rate."""
MORE = 3
"""Arrays of that size that are timed."""
LONGEST = LONG / 40e9
"""Seconds of a sleep between looks."""


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
    """Ask another rank for larger and larger arrays, then for some of the last size; gives bytes a second."""
    size, wanted = FIRST, np.zeros(1, "<i8")
    _await(comm.Irecv(wanted, above, LINK_TAG))
    while _time(comm, above, size) < LONG and size < MOST:
        size *= 2
    quickest = min(_time(comm, above, size) for _ in range(MORE))
    comm.Send(np.zeros(1, "<i8"), above, LINK_TAG)
    return size / max(quickest, 1) * 1e9


def _time(comm: MPI.Intracomm, above: int, size: int) -> int:
    """Take an array; gives the ns that it was under way."""
    array = np.empty(size, "u1")
    array.fill(0)  # Its pages are there before it is timed.
    begin = clock()
    comm.Send(np.array([size], "<i8"), above, LINK_TAG)
    _await(comm.Irecv(array, above, LINK_TAG))
    return clock() - begin


def _give(comm: MPI.Intracomm, other: int) -> None:
    """Tell a rank below that it is its turn, then send what it asks for, until that is nothing."""
    wanted, array = np.zeros(1, "<i8"), np.zeros(MOST, "u1")
    comm.Send(wanted, other, LINK_TAG)
    _await(comm.Irecv(wanted, other, LINK_TAG))
    while wanted[0]:
        _await(comm.Isend(array[: wanted[0]], other, LINK_TAG))
        _await(comm.Irecv(wanted, other, LINK_TAG))


def _await(request: MPI.Request) -> None:
    Backoff(LONGEST).sleep_until(request.Test)
