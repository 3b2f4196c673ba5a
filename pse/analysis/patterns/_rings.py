"""Rings: loops in which data goes round all ranks by shifts from neighbour to neighbour."""

from __future__ import annotations

import numpy as np

from pse.trace import NONE
from pse.trace.format import Array, distinct

SHIFT_DTYPE = np.dtype([("path", "<u4"), ("rank", "<u4"), ("sender", "<u4"), ("count", "<u4")])
"""Receives of a rank in a call path that are all from one sender, and how many they are."""
_LEAST = 3  # Ranks: two exchange.


def shifts_of(rank: int, paths: Array, senders: Array) -> Array:
    """Find the call paths in which a rank receives from one sender only, as SHIFT_DTYPE.

    Parameters
    ----------
    rank : int
        The rank that receives.
    paths, senders : arrays of uint32, shape (messages,)
        Call paths of its receives, and ranks of the job; NONE: not known.
    """
    order = np.argsort(paths, kind="stable")
    found, starts, counts = np.unique(paths[order], return_index=True, return_counts=True)
    rows = np.zeros(len(found), SHIFT_DTYPE)
    if len(found):
        least, most = (extreme.reduceat(senders[order], starts) for extreme in (np.minimum, np.maximum))
        rows["path"], rows["rank"], rows["sender"], rows["count"] = found, rank, least, counts
        rows = rows[(least == most) & (least != NONE) & (least != rank)]
    return rows


def ring_shifts(shifts: Array, parents: Array, visits: Array, ranks: Array) -> Array | None:
    """Count receives in rings: p ranks receive p - 1 or p times each time that their loop is called.

    Parameters
    ----------
    shifts : array of SHIFT_DTYPE
        Those of all ranks.
    parents : array of int64, shape (call paths,)
        From where each call path was called; -1 for a root.
    visits : array of float64, shape (call paths, ranks)
        How often each was entered.
    ranks : array of uint32, shape (ranks,)
        The ranks of the job, ascending.

    Returns
    -------
    array of float64, shape (call paths, ranks), or None
        Numbers of receives; None if there is no ring.
    """
    found = np.zeros(visits.shape)
    for path in distinct(shifts["path"]).tolist():
        own = shifts[shifts["path"] == path]
        own = own[np.argsort(own["rank"], kind="stable")]
        if len(ranks) >= _LEAST and np.array_equal(own["rank"], ranks) and parents[path] >= 0:
            each = own["count"] - (len(ranks) - 1) * visits[parents[path]]
            is_loop = (each == 0).all() or (each == visits[parents[path]]).all()
            if is_loop and _is_ring(np.searchsorted(ranks, own["sender"])):
                found[path] = own["count"]
    return found if found.any() else None


def _is_ring(before: Array) -> bool:
    """Whether the way from each rank to the one before it leads through all ranks."""
    at, steps = int(before[0]) if before[0] < len(before) else 0, 1
    while at and steps < len(before):
        at = int(before[at]) if before[at] < len(before) else 0
        steps += 1
    return at == 0 and steps == len(before)
