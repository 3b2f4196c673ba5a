"""Where the pieces of distributed arrays lie: what each partition holds, and what its halo shows.

Pure functions on integers; nothing here knows of ranks or memory. A piece is an index set for each axis,
perhaps with a frame of ghost cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pse.errors import ProgramError
from pse.language.types import Distribution, Expression, Pattern, Value, evaluate, render_expression
from pse.runtime.distribution import _index_sets as index_sets, _user_distributions as user_distributions
from pse.runtime.distribution._index_sets import IndexSet, StridedRuns
from pse.runtime.distribution._strided_copies import Axis, Piece, extents

__all__ = ["coordinates", "extents", "padded", "piece", "whole"]


def whole(shape: Sequence[int]) -> Piece:
    """Give the piece that is the whole array."""
    return tuple(Axis(index_sets.whole(extent)) for extent in shape)


def piece(
    distribution: Distribution,
    shape: Sequence[int],
    parts: int,
    grid: Sequence[int] | None,
    index: int,
    environment: Mapping[str, Value] | None = None,
) -> Piece:
    """Give what partition `index` of `parts` holds of an array.

    Parameters
    ----------
    distribution : Distribution
        How the array is cut.
    shape : sequence of int
        Of the whole array.
    parts : int
        Partitions there are.
    grid : sequence of int or None
        How they are arranged, row by row.
    index : int
        Which of them.
    environment : mapping, optional
        What the names in block size and halo stand for.

    Raises
    ------
    ProgramError
        For a grid that doesn't fit, a block size or halo that can't be, or a user's pattern that loses or
        doubles an index.
    """
    axes = list(whole(shape))
    if not distribution.distributed:
        return tuple(axes)
    counts = grid_of(distribution, parts, grid)
    widths = distribution.widths or (None,) * len(counts)
    places = coordinates(index, counts)
    for axis, count, place, width in zip(distribution.axes, counts, places, widths, strict=True):
        index_set = _index_set(distribution, shape[axis], count, place, environment)
        halo = _integer(width, environment, least=0)
        _check_halo(halo, shape[axis], count, axis)
        axes[axis] = Axis(index_set, halo, halo)
    return tuple(axes)


def padded(held: Piece, shape: Sequence[int], periodic: frozenset[int] = frozenset()) -> Piece:
    """Give a piece whose ghost cells count as cells of the array too, as far as that goes.

    Along a periodic axis it goes on for ever: indices before 0 stand for those before the extent.
    """
    return tuple(
        _padded(axis, None if number in periodic else extent)
        for number, (axis, extent) in enumerate(zip(held, shape, strict=True))
    )


def _padded(axis: Axis, extent: int | None) -> Axis:
    if axis.before == 0 or not axis.index_set:
        return axis
    low, high = axis.index_set[0].start, axis.index_set[-1].stop
    first, last = low - axis.before, high + axis.after
    if extent is not None:
        first, last = max(first, 0), min(last, extent)
    shown = (StridedRuns(first, last - first),)
    return replace(
        axis, index_set=shown, before=axis.before - (low - first), after=axis.after - (last - high)
    )


def grid_of(distribution: Distribution, parts: int, grid: Sequence[int] | None) -> tuple[int, ...]:
    """Give into how many pieces each of the cut axes is cut."""
    if grid is not None and len(grid) == len(distribution.axes):
        return tuple(grid)
    if len(distribution.axes) == 1:
        return (parts,)
    raise ProgramError(
        f"a distribution over {len(distribution.axes)} axes needs a partition that is a grid of as many",
        help="declare it so: partition P = procs as grid(procs, 1)",
    )


def coordinates(index: int, counts: Sequence[int]) -> tuple[int, ...]:
    """Row-major coordinates of a partition in its grid."""
    return tuple(map(int, np.unravel_index(index, counts)))


def _index_set(
    distribution: Distribution, extent: int, count: int, place: int, environment: Mapping[str, Value] | None
) -> IndexSet:
    """Give the indices of one axis that the partition at a place of the grid holds."""
    if distribution.pattern is Pattern.BLOCK:
        return index_sets.block(extent, count, place)
    if distribution.pattern is Pattern.CYCLIC:
        return index_sets.block_cyclic(extent, count, place, 1)
    if distribution.pattern is Pattern.USER:
        assert distribution.user is not None, "the checker found it"
        return user_distributions.pieces(distribution.user, extent, count)[place]
    return index_sets.block_cyclic(extent, count, place, _integer(distribution.block, environment, least=1))


def _integer(tree: Expression | None, environment: Mapping[str, Value] | None, least: int) -> int:
    """Value of a block size or halo; 0 where there is none."""
    if tree is None:
        return 0
    value = evaluate(tree, environment or {})
    if not isinstance(value, int) or value < least:
        message = f"`{render_expression(tree)}` is {value}; expected an integer from {least}"
        raise ProgramError(message, help="give other values, by -D and -p, or change the declaration")
    return value


def _check_halo(halo: int, extent: int, count: int, axis: int) -> None:
    """Refuse a halo that reaches beyond the neighbours: `exchange` asks these only."""
    if count > 1 and halo > extent // count:
        raise ProgramError(
            f"a halo of {halo} is wider than the smallest block of axis {axis}: "
            f"{extent} cells in {count} blocks are {extent // count} each at least",
            help="use fewer partitions, a larger array or a narrower halo",
        )
