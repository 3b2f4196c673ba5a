"""What a rank holds at a pause, as named values; and back into the slots of a rank of the resumed run.

At a pause a tag has one value in the whole program (or one for each partition), whoever holds it, so each is
written down once: what isn't distributed by the first thread that may still read it, pieces by the first
thread in PARALLEL that does (a root thread that has been sent all pieces, where none does). Loop counters
and limits have hidden slots on every rank; the first rank writes them. Who reads what follows from liveness,
on any number of processors; pieces are cut anew where partitions hold other parts of an array than before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pse.language.check import For
from pse.language.types import Element, Type
from pse.program import Liveness, ThreadKey
from pse.runtime._sequencer import Buffer, Sequencer
from pse.runtime.checkpoint._manifest import Saved, member_name
from pse.runtime.checkpoint._reader import Reader
from pse.runtime.distribution import _index_sets as index_sets
from pse.runtime.distribution._strided_copies import Axis, Piece, extents
from pse.runtime.plan._job import Job
from pse.runtime.plan._projection import Projection
from pse.runtime.plan._shapes import Shapes, element_of
from pse.runtime.plan._slots import HIDDEN
from pse.runtime.plan._tables import element_code, itemsize

if TYPE_CHECKING:
    from pse.runtime.checkpoint._manifest import Array

_Value = int | float | complex | Buffer


def live_at(liveness: Liveness, key: ThreadKey, point: int) -> frozenset[str]:
    """Tags that a thread may still read at a pause, which is the number of its statement."""
    statement = liveness.walk.steps[point].statement
    if isinstance(statement, For) and statement.inflight is not None:
        return liveness.live_before(point, key)
    return liveness.live_at_head(point, key)


def capture(job: Job, rank: int, projection: Projection, sequencer: Sequencer, point: int) -> Iterator[Saved]:
    """Give what a rank writes down at a pause; arrays lie where they are, until the sequencer runs on."""
    for (name, partition), slot in projection.slots.items():
        if not writes(job, rank, name, partition, point):
            continue
        value = sequencer.slot_value(slot)
        if isinstance(value, list):
            yield from (Saved(name, index, np.asarray(piece)) for index, piece in enumerate(value))
        elif value is not None:
            yield Saved(name, partition, np.asarray(value))


def writes(job: Job, rank: int, name: str, partition: int | None, point: int) -> bool:
    """Whether this rank is the one that writes a slot down."""
    if name.startswith(HIDDEN):
        return rank == 0 and partition is None
    placement = job.liveness.placement
    readers = [key for key in placement.keys if name in live_at(job.liveness, key, point)]
    mine = placement.seat(rank)
    if not readers:
        return False
    if not job.program.tags[name].type.distribution.distributed:
        return rank == placement.rank_of(readers[0], 0)
    return mine.key == next((key for key in readers if key.region == "parallel"), readers[0])


class Restoring:
    """Puts what a checkpoint holds into the slots of one rank.

    Parameters
    ----------
    job, before : Job
        As it is now, and as it was when the checkpoint was taken.
    reader : Reader
    """

    def __init__(self, job: Job, before: Job, reader: Reader) -> None:
        self.job, self.before, self.reader = job, before, reader
        self._now, self._then = Shapes(job), Shapes(before)

    def fill(self, rank: int, projection: Projection, sequencer: Sequencer, point: int) -> None:
        """Fill the slots of a rank that resumes after a pause."""
        key = self.job.liveness.placement.seat(rank).key
        wanted = live_at(self.job.liveness, key, point)
        for (name, partition), slot in projection.slots.items():
            value: _Value | list[_Value] | None = None
            if name.startswith(HIDDEN):
                value = self._single(name, None, sequencer) if partition is None else None
            elif name in wanted:
                value = self._tag(name, partition, sequencer)
            if value is not None:
                sequencer.put(slot, value)

    def _tag(self, name: str, partition: int | None, sequencer: Sequencer) -> _Value | list[_Value] | None:
        array = self.job.program.tags[name].type
        if not array.distribution.distributed:
            return self._single(name, array, sequencer)
        if partition is not None:
            return self._piece(name, array, partition, sequencer)
        pieces = [self._piece(name, array, index, sequencer) for index in range(self.job.pieces(array))]
        present = [piece for piece in pieces if piece is not None]
        return present if len(present) == len(pieces) else None

    def _single(self, member: str, array: Type | None, sequencer: Sequencer) -> _Value | None:
        """A number, or an array as it was."""
        if member not in self.reader:
            return None
        _, shape = self.reader.describe(member)
        if array is None or (not shape and array.scalar):
            number: _Value = self.reader.read(member).item()
            return number
        element = Element.OBJECT if element_of(array) is Element.STRING else element_of(array)
        buffer = sequencer.new_buffer(element_code(element), itemsize(element), shape)
        self.reader.read_into(member, np.asarray(buffer))
        return buffer

    def _piece(self, name: str, array: Type, partition: int, sequencer: Sequencer) -> _Value | None:
        if array.scalar or self._is_as_before(array, partition):
            return self._single(member_name(name, partition), array, sequencer)
        if member_name(name, 0) not in self.reader:
            return None
        element, target = element_of(array), self._now.piece(array, partition)
        buffer = sequencer.new_buffer(element_code(element), itemsize(element), extents(target))
        pieces = ((index, self._then.piece(array, index)) for index in range(self.before.pieces(array)))
        sources = ((piece, self.reader.read(member_name(name, index))) for index, piece in pieces)
        put_together(np.asarray(buffer), target, sources)
        return buffer

    def _is_as_before(self, array: Type, partition: int) -> bool:
        """Whether a partition holds now what it held then."""
        if partition >= self.before.pieces(array):
            return False
        if self._now.is_dynamic(array):
            return True  # Another number of partitions is refused before.
        return self._now.piece(array, partition) == self._then.piece(array, partition)


_NOWHERE = -(1 << 60)
"""Stands for the place of a halo around nothing."""

Cells = tuple[index_sets.Indices, slice]
"""Index in the whole array of every cell of a local axis, and which of them are not a halo's."""


def put_together(target: Array, wanted: Piece, sources: Iterable[tuple[Piece, Array]]) -> None:
    """Fill a piece's array from pieces that were cut otherwise.

    A cell that several pieces have is its owner's; from others' halos comes only what nobody owns (what lies
    around the whole array).
    """
    target[...] = np.zeros((), target.dtype)
    owned, axes = np.zeros(target.shape, bool), [cells_of(axis) for axis in wanted]
    for piece, source in sources:
        shared = [_common(cells_of(axis), cells) for axis, cells in zip(piece, axes, strict=True)]
        if any(not place.size for place, _, _ in shared):
            continue
        to, values = np.ix_(*(place for place, _, _ in shared)), source[np.ix_(*(s[1] for s in shared))]
        own = np.ones(values.shape, bool)
        for axis, (_, _, inner) in enumerate(shared):
            own &= inner.reshape([-1 if i == axis else 1 for i in range(values.ndim)])
        target[to] = np.where(own | ~owned[to], values, target[to])
        owned[to] |= own


def _common(source: Cells, target: Cells) -> tuple[Any, Any, Any]:
    """Find the cells that two axes share: places in target and source, and whether the source owns them."""
    _, here, there = np.intersect1d(source[0], target[0], assume_unique=True, return_indices=True)
    inner = np.zeros(len(source[0]), bool)
    inner[source[1]] = True
    return there, here, inner[here]


def cells_of(axis: Axis) -> Cells:
    """Say which cells of the whole array a local axis has."""
    own = index_sets.indices(axis.index_set)
    first, last = (own[0], own[-1]) if own.size else (_NOWHERE, _NOWHERE - 1)
    before = np.arange(first - axis.before, first)
    after = np.arange(last + 1, last + 1 + axis.after)
    cells = np.concatenate([before, own, after])
    return cells, slice(axis.before, axis.before + own.size)
