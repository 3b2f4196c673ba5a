"""Operations on copies of several machines: rank 0 puts all of them into one order, and does one at a time.

A rank sends its operation to the sequencer, a thread of rank 0.  For each the sequencer asks the machines
concerned, each of which has a server (a thread of its lowest rank), whether the comparison holds there, lets
all of them apply the write, and answers when all have.  So operations are totally ordered, each machine
applies them in that order, and a rank that reads its own copy has first waited for its own operations: that
is sequential consistency (Attiya and Welch, Sequential consistency versus linearizability, 1994).
"""

import threading
from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse.coschedule._memory_copies import Placement, Write
from pse.errors import RunError
from pse.runtime.supervise import Backoff

_REQUEST, _WORK, _ANSWER, _REPLY = range(1, 5)
"""Tags: a rank to the sequencer, that to a server, back, and back to the rank."""
_UNDER_WAY: Final = 64
"""The most operations that a rank has under way."""
_NONE: Final = -1


class _Step(IntEnum):
    """What a server is to do."""

    COMPARE, APPLY, SIGNAL, END = range(4)


_HEADER = np.dtype(
    [(name, np.int64) for name in (
        "step", "origin", "bytes", "offset", "local", "remote", "comparison", "value", "compared", "count",
    )]
)  # fmt: skip
"""Before the nodes and the data of an operation; `comparison` is _NONE if nothing is compared."""


class _Operation:
    """An operation as it travels: a header, nodes, data."""

    def __init__(self, message: NDArray[np.uint8]) -> None:
        self.message = message
        self.header = message[: _HEADER.itemsize].view(_HEADER)[0]
        nodes = _HEADER.itemsize + 8 * int(self.header["count"])
        self.nodes = message[_HEADER.itemsize : nodes].view(np.int64)
        self.data = message[nodes:]

    @classmethod
    def make(cls, nodes: Sequence[int], data: NDArray[np.uint8], **fields: int) -> "_Operation":
        """Write one."""
        header = np.zeros(1, _HEADER)
        for name, value in fields.items():
            header[name] = value
        header["count"], header["bytes"] = len(nodes), len(data)
        parts = (header.view(np.uint8), np.asarray(nodes, np.int64).view(np.uint8), data)
        return cls(np.concatenate(parts))

    def __getitem__(self, name: str) -> int:
        return int(self.header[name])

    def of(self, step: _Step) -> NDArray[np.uint8]:
        """Give the message that tells a server to do a step; data only where they are needed."""
        self.header["step"] = step
        return self.message if step == _Step.APPLY else self.message[: len(self.message) - len(self.data)]

    def do(self, step: _Step, place: Placement) -> bool:
        """Do a step on this machine."""
        here, memory = place.here(self.nodes), place.memory
        if step == _Step.COMPARE:
            return memory.compare_and_write(self["compared"], self["comparison"], self["value"], here, None)
        if step == _Step.APPLY:
            remote = self["remote"]
            memory.put(self.data, self["offset"], here, 0, None, None if remote == _NONE else remote)
        else:
            memory.put(b"", 0, [], int(place.indices[self["origin"]]), self["local"], None)
        return True


def _receive(comm: MPI.Intracomm, tag: int) -> tuple[NDArray[np.uint8], int] | None:
    """Take the next message, if there is one, and say who sent it."""
    status = MPI.Status()
    found = comm.Improbe(MPI.ANY_SOURCE, tag, status)
    if found is None:
        return None
    message = np.empty(status.Get_count(MPI.BYTE), np.uint8)
    request = found.Irecv([message, MPI.BYTE])
    Backoff().sleep_until(request.Test)
    return message, status.Get_source()


class _Server:
    """The thread of a machine's lowest rank; that of rank 0 is the sequencer too."""

    def __init__(self, place: Placement, comm: MPI.Intracomm) -> None:
        self._place, self._comm = place, comm
        self._machines = sorted(set(place.machines.tolist()))
        self._ended = False
        self._serves = self._sequence if comm.rank == 0 else self._answer
        self._thread = threading.Thread(target=self._run, name="pse global memory", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End this thread alone; it may wait for a machine that no longer answers."""
        self._ended = True
        self._thread.join(1.0)

    def join(self) -> None:
        """End all servers; nothing is under way any more."""
        if self._comm.rank == 0:
            end = _Operation.make([], np.empty(0, np.uint8)).of(_Step.END)
            for machine in self._machines[1:]:
                self._place.wait(self._comm.Isend([end, MPI.BYTE], machine, _WORK))
            self._ended = True
        self._thread.join()

    def _run(self) -> None:
        while not self._ended:
            Backoff().sleep_until(lambda: self._ended or self._serve_next())

    def _serve_next(self) -> bool:
        found = _receive(self._comm, _REQUEST if self._comm.rank == 0 else _WORK)
        if found is not None:
            self._serves(_Operation(found[0]), found[1])
        return found is not None

    def _answer(self, operation: _Operation, source: int) -> None:
        step = _Step(operation["step"])
        if step == _Step.END:
            self._ended = True
            return
        done = np.array([operation.do(step, self._place)], np.int64)
        self._place.wait(self._comm.Isend(done, source, _ANSWER))

    def _sequence(self, operation: _Operation, source: int) -> None:
        holds = operation["comparison"] == _NONE or self._on_all(operation, _Step.COMPARE)
        if holds and (operation["bytes"] or operation["remote"] != _NONE):
            self._on_all(operation, _Step.APPLY)
        if operation["local"] != _NONE:
            self._on(operation, _Step.SIGNAL, [int(self._place.machines[operation["origin"]])])
        self._place.wait(self._comm.Isend(np.array([holds], np.int64), source, _REPLY))

    def _on_all(self, operation: _Operation, step: _Step) -> bool:
        return self._on(operation, step, sorted(set(self._place.machines[operation.nodes].tolist())))

    def _on(self, operation: _Operation, step: _Step, machines: Sequence[int]) -> bool:
        """Let machines do a step, and wait until all have; true if it is so on all."""
        message = operation.of(step)
        others = [machine for machine in machines if machine != self._comm.rank]
        answers = np.ones(len(others), np.int64)
        requests = [self._comm.Isend([message, MPI.BYTE], machine, _WORK) for machine in others]
        requests += [
            self._comm.Irecv(answers[at : at + 1], machine, _ANSWER) for at, machine in enumerate(others)
        ]
        mine = operation.do(step, self._place) if self._comm.rank in machines else True
        Backoff().sleep_until(lambda: MPI.Request.Testall(requests))
        return mine and bool(answers.all())


class Sequenced:
    """Operations between machines, as a rank asks the sequencer for them."""

    def __init__(self, place: Placement) -> None:
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise RunError(
                f"the global memory's {place.comm.size} nodes are on several machines, where threads of a "
                "rank communicate, and MPI was begun for one thread",
                help="leave mpi4py.rc.thread_level at 'multiple'",
            )
        self._place, self._comm = place, place.comm.Dup()
        self._under_way: deque[tuple[list[MPI.Request], NDArray[np.int64], _Operation]] = deque()
        self._lock = threading.Lock()
        self._server = _Server(place, self._comm) if place.index == 0 else None

    def put(
        self,
        block: NDArray[np.uint8],
        offset: int,
        nodes: Sequence[int],
        local: int | None,
        remote: int | None,
    ) -> None:
        """Put a block and signal events."""
        with self._lock:
            while len(self._under_way) >= _UNDER_WAY:
                self._finish_first()
            self._post(
                _Operation.make(
                    nodes, block, offset=offset, comparison=_NONE, origin=self._comm.rank,
                    local=_NONE if local is None else local, remote=_NONE if remote is None else remote,
                )
            )  # fmt: skip

    def compare(self, offset: int, comparison: int, value: int, nodes: Sequence[int], write: Write) -> bool:
        """Compare, and write if it holds."""
        target, data = (
            (0, np.empty(0, np.int64)) if write is None else (write[0], np.array(write[1:], np.int64))
        )
        with self._lock:
            answer = self._post(
                _Operation.make(
                    nodes, data.view(np.uint8), offset=target, comparison=comparison, value=value,
                    compared=offset, origin=self._comm.rank, local=_NONE, remote=_NONE,
                )
            )  # fmt: skip
            while self._under_way:
                self._finish_first()
            return bool(answer[0])

    def settle(self) -> None:
        """Wait until this rank's operations have happened."""
        with self._lock:
            while self._under_way:
                self._finish_first()

    def leave(self) -> None:
        """Wait until all ranks leave, then end the servers."""
        self.settle()
        self._place.wait(self._comm.Ibarrier())
        if self._server is not None:
            self._server.join()
        self._place.wait(self._comm.Ibarrier())
        self._comm.Free()

    def abandon(self) -> None:
        """End this rank's server without waiting for anybody: the program fails."""
        if self._server is not None:
            self._server.stop()

    def _post(self, operation: _Operation) -> NDArray[np.int64]:
        answer = np.empty(1, np.int64)
        requests = [
            self._comm.Irecv(answer, 0, _REPLY),
            self._comm.Isend([operation.message, MPI.BYTE], 0, _REQUEST),
        ]
        self._under_way.append((requests, answer, operation))
        return answer

    def _finish_first(self) -> None:
        requests, _, _ = self._under_way[0]
        Backoff().sleep_until(lambda: MPI.Request.Testall(requests))
        self._under_way.popleft()
