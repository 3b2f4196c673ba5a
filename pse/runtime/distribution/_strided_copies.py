"""Strided copies by which one piece of a distributed array gives another what they share.

Along each axis two index sets have *overlaps*; the copies are the products of these over the axes.
Overlaps of strided runs are found in closed form, so redistributing between `block`, `cyclic` and
`block_cyclic` takes few copies however long the axis is; irregular lists are compared index by index, and
evenly spaced runs joined.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pse._abi.elements import MAX_DIMS
from pse.records import dataclass
from pse.runtime.distribution import _index_sets as index_sets
from pse.runtime.distribution._index_sets import IndexSet, StridedRuns

_FEW = 64  # strided runs times strided runs that are compared in closed form


@dataclass(frozen=True)
class Axis:
    """What a partition holds of one axis: indices of the whole array, and cells around them.

    Attributes
    ----------
    index_set : tuple of StridedRuns
        The indices, ascending.
    before, after : int
        Cells of the local array before and after these (a halo).
    """

    index_set: IndexSet
    before: int = 0
    after: int = 0

    @property
    def extent(self) -> int:
        """Length of the local array along the axis."""
        return self.before + sum(strided.size for strided in self.index_set) + self.after


Piece = tuple[Axis, ...]
"""A partition's piece of an array; its local array is the C-ordered product of the axes."""


def flattened(piece: Piece) -> Piece:
    """Give a piece that is cut along the first axis only as one of the elements in their order.

    Examples
    --------
    >>> from pse.runtime.distribution._index_sets import block, whole
    >>> flattened((Axis(block(6, 3, 1)), Axis(whole(5))))[0].index_set
    (StridedRuns(start=10, length=10, stride=5, count=1),)
    """
    inner = math.prod(axis.extent for axis in piece[1:])
    scaled = (
        StridedRuns(runs.start * inner, runs.length * inner, runs.stride * inner, runs.count)
        for runs in piece[0].index_set
        if inner
    )
    return (Axis(tuple(scaled)),)


@dataclass(frozen=True)
class Overlap:
    """What two local axes have in common: `count` runs of `length` cells, at places that grow evenly."""

    source: int
    target: int
    length: int
    count: int = 1
    source_step: int = 0
    target_step: int = 0


@dataclass(frozen=True)
class StridedCopy:
    """A strided copy from one buffer to another, in bytes."""

    source: int
    target: int
    shape: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """How many elements it copies."""
        return math.prod(self.shape)


def extents(piece: Piece) -> tuple[int, ...]:
    """Shape of a piece's local array."""
    return tuple(axis.extent for axis in piece)


def strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Strides of a C-ordered array, in bytes."""
    out, stride = [], itemsize
    for extent in reversed(shape):
        out.append(stride)
        stride *= extent
    return tuple(reversed(out))


def strided_copies(
    source: Piece, target: Piece, itemsize: int, axes: Sequence[int] | None = None
) -> list[StridedCopy]:
    """List the copies from one local array to another; none where they share nothing.

    Parameters
    ----------
    source, target : Piece
        Pieces of one array.
    itemsize : int
        Bytes of an element.
    axes : sequence of int, optional
        Axis of the target for every axis of the source, where the target is a transposed array.

    Returns
    -------
    list of StridedCopy
        Copies that together write every shared element once.
    """
    order = range(len(source)) if axes is None else axes
    from_strides, to_strides = strides(extents(source), itemsize), strides(extents(target), itemsize)
    shared = [overlaps(axis, target[order[i]]) for i, axis in enumerate(source)]
    found: list[StridedCopy] = []
    for together in itertools.product(*shared):
        dims = [d for i, s in enumerate(together) for d in _dims(s, from_strides[i], to_strides[order[i]])]
        start = sum(s.source * from_strides[i] for i, s in enumerate(together))
        to = sum(s.target * to_strides[order[i]] for i, s in enumerate(together))
        found += _limited(start, to, _merged(dims))
    return found


def packing(copies: Sequence[StridedCopy], itemsize: int) -> list[StridedCopy]:
    """Give the same copies into a buffer that takes them one after the other."""
    out, start = [], 0
    for copy in copies:
        out.append(replace(copy, target=start, target_strides=strides(copy.shape, itemsize)))
        start += copy.elements * itemsize
    return out


def unpacking(copies: Sequence[StridedCopy], itemsize: int) -> list[StridedCopy]:
    """Give the same copies from a buffer into which they were packed one after the other."""
    out, start = [], 0
    for copy in copies:
        out.append(replace(copy, source=start, source_strides=strides(copy.shape, itemsize)))
        start += copy.elements * itemsize
    return out


_Dim = tuple[int, int, int]  # extent, stride in the source, stride in the target


def _dims(s: Overlap, source: int, target: int) -> list[_Dim]:
    dims = [(s.count, s.source_step * source, s.target_step * target), (s.length, source, target)]
    return [dim for dim in dims if dim[0] > 1]


def _merged(dims: list[_Dim]) -> list[_Dim]:
    """Make one axis of neighbours that are one in both arrays."""
    out: list[_Dim] = []
    for dim in dims:
        last = out[-1] if out else None
        if last is not None and last[1] == dim[0] * dim[1] and last[2] == dim[0] * dim[2]:
            out[-1] = (last[0] * dim[0], dim[1], dim[2])
        else:
            out.append(dim)
    return out


def _limited(source: int, target: int, dims: list[_Dim]) -> Iterator[StridedCopy]:
    """Unroll the shortest axes of what has more than a copy can have."""
    if len(dims) > MAX_DIMS:
        shortest = min(range(len(dims)), key=lambda i: dims[i][0])
        (extent, by, to), rest = dims[shortest], dims[:shortest] + dims[shortest + 1 :]
        for i in range(extent):
            yield from _limited(source + i * by, target + i * to, rest)
        return
    columns = list(zip(*dims, strict=True)) or [(), (), ()]
    yield StridedCopy(source, target, columns[0], columns[1], columns[2])


@functools.lru_cache(maxsize=1 << 16)
def overlaps(source: Axis, target: Axis) -> tuple[Overlap, ...]:
    """List what two local axes have in common, in ascending order of places."""
    if len(source.index_set) * len(target.index_set) > _FEW:
        return tuple(_listed(source, target))
    found, at = [], source.before
    for one in source.index_set:
        to = target.before
        for other in target.index_set:
            found += [replace(s, source=s.source + at, target=s.target + to) for s in _common(one, other)]
            to += other.size
        at += one.size
    return tuple(sorted(found, key=lambda s: s.source))


def _listed(source: Axis, target: Axis) -> list[Overlap]:
    """Compare index by index."""
    one, other = index_sets.indices(source.index_set), index_sets.indices(target.index_set)
    _, here, there = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    if not here.size:
        return []
    here, there = here + source.before, there + target.before
    breaks = np.flatnonzero((np.diff(here) != 1) | (np.diff(there) != 1)) + 1
    first, ends = np.concatenate([[0], breaks]), np.concatenate([breaks, [here.size]])
    runs = (here[first], there[first])
    return [
        Overlap(int(runs[0][i]), int(runs[1][i]), int(ends[i] - first[i]), count, *steps)
        for i, count, steps in index_sets.progressions(runs, ends - first)
    ]


def _common(one: StridedRuns, other: StridedRuns) -> list[Overlap]:
    """List what two strided runs share; places count from the first index of each."""
    if one.count == 1:
        return [_swapped(s) for s in _within(other, one)]
    if other.count == 1:
        return _within(one, other)
    period = math.lcm(one.stride, other.stride)
    low, high = max(one.start, other.start), min(one.stop, other.stop)
    rounds = (high - low) // period
    if rounds < 2:
        return _runs(one, other, low, high)
    # A run of one of the two begins at `low`, so no run goes over the end of a period.
    grown = (period // one.stride * one.length, period // other.stride * other.length)
    found = [
        replace(s, count=rounds, source_step=grown[0], target_step=grown[1])
        for s in _runs(one, other, low, low + period)
    ]
    return found + _runs(one, other, low + rounds * period, high)


def _within(strided: StridedRuns, run: StridedRuns) -> list[Overlap]:
    """List what strided runs have inside one run: a part of a run, then whole ones, then a part again."""
    first = max(-(-(run.start - strided.start) // strided.stride), 0)
    last = min((run.stop - strided.length - strided.start) // strided.stride, strided.count - 1)
    if last < first:
        return _runs(strided, run, run.start, run.stop)
    at, end = strided.start + first * strided.stride, strided.start + last * strided.stride + strided.length
    inner = Overlap(first * strided.length, at - run.start, strided.length, last - first + 1)
    if inner.count > 1:
        inner = replace(inner, source_step=strided.length, target_step=strided.stride)
    return [*_runs(strided, run, run.start, at), inner, *_runs(strided, run, end, run.stop)]


def _runs(one: StridedRuns, other: StridedRuns, low: int, high: int) -> list[Overlap]:
    """List what two strided runs share between two bounds, run by run."""
    found, at = [], low
    while at < high:
        a, b = _run_at(one, at), _run_at(other, at)
        if a is None or b is None:
            break
        begin, end = max(a[0], b[0], at), min(a[1], b[1], high)
        if begin < end:
            found.append(Overlap(a[2] + begin - a[0], b[2] + begin - b[0], end - begin))
        at = max(min(a[1], b[1]), begin)
    return found


def _run_at(strided: StridedRuns, index: int) -> tuple[int, int, int] | None:
    """Give the first run that ends after an index: its first index, its end, and its place."""
    run = max((index - strided.start - strided.length) // strided.stride + 1, 0)
    if run >= strided.count:
        return None
    start = strided.start + run * strided.stride
    return start, start + strided.length, run * strided.length


def _swapped(s: Overlap) -> Overlap:
    return Overlap(s.target, s.source, s.length, s.count, s.target_step, s.source_step)
