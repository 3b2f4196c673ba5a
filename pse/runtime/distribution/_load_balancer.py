"""Load balancing: which partitions should move to another processor, by what their calls cost.

Every rank computes this from the same figures and gets the same result. Partitions move from the busiest
processor, one at a time, or are exchanged with one of another processor's, as long as that lowers the load of
the busiest; so few move, where assigning all of them anew (longest first) would move nearly all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pse.runtime.distribution._partition_placement import Owners

WORTH = 0.05
"""Part of the busiest processor's time that must be gained at least."""
WINDOWS = 10
"""Windows of measuring within which a move must have paid for itself."""

_Counts = npt.NDArray[np.int64]


def imbalance(owners: Sequence[int], loads: Sequence[int], processors: int) -> float:
    """Give the load of the busiest processor over the mean; 1.0 is best.

    Examples
    --------
    >>> imbalance((0, 0, 1, 1), (3, 3, 1, 1), 2)
    1.5
    """
    sums = _sums(np.asarray(owners), np.asarray(loads), processors)
    return float(sums.max() * processors / sums.sum()) if sums.sum() else 1.0


def better(
    owners: Sequence[int],
    loads: Sequence[int],
    processors: int,
    cost: int = 0,
    bound: Collection[int] = frozenset(),
) -> Owners | None:
    """Give a placement that is worth moving to, or None.

    Parameters
    ----------
    owners : sequence of int
        The processor of every partition.
    loads : sequence of int
        What each partition cost since the last time, in ns.
    processors : int
        How many there are.
    cost : int
        What moving costs, in ns.
    bound : collection of int
        Partitions that stay where they are.

    Examples
    --------
    >>> better((0, 0, 1, 1), (4, 2, 1, 1), 2)
    (0, 1, 1, 1)
    >>> better((0, 0, 1, 1), (50, 1, 49, 1), 2) is None
    True
    >>> better((0, 0, 1, 1), (4, 2, 1, 1), 2, bound={1})
    (1, 0, 0, 0)
    """
    now, load = np.array(owners, np.int64), np.array(loads, np.int64)
    free = np.array([partition for partition in range(len(now)) if partition not in bound], np.int64)
    base = _sums(now, load, processors) - _sums(now[free], load[free], processors)
    moved = now[free]
    before = int(_sums(now, load, processors).max(initial=0))
    for _ in range(len(free)):
        if not _improve(moved, load[free], base):
            break
    now[free] = moved
    gain = before - int(_sums(now, load, processors).max(initial=0))
    worth = gain > before * WORTH and gain * WINDOWS >= cost
    return tuple(now.tolist()) if worth else None


def divided(owners: Sequence[int], like: Mapping[str, Owners]) -> dict[str, Owners]:
    """Cut one list of processors into the placements of several partitions.

    Examples
    --------
    >>> divided((0, 1, 1, 0, 2), {"P": (0, 0), "Q": (0, 0, 0)})
    {'P': (0, 1), 'Q': (1, 0, 2)}
    """
    found, start = {}, 0
    for name, old in like.items():
        found[name] = tuple(owners[start : start + len(old)])
        start += len(old)
    return found


def _sums(owners: _Counts, loads: _Counts, processors: int) -> _Counts:
    sums = np.zeros(processors, np.int64)
    np.add.at(sums, owners, loads)
    return sums


def _improve(owners: _Counts, loads: _Counts, base: _Counts) -> bool:
    """Make the busiest processor less busy; false if no move and no exchange does.

    `base` is the load of each processor that can't move.
    """
    sums = base + _sums(owners, loads, len(base))
    busiest = int(sums.argmax())
    for other in np.argsort(sums, kind="stable").tolist():
        gap = int(sums[busiest] - sums[other])
        if gap > 0 and (
            _move(owners, loads, busiest, other, gap) or _swap(owners, loads, busiest, other, gap)
        ):
            return True
    return False


def _move(owners: _Counts, loads: _Counts, source: int, target: int, gap: int) -> bool:
    """Move the partition whose load is nearest to half of the gap, if that makes it smaller."""
    ours = np.flatnonzero((owners == source) & (loads > 0) & (loads < gap))
    if ours.size == 0:
        return False
    owners[ours[np.abs(2 * loads[ours] - gap).argmin()]] = target
    return True


def _swap(owners: _Counts, loads: _Counts, source: int, target: int, gap: int) -> bool:
    """Exchange two partitions whose difference is nearest to half of the gap, if that makes it smaller."""
    ours, theirs = np.flatnonzero(owners == source), np.flatnonzero(owners == target)
    if ours.size == 0 or theirs.size == 0:
        return False
    order = theirs[np.argsort(loads[theirs], kind="stable")]
    wanted = loads[ours] - gap // 2
    near = np.clip(np.searchsorted(loads[order], wanted), 0, order.size - 1)
    difference = loads[ours] - loads[order[near]]
    fits = (difference > 0) & (difference < gap)
    if not fits.any():
        return False
    best = int(np.where(fits, np.abs(2 * difference - gap), np.iinfo(np.int64).max).argmin())
    owners[ours[best]], owners[order[near[best]]] = target, source
    return True
