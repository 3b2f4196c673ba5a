"""Communicators of the traced program: numbers that are the same in all processes, and who is in them.

A communicator is known by its leader's rank and number.  Which rank of the job is rank n in it is kept by one
process for each such pair; the others ask it for those that they need.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pse.analysis.replay._columns import columns_of
from pse.analysis.replay._peers import Peers
from pse.trace import NONE, EventType
from pse.trace.format import Array, CommunicatorFlag, distinct, high32, low32
from pse.trace.query import Trace

_SEAT_DTYPE = np.dtype([("identity", "<u8"), ("place", "<u4"), ("rank", "<u4")])
UNKNOWN = 0xFFFFFFFFFFFFFFFF
"""The identity of no communicator."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_DENSE = 1 << 22  # Pairs of communicator and rank that are told apart by a table.


class Communicators:
    """The communicators that the streams of this process know.

    Parameters
    ----------
    trace : Trace
        What its ranks said about them.
    peers : Peers
        All processes.

    Attributes
    ----------
    identities : array of uint64, shape (communicators,)
        What each is known by everywhere, ascending; this process's number for it is the index.
    sizes : array of uint32, shape (communicators,)
        How many ranks each has.
    mentioned : set of int
        Ranks of the job that its ranks say are in one.

    Those with processes of another job are not among them: `of_other_jobs` tells which these are.
    """

    def __init__(self, trace: Trace, peers: Peers) -> None:
        made = {rank: trace.select(rank, EventType.MPI_COMMUNICATOR) for rank in trace.ranks}
        self._outer = {rank: low32(events["a"][_is_outer(events)]) for rank, events in made.items()}
        made = {rank: events[~_is_outer(events)] for rank, events in made.items()}
        all_made = np.concatenate([np.empty(0, "<u8"), *(events["b"] for events in made.values())])
        self.identities = distinct(_identity(all_made))
        self.sizes = np.zeros(len(self.identities), "<u4")
        self.mentioned: set[int] = set()
        self._own: dict[int, tuple[Array, ...]] = {}
        self._neighbours = {
            rank: _neighbours(trace.select(rank, EventType.MPI_NEIGHBORS)) for rank in trace.ranks
        }
        seats = [np.empty(0, _SEAT_DTYPE)]
        for rank, events in made.items():
            numbers = self.known(_identity(events["b"]))
            self.sizes[numbers] = low32(events["c"])
            self._own[rank] = _by_own_number(
                low32(events["a"]), numbers, high32(events["c"]), _side(events["flags"])
            )
            seats.append(_seats(rank, events))
            self._mention(rank, events, trace.select(rank, EventType.MPI_COMMUNICATOR_RANKS))
        self._peers = peers
        self._kept = _Directory(peers, np.concatenate(seats))

    def _mention(self, rank: int, made: Array, lines: Array) -> None:
        self.mentioned |= {rank, *distinct(low32(made["b"])).tolist()} if len(made) else set()
        leads = low32(made["a"])[high32(made["c"]) == 0]
        lines = lines[np.isin(low32(lines["a"]), leads)]
        words = [half(lines[name]) for name in "bc" for half in (low32, high32)]
        self.mentioned |= set(distinct(np.concatenate(words)).tolist())
        self.mentioned.discard(NONE)

    def known(self, identities: Array) -> Array:
        """Numbers of communicators, NONE for those that no stream of this process knows."""
        return _found(self.identities, np.arange(len(self.identities)), identities)

    def number(self, rank: int, own: Array) -> Array:
        """For a rank's own numbers those of this process, NONE for unknown ones."""
        owns, numbers, *_ = self._own[rank]
        return _found(owns, numbers, own)

    def place(self, rank: int, own: Array) -> Array:
        """For a rank's own numbers its rank in these communicators, NONE for unknown ones."""
        owns, _, places, _ = self._own[rank]
        return _found(owns, places, own)

    def side(self, rank: int, own: Array) -> Array:
        """For a rank's own numbers its group in them: 1 or 2; 0 where there is one group."""
        owns, *_, sides = self._own[rank]
        return _found(owns, sides, own)

    def neighbours(self, rank: int, own: Array) -> tuple[Array, Array]:
        """Neighbours that a rank sends to, for each of a list of its own numbers.

        Gives the places in the list, and ranks in the communicators.
        """
        owns, ranks = self._neighbours[rank]
        first, last = (np.searchsorted(owns, own, side) for side in ("left", "right"))
        counts = last - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(np.arange(len(own)), counts), ranks[np.repeat(first, counts) + within]

    def has_other_jobs(self, rank: int) -> bool:
        """Whether a rank has communicators with processes of another job."""
        return len(self._outer[rank]) > 0

    def of_other_jobs(self, rank: int, own: Array) -> Array:
        """Which of a rank's own numbers are of communicators with processes of another job."""
        return np.isin(own, self._outer[rank])

    def job_ranks(self, columns: Iterable[tuple[Array, Array]]) -> list[Array]:
        """For numbers of communicators and ranks in them those of the job, NONE for unknown; collective."""
        pairs = [((numbers.astype("<u8") << np.uint64(32)) | places) for numbers, places in columns]
        together = np.concatenate([np.empty(0, "<u8"), *pairs])
        asked = _distinct(together[together >> np.uint64(32) != NONE])
        seats = np.zeros(len(asked), _SEAT_DTYPE)
        seats["identity"], seats["place"] = self.identities[high32(asked)], low32(asked)
        ranks = np.append(self._kept.ranks(seats), np.array([NONE], "<u4"))
        asked = np.append(asked, np.uint64(UNKNOWN))
        return [_found(asked, ranks, pair) for pair in pairs]


class _Directory:
    """Who has which place in a communicator, spread over all processes."""

    def __init__(self, peers: Peers, seats: Array) -> None:
        self._peers = peers
        kept = peers.deliver(columns_of(seats), _SEAT_DTYPE, self._homes(seats)).rows
        self._kept = kept.take(np.lexsort((kept["place"], kept["identity"])))

    def _homes(self, seats: Array) -> Array:
        return spread(seats["identity"], seats["place"], self._peers.size)

    def ranks(self, seats: Array) -> Array:
        """The ranks of the job that have these places, NONE for unknown ones; collective."""
        delivery = self._peers.deliver(columns_of(seats), _SEAT_DTYPE, self._homes(seats))
        asked, kept = delivery.rows, self._kept
        _, index = np.unique(np.concatenate([kept["identity"], asked["identity"]]), return_inverse=True)
        one, other = (
            (numbers.astype("<u8") << np.uint64(32)) | rows["place"]
            for numbers, rows in zip(np.split(index, [len(kept)]), (kept, asked), strict=True)
        )
        found: Array = delivery.reply(_found(one, kept["rank"], other))
        return found


def spread(identities: Array, numbers: Array, count: int) -> Array:
    """A process for each pair of a communicator and a number, the same everywhere."""
    if count == 1:
        return np.zeros(len(identities), "<i8")
    mixed: Array = (identities * _MIX >> np.uint64(17)) + numbers.astype("<u8")
    found: Array = (mixed % np.uint64(count)).astype("<i8")
    return found


def _identity(words: Array) -> Array:
    """Leader and the leader's number, the leader first."""
    return (low32(words).astype("<u8") << np.uint64(32)) | high32(words)


def _neighbours(lines: Array) -> tuple[Array, Array]:
    """A rank's own numbers of communicators, ascending, and the ranks in them that it sends to, each once."""
    if not len(lines):
        return np.empty(0, "<u4"), np.empty(0, "<u4")
    ranks = np.stack([half(lines[name]) for name in "bc" for half in (low32, high32)])
    pairs = np.stack([np.broadcast_to(low32(lines["a"]), ranks.shape), ranks]).reshape(2, -1)
    owns, ranks = np.unique(pairs[:, pairs[1] != NONE], axis=1)
    return owns, ranks


def _is_outer(made: Array) -> Array:
    found: Array = made["flags"] & CommunicatorFlag.OTHER_JOB != 0
    return found


def _side(flags: Array) -> Array:
    two, second = (flags & flag != 0 for flag in (CommunicatorFlag.TWO_GROUPS, CommunicatorFlag.SECOND_GROUP))
    found: Array = two.astype("<u4") + (two & second)
    return found


def _by_own_number(own: Array, *columns: Array) -> tuple[Array, ...]:
    """Own numbers, ascending, with the last that was said of each."""
    kept, last = np.unique(own[::-1], return_index=True)
    return kept, *(column[::-1][last] for column in columns)


def _seats(rank: int, made: Array) -> Array:
    seats = np.empty(len(made), _SEAT_DTYPE)
    seats["identity"], seats["place"], seats["rank"] = _identity(made["b"]), high32(made["c"]), rank
    return seats


def _distinct(keys: Array) -> Array:
    """Different keys, ascending."""
    width = np.uint64(1 + int(low32(keys).max(initial=0)))
    narrow = high32(keys) * width + low32(keys)
    bound = 1 + int(narrow.max(initial=0))
    if bound <= _DENSE:
        is_there = np.zeros(bound, bool)
        is_there[narrow] = True
        narrow = np.flatnonzero(is_there).astype("<u8")
    else:
        narrow = distinct(narrow)
    return (narrow // width << np.uint64(32)) | narrow % width


def _found(keys: Array, values: Array, wanted: Array) -> Array:
    """Values of sorted keys, the last of equal ones; NONE for others."""
    if not len(keys):
        return np.full(len(wanted), NONE, "<u4")
    place = np.maximum(np.searchsorted(keys, wanted, side="right") - 1, 0)
    return np.where(keys[place] == wanted, values[place], NONE).astype("<u4")
