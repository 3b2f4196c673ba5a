"""Which pieces of one distribution share something with which pieces of another, without trying all pairs.

Pieces are products of axes, and many have axes in common: axes are compared once each, and only those whose
bounds overlap. What shares something on every axis is what a piece shares something with.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

from pse.runtime.distribution._strided_copies import Axis, Piece, overlaps


def sharing(
    held: Sequence[Piece], targets: Sequence[Piece], axes: Sequence[int] | None = None
) -> list[list[int]]:
    """List, for every target, the held pieces that have something in common with it.

    Parameters
    ----------
    held, targets : sequence of Piece
        All pieces of one array, cut in two ways.
    axes : sequence of int, optional
        Axis of the targets for every axis of the held pieces, where the targets are of a transposed array.

    Returns
    -------
    list of list of int
        Places of the held pieces, ascending.

    Examples
    --------
    >>> from pse.runtime.distribution._index_sets import block
    >>> sharing([(Axis(block(6, 3, i)),) for i in range(3)], [(Axis(block(6, 2, i)),) for i in range(2)])
    [[0, 1], [1, 2]]
    """
    order = range(len(held[0])) if axes is None else axes
    along = [
        _sharing_axes((piece[axis] for piece in held), (piece[order[axis]] for piece in targets))
        for axis in range(len(held[0]))
    ]
    found = []
    for target in targets:
        places = sorted((along[axis][target[to]] for axis, to in enumerate(order)), key=len)
        found.append(sorted(frozenset.intersection(*places)))
    return found


def _sharing_axes(held: Iterable[Axis], targets: Iterable[Axis]) -> dict[Axis, frozenset[int]]:
    """Give, for every axis of the targets, the places of the held ones that share an index with it."""
    places: dict[Axis, list[int]] = defaultdict(list)
    for place, axis in enumerate(held):
        places[axis].append(place)
    sources = sorted((axis for axis in places if axis.index_set), key=_start)
    starts, ends = [_start(axis) for axis in sources], list(accumulate(map(_stop, sources), max))
    found: dict[Axis, frozenset[int]] = {}
    for target in targets:
        if target not in found:
            near = _between(sources, starts, ends, target)
            found[target] = frozenset(p for axis in near if overlaps(axis, target) for p in places[axis])
    return found


def _between(
    sources: Sequence[Axis], starts: Sequence[int], ends: Sequence[int], target: Axis
) -> Sequence[Axis]:
    """Give the axes, in the order of their starts, whose bounds can overlap the target's."""
    if not target.index_set:
        return ()
    return sources[bisect_right(ends, _start(target)) : bisect_left(starts, _stop(target))]


def _start(axis: Axis) -> int:
    return axis.index_set[0].start


def _stop(axis: Axis) -> int:
    return max(runs.stop for runs in axis.index_set)
