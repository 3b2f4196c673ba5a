"""Migration: partitions move to other processors while the program runs.

At every n-th pause all ranks sum up what each partition's calls cost (`_load_balancer` decides what should
move), and if it is worth it each rank builds its plan again, for the new placements. A new sequencer takes
over from the old one at the same point of the program: slots that stay pass to it as they are, those of
partitions that move go to their new ranks, by handle on a node and through MPI between nodes. So do pending
messages among partitions. Results don't depend on it, as they don't depend on where partitions live.

Nobody waits by spinning; other nodes' messages are served meanwhile. Queues are empty at a pause, so what
was taken from them is counted anew (`Board.forget_taken`), once nothing of the old counts is under way.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pse.records import dataclass
from pse.runtime._sequencer import Buffer, Sequencer
from pse.runtime.distribution import _load_balancer as balance
from pse.runtime.distribution._moves import Moves
from pse.runtime.pause import _pending_messages as pending_messages
from pse.runtime.plan._communicators import bound
from pse.runtime.plan._job import Job
from pse.runtime.plan._projection import Incarnation

Bytes = npt.NDArray[np.uint8]
Number = int | float | complex
Decide = Callable[[Sequence[int], Sequence[int], int, int, Collection[int]], tuple[int, ...] | None]
"""From owners, loads, processors, the cost of moving and who can't move: the owners to be, or None."""


class Peers(Protocol):
    """All ranks of the job, as far as a rebalance needs them; every method is asleep while it waits."""

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Sum numbers over all ranks; every rank gets the sums."""

    def meet(self) -> None:
        """Return when all ranks are here."""

    def send(self, rank: int, head: bytes, arrays: Sequence[Bytes]) -> None:
        """Begin to send a transfer: its head, then its arrays."""

    def receive(self, rank: int, room: Callable[[bytes], Sequence[Bytes]]) -> None:
        """Receive a transfer from a rank; `room` allocates its arrays once its head has arrived."""

    def sent(self) -> None:
        """Return when every transfer has left."""


class Rebalancing:
    """One rank's part in moving partitions.

    Parameters
    ----------
    rank : int
    job : Job
        With the placements that the run begins with.
    peers : Peers
    again : callable
        Makes what a rank runs from a job: the plan, and a sequencer for it.
    decide : callable, optional
        Says what should move.
    """

    def __init__(
        self,
        rank: int,
        job: Job,
        peers: Peers,
        again: Callable[[Job], Incarnation],
        decide: Decide = balance.better,
    ) -> None:
        self.rank, self.peers, self.again, self.decide = rank, peers, again, decide
        self.every = job.balance
        self.due = self.every
        self.moves = Moves()
        self._bound = bound(job)
        self._measured = [0] * sum(map(len, job.placements.values()))
        self._cost = 0

    def pause(self, now: Incarnation, serve: Callable[[Sequencer], None]) -> Incarnation | None:
        """Meet with all ranks at a pause that is due; gives what is to be run from there on, if that changes.

        `serve` is told who gets the messages from other nodes as soon as there can be any.
        """
        if now.sequencer.rounds + 1 < self.due:
            return None
        self.due = now.sequencer.rounds + 1 + self.every
        job, begun = now.job, time.monotonic_ns()
        *loads, cost = self.peers.add([*self._since_last(now.sequencer), self._cost])
        owners = [owner for name in job.placements for owner in job.placements[name]]
        self.moves.after = balance.imbalance(owners, loads, job.processors)
        chosen = self.decide(owners, loads, job.processors, cost // len(job.nodes), self._bound)
        if chosen is None:
            return None
        self._note(owners, chosen)
        then = self._move(now, replace(job, placements=balance.divided(chosen, job.placements)), serve)
        self._measured = [0] * len(owners)
        self._cost = time.monotonic_ns() - begun
        return then

    def _since_last(self, sequencer: Sequencer) -> list[int]:
        loads = sequencer.loads()
        since = [load - before for load, before in zip(loads, self._measured, strict=True)]
        self._measured = loads
        return since

    def _note(self, owners: Sequence[int], chosen: Sequence[int]) -> None:
        if self.moves.times == 0:
            self.moves.before = self.moves.after
        self.moves.times += 1
        self.moves.partitions += sum(a != b for a, b in zip(owners, chosen, strict=True))

    def _move(self, now: Incarnation, job: Job, serve: Callable[[Sequencer], None]) -> Incarnation:
        now.sequencer.take_all()
        pending_messages.settle(self.peers, now.sequencer)
        if not now.sequencer.messaging_is_empty():
            from pse.runtime.faults._partition_errors import partition_error

            raise partition_error(now.sequencer, now.projection)
        then = self.again(job)
        then.sequencer.start_at(now.sequencer.point, now.sequencer.rounds)
        move = _RankMigration(self.rank, now, then)
        for rank, transfer in move.outgoing().items():
            self.peers.send(rank, transfer.head(), transfer.arrays)
        for rank in move.sources():
            self.peers.receive(rank, move.unpack)
            move.deliver()
        move.keep()
        self.peers.sent()
        now.sequencer.abandon()
        self.peers.meet()
        self._forget_taken(job, then.sequencer)
        then.sequencer.succeed(now.sequencer)
        serve(then.sequencer)
        self.peers.meet()
        return then

    def _forget_taken(self, job: Job, sequencer: Sequencer) -> None:
        """Count anew what is taken from queues: each rank its own, the node's first those elsewhere."""
        mine = job.nodes[self.rank]
        sequencer.board.forget_taken(self.rank)
        if self.rank == job.nodes.index(mine):
            for rank, node in enumerate(job.nodes):
                if node != mine:
                    sequencer.board.forget_taken(rank)


@dataclass
class _Transfer:
    """Values on their way to another rank: their names and numbers, and the bytes of arrays."""

    values: list[tuple[str, int, Any]] = field(default_factory=list)
    messages: list[tuple[list[int], int]] = field(
        default_factory=list
    )  # fields of a `MailboxRow`, bytes of its data
    arrays: list[Bytes] = field(default_factory=list)

    def head(self) -> bytes:
        return json.dumps([self.values, self.messages]).encode()


class _RankMigration:
    """One rank's values on their way from one plan to another."""

    def __init__(self, rank: int, now: Incarnation, then: Incarnation) -> None:
        self.rank, self.now, self.then = rank, now, then
        seat = now.job.liveness.placement.seat(rank)
        self.key, self.processor = seat.key, seat.processor
        self.came: list[tuple[list[int], Bytes]] = []  # messages that other ranks sent

    def outgoing(self) -> dict[int, _Transfer]:
        """Put together what leaves this rank, by receiver."""
        transfers: dict[int, _Transfer] = {}
        for (tag, partition), slot in self.now.projection.slots.items():
            owner = self._owner(self.then.job, tag, partition)
            if partition is None or owner in (None, self.processor):
                continue
            target = self.then.job.liveness.placement.rank_of(self.key, owner)
            value = self.now.sequencer.slot_value(slot)
            if value is not None:
                transfer = transfers.setdefault(target, _Transfer())
                transfer.values.append((tag, partition, self._packed(value, target, transfer)))
        for target in self._partners(self.now.job, self.then.job):
            transfers.setdefault(target, _Transfer())
        for row in pending_messages.mailbox_rows(self.now.sequencer):
            self._forward(row, transfers)
        return transfers

    def _forward(self, row: pending_messages.MailboxRow, transfers: Mapping[int, _Transfer]) -> None:
        """Pass on what a partition's box holds: into the new one here, or with the partition."""
        owner = self.then.job.owners(self.then.job.sets[row.scope - 1])[row.partition] if row.scope else None
        if owner in (None, self.processor):
            self.then.sequencer.restore_mailbox(row)
            return
        transfer = transfers[self.then.job.liveness.placement.rank_of(self.key, owner)]
        transfer.messages.append(([*row[:-1]], len(row.data)))
        transfer.arrays.append(np.frombuffer(row.data, np.uint8))

    def sources(self) -> list[int]:
        """List the ranks that send something here."""
        return self._partners(self.then.job, self.now.job)

    def keep(self) -> None:
        """Pass on what stays in this rank."""
        old = self.now.projection.slots
        for name, slot in self.then.projection.slots.items():
            if name in old:
                self.then.sequencer.inherit(slot, self.now.sequencer, old[name])

    def unpack(self, head: bytes) -> list[Bytes]:
        """Put the values of a transfer into their slots; gives where the bytes of its arrays are to go."""
        room: list[Bytes] = []
        values, rows = json.loads(head)
        for tag, partition, packed in values:
            slot = self.then.projection.slots.get((tag, partition))
            value = self._unpacked(packed, room)
            assert slot is not None, f"partition {partition} has no {tag} here"
            self.then.sequencer.put(slot, value)
        self.came = [(row, np.empty(size, np.uint8)) for row, size in rows]
        return room + [data for _, data in self.came]

    def deliver(self) -> None:
        """Put the messages of the transfer that has arrived into their mailboxes."""
        for row, data in self.came:
            pending_messages.restore_row(self.then.sequencer, row, data.tobytes())
        self.came = []

    def _owner(self, job: Job, tag: str, partition: int | None) -> int | None:
        """Give the processor of a slot's partition; None for slots that don't move."""
        if partition is None or tag not in job.program.tags:
            return None
        return job.owners(job.set_of(job.program.tags[tag].type))[partition]

    def _partners(self, mine: Job, theirs: Job) -> list[int]:
        """List this thread's ranks with partitions in `theirs` that are here in `mine`."""
        if self.processor is None:
            return []
        found = {
            other
            for name, owners in mine.placements.items()
            for owner, other in zip(owners, theirs.placements[name], strict=True)
            if owner == self.processor != other
        }
        return [mine.liveness.placement.rank_of(self.key, processor) for processor in sorted(found)]

    def _packed(self, value: Any, target: int, transfer: _Transfer) -> Any:
        if isinstance(value, list):
            return [self._packed(piece, target, transfer) for piece in value]
        if not isinstance(value, Buffer):
            return _written(value)
        near = not self.now.job.is_remote(self.rank, target)
        handle = self.now.sequencer.lend(value) if near else 0
        if handle:
            return {"handle": handle}
        transfer.arrays.append(_bytes(value))
        dtype, itemsize, shape = value.description
        return {"array": [dtype, itemsize, *shape]}

    def _unpacked(self, packed: Any, room: list[Bytes]) -> Any:
        if isinstance(packed, list):
            return [self._unpacked(piece, room) for piece in packed]
        if "handle" in packed:
            return self.then.sequencer.lent(packed["handle"])
        if "array" not in packed:
            return _read(packed)
        dtype, itemsize, *shape = packed["array"]
        buffer = self.then.sequencer.new_buffer(dtype, itemsize, tuple(shape))
        room.append(_bytes(buffer))
        return buffer


def _bytes(buffer: Buffer) -> Bytes:
    """Give the bytes of an array: where they lie if they lie in C order, else a copy."""
    return np.ascontiguousarray(buffer).reshape(-1).view(np.uint8)


def _written(number: Number) -> Mapping[str, Any]:
    """Write a number so that it comes back bit by bit."""
    if isinstance(number, int):
        return {"integer": number}
    parts = (number.real, number.imag)
    return {"complex" if isinstance(number, complex) else "real": [part.hex() for part in parts]}


def _read(written: Mapping[str, Any]) -> Number:
    if "integer" in written:
        return int(written["integer"])
    (kind, (real, imaginary)) = next(iter(written.items()))
    number = float.fromhex(real)
    return complex(number, float.fromhex(imaginary)) if kind == "complex" else number
