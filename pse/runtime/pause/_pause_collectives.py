"""The other ranks, as a pause needs them: sums, transfers and meetings over MPI, asleep while they wait.

Messages of the run itself (`transport`) are served meanwhile; transfers have tags of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from pse.runtime._channel import Board
from pse.runtime.supervise._backoff import LONGEST, Backoff
from pse.runtime.transport._transport import Transport

HEAD_TAG, ARRAY_TAG = 3, 4
MEETING_TAG, PART_TAG = 7, 8
_Bytes = npt.NDArray[np.uint8]
_NOTHING = bytearray()


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
        self.told(bytes)

    def told(self, say: Callable[[], bytes]) -> bytes:
        """Give what the first rank says when all ranks are here; it is asked then.

        Who comes wakes the first rank, and that one all others: in a collective operation ranks would have
        to look for each other.
        """
        if self.comm.Get_rank():
            self.wait_for([self.comm.Isend(_NOTHING, 0, MEETING_TAG)], rung=(0,))
            return self.tell(b"")
        self.wait_for([self.comm.Irecv(_NOTHING, rank, MEETING_TAG) for rank in self.others])
        return self.tell(say())

    def tell(self, data: bytes) -> bytes:
        """Give what the first rank says to every rank; what others give doesn't count."""
        if self.comm.Get_rank():
            return self.message(0, MEETING_TAG)
        leaving = [self.comm.Isend([data, MPI.BYTE], rank, MEETING_TAG) for rank in self.others]
        self.wait_for(leaving, rung=self.others)
        return data

    def gather(self, data: bytes) -> list[bytes]:
        """Gather what every rank says on the first one; the others get an empty list."""
        if self.comm.Get_rank():
            self.wait_for([self.comm.Isend([data, MPI.BYTE], 0, PART_TAG)], rung=(0,))
            return []
        return [data, *(self.message(rank, PART_TAG) for rank in self.others)]

    def send(self, rank: int, head: bytes, arrays: Sequence[_Bytes]) -> None:
        """Begin to send a transfer: its head, then its arrays."""
        self._leaving.append((self.comm.Isend([head, MPI.BYTE], rank, HEAD_TAG), head))
        for array in arrays:
            self._leaving.append((self.comm.Isend([array, MPI.BYTE], rank, ARRAY_TAG), array))

    def receive(self, rank: int, room: Callable[[bytes], Sequence[_Bytes]]) -> None:
        """Receive a transfer from a rank; `room` allocates its arrays once its head has arrived."""
        arrays = room(self.message(rank, HEAD_TAG))
        self.wait_for([self.comm.Irecv([array, MPI.BYTE], rank, ARRAY_TAG) for array in arrays])

    def sent(self) -> None:
        """Return when every transfer has left."""
        self.wait_for([request for request, _ in self._leaving])
        self._leaving.clear()

    @property
    def others(self) -> range:
        """All ranks but the first one."""
        return range(1, self.comm.Get_size())

    def message(self, rank: int, tag: int) -> bytes:
        """Wait for a message of any size."""
        status = MPI.Status()
        found: list[MPI.Message] = []

        def look() -> bool:
            message = self.comm.Improbe(rank, tag, status)
            found.extend([message] if message is not None else [])
            return bool(found)

        self.wait(look)
        text = bytearray(status.Get_count(MPI.BYTE))
        self.wait_for([found[0].Irecv([text, MPI.BYTE])])
        return bytes(text)

    def wait_for(self, requests: list[MPI.Request], rung: Iterable[int] = ()) -> None:
        """Wait for requests; ranks that are rung look at once, if they are on this node."""
        for rank in rung:
            self.board.ring(rank)
        self.wait(lambda: MPI.Request.Testall(requests))

    def wait(self, done: Callable[[], bool]) -> None:
        """Sleep between looks; whoever rings this rank ends a sleep.

        Others may still be busy, or stuck: they get their answers.
        """
        rank, backoff = self.comm.Get_rank(), Backoff(self._longest)
        bell = self.board.bell(rank)
        while not done():
            self.transport.sequencer.serve()
            if self.transport.poll():
                backoff.reset()
            else:
                self.board.wait(rank, bell, backoff.seconds)
                backoff.lengthen()
            bell = self.board.bell(rank)
