"""Whose waits are: threads of ranks that wait, and that come late."""

from __future__ import annotations

import operator

import numpy as np

from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._columns import columns_of
from pse.analysis.replay._peers import Peers
from pse.analysis.replay._stream_placement import Streams
from pse.analysis.replay._synchronizations import WAITING_DTYPE
from pse.analysis.replay._timelines import Timeline
from pse.trace import EventType
from pse.trace.format import Array
from pse.trace.query import Trace


def find_threads(
    waits: Array, trace: Trace, tree: CallTree, streams: Streams, peers: Peers
) -> tuple[Array, Array]:
    """Say of waits which threads wait and come late; collective.

    Parameters
    ----------
    waits : array of WAITING_DTYPE
        Those of this process's ranks; gets the threads.
    trace, tree : Trace, CallTree
        The events and call paths of this process.
    streams : Streams
        Who has which ranks.
    peers : Peers
        All processes.

    Returns
    -------
    joins, starts : array of WAITING_DTYPE
        Where threads wait for others of their rank to end, and where they begin.
    """
    threaded = [rank for rank in trace.ranks if trace.files[rank].counts[EventType.THREAD]]
    joins, starts = [np.empty(0, WAITING_DTYPE)], [np.empty(0, WAITING_DTYPE)]
    if peers.combined(len(threaded), operator.add):
        to = streams.owners(waits["late"], peers.rank)
        delivery = peers.deliver(columns_of(waits), WAITING_DTYPE, to)
        late, ranks = np.zeros(len(delivery.rows), "<u4"), delivery.rows["late"]
        for rank in threaded:
            line, own, others = Timeline(trace, rank, tree), waits["rank"] == rank, ranks == rank
            waits["thread"][own] = line.threads_at(waits["begin"][own])
            late[others] = line.threads_at(delivery.rows["time"][others])
            joins.append(line.joins())
            starts.append(line.starts())
        waits["late_thread"] = delivery.reply(late)
    return np.concatenate(joins), np.concatenate(starts)
