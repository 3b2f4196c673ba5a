"""Messages among partitions that wait at a pause: posted before it, received after it.

When every message has arrived (`settle`), mailboxes hold all that is left: messages that nobody has
received, and how many collectives each partition has come to. A checkpoint keeps that by partition, so any
number of processors can resume from it; a migration takes it along. A partition that is late for a collective
has a message from one that was there: where nobody has any, counts are the same everywhere, and another
number of partitions may start from zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, Protocol

import numpy as np

from pse._abi.elements import TYPE_CODES
from pse.runtime._sequencer import Sequencer
from pse.runtime.checkpoint._manifest import Saved, member_name, pending_name
from pse.runtime.checkpoint._reader import Reader
from pse.runtime.plan._job import Job
from pse.runtime.transport._termination import await_termination

_TYPES = {code: np.dtype(name) for name, code in TYPE_CODES.items()}
_BYTES = np.dtype(np.uint8)


class MailboxRow(NamedTuple):
    """What a mailbox holds (``pse_messaging_saved``): a message, or the number of collectives so far.

    `scope` is the number of a set of partitions, `type` the code of the message's elements.
    """

    scope: int
    partition: int
    is_message: int
    source: int
    number: int
    site: int
    collective: int
    extra: int
    type: int
    data: bytes = b""


_BOX = attrgetter("scope", "partition")


class Summing(Protocol):
    """Who adds up numbers over all ranks."""

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Sum numbers over all ranks; every rank gets the sums."""


def settle(peers: Summing, sequencer: Sequencer) -> None:
    """Return when every message of the run has come, where all ranks stand at the same pause."""
    await_termination(peers.add, lambda: sequencer.traffic)


def mailbox_rows(sequencer: Sequencer) -> list[MailboxRow]:
    """Give what this rank's mailboxes hold, messages of one sender in their order."""
    return [MailboxRow(*row) for row in sequencer.saved_mailboxes()]


def restore_row(sequencer: Sequencer, head: Sequence[int], data: bytes) -> None:
    """Put a row into its mailbox: the fields of a `MailboxRow`, the data apart."""
    sequencer.restore_mailbox(MailboxRow._make([*head, data]))


def saved(job: Job, rank: int, rows: Iterable[MailboxRow]) -> Iterator[Saved]:
    """Give what a checkpoint keeps of this rank's mailboxes: for each a table, and its messages as arrays."""
    label = job.liveness.placement.seat(rank).key.label
    in_boxes = sorted(rows, key=_BOX)  # Messages of a mailbox keep their order.
    for (scope, partition), box in groupby(in_boxes, key=_BOX):
        name, heads = _place(job, label, scope), []
        for number, row in enumerate(box):
            heads.append(row[2:-1])
            if row.is_message:
                data = np.frombuffer(row.data, _TYPES.get(row.type, _BYTES))
                yield Saved(pending_name(number, name), partition, data)
        yield Saved(f"%mail.{name}", partition, np.array(heads, np.int64))


def restore(job: Job, before: Job, rank: int, sequencer: Sequencer, reader: Reader) -> None:
    """Put what a checkpoint keeps into the boxes of this rank's partitions."""
    seat = job.liveness.placement.seat(rank)
    for scope, partition in _boxes(job, before, seat.processor):
        name = _place(job, seat.key.label, scope)
        member = member_name(f"%mail.{name}", partition)
        heads: Iterable[list[int]] = reader.read(member).tolist() if member in reader else ()
        for number, head in enumerate(heads):
            message = member_name(pending_name(number, name), partition)
            data = reader.read(message).tobytes() if message in reader else b""
            restore_row(sequencer, [scope, partition, *head], data)


def _place(job: Job, label: str, scope: int) -> str:
    """Name a thread's boxes of a set of partitions: ``thread_B.P``; outside PARALLEL ``thread_A``."""
    return f"{label}.{job.sets[scope - 1]}" if scope else label


def _boxes(job: Job, before: Job, processor: int | None) -> Iterator[tuple[int, int]]:
    """List the boxes that a rank may have: scope and partition; sets of another size begin anew."""
    if processor is None or job.liveness.placement.serial:
        yield 0, 0
    if processor is None:
        return
    for scope, name in enumerate(job.sets, 1):
        if len(job.owners(name)) == len(before.owners(name)):
            yield from ((scope, partition) for partition in job.members(name, processor))
