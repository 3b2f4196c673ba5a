"""Index sets: which indices of one axis each of several partitions holds.

A set is a few `StridedRuns` in ascending order: one run for `block`, equal runs at equal distances (and a
shorter last one) for `cyclic` and `block_cyclic`, and whatever a user's function gives. Pure functions on
integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pse.language.types import block_range
from pse.records import dataclass

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class StridedRuns:
    """Equal runs at equal distances.

    Attributes
    ----------
    start : int
        First index of the first run.
    length : int
        Indices of a run.
    stride : int
        From one run's first index to the next one's.
    count : int
        Runs.
    """

    start: int
    length: int
    stride: int = 1
    count: int = 1

    @property
    def stop(self) -> int:
        """One past the last index."""
        return self.start + (self.count - 1) * self.stride + self.length

    @property
    def size(self) -> int:
        """How many indices it has."""
        return self.length * self.count


IndexSet = tuple[StridedRuns, ...]


def whole(extent: int) -> IndexSet:
    """Give every index of an axis."""
    return _run(0, extent)


def block(extent: int, parts: int, index: int) -> IndexSet:
    """Give block `index` of `parts`; where they can't be equal, the first ones have one index more.

    Examples
    --------
    >>> [block(10, 4, i)[0].start for i in range(4)]
    [0, 3, 6, 8]
    """
    found = block_range(extent, parts, index)
    return _run(found.start, len(found))


def block_cyclic(extent: int, parts: int, index: int, size: int) -> IndexSet:
    """Give what a partition gets where blocks of `size` indices are assigned in turn."""
    full, rest = divmod(max(extent - index * size, 0), parts * size)
    count = full + (rest >= size)
    last = _run(index * size + full * parts * size, rest) if 0 < rest < size else ()
    return (*((StridedRuns(index * size, size, parts * size, count),) if count else ()), *last)


def listed(indices: Indices) -> IndexSet:
    """Give ascending indices as a set."""
    if not indices.size:
        return ()
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    starts = indices[np.concatenate([[0], breaks])]
    lengths = np.diff(np.concatenate([[0], breaks, [indices.size]]))
    return tuple(
        StridedRuns(int(starts[i]), int(lengths[i]), step or 1, n)
        for i, n, (step,) in progressions((starts,), lengths)
    )


def progressions(firsts: Sequence[Indices], lengths: Indices) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Join neighbouring runs of one length whose first indices grow evenly, in all of several lists.

    Yields
    ------
    tuple
        Place of the first of the runs, how many they are, and by how much each list grows from run to run.
    """
    steps = [np.diff(first) for first in firsts]
    at, total = 0, len(lengths)
    same = lengths[1:] == lengths[:-1]
    while at < total:
        count, step = 1, tuple(0 for _ in firsts)
        if at + 1 < total and same[at]:
            step = tuple(int(grown[at]) for grown in steps)
            while at + count < total and same[at + count - 1] and _grows(steps, at + count - 1, step):
                count += 1
        yield at, count, step if count > 1 else tuple(0 for _ in firsts)
        at += count


def _grows(steps: Sequence[Indices], at: int, step: Sequence[int]) -> bool:
    return all(grown[at] == by for grown, by in zip(steps, step, strict=True))


def indices(index_set: IndexSet) -> Indices:
    """Write the indices of a set one by one."""
    parts = [
        (runs.start + runs.stride * np.arange(runs.count)[:, None] + np.arange(runs.length)).ravel()
        for runs in index_set
    ]
    return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)


def _run(start: int, length: int) -> IndexSet:
    return (StridedRuns(start, length),) if length > 0 else ()
