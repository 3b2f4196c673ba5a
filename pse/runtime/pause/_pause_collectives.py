"""The other ranks, as a pause needs them: sums, transfers and meetings over MPI, asleep while they wait.

Messages of the run itself (`transport`) are served meanwhile; transfers have tags of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from pse.runtime._channel import Board
from pse.runtime.supervise._backoff import LONGEST, Backoff
from pse.runtime.transport._transport import Transport

HEAD_TAG, ARRAY_TAG = 3, 4
_Bytes = npt.NDArray[np.uint8]


class MpiPeers:
    """All ranks of a communicator that only the engine uses; `longest` is what a wait for them may sleep."""

    def __init__(
        self, comm: MPI.Intracomm, board: Board, transport: Transport, longest: float = LONGEST
    ) -> None:
        self.comm, self.board, self.transport, self._longest = comm, board, transport, longest
        self._leaving: list[tuple[MPI.Request, object]] = []

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Sum numbers over all ranks; every rank gets the sums."""
        sums = np.array(numbers, np.int64)
        self.transport.poll()
        self.wait(self.comm.Iallreduce(MPI.IN_PLACE, sums).Test)
        return [int(total) for total in sums]

    def meet(self) -> None:
        """Return when all ranks are here."""
        self.wait(self.comm.Ibarrier().Test)

    def send(self, rank: int, head: bytes, arrays: Sequence[_Bytes]) -> None:
        """Begin to send a transfer: its head, then its arrays."""
        self._leaving.append((self.comm.Isend([head, MPI.BYTE], rank, HEAD_TAG), head))
        for array in arrays:
            self._leaving.append((self.comm.Isend([array, MPI.BYTE], rank, ARRAY_TAG), array))

    def receive(self, rank: int, room: Callable[[bytes], Sequence[_Bytes]]) -> None:
        """Receive a transfer from a rank; `room` allocates its arrays once its head has arrived."""
        requests = [self.comm.Irecv([array, MPI.BYTE], rank, ARRAY_TAG) for array in room(self._head(rank))]
        self.wait(lambda: MPI.Request.Testall(requests))

    def sent(self) -> None:
        """Return when every transfer has left."""
        requests = [request for request, _ in self._leaving]
        self.wait(lambda: MPI.Request.Testall(requests))
        self._leaving.clear()

    def _head(self, rank: int) -> bytes:
        status = MPI.Status()
        found: list[MPI.Message] = []

        def look() -> bool:
            message = self.comm.Improbe(rank, HEAD_TAG, status)
            found.extend([message] if message is not None else [])
            return bool(found)

        self.wait(look)
        head = bytearray(status.Get_count(MPI.BYTE))
        found[0].Recv([head, MPI.BYTE])
        return bytes(head)

    def broadcast(self, data: bytes) -> bytes:
        """Give what the first rank says to every rank; what others give doesn't count."""
        size = np.array([len(data)], np.int64)
        self.wait(self.comm.Ibcast(size).Test)
        if not size[0]:
            return b""
        room = (
            np.frombuffer(data, np.uint8) if self.comm.Get_rank() == 0 else np.empty(int(size[0]), np.uint8)
        )
        self.wait(self.comm.Ibcast(room).Test)
        return room.tobytes()

    def gather(self, data: bytes) -> list[bytes]:
        """Gather what every rank says on the first one; the others get an empty list."""
        first, mine = self.comm.Get_rank() == 0, np.frombuffer(data, np.uint8)
        sizes = np.zeros(self.comm.Get_size(), np.int64)
        self.wait(self.comm.Igather(np.array([mine.size], np.int64), sizes).Test)
        room = np.empty(int(sizes.sum()) if first else 0, np.uint8)
        self.wait(self.comm.Igatherv(mine, [room, (sizes, None)]).Test)
        ends = np.cumsum(sizes) if first else ()
        return [room[end - size : end].tobytes() for size, end in zip(sizes, ends, strict=first)]

    def wait(self, done: Callable[[], bool]) -> None:
        """Sleep between looks; whoever rings this rank ends a sleep.

        Others may still be busy, or stuck: they get their answers.
        """
        rank, backoff = self.comm.Get_rank(), Backoff(self._longest)
        while not done():
            bell = self.board.bell(rank)
            self.transport.sequencer.serve()
            if self.transport.poll():
                backoff.reset()
                continue
            self.board.wait(rank, bell, backoff.seconds)
            backoff.lengthen()
