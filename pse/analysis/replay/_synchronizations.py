"""Where ranks synchronize: waits for a rank that came late, operations that nobody leaves before all came.

Before a wait of one rank for another, the last such point of both is where their synchronization interval
begins.
"""

from __future__ import annotations

import numpy as np

from pse.analysis.replay._columns import Columns, columns_of
from pse.analysis.replay._peers import Delivery, Peers
from pse.analysis.replay._stream_placement import Streams
from pse.trace.format import Array

WAITING_DTYPE = np.dtype(
    [
        ("rank", "<u4"),  # that waits; rank of the job
        ("number", "<u4"),  # of the wait among those of the rank, by thread, then by their begin
        ("state", "u1"),  # place in WAIT_OF_DELAY; JOIN
        ("path", "<u4"),  # call path; this process's number
        ("late", "<u4"),  # the rank that it waits for
        ("thread", "<u4"),  # of the rank that waits
        ("late_thread", "<u4"),  # of the rank that it waits for
        ("begin", "<f8"),  # ns
        ("wait", "<f8"),  # ns
        ("time", "<f8"),  # ns: when the late rank came
    ]
)
"""A wait state with the rank that came late."""
JOIN = 255
"""State of a thread that waits for another one of its rank to end: a wait, but nobody is late."""

JOINT_DTYPE = np.dtype([("rank", "<u4"), ("identity", "<u8"), ("time", "<f8")])
"""A rank's part in an operation that nobody leaves before the last one comes, at that time."""

_PART_DTYPE = np.dtype([("rank", "<u4"), ("identity", "<u8")])
_MEETING_DTYPE = np.dtype([("rank", "<u4"), ("late", "<u4"), ("identity", "<u8"), ("time", "<f8")])


def numbered(waits: Array) -> Array:
    """Waits by rank, by thread, then by their begin, with their numbers."""
    waits = waits[np.lexsort((waits["begin"], waits["thread"], waits["rank"]))]
    waits["number"] = np.arange(len(waits)) - np.searchsorted(waits["rank"], waits["rank"])
    return waits


def last_synchronizations(
    waits: Array, came: Columns, delivery: Delivery, joint: Array, streams: Streams, peers: Peers
) -> tuple[Array, Array]:
    """When both ranks of waits had synchronized the last time before, ns, -inf: never; collective.

    Parameters
    ----------
    waits : array of WAITING_DTYPE
        Those of this process's ranks.
    came : Columns of WAITING_DTYPE
        Those of any ranks for this process's ranks.
    delivery : Delivery
        By which they came.
    joint : array of JOINT_DTYPE
        Parts of this process's ranks.
    streams : Streams
        Who has which ranks.
    peers : Peers
        All processes.

    Returns
    -------
    since : array of float64, shape (waits,)
        Of `waits`.
    since_came : array of float64
        Of those that came.
    """
    joint = _by_members(joint, peers)
    met = _meetings(waits, joint)
    to = streams.owners(met["late"], peers.rank)
    rows = peers.deliver(columns_of(met), _MEETING_DTYPE, to).rows
    known = _are_members(rows["late"], rows["identity"], joint)
    times = [came["time"], waits["time"], rows["time"][known]]
    one = [came["late"], waits["rank"], rows["late"][known]]
    other = [came["rank"], waits["late"], rows["rank"][known]]
    found = _last_before(
        (_pair(np.concatenate(one), np.concatenate(other)), np.concatenate(times)),
        (_pair(came["late"], came["rank"]), came["begin"]),
    )
    return delivery.reply(found), found


def _by_members(joint: Array, peers: Peers) -> Array:
    """Give communicators with the same members one identity; collective.

    A program may make a communicator in every step, and what is looked at is the last operation of each.
    """
    parts, of_part = np.unique(joint[["rank", "identity"]].astype(_PART_DTYPE), return_inverse=True)
    to = (parts["identity"] % np.uint64(peers.size)).astype("<i8")
    delivery = peers.deliver(columns_of(parts), _PART_DTYPE, to)
    _, of_row = np.unique(delivery.rows["identity"], return_inverse=True)
    sums = np.zeros(int(of_row.max(initial=-1)) + 1, "<u8")
    np.add.at(sums, of_row, _mixed(delivery.rows["rank"]))
    merged = joint.copy()
    merged["identity"] = delivery.reply(sums[of_row])[of_part]
    return merged


def _mixed(ranks: Array) -> Array:
    """Numbers whose sums tell sets of ranks apart: the finalizer of SplitMix64 (Steele et al., 2014)."""
    mixed = (ranks.astype("<u8") + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    found: Array = mixed ^ (mixed >> np.uint64(31))
    return found


def _meetings(waits: Array, joint: Array) -> Array:
    """For each wait the last operation before it in each communicator of its rank: both may be in that."""
    parts = [np.empty(0, _MEETING_DTYPE)]
    for rank in np.unique(joint["rank"]).tolist():
        own, mine = waits[waits["rank"] == rank], joint[joint["rank"] == rank]
        for identity in np.unique(mine["identity"]):
            times = np.sort(mine["time"][mine["identity"] == identity])
            last = np.searchsorted(times, own["begin"], side="right") - 1
            some = np.flatnonzero(last >= 0)
            made = np.empty(len(some), _MEETING_DTYPE)
            made["rank"], made["identity"], made["late"] = rank, identity, own["late"][some]
            made["time"] = times[last[some]]
            parts.append(made)
    return np.concatenate(parts)


def _are_members(ranks: Array, identities: Array, joint: Array) -> Array:
    """Which of the pairs of rank and communicator have a part in `joint`."""
    _, numbers = np.unique(np.concatenate([joint["identity"], identities]), return_inverse=True)
    found: Array = np.isin(
        _pair(ranks, numbers[len(joint) :]), np.unique(_pair(joint["rank"], numbers[: len(joint)]))
    )
    return found


def _pair(one: Array, other: Array) -> Array:
    found: Array = (one.astype("<u8") << np.uint64(32)) | other.astype("<u8")
    return found


def _last_before(points: tuple[Array, Array], asked: tuple[Array, Array]) -> Array:
    """For pairs and times the last time of the same pair that is not later; -inf: none."""
    pairs, times = (np.concatenate(both) for both in zip(points, asked, strict=True))
    is_asked = np.repeat([False, True], [len(points[0]), len(asked[0])])
    order = np.lexsort((is_asked, times, pairs))
    last = np.maximum.accumulate(np.where(is_asked[order], -1, np.arange(len(order))))
    at = order[last]
    found = np.empty(len(order))
    found[order] = np.where((last >= 0) & (pairs[at] == pairs[order]), times[at], -np.inf)
    return found[len(points[0]) :]
