"""Processes of an analysis as threads of this one: what `pse.analysis.replay._mpi_peers` does with MPI."""

from __future__ import annotations

import functools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from pse.analysis.replay._columns import Columns, columns_of
from pse.trace import TraceError

PATIENCE = 60  # Seconds after which a process that waits for others gives up.


class Shared:
    """Where the threads of some processes meet."""

    def __init__(self, size):
        self.slots, self.barrier = [None] * size, threading.Barrier(size)

    def all_of(self, rank, value):
        """Give one's value, and get those of all."""
        self.slots[rank] = value
        self.barrier.wait(PATIENCE)
        found = list(self.slots)
        self.barrier.wait(PATIENCE)
        return found


@dataclass
class Delivery:
    """Rows that arrived."""

    rows: Columns
    send_back: object

    def reply(self, answers):
        """Send answers back."""
        return self.send_back(answers)


class ThreadPeers:
    """One of some processes on some nodes."""

    def __init__(self, rank, nodes, shared, local=None):
        self.rank, self.size, self.nodes, self._shared = rank, len(nodes), np.array(nodes), shared
        self.local = local or self

    def deliver(self, rows, dtype, to):
        """Send each row to a process."""
        order = np.argsort(to, kind="stable")
        counts = np.bincount(to, minlength=self.size)
        parts = np.split(rows.packed(dtype)[order], np.cumsum(counts)[:-1])
        came = [own[self.rank] for own in self._shared.all_of(self.rank, parts)]
        borders = np.cumsum([len(own) for own in came])[:-1]

        def send_back(answers):
            back = self._shared.all_of(self.rank, np.split(answers, borders))
            found = np.empty(len(rows), answers.dtype)
            found[order] = np.concatenate([own[self.rank] for own in back])
            return found

        return Delivery(columns_of(np.concatenate(came)), send_back)

    def combined(self, value, merge):
        """Merge a value of all processes; it goes through JSON as it does on the wire."""
        texts = [json.dumps(value) for value in self._shared.all_of(self.rank, value)]
        return json.loads(json.dumps(functools.reduce(merge, map(json.loads, texts))))

    def least(self, values):
        """The least of the values of all."""
        return np.minimum.reduce(self._shared.all_of(self.rank, values))

    def gathered(self, rows):
        """The rows of all on process 0."""
        found = np.concatenate(self._shared.all_of(self.rank, rows))
        return found if self.rank == 0 else found[:0]


def on_threads(nodes, work):
    """Let processes on these nodes do work, each with its peers; give what each gives.

    A TraceError is one that all raise, and is given; any other ends all, and is raised.
    """
    shared = Shared(len(nodes))
    on_node = {node: Shared(nodes.count(node)) for node in nodes}

    def one(rank):
        place = nodes[:rank].count(nodes[rank])
        local = ThreadPeers(place, [0] * nodes.count(nodes[rank]), on_node[nodes[rank]])
        try:
            return work(ThreadPeers(rank, nodes, shared, local))
        except TraceError as error:
            return error
        except Exception:
            for meeting in (shared, *on_node.values()):
                meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(len(nodes)) as pool:
        done = [pool.submit(one, rank) for rank in range(len(nodes))]
    errors = [error for own in done if (error := own.exception())]
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    return [own.result() for own in done]
