"""The core primitives of the paper's section 2: Xfer-And-Signal, Test-Event and Compare-And-Write."""

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Literal, Self

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse.coschedule._buffers import bytes_of
from pse.coschedule._memory_copies import Direct, Face, Placement
from pse.coschedule._sequencer import Sequenced
from pse.errors import UsageError
from pse.text import count_text

Comparison = Literal[">=", "<", "==", "!="]
COMPARISONS: Final[tuple[Comparison, ...]] = (">=", "<", "==", "!=")
"""In the order of the C++ enumeration."""
VARIABLE: Final = 8
"""Bytes of a global variable."""
_BOUND: Final = 1 << 63
_LARGEST: Final = 1 << 48
_MOST_EVENTS: Final = 1 << 16
_PERIOD: Final = 3600 * 10**9
"""ns of one sleep of a wait that has no end."""


class GlobalMemory:
    """Memory of which every rank has a copy, with the three operations on which BCS-MPI is built.

    Each rank is a *node* of the paper.  Every operation happens on all the nodes that it names or on
    none, and operations are sequentially consistent: there is one order of all of them that explains every
    result and has each rank's own in the order of its calls.

    Parameters
    ----------
    comm : MPI.Intracomm, optional
        The nodes; all ranks of MPI.COMM_WORLD if it isn't given.  All of them make the memory together.
    bytes : int
        Size of the memory.
    events : int, optional
        How many events each node has.

    Raises
    ------
    UsageError
        The sizes aren't positive, or differ between ranks.
    RunError
        The ranks are on several machines, and MPI lets only one thread of a process communicate.

    Attributes
    ----------
    rank, size : int
        As in mpi4py.
    bytes, events : int
        As given.

    Notes
    -----
    J. Fernández, F. Petrini, E. Frachtenberg, Achieving predictable and scalable performance with BCS-MPI,
    section 2.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np
    >>> from pse import bcs
    >>> with bcs.GlobalMemory(MPI.COMM_SELF, 64) as memory:
    ...     memory.xfer_and_signal(np.array([5]), offset=8, remote=0)
    ...     memory.test_event(0, timeout=10)
    ...     memory.compare_and_write(8, ">=", 5, write=(16, 1))
    ...     memory.variable(16)
    True
    True
    1
    """

    def __init__(self, comm: MPI.Intracomm | None = None, bytes: int = 4096, *, events: int = 64) -> None:
        self._comm = (comm or MPI.COMM_WORLD).Dup()
        self.rank, self.size = self._comm.rank, self._comm.size
        self.bytes, self.events = self._agreed(bytes, events)
        placement = Placement.make(self._comm, self.bytes, self.events)
        self._node, self._memory = placement.index, placement.memory
        self._face: Face = Direct(placement) if placement.is_single else Sequenced(placement)
        self._is_free = False

    def _agreed(self, size: int, events: int) -> tuple[int, int]:
        asked = [max(min(number, _LARGEST), 0) for number in (size, events)]
        mine = np.array([*asked, *(-number for number in asked)], np.int64)
        least = np.empty_like(mine)
        self._comm.Allreduce(mine, least, MPI.MIN)
        if (least[:2] != -least[2:]).any():
            raise UsageError(
                f"ranks ask for global memories of different sizes: {least[0]} to {-least[2]} bytes "
                f"with {least[1]} to {-least[3]} events",
                help="give the same numbers on all ranks",
            )
        for number, what, most in ((size, "bytes", _LARGEST), (events, "events", _MOST_EVENTS)):
            if not 1 <= number <= most:
                raise UsageError(
                    f"a global memory of {number} {what}; there must be 1 to {most}",
                    help="give a number in that range, the same on all ranks",
                )
        return size, events

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.Free()
        elif not self._is_free:
            self._is_free = True
            self._face.abandon()

    def Free(self) -> None:
        """Wait for all ranks and give up the memory."""
        if not self._is_free:
            self._is_free = True
            self._face.leave()
            self._comm.Free()

    @property
    def view(self) -> NDArray[np.uint8]:
        """Copy of this node itself: quick, but its bytes may change while they are read."""
        self._require_life()
        return np.frombuffer(self._memory.copy(self._node), np.uint8)

    def read(self, offset: int, bytes: int) -> bytes:
        """Read this node's copy in one step, after this rank's own operations.

        Parameters
        ----------
        offset, bytes : int
            Where, and how many.

        Returns
        -------
        bytes
            What is there: of each operation all or nothing.
        """
        self._require_life()
        self._require_inside(offset, bytes)
        self._face.settle()
        return self._memory.read(self._node, offset, bytes)

    def variable(self, offset: int) -> int:
        """Read this node's copy of a global variable.

        Parameters
        ----------
        offset : int
            Where it lies: a multiple of 8.

        Returns
        -------
        int
            Its value.
        """
        self._require_variable(offset)
        return int.from_bytes(self.read(offset, VARIABLE), "little", signed=True)

    def xfer_and_signal(
        self,
        data: Any,
        offset: int,
        nodes: Iterable[int] | None = None,
        *,
        local: int | None = None,
        remote: int | None = None,
    ) -> None:
        """Put a block into the global memory of some nodes: of all, or of none if this process is killed.

        The block may be changed when the call returns.  On one machine it is in place then; between machines
        it is under way, and the local event tells when it is in place.

        Parameters
        ----------
        data : buffer
            The block: anything contiguous, such as bytes or an array.
        offset : int
            Where it goes, on all of them.
        nodes : iterable of int, optional
            Where it goes; all nodes if it isn't given.
        local, remote : int, optional
            An event of this node, and one of each of `nodes`, that is signalled when the block is in place.

        Raises
        ------
        UsageError
            The block isn't contiguous or ends outside the memory, or there is no such node or event.
        """
        self._require_life()
        block = bytes_of(data if isinstance(data, np.ndarray) else _buffer_of(data))
        self._require_inside(offset, block.nbytes)
        for event in (local, remote):
            if event is not None:
                self._require_event(event)
        self._face.put(block, offset, self._nodes(nodes), local, remote)

    def test_event(self, event: int, *, block: bool = True, timeout: float | None = None) -> bool:
        """Consume one signal of an event of this node.

        Parameters
        ----------
        event : int
            The event.
        block : bool, optional
            Sleep until it is signalled.  False: only look.
        timeout : float, optional
            The most seconds to sleep; no limit if it isn't given.

        Returns
        -------
        bool
            Whether there was a signal.

        Raises
        ------
        UsageError
            There is no such event, or the time is negative.
        """
        self._require_life()
        self._require_event(event)
        if timeout is not None and not timeout >= 0:
            raise UsageError(
                f"the timeout is {timeout} s; it must not be negative",
                help="give seconds from 0, or None to wait without end",
            )
        deadline = None if timeout is None else time.monotonic_ns() + round(min(timeout, 1e9) * 1e9)
        while True:
            left = _PERIOD if deadline is None else max(deadline - time.monotonic_ns(), 0)
            found = self._memory.test(self._node, event, left if block else 0)
            if found or (found is False and (not block or deadline is not None)):
                return bool(found)

    def compare_and_write(
        self,
        offset: int,
        comparison: Comparison,
        value: int,
        nodes: Iterable[int] | None = None,
        *,
        write: tuple[int, int] | None = None,
    ) -> bool:
        """Compare a global variable on some nodes with a value; if it holds on all of them, write there.

        Parameters
        ----------
        offset : int
            Where the variable lies: a multiple of 8; it is a signed integer of 8 bytes.
        comparison : {">=", "<", "==", "!="}
            The variable's relation to `value`.
        value : int
            What it is compared with.
        nodes : iterable of int, optional
            On which nodes; on all if it isn't given.
        write : tuple of int, optional
            Offset and new value of a variable, the same or another, on the same nodes.

        Returns
        -------
        bool
            Whether the comparison holds on all of them.

        Raises
        ------
        UsageError
            The comparison is none of these, a variable lies outside the memory or not at a multiple of 8, a
            value has more than 64 bits, or there is no such node.
        """
        self._require_life()
        if comparison not in COMPARISONS:
            raise UsageError(
                f"the comparison is {comparison!r}; it must be one of {' '.join(COMPARISONS)}",
                help="for example:  '>='",
            )
        for place, number in ((offset, value), *([] if write is None else [write])):
            self._require_variable(place)
            if not -_BOUND <= number < _BOUND:
                raise UsageError(
                    f"the value {number} doesn't fit a global variable, which has 64 bits",
                    help="give an integer from -2**63 to 2**63 - 1",
                )
        return self._face.compare(offset, COMPARISONS.index(comparison), value, self._nodes(nodes), write)

    def _require_life(self) -> None:
        if self._is_free:
            raise UsageError(
                "the global memory was freed", help="use it before Free, or before its `with` ends"
            )

    def _require_inside(self, offset: int, size: int) -> None:
        if offset < 0 or size < 0 or offset + size > self.bytes:
            raise UsageError(
                f"{count_text(size, 'byte')} at offset {offset} don't lie in the global memory, "
                f"which has {self.bytes}",
                help="make the memory larger where it is made, or look how the offset is computed",
            )

    def _require_variable(self, offset: int) -> None:
        self._require_inside(offset, VARIABLE)
        if offset % VARIABLE:
            raise UsageError(
                f"a global variable at offset {offset}; its offset must be a multiple of {VARIABLE}",
                help=f"use {offset - offset % VARIABLE}, or put plain data there by xfer_and_signal",
            )

    def _require_event(self, event: int) -> None:
        if not 0 <= event < self.events:
            raise UsageError(
                f"there is no event {event}; each node has events 0 to {self.events - 1}",
                help="ask for more where the memory is made: events=…",
            )

    def _nodes(self, nodes: Iterable[int] | None) -> list[int]:
        chosen = range(self.size) if nodes is None else sorted(set(nodes))
        if not chosen:
            raise UsageError("the set of nodes is empty", help="name at least one, or leave it out for all")
        for node in (chosen[0], chosen[-1]):
            if not 0 <= node < self.size:
                raise UsageError(
                    f"there is no node {node}; there are nodes 0 to {self.size - 1}",
                    help="nodes are counted from 0 in this communicator",
                )
        return list(chosen)


def _buffer_of(data: Any) -> Any:
    """See an object's memory as an array."""
    try:
        view = memoryview(data)
    except TypeError:
        raise UsageError(
            f"a block of type {type(data).__name__} has no memory to put",
            help="give bytes or an array: numpy.array([…])",
        ) from None
    return np.asarray(view)
