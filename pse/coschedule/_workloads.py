"""Programs of simulated ranks: what each computes, posts and waits for."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import ACT_DTYPE, Act, Collective

_FACE: Final = 12_000
"""Bytes that SWEEP3D sends along an axis."""
_ROW: Final = 65_536
"""Bytes that SAGE sends to a neighbor."""
_BLOCKS: Final = 10
"""Blocks of SWEEP3D that one corner begins after the other."""
_CORNERS: Final = ((1, 1), (-1, 1), (-1, -1), (1, -1))
_BEFORE, _AFTER = 1, 2
"""Tags of SAGE's messages, by the neighbor that gets them."""


class Workload(NamedTuple):
    """A program of simulated ranks.

    Attributes
    ----------
    acts : ndarray
        What the ranks do, one rank after the other: with kind, peer, tag and amount (bytes or ns).
    begins : ndarray of uint64
        Where the acts of each rank begin, and where the last one's end.

    See Also
    --------
    simulate
    """

    acts: NDArray[np.void]
    begins: NDArray[np.uint64]


def _acts(ranks: int, steps: int, count: int) -> NDArray[np.void]:
    return np.zeros((ranks, steps, count), ACT_DTYPE)


def _set(
    acts: NDArray[np.void],
    at: int,
    kind: Act,
    *,
    peer: "NDArray[np.int64] | int" = -1,
    tag: int = 0,
    amount: int = 0,
) -> None:
    """Let all ranks do this in each step; `peer` may have an entry for each rank."""
    part = acts[..., at]
    part["kind"], part["tag"], part["amount"] = kind, tag, amount
    part["peer"] = peer if isinstance(peer, int) else peer[:, None]


def _joined(acts: NDArray[np.void], chosen: "NDArray[np.bool_] | None" = None) -> Workload:
    kept = np.ones(acts.shape, bool) if chosen is None else chosen
    counts = kept.sum(axis=(1, 2))
    return Workload(acts[kept], np.concatenate([[0], counts.cumsum()]).astype(np.uint64))


def barriers(ranks: int, steps: int, compute: float = 1.9e-3) -> Workload:
    """Compute, and a barrier, in each step (section 5.3 of the paper)."""
    acts = _acts(ranks, steps, 3)
    _set(acts, 0, Act.COMPUTE, amount=round(compute * 1e9))
    _set(acts, 1, Act.COLLECTIVE, tag=Collective.BARRIER)
    _set(acts, 2, Act.WAIT)
    return _joined(acts)


def sage(ranks: int, steps: int, compute: float = 4e-3) -> Workload:
    """Compute, exchange rows with both neighbors of a ring, and a reduction, in each step."""
    acts, own = _acts(ranks, steps, 8), np.arange(ranks)
    before, after = (own - 1) % ranks, (own + 1) % ranks
    _set(acts, 0, Act.COMPUTE, amount=round(compute * 1e9))
    _set(acts, 1, Act.RECEIVE, peer=before, tag=_AFTER, amount=_ROW)
    _set(acts, 2, Act.RECEIVE, peer=after, tag=_BEFORE, amount=_ROW)
    _set(acts, 3, Act.SEND, peer=after, tag=_AFTER, amount=_ROW)
    _set(acts, 4, Act.SEND, peer=before, tag=_BEFORE, amount=_ROW)
    _set(acts, 5, Act.WAIT)
    _set(acts, 6, Act.COLLECTIVE, tag=Collective.ALLREDUCE, amount=8)
    _set(acts, 7, Act.WAIT)
    return _joined(acts)


def sweep(ranks: int, steps: int, compute: float = 3.5e-3) -> Workload:
    """Wavefronts over a grid from each of its corners, blocking: receive, compute a block, send."""
    rows = next(one for one in range(int(ranks**0.5), 0, -1) if ranks % one == 0)
    acts, chosen = _acts(ranks, steps, 9), np.ones((ranks, steps, 9), bool)
    _set(acts, 4, Act.COMPUTE, amount=round(compute * 1e9))
    for at in (1, 3, 6, 8):
        _set(acts, at, Act.WAIT)
    grid, own = (ranks // rows, rows), np.arange(ranks)
    places = np.array([own % grid[0], own // grid[0]])
    for step in range(steps):
        for axis, stride in ((0, 1), (1, grid[0])):
            flow = _CORNERS[step // _BLOCKS % len(_CORNERS)][axis]
            for at, kind, side in ((2 * axis, Act.RECEIVE, -flow), (2 * axis + 5, Act.SEND, flow)):
                part = acts[:, step : step + 1]
                _set(part, at, kind, peer=own + side * stride, tag=axis, amount=_FACE)
                there = places[axis] + side
                chosen[:, step, at : at + 2] = ((there >= 0) & (there < grid[axis]))[:, None]
    return _joined(acts, chosen)


WORKLOADS: Final = {"barrier": barriers, "sage": sage, "sweep": sweep}
