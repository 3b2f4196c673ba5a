"""The processes of an analysis as ranks of an MPI job.  Who waits sleeps: ranks may share a core."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from pse.analysis.replay._columns import Columns, columns_of
from pse.analysis.replay._peers import Traffic
from pse.runtime.supervise import await_request, boot_id
from pse.trace.format import Array

TAG, _ROWS = 1, 2
_LENGTH, _SHORT = 8, 1016
"""Bytes of the length of a value that all get, and those that travel with it."""
_COUNTED = tuple(name for name in Traffic._fields if name != "work")
_POLLED = {"seconds": 0.0}
"""CPU time that this process has spent in waits for others."""


class MpiGroup:
    """Some ranks of a communicator; `pse.analysis.replay._peers.Group` says what the function does.

    A communicator of their own would take calls that block, in which ranks don't sleep.

    Parameters
    ----------
    comm : MPI.Intracomm
        The communicator.
    ranks : sequence of int
        The ranks, ascending; this one is among them.
    traffic : Counter
        Counts what this one sends.
    """

    def __init__(self, comm: MPI.Intracomm, ranks: Sequence[int], traffic: Counter[str]) -> None:
        self._comm, self._ranks, self._traffic = comm, ranks, traffic
        self.rank = ranks.index(comm.Get_rank())

    def combined(self, value: Any, merge: Callable[[Any, Any], Any]) -> Any:
        """Merge a value of all, in their order, by a binomial tree, and give it to all by the same tree."""
        step = 1
        while not self.rank & step and step < len(self._ranks):
            if self.rank + step < len(self._ranks):
                value = merge(value, _decoded(self._received(self.rank + step)))
            step *= 2
        text = _encoded(value)
        if self.rank:
            self._send(text, self.rank - step)
            text = self._received(self.rank - step)
        while step := step // 2:
            if self.rank + step < len(self._ranks):
                self._send(text, self.rank + step)
        return _decoded(text) if self.rank else value

    def _send(self, text: bytes, to: int) -> None:
        self._traffic.update(messages=1, trees=len(text))
        wait(self._comm.Isend([_head(text), MPI.BYTE], self._ranks[to], TAG))
        if len(text) > _SHORT:
            wait(self._comm.Isend([np.frombuffer(text, "u1"), MPI.BYTE], self._ranks[to], TAG))

    def _received(self, source: int) -> bytes:
        head = np.empty(_LENGTH + _SHORT, "u1")
        wait(self._comm.Irecv([head, MPI.BYTE], self._ranks[source], TAG))
        data, is_long = _body(head)
        if is_long:
            wait(self._comm.Irecv([data, MPI.BYTE], self._ranks[source], TAG))
        return data.tobytes()


class MpiPeers(MpiGroup):
    """All ranks of a communicator; `pse.analysis.replay._peers.Peers` says what the functions do.

    Parameters
    ----------
    comm : MPI.Intracomm
        The ranks; it is not used for messages, a copy of it is.

    Attributes
    ----------
    traffic : Counter
        What it sent to other processes, or received from them if that is more, so far: ``messages``, and
        bytes by what they grow with (`Traffic`).
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.size, self.traffic = comm.Get_size(), Counter(dict.fromkeys(_COUNTED, 0))
        super().__init__(_copy(comm), range(self.size), self.traffic)
        self._rounds = (self.size - 1).bit_length()
        self.nodes = self._find_nodes()
        beside = np.flatnonzero(self.nodes == self.nodes[self.rank]).tolist()
        self.local = MpiGroup(self._comm, beside, self.traffic)

    def _find_nodes(self) -> Array:
        """The node of each rank; nodes are numbered by their lowest rank."""
        names = np.empty(self.size, "<u8")
        self._count_rounds("tables", names.itemsize)
        wait(self._comm.Iallgather(np.array(_node_name(), "<u8"), names))
        _, lowest, place = np.unique(names, return_index=True, return_inverse=True)
        return np.unique(lowest[place], return_inverse=True)[1].astype("<i8")

    def deliver(self, rows: Columns, dtype: np.dtype[np.void], to: Array) -> MpiDelivery:
        """Send each row to a process, as records of a type."""
        counts = np.bincount(to, minlength=self.size).astype("<i8")
        coming, order = self._counts_from_all(counts), _order(to)
        sent = rows if order is None else rows.take(order)
        return MpiDelivery(self, order, counts, coming, self.exchanged(sent.packed(dtype), counts, coming))

    def exchanged(self, rows: Array, counts: Array, coming: Array, kind: str = "partners") -> Array:
        """Exchange rows that are in the order of their targets, so many to and from each.

        All processes have come to the exchange: what one knows of the others' counts, they have sent.
        """
        rows = np.ascontiguousarray(rows)
        found = np.empty(int(coming.sum()), rows.dtype)
        self._count(kind, np.maximum(counts, coming), rows.itemsize)
        (to, own), (of, into) = (self._parts(*part) for part in ((rows, counts), (found, coming)))
        requests = [self._comm.Irecv([part, MPI.BYTE], rank, _ROWS) for rank, part in of.items()]
        requests += [self._comm.Isend([part, MPI.BYTE], rank, _ROWS) for rank, part in to.items()]
        into[:] = own
        _move(requests)
        return found

    def answered(self, rows: Array, counts: Array, coming: Array) -> Array:
        """Exchange rows that processes come to with different amounts of work behind them."""
        wait(self._comm.Ibarrier())
        return self.exchanged(rows, counts, coming)

    def _parts(self, rows: Array, counts: Array) -> tuple[dict[int, Array], Array]:
        """The bytes of rows that go to other processes, or come from them, by these; and the own rows."""
        ends = np.cumsum(counts)
        begins, own = ends - counts, self.rank
        others = [rank for rank in np.flatnonzero(counts).tolist() if rank != own]
        parts = {rank: rows[begins[rank] : ends[rank]].view("u1") for rank in others}
        return parts, rows[begins[own] : ends[own]]

    def _count_rounds(self, kind: str, size: int) -> None:
        """Count an operation of all: by trees, as MPI libraries do it for little data."""
        self.traffic.update({"messages": self._rounds, kind: self._rounds * size})

    def _count(self, kind: str, counts: Array, size: int) -> None:
        others = np.delete(counts, self.rank)
        self.traffic.update({"messages": int(np.count_nonzero(others)), kind: int(others.sum()) * size})

    def least(self, values: Array) -> Array:
        """The least of the values of all processes at each place."""
        found = np.empty_like(values)
        self._count_rounds("tables", values.nbytes)
        wait(self._comm.Iallreduce(values, found, MPI.MIN))
        return found

    def gathered(self, rows: Array) -> Array:
        """The rows of all processes on process 0, in their order; none elsewhere."""
        counts, coming = np.zeros(self.size, "<i8"), np.zeros(self.size, "<i8")
        counts[0] = len(rows)
        self._count_rounds("tables", counts.itemsize)
        wait(self._comm.Igather(counts[:1], coming))
        return self.exchanged(rows, counts, coming, "results")

    def _counts_from_all(self, counts: Array) -> Array:
        coming = np.empty_like(counts)
        self._count_rounds("tables", counts.nbytes // 2)
        wait(self._comm.Ialltoall(counts, coming))
        return coming


class MpiDelivery:
    """Rows that arrived."""

    def __init__(
        self, peers: MpiPeers, order: Array | None, counts: Array, coming: Array, rows: Array
    ) -> None:
        self.rows = columns_of(rows)
        self._peers, self._order, self._counts, self._coming = peers, order, counts, coming

    def reply(self, answers: Array) -> Array:
        """Send an answer for each row back; give those for the own rows, in the order of these."""
        back = self._peers.answered(answers, self._coming, self._counts)
        if self._order is None:
            return back
        found = np.empty_like(back)
        found[self._order] = back
        return found


def _order(to: Array) -> Array | None:
    """The order of rows by where they go; None if they have it."""
    if (to[1:] >= to[:-1]).all():
        return None
    return np.argsort(to.astype("<u2") if to.max() < 1 << 16 else to, kind="stable")  # Short ones by radix.


def _node_name() -> int:
    """A number of this machine since its last start; emulated nodes have names of their own."""
    name = f"{platform.node()} {boot_id()}"
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _copy(comm: MPI.Intracomm) -> MPI.Intracomm:
    made, request = comm.Idup()
    wait(request)
    return made


def _move(requests: list[MPI.Request]) -> None:
    """Complete an exchange that all processes have come to: whoever sleeps holds up what it has to copy."""
    with _polling():
        while not MPI.Request.Testall(requests):
            os.sched_yield()


def wait(request: MPI.Request) -> None:
    """Sleep until an operation is complete."""
    with _polling():
        await_request(request)


def polled() -> float:
    """CPU time that this process has spent in waits for others so far, s."""
    return _POLLED["seconds"]


@contextlib.contextmanager
def _polling() -> Iterator[None]:
    begin = time.thread_time()
    yield
    _POLLED["seconds"] += time.thread_time() - begin


def _head(text: bytes) -> Array:
    """What travels first: the length of a text, and the text if it is short."""
    return np.frombuffer(len(text).to_bytes(_LENGTH, "little") + text[:_SHORT].ljust(_SHORT), "u1").copy()


def _body(head: Array) -> tuple[Array, bool]:
    """The text of such a head, or room for it, and whether it is still to come."""
    length = int.from_bytes(head[:_LENGTH].tobytes(), "little")
    is_long = length > _SHORT
    return np.empty(length, "u1") if is_long else head[_LENGTH : _LENGTH + length], is_long


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def _decoded(text: bytes) -> Any:
    return json.loads(text)
