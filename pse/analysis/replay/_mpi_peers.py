"""The processes of an analysis as ranks of an MPI job.  Who waits sleeps: ranks may share a core."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from pse.analysis.replay._columns import Columns, columns_of
from pse.runtime.supervise import await_request
from pse.trace.format import Array

TAG, _ROWS = 1, 2
_LENGTH, _SHORT = 8, 1016
"""Bytes of the length of a value that all get, and those that travel with it."""
_POLLED = {"seconds": 0.0}
"""CPU time that this process has spent in waits for others."""


class MpiPeers:
    """All ranks of a communicator; `pse.analysis.replay._peers.Peers` says what the functions do.

    Parameters
    ----------
    comm : MPI.Intracomm
        The ranks; it is not used for messages, a copy of it is.
    is_local : bool, default False
        Whether all of them are on one node; then it is used itself.

    Attributes
    ----------
    traffic : Counter
        What it sent to other processes, or received from them if that is more, so far: ``messages``, and
        bytes by what they grow with (`Traffic`).
    """

    def __init__(self, comm: MPI.Intracomm, *, is_local: bool = False) -> None:
        self._comm = comm if is_local else _copy(comm)
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.traffic: Counter[str] = Counter()
        self._rounds = (self.size - 1).bit_length()
        self._local, self.nodes = self, np.zeros(self.size, "<i8")
        if not is_local:
            self._find_nodes()

    def _find_nodes(self) -> None:
        with_me = cast("MPI.Intracomm", self._comm.Split_type(MPI.COMM_TYPE_SHARED))
        self._local = MpiPeers(with_me, is_local=True)
        first = MPI.Group.Translate_ranks(with_me.Get_group(), [0], self._comm.Get_group())
        firsts = np.empty(self.size, "<i8")
        wait(self._comm.Iallgather(np.array(first, "<i8"), firsts))
        self.nodes = np.unique(firsts, return_inverse=True)[1].astype("<i8")

    @property
    def local(self) -> MpiPeers:
        """Those on the node of this process."""
        return self._local

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

    def combined(self, value: Any, merge: Callable[[Any, Any], Any]) -> Any:
        """Merge a value of all processes, in their order, by a binomial tree, and give it to all."""
        step = 1
        while step < self.size:
            if self.rank % (2 * step):
                self._send(value, self.rank - step)
                break
            if self.rank + step < self.size:
                value = merge(value, self._received(self.rank + step))
            step *= 2
        return self._told(value)

    def _told(self, value: Any) -> Any:
        """What process 0 has, on all."""
        text = _encoded(value) if self.rank == 0 else b""
        head = _head(text)
        wait(self._comm.Ibcast([head, MPI.BYTE]))
        data, is_long = _body(head)
        self._count_rounds("trees", _LENGTH + len(data))
        if is_long:
            data = np.frombuffer(text, "u1").copy() if self.rank == 0 else data
            wait(self._comm.Ibcast([data, MPI.BYTE]))
        return value if self.rank == 0 else _decoded(data)

    def _send(self, value: Any, to: int) -> None:
        text = _encoded(value)
        self.traffic.update(messages=1, trees=len(text))
        wait(self._comm.Isend([_head(text), MPI.BYTE], to, TAG))
        if len(text) > _SHORT:
            wait(self._comm.Isend([np.frombuffer(text, "u1"), MPI.BYTE], to, TAG))

    def _received(self, source: int) -> Any:
        head = np.empty(_LENGTH + _SHORT, "u1")
        wait(self._comm.Irecv([head, MPI.BYTE], source, TAG))
        data, is_long = _body(head)
        if is_long:
            wait(self._comm.Irecv([data, MPI.BYTE], source, TAG))
        return _decoded(data)

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


def _decoded(data: Array) -> Any:
    return json.loads(data.tobytes())
