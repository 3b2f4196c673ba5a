"""From the end of a run back to its begin: along a rank, and from each wait to the rank that ended it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse.trace.format import NONE, Array


def last_begun(block_ranks: Array, begins: Array, ranks: Array, times: Array) -> Array:
    """For ranks and times the last block that each had begun; -1: none, or no rank is asked for (NONE).

    Parameters
    ----------
    block_ranks, begins : array, shape (blocks,)
        Blocks by rank, then by their begin, ns.
    ranks, times : array, shape (asked,)
        What is asked, ns.

    Returns
    -------
    array of int64, shape (asked,)
        Indices of blocks.
    """
    asked = np.flatnonzero(ranks != NONE)
    asked = asked[np.argsort(ranks[asked], kind="stable")]
    several, first = np.unique(ranks[asked], return_index=True)
    found = np.full(len(ranks), -1)
    for rank, places in zip(several.tolist(), np.split(asked, first[1:]), strict=True) if len(asked) else ():
        begin, end = np.searchsorted(block_ranks, [rank, rank + 1])
        last = np.searchsorted(begins[begin:end], times[places], side="right") - 1
        found[places] = np.where(last >= 0, last + begin, -1)
    return found


def walk_back(
    ranks: Array, begins: Array, causes: Sequence[tuple[Array, Array]], place: int, now: float
) -> list[tuple[int, float, int]]:
    """Blocks from the end of the run to its begin.

    Plain Python on lists: one step needs the one before it, and takes less than a microsecond.

    Parameters
    ----------
    ranks, begins : array, shape (blocks,)
        Blocks by rank, then by their begin, ns.
    causes : sequence of (array, array)
        When another rank ended each block, ns, and which block that rank was in, -1: none did; where the
        first cause is of no use the next one counts.
    place : int
        The block with which it begins.
    now : float
        When the path leaves that, ns.

    Returns
    -------
    list of (int, float, int)
        Index of a block, when the path leaves it, and by which cause it goes on; -1: by none.
    """
    rank_of, begin_of = ranks.tolist(), begins.tolist()
    times, before = ([column.tolist() for column in columns] for columns in zip(*causes, strict=True))
    path, left = (
        list[tuple[int, float, int]](),
        set[int](),
    )  # Blocks that it left now: no circle without time.
    while place >= 0:
        latest = now if place not in left else np.nextafter(now, -np.inf)
        usable = (n for n in range(len(causes)) if before[n][place] >= 0 and times[n][place] <= latest)
        by = next(usable, -1)
        path.append((place, now, by))
        left.add(place)
        if by >= 0:
            after, place = times[by][place], before[by][place]
        else:
            after = min(now, begin_of[place])
            place = place - 1 if place and rank_of[place - 1] == rank_of[place] else -1
        left = left if after == now else set()
        now = after
    return path
