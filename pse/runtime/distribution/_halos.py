"""What the halos of pieces show of other pieces, and of their own far ends where an axis is periodic.

Along a periodic axis the array is repeated: before its first index comes its last one. A *strip* is what one
halo shows of one piece in one of these repetitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pse.records import dataclass
from pse.runtime.distribution._distributions import padded
from pse.runtime.distribution._sharing_pieces import sharing
from pse.runtime.distribution._strided_copies import Axis, Piece


@dataclass(frozen=True)
class Strip:
    """What the halo of one piece shows of another.

    Attributes
    ----------
    source, target : int
        The partition that is shown, and whose halo shows it.
    place : int
        Number of the strip among those of the target.
    held, framed : Piece
        The source's piece, moved to its repetition, and the target's, whose ghost cells count as cells.
    """

    source: int
    target: int
    place: int
    held: Piece
    framed: Piece


def strips(pieces: Sequence[Piece], shape: Sequence[int], periodic: frozenset[int]) -> list[list[Strip]]:
    """List what every piece's halo shows.

    Parameters
    ----------
    pieces : sequence of Piece
        All pieces of an array.
    shape : sequence of int
        Of the whole array.
    periodic : frozenset of int
        Axes along which the array is repeated; along others a halo ends at the array's own edge.

    Returns
    -------
    list of list of Strip
        By target.

    Examples
    --------
    >>> from pse.runtime.distribution._index_sets import block
    >>> row = [(Axis(block(6, 3, i), 1, 1),) for i in range(3)]
    >>> [[strip.source for strip in found] for found in strips(row, (6,), frozenset())]
    [[1], [0, 2], [1]]
    >>> [[strip.source for strip in found] for found in strips(row, (6,), frozenset({0}))]
    [[2, 1], [0, 2], [1, 0]]
    """
    framed = [padded(piece, shape, periodic) for piece in pieces]
    found: list[list[Strip]] = [[] for _ in pieces]
    for offset in _offsets(pieces, shape, periodic):
        moved = [_moved(piece, offset) for piece in pieces]
        for target, sources in enumerate(sharing(moved, framed)):
            for source in sources:
                if source != target or any(offset):
                    place = len(found[target])
                    found[target].append(Strip(source, target, place, moved[source], framed[target]))
    return found


def _offsets(
    pieces: Sequence[Piece], shape: Sequence[int], periodic: frozenset[int]
) -> Iterator[tuple[int, ...]]:
    """Give by how much the array is moved in each of the repetitions that a halo can show."""
    steps = []
    for axis, extent in enumerate(shape):
        width = max(piece[axis].before for piece in pieces)
        most = -(-width // extent) if axis in periodic and extent else 0
        steps.append([extent * times for times in range(-most, most + 1)])
    return itertools.product(*steps)


def _moved(piece: Piece, offset: Sequence[int]) -> Piece:
    return tuple(_moved_axis(axis, by) if by else axis for axis, by in zip(piece, offset, strict=True))


def _moved_axis(axis: Axis, by: int) -> Axis:
    return replace(axis, index_set=tuple(replace(runs, start=runs.start + by) for runs in axis.index_set))
