"""Where the copies of a global memory lie, and operations on copies that all lie on this machine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse.coschedule._agreement import shared_memory
from pse.coschedule._node_memory import NodeMemory
from pse.errors import UsageError
from pse.runtime.supervise import Backoff
from pse.text import size_text

Write = tuple[int, int] | None
"""Offset and value."""


class Face(Protocol):
    """How operations whose arguments have been checked are done."""

    def put(
        self,
        block: NDArray[np.uint8],
        offset: int,
        nodes: Sequence[int],
        local: int | None,
        remote: int | None,
    ) -> None:
        """Put a block and signal events."""

    def compare(self, offset: int, comparison: int, value: int, nodes: Sequence[int], write: Write) -> bool:
        """Compare, and write if it holds."""

    def settle(self) -> None:
        """Wait until this rank's operations have happened."""

    def leave(self) -> None:
        """Wait until all ranks leave."""

    def abandon(self) -> None:
        """Leave without waiting for anybody."""


def _require_room(comm: MPI.Intracomm, copies: int, size: int) -> None:
    """Refuse copies that some machine's memory has no room for; one is of what is being written."""
    room = np.array([os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // copies], np.int64)
    comm.Allreduce(MPI.IN_PLACE, room, MPI.MIN)
    if size > room[0]:
        raise UsageError(
            f"a global memory of {size_text(size)} has no room: with a copy for each rank, the machine with "
            f"the least memory has room for {size_text(int(room[0]))}",
            help="make it smaller, or put fewer ranks on a machine",
        )


@dataclass(frozen=True)
class Placement:
    """On which machine each rank is, and this machine's copies.

    Attributes
    ----------
    comm : MPI.Intracomm
        The nodes.
    machines : ndarray of int
        The machine of each rank: the lowest rank on it.
    indices : ndarray of int
        The number of each rank's copy among those of its machine.
    memory : NodeMemory
        Copies of the ranks of this machine.
    """

    comm: MPI.Intracomm
    machines: NDArray[np.int64]
    indices: NDArray[np.int64]
    memory: NodeMemory

    @classmethod
    def make(cls, comm: MPI.Intracomm, size: int, events: int) -> Self:
        """Let the lowest rank of each machine make its memory, and the others open it."""
        beside = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
        place = np.array([comm.rank, os.getpid(), 0], np.int64)
        _require_room(comm, beside.size + 1, size)
        memory = None
        with shared_memory(comm):
            if beside.rank == 0:
                memory = NodeMemory(beside.size, size, events)
                place[2] = memory.file()
        beside.Bcast(place)
        with shared_memory(comm):
            memory = memory or NodeMemory.open(*place[1:].tolist())
        all = np.empty((comm.size, 2), np.int64)
        comm.Allgather(np.array([place[0], beside.rank]), all)
        beside.Free()
        return cls(comm, all[:, 0].copy(), all[:, 1].copy(), memory)

    @property
    def is_single(self) -> bool:
        """Whether all ranks are on one machine."""
        return not self.machines.any()

    @property
    def machine(self) -> int:
        """Machine of this rank."""
        return int(self.machines[self.comm.rank])

    @property
    def index(self) -> int:
        """The number of this rank's copy."""
        return int(self.indices[self.comm.rank])

    def here(self, nodes: Sequence[int] | NDArray[np.int64]) -> list[int]:
        """Give the numbers of the copies of those nodes that are on this machine."""
        chosen = np.asarray(nodes)
        found: list[int] = self.indices[chosen[self.machines[chosen] == self.machine]].tolist()
        return found

    def wait(self, request: MPI.Request) -> None:
        """Sleep until something that MPI does is done."""
        Backoff().sleep_until(request.Test)


class Direct:
    """Operations on one machine: each is done by its caller, under the memory's lock."""

    def __init__(self, placement: Placement) -> None:
        self._place, self._memory, self._node = placement, placement.memory, placement.index

    def put(
        self,
        block: NDArray[np.uint8],
        offset: int,
        nodes: Sequence[int],
        local: int | None,
        remote: int | None,
    ) -> None:
        """Put a block and signal events."""
        self._memory.put(block, offset, self._place.here(nodes), self._node, local, remote)

    def compare(self, offset: int, comparison: int, value: int, nodes: Sequence[int], write: Write) -> bool:
        """Compare, and write if it holds."""
        return self._memory.compare_and_write(offset, comparison, value, self._place.here(nodes), write)

    def settle(self) -> None:
        """Nothing is ever under way."""

    def leave(self) -> None:
        """Wait until all ranks leave."""
        self._place.wait(self._place.comm.Ibarrier())

    def abandon(self) -> None:
        """Nobody waits for this rank."""
