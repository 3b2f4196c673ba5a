"""A communicator with mpi4py's upper-case interface, whose communication is scheduled in slices."""

import ctypes
import itertools
import os
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from mpi4py import MPI

from pse._abi.coschedule import (
    BYTES_PER_NS,
    DEFAULT_FAR_SLICE,
    DEFAULT_SLICE,
    MATCH_DTYPE,
    SLICE_DTYPE,
    Collective,
)
from pse.coschedule._buffers import Piece, Span, bytes_of, data_of, meaning_of, pieces_of, span_of
from pse.coschedule._checkpoint import is_due, read, write
from pse.coschedule._errors import failure_of
from pse.coschedule._layer_setup import make_engine, nodes_of
from pse.coschedule._monitor import Report, monitor_settings, names_of_routines, report_of
from pse.coschedule._requests import Outcomes, Request, check_pieces, fill
from pse.coschedule._slices import slice_length
from pse.errors import UsageError

_ANY: Final = -1
_numbers = itertools.count()


class _Plan(NamedTuple):
    """A call of a collective operation, as the engine takes it."""

    operation: Collective
    root: int = -1
    data: Any = None
    target: Any = None
    pieces: Sequence[Piece] = ()
    targets: Sequence[Piece] = ()
    reduction: tuple[int, int, int, int, int] = (0, 0, 0, 1, 0)


def _reduce_local() -> int:
    """Find MPI's own reduction of two buffers: a preloaded tool's, or else that of mpi4py's library."""
    process = ctypes.CDLL(None)
    source = process if hasattr(process, "MPI_Reduce_local") else ctypes.CDLL(MPI.__file__)
    return ctypes.cast(source.MPI_Reduce_local, ctypes.c_void_p).value or 0


def _sorted(schedule: "np.ndarray[Any, Any] | None") -> bytes:
    """Give the rows of a schedule in the order in which the engine looks for them."""
    if schedule is None:
        return b""
    if schedule.dtype != MATCH_DTYPE:
        raise UsageError(
            "what is to be replayed is not a schedule", help="give what Comm.schedule() returned"
        )
    return np.sort(schedule, order=["kind", "receiver", "receive"]).tobytes()


class Comm:
    """A communicator of coscheduled ranks: their operations are matched and moved in slices.

    The methods are those of `mpi4py.MPI.Comm` for buffers, so that a program changes one line.

    Parameters
    ----------
    comm : MPI.Intracomm, optional
        The ranks; all of MPI.COMM_WORLD's if it isn't given.
    slice : float, optional
        Seconds of a time slice, at least 100 µs; if it isn't given, 500 µs on one node and 1 ms on several.
    adapt : bool, optional
        Slices become longer where more than 1 % of them begin late; not in a replay.
    mode : {"early", "strict"}, optional
        "early": a slice begins as soon as a rank blocks, and at its time only where bytes move while ranks
        compute.  "strict": at its time only, as in the paper: an operation posted in slice i is scheduled in
        slice i + 1, and its ranks go on when slice i + 2 begins; on several nodes, when all have told each
        other in that slice what they did.
    ordered : bool, optional
        Receives from any rank, and tests, are decided when all ranks are blocked: then they depend on the
        program alone, not on timing.  False: as soon as something matches.
    table : int, optional
        Messages and collective operations of a rank of which up to 64 KiB each travel ahead.  While so many
        wait for the other ranks, the next ones stay in the program's memory: their sends wait for receivers.
    mmds : bool, optional
        Each process is monitored for `report`.  Where the variable PSE_BCS_MMDS names a folder, all are, or
        those that PSE_BCS_MMDS_RANKS names, and each writes its report there when the communicator is freed.
    emds : int, optional
        The last so many slices are kept for `slices`.  Where the variable PSE_BCS_EMDS names a folder, 16,384
        are, or those that PSE_BCS_EMDS_SLICES names, and are written there.
    schedule : int, optional
        The last so many decisions are kept for `schedule`.
    replay : ndarray, optional
        What `schedule` gave in an earlier run, whole: everything is decided as it was then.  That of the
        lowest rank of each node counts.

    Raises
    ------
    UsageError
        The slice is too short, as such or for one of the machines, or a variable of the monitors makes no
        sense.
    RunError
        The system doesn't let ranks share memory, or read each other's, or nodes don't reach each other.

    Attributes
    ----------
    rank, size : int
        As in mpi4py.

    Notes
    -----
    J. Fernández, F. Petrini, E. Frachtenberg, Achieving predictable and scalable performance with BCS-MPI,
    sections 3 and 4.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np
    >>> from pse import bcs
    >>> with bcs.Comm(MPI.COMM_SELF) as comm:
    ...     total = np.zeros(1)
    ...     comm.Allreduce(np.array([2.5]), total, op=MPI.SUM)
    ...     float(total[0])
    2.5
    """

    def __init__(
        self,
        comm: MPI.Comm | None = None,
        *,
        slice: float | None = None,
        adapt: bool = True,
        mode: Literal["early", "strict"] = "early",
        ordered: bool = True,
        table: int = 1024,
        mmds: bool = False,
        emds: int = 0,
        schedule: int = 0,
        replay: "np.ndarray[Any, Any] | None" = None,
    ) -> None:
        if mode not in ("early", "strict"):
            raise UsageError(
                f"the mode is {mode!r}; it must be early or strict", help='for example:  mode="strict"'
            )
        given = None if slice is None else slice_length(slice)
        self._settings = monitor_settings()
        self._parent = (comm or MPI.COMM_WORLD).Dup()
        self.rank, self.size = self._parent.rank, self._parent.size
        beside, nodes = nodes_of(self._parent)
        length = given or (DEFAULT_FAR_SLICE if nodes.any() else DEFAULT_SLICE)
        self._reduce_local = _reduce_local()
        kept = emds or (self._settings.kept if self._settings.slices else 0)
        self._options: dict[str, Any] = {
            "table": table, "strict": mode == "strict", "ordered": ordered, "slice": length,
            "chunk": length * BYTES_PER_NS, "adapted": adapt and replay is None, "monitored": kept,
            "window": (self._settings.first, self._settings.last), "logged": schedule,
            "replay": _sorted(replay),
        }  # fmt: skip
        self._engine = make_engine(self._parent, beside, nodes, self._options)
        self._is_leader = beside.rank == 0
        beside.Free()
        self._is_free = False
        self._number = next(_numbers)
        self._is_monitored = mmds or self._settings.is_monitored(self.rank)
        if self._is_monitored:
            self._engine.begin_monitor(names_of_routines())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.Free()
        else:
            self._engine.leave()

    def Free(self) -> None:
        """Wait for all ranks and give up the communicator."""
        if self._is_free:
            return
        self.Barrier()
        self._is_free = True
        self._write_files()
        if self.rank == 0 and (said := self._engine.pace_text()):
            sys.stderr.write(f"warning: {said}\n")
        self._parent.Barrier()
        self._engine.leave()
        self._parent.Free()

    def _write_files(self) -> None:
        if self._is_monitored:
            self._engine.end_monitor()
        try:
            if self._settings.is_monitored(self.rank):
                self._engine.write_report(self._settings.reports, self._number)
            if self._settings.slices and self._is_leader:
                self._engine.write_slices(self._settings.slices, self._number)
        except OSError as error:
            sys.stderr.write(f"warning: what the monitors of rank {self.rank} have seen is lost: {error}\n")

    def Get_rank(self) -> int:
        """Give the number of this rank."""
        return self.rank

    def Get_size(self) -> int:
        """Give the number of ranks."""
        return self.size

    # Messages.

    def _peer(self, rank: int, what: str) -> int:
        if rank == MPI.ANY_SOURCE and what == "source":
            return _ANY
        if not 0 <= rank < self.size:
            raise UsageError(
                f"the {what} is rank {rank}; there are ranks 0 to {self.size - 1}",
                help="a rank is counted in this communicator, from 0",
            )
        return rank

    @staticmethod
    def _tag(tag: int) -> int:
        if tag == MPI.ANY_TAG:
            return _ANY
        if tag < 0:
            raise UsageError(
                f"the tag is {tag}; it must not be negative",
                help="choose a tag from 0; ANY_TAG receives all of them",
            )
        return tag

    def _posted(self, number: int | None, buffers: Any, *, is_collective: bool = False) -> Request:
        if number is None:
            raise failure_of(self._engine)
        return Request(self._engine, number, buffers, is_collective)

    def _finish(self, found: Outcomes | None, status: MPI.Status | None = None) -> None:
        if found is None:
            raise failure_of(self._engine)
        fill(status, found)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a message; its buffer may be changed afterwards."""
        if dest == MPI.PROC_NULL:
            return
        if self._engine.send(data_of(buf), self._peer(dest, "destination"), self._tag(tag)) is None:
            raise failure_of(self._engine)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a message; its buffer must not be changed until the request is complete."""
        if dest == MPI.PROC_NULL:
            return Request(None)
        data = data_of(buf)
        return self._posted(self._engine.isend(data, self._peer(dest, "destination"), self._tag(tag)), data)

    def Recv(
        self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None
    ) -> None:
        """Receive a message."""
        if source == MPI.PROC_NULL:
            return fill(status, (MPI.PROC_NULL, MPI.ANY_TAG, 0, False))
        return self._finish(
            self._engine.receive(data_of(buf), self._peer(source, "source"), self._tag(tag)), status
        )

    def Irecv(self, buf: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG) -> Request:
        """Begin to receive a message."""
        if source == MPI.PROC_NULL:
            return Request(None)
        data = data_of(buf)
        return self._posted(self._engine.ireceive(data, self._peer(source, "source"), self._tag(tag)), data)

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = MPI.ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: MPI.Status | None = None,
    ) -> None:
        """Send a message and receive another."""
        request = self.Irecv(recvbuf, source, recvtag)
        self.Send(sendbuf, dest, sendtag)
        request.Wait(status)

    def Probe(
        self, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None
    ) -> bool:
        """Wait for a message that could be received, and tell its source, tag and size."""
        self._finish(self._engine.probe(self._peer(source, "source"), self._tag(tag)), status)
        return True

    def Iprobe(
        self, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None
    ) -> bool:
        """Say whether there is a message that could be received."""
        found = self._engine.iprobe(self._peer(source, "source"), self._tag(tag))
        if isinstance(found, bool):
            return False
        self._finish(found, status)
        return True

    # Collective operations.

    def _run(self, plan: "_Plan") -> None:
        found = self._engine.collective(*plan)
        if found is None:
            raise failure_of(self._engine)
        check_pieces(found)

    def _begin(self, plan: "_Plan") -> Request:
        return self._posted(self._engine.icollective(*plan), plan, is_collective=True)

    def _root(self, root: int) -> int:
        return self._peer(root, "root")

    def Barrier(self) -> None:
        """Wait until all ranks have come here."""
        self._run(_Plan(Collective.BARRIER))

    def Ibarrier(self) -> Request:
        """Begin a barrier."""
        return self._begin(_Plan(Collective.BARRIER))

    def _bcast(self, buf: Any, root: int) -> "_Plan":
        span = span_of(buf)
        targets = [(0, span.bytes)] * self.size
        return _Plan(Collective.BCAST, self._root(root), span.data, span.data, targets=targets)

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """Give all ranks what the root has."""
        self._run(self._bcast(buf, root))

    def Ibcast(self, buf: Any, root: int = 0) -> Request:
        """Begin a broadcast."""
        return self._begin(self._bcast(buf, root))

    def _reduce(
        self, operation: Collective, sendbuf: Any, recvbuf: Any, op: MPI.Op, root: int = -1
    ) -> "_Plan":
        into = None if root not in (-1, self.rank) else span_of(recvbuf)
        span = self._own(sendbuf, into, is_read=operation in (Collective.SCAN, Collective.EXSCAN))
        if into is not None and into.bytes < span.bytes:
            raise UsageError(
                f"the result of a reduction has {span.bytes} bytes, and its buffer {into.bytes}",
                help="give a receive buffer with as many elements of the same type as the send buffer",
            )
        kind, how = MPI._handleof(span.type), MPI._handleof(op)
        reduction = (self._reduce_local, kind, how, span.item, meaning_of(kind, how, span.item))
        return _Plan(operation, root, span.data, into.data if into else None, reduction=reduction)

    def _own(self, sendbuf: Any, into: Span | None, is_read: bool) -> Span:
        """Give the buffer to send; in place it is the result's, or a copy if others read it meanwhile."""
        if sendbuf is not MPI.IN_PLACE:
            return span_of(sendbuf)
        if into is None:
            raise UsageError(
                "MPI.IN_PLACE stands for the receive buffer, and this rank has none",
                help="give a send buffer on this rank; MPI.IN_PLACE needs a receive buffer",
            )
        return Span(np.array(into.data, copy=True), into.bytes, into.type) if is_read else into

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0) -> None:
        """Combine the buffers of all ranks at the root, in the order of ranks: the same bits each time."""
        self._run(self._reduce(Collective.REDUCE, sendbuf, recvbuf, op, self._root(root)))

    def Ireduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0) -> Request:
        """Begin a reduction."""
        return self._begin(self._reduce(Collective.REDUCE, sendbuf, recvbuf, op, self._root(root)))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        """Combine the buffers of all ranks, in the order of ranks, for all: the same bits each time."""
        self._run(self._reduce(Collective.ALLREDUCE, sendbuf, recvbuf, op))

    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Request:
        """Begin a reduction for all."""
        return self._begin(self._reduce(Collective.ALLREDUCE, sendbuf, recvbuf, op))

    def Scan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        """Combine the buffers of this rank and those before it."""
        self._run(self._reduce(Collective.SCAN, sendbuf, recvbuf, op))

    def Iscan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Request:
        """Begin a scan."""
        return self._begin(self._reduce(Collective.SCAN, sendbuf, recvbuf, op))

    def Exscan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        """Combine the buffers of the ranks before this one; rank 0's result stays as it is."""
        self._run(self._reduce(Collective.EXSCAN, sendbuf, recvbuf, op))

    def Iexscan(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Request:
        """Begin an exclusive scan."""
        return self._begin(self._reduce(Collective.EXSCAN, sendbuf, recvbuf, op))

    def _scatter(self, sendbuf: Any, recvbuf: Any, root: int) -> "_Plan":
        is_root = self.rank == self._root(root)
        whole, pieces = pieces_of(sendbuf, self.size) if is_root else (None, [(0, 0)] * self.size)
        # In place the root's piece stays where it is.
        into = None if recvbuf is MPI.IN_PLACE else span_of(recvbuf)
        targets = [(0, into.bytes if into else 0)] * self.size
        data, target = whole.data if whole else None, into.data if into else None
        return _Plan(Collective.SCATTER, root, data, target, pieces, targets)

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Give each rank its piece of the root's buffer."""
        self._run(self._scatter(sendbuf, recvbuf, root))

    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Begin a scatter."""
        return self._begin(self._scatter(sendbuf, recvbuf, root))

    def _gather(self, operation: Collective, sendbuf: Any, recvbuf: Any, root: int = -1) -> "_Plan":
        receives = root in (-1, self.rank)
        whole, targets = pieces_of(recvbuf, self.size) if receives else (None, [(0, 0)] * self.size)
        if sendbuf is not MPI.IN_PLACE:
            data = data_of(sendbuf)
        elif whole is None:
            raise UsageError(
                "MPI.IN_PLACE stands for a piece of the receive buffer, and this rank has none",
                help="give a send buffer on this rank; MPI.IN_PLACE needs a receive buffer",
            )
        else:
            begin, size = targets[self.rank]
            data = bytes_of(whole.data)[begin : begin + size]
        return _Plan(operation, root, data, whole.data if whole else None, targets=targets)

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """Collect the buffers of all ranks at the root."""
        self._run(self._gather(Collective.GATHER, sendbuf, recvbuf, self._root(root)))

    def Igather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Request:
        """Begin a gather."""
        return self._begin(self._gather(Collective.GATHER, sendbuf, recvbuf, self._root(root)))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Collect the buffers of all ranks for all of them."""
        self._run(self._gather(Collective.ALLGATHER, sendbuf, recvbuf))

    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin an allgather."""
        return self._begin(self._gather(Collective.ALLGATHER, sendbuf, recvbuf))

    def _alltoall(self, sendbuf: Any, recvbuf: Any) -> "_Plan":
        into, targets = pieces_of(recvbuf, self.size)
        if sendbuf is MPI.IN_PLACE:
            whole, pieces = self._own(sendbuf, into, is_read=True), targets
        else:
            whole, pieces = pieces_of(sendbuf, self.size)
        return _Plan(Collective.ALLTOALL, -1, whole.data, into.data, pieces, targets)

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Give each rank its piece of every rank's buffer."""
        self._run(self._alltoall(sendbuf, recvbuf))

    def Ialltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin an alltoall."""
        return self._begin(self._alltoall(sendbuf, recvbuf))

    # Pieces of different sizes: the buffers say so themselves.
    Scatterv, Iscatterv = Scatter, Iscatter
    Gatherv, Igatherv = Gather, Igather
    Allgatherv, Iallgatherv = Allgather, Iallgather
    Alltoallv, Ialltoallv = Alltoall, Ialltoall

    # What can be seen.

    def totals(self) -> dict[str, int]:
        """Count what happened so far.

        Returns
        -------
        dict
            ``slices``, ``epochs`` (how often all ranks were blocked: a function of the program alone),
            ``timed`` slices and those of them that were more than a tenth of a slice ``late``, the ``length``
            of slices by now (ns), ``matches``, and the ``messages`` that this node has sent to others for
            slices.
        """
        return self._engine.totals()

    def report(self) -> Report:
        """Say what this process did so far (MMDS).

        Returns
        -------
        Report
            Empty unless the communicator is monitored.
        """
        return report_of(self._engine, self.rank)

    def slices(self) -> "np.ndarray[Any, Any]":
        """Give the last slices, one row each (EMDS, tables 5.1 and 5.2 of the paper).

        Returns
        -------
        ndarray
            Structured; times in ns.
        """
        return np.frombuffer(self._engine.slices(), SLICE_DTYPE)

    def schedule(self) -> "np.ndarray[Any, Any]":
        """Give the last decisions, one row each, in the order in which they were made.

        Returns
        -------
        ndarray
            Structured: slice, epoch, receiver, source, which descriptor of each, bytes, tag; and kind, which
            is 0 for matches of messages and 1 for what tests and waits for one of several were told.
        """
        return np.frombuffer(self._engine.matches(), MATCH_DTYPE)

    def checkpoint(self, path: str | os.PathLike[str], *, every: float = 0.0, **arrays: Any) -> bool:
        """Save the arrays of all ranks, and the messages that have been sent and not received.

        All ranks call it.  Those of their requests that receive, or are collective operations, are complete;
        messages that nobody has received yet are part of the checkpoint, and received after `restore`.

        Parameters
        ----------
        path : path
            A directory, made if there is none; what was saved there before is replaced when all is written.
        every : float, optional
            Write only if the last checkpoint is so many seconds old: rank 0's clock decides.
        **arrays : array_like
            What this rank saves, under the names that `restore` gives back; numbers of any shape.

        Returns
        -------
        bool
            Whether it was written.

        Raises
        ------
        UsageError
            On all ranks: one has receives or collective operations under way, an array has objects of Python,
            or the system refuses to write.

        See Also
        --------
        restore
        """
        if not is_due(self, os.fspath(path), every):
            return False
        write(self, self._engine, os.fspath(path), arrays)
        return True

    def restore(self, path: str | os.PathLike[str]) -> "dict[str, np.ndarray[Any, Any]] | None":
        """Go on where a checkpoint was written: all ranks call it, right after the communicator was made.

        Parameters
        ----------
        path : path
            The directory of checkpoints.

        Returns
        -------
        dict of ndarray or None
            What this rank saved, by name; None if no checkpoint has been completed there.

        Raises
        ------
        UsageError
            On all ranks: a file is damaged or missing, the checkpoint is of another number of ranks, or
            operations are under way.

        Examples
        --------
        >>> from mpi4py import MPI
        >>> from pse import bcs
        >>> with bcs.Comm(MPI.COMM_SELF) as comm:
        ...     comm.Send(np.array([2.5]), dest=0)
        ...     comm.checkpoint("saved", step=np.array(7))
        True
        >>> with bcs.Comm(MPI.COMM_SELF) as comm:
        ...     state = comm.restore("saved")
        ...     comm.Recv(came := np.zeros(1), source=0)
        ...     int(state["step"]), float(came[0])
        (7, 2.5)
        """
        found = read(self, self._engine, os.fspath(path))
        if found is None:
            return None
        arrays, self._restored = found
        return arrays

    def Abort(self, errorcode: int = 0) -> None:
        """End all ranks of the job."""
        self._parent.Abort(errorcode)

    def Dup(self) -> "Comm":
        """Make another communicator of the same ranks."""
        return self._like(self._parent)

    def Split(self, color: int = 0, key: int = 0) -> "Comm | None":
        """Make communicators of the ranks with the same color; None for the color MPI.UNDEFINED."""
        part = self._parent.Split(color, key)
        return None if part == MPI.COMM_NULL else self._like(part)

    def _like(self, comm: MPI.Comm) -> "Comm":
        return Comm(
            comm,
            slice=self._options["slice"] / 1e9,
            adapt=self._options["adapted"],
            mode="strict" if self._options["strict"] else "early",
            ordered=bool(self._options["ordered"]),
            table=self._options["table"],
            mmds=self._is_monitored,
            emds=self._options["monitored"],
            schedule=self._options["logged"],
        )
