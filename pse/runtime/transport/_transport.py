"""Hand-overs between nodes: typed arrays through MPI, without packing and without busy waiting.

A message is its head (the sequencer's message and the array's layout, fixed size) on one tag, then the
array on another, sent straight from where it lies: strided parts go as derived datatypes, arrivals are
received into the buffer that the module will read. MPI keeps the order of messages of one source on one
tag, so heads and arrays pair up. Nothing here blocks: `poll` starts, tests and delivers; the rank's loop
sleeps between polls.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from pse._abi.channel import MESSAGE_BYTES
from pse._abi.elements import FORMATS, TYPE_CODES
from pse._abi.memory import LAYOUT_DTYPE
from pse.records import dataclass
from pse.runtime._sequencer import Buffer, Sequencer
from pse.runtime.distribution._strided_copies import strides

HEAD_TAG, ARRAY_TAG = 1, 2
_HEAD_BYTES = MESSAGE_BYTES + LAYOUT_DTYPE.itemsize
_TYPES: Mapping[int, MPI.Datatype] = dict.fromkeys(range(len(FORMATS)), MPI.BYTE) | {
    code: MPI.Datatype.fromcode(name) for name, code in TYPE_CODES.items()
}
"""By the number of the element type; objects and records travel as bytes."""
Part = tuple[int, tuple[int, ...], tuple[int, ...]]
"""What of a buffer goes to another node: offset, shape and strides, in bytes."""

_LOOK_BYTES = 1 << 17
"""How much of an array should come between two looks: what MPI has no memory for waits on the other side."""


@dataclass
class Arrival:
    """A message that has begun to arrive, at a time in ns."""

    head: bytes
    buffer: Buffer | None
    request: MPI.Request | None
    size: int = 0
    begun: int = 0


class Transport:
    """Moves what the sequencer leaves in its outbox, and brings what other nodes send."""

    def __init__(self, comm: MPI.Intracomm, sequencer: Sequencer) -> None:
        self.comm, self.sequencer = comm, sequencer
        self._sending: list[tuple[MPI.Request, Buffer | None, object]] = []
        self._arriving: dict[int, deque[Arrival]] = {}
        self._types: dict[tuple[Any, ...], MPI.Datatype] = {}
        self._pace = 1.0  # bytes a ns
        self.sent = self.received = 0  # messages so far

    @property
    def busy(self) -> bool:
        """Whether sends or receives are under way."""
        return bool(self._sending) or any(self._arriving.values())

    @property
    def patience(self) -> float:
        """How many ns a look may wait while arrays are under way, going by how fast the last one came."""
        return _LOOK_BYTES / self._pace

    def poll(self) -> bool:
        """Start, test and deliver what can be; returns whether anything moved."""
        moved = self._send()
        moved |= self._accept()
        moved |= self._deliver()
        return self._retire() or moved

    def close(self) -> None:
        """Give back the derived datatypes."""
        for datatype in self._types.values():
            datatype.Free()
        self._types.clear()

    def _send(self) -> bool:
        outgoing = self.sequencer.outbox()
        for rank, head, buffer in outgoing:
            self._sending.append((self.comm.Isend([head, MPI.BYTE], rank, HEAD_TAG), None, head))
            self.sent += 1
            if buffer is not None:
                memory, datatype = self._outgoing(buffer)
                self._sending.append(
                    (self.comm.Isend([memory, 1, datatype], rank, ARRAY_TAG), buffer, memory)
                )
        return bool(outgoing)

    def _accept(self) -> bool:
        any_accepted = False
        status = MPI.Status()
        while (found := self.comm.Improbe(MPI.ANY_SOURCE, HEAD_TAG, status)) is not None:
            head = bytearray(_HEAD_BYTES)
            found.Recv([head, MPI.BYTE])
            self.received += 1
            source = status.Get_source()
            self._arriving.setdefault(source, deque()).append(self._begin(bytes(head), source))
            any_accepted = True
        return any_accepted

    def _begin(self, head: bytes, source: int) -> Arrival:
        buffer = self.sequencer.receive_buffer(head)
        if buffer is None:
            return Arrival(head, None, None)
        array, (code, _, _) = np.asarray(buffer), buffer.description
        count = array.nbytes // _TYPES[code].Get_size()
        request = self.comm.Irecv([buffer_bytes(array), count, _TYPES[code]], source, ARRAY_TAG)
        return Arrival(head, buffer, request, array.nbytes, time.monotonic_ns())

    def _deliver(self) -> bool:
        """Hand over what is complete, in the order in which each source sent it."""
        delivered = False
        for queue in self._arriving.values():
            while queue and (queue[0].request is None or queue[0].request.Test()):
                arrival = queue.popleft()
                self.sequencer.deliver(arrival.head, arrival.buffer)
                if arrival.size >= _LOOK_BYTES:
                    self._pace = arrival.size / max(time.monotonic_ns() - arrival.begun, 1)
                delivered = True
        return delivered

    def _retire(self) -> bool:
        left = []
        for entry in self._sending:
            request, buffer, _ = entry
            if not request.Test():
                left.append(entry)
            elif buffer is not None:
                self.sequencer.sent(buffer)
        retired = len(left) < len(self._sending)
        self._sending = left
        return retired

    def _outgoing(self, buffer: Buffer) -> tuple[MPI.buffer, MPI.Datatype]:
        """A buffer's memory, and what of it goes as one MPI datatype, kept for the next one like it."""
        code, itemsize, shape = buffer.description
        parts = buffer.moves if buffer.moves is not None else ((0, shape, strides(shape, itemsize)),)
        key = code, itemsize, parts
        if key not in self._types:
            self._types[key] = _several(_TYPES[code], itemsize, parts)
        reach = max(offset + _reach(extents, steps, itemsize) for offset, extents, steps in parts)
        return MPI.buffer.fromaddress(buffer.address, reach, readonly=True), self._types[key]


def _several(unit: MPI.Datatype, itemsize: int, parts: Sequence[Part]) -> MPI.Datatype:
    types = [_strided(unit, itemsize, shape, steps) for _, shape, steps in parts]
    whole = MPI.Datatype.Create_struct([1] * len(parts), [offset for offset, _, _ in parts], types)
    for datatype in types:
        datatype.Free()
    return whole.Commit()


def _strided(
    unit: MPI.Datatype, itemsize: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> MPI.Datatype:
    datatype = unit.Create_contiguous(itemsize // unit.Get_size())  # Of a record, its bytes.
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        inner, datatype = datatype, datatype.Create_hvector(extent, 1, stride)
        inner.Free()
    return datatype


def buffer_bytes(array: np.ndarray[Any, Any]) -> MPI.buffer:
    """The array's memory as MPI sees it: its first byte, the datatype says the rest."""
    reach = _reach(array.shape, array.strides, array.itemsize)
    return MPI.buffer.fromaddress(array.ctypes.data, reach, readonly=not array.flags.writeable)


def _reach(shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int) -> int:
    if 0 in shape:
        return 0
    return itemsize + sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))
