"""Wait states of collective operations: formulas over rows that are sorted by operation, then by rank in it.

B and F are when a rank begins and ends an operation.  The formulas are those of SCALASCA 2 (its documentation
of metrics), checked against its results.  Only waiting times above 0 count.
"""

from __future__ import annotations

import numpy as np

from pse.trace import NONE, Collective
from pse.trace.format import Array

BARRIERS = (Collective.BARRIER,)
N_TO_N = (
    *(Collective.ALLREDUCE, Collective.REDUCE_SCATTER, Collective.REDUCE_SCATTER_BLOCK),
    *(Collective.ALLGATHER, Collective.ALLGATHERV),
    *(Collective.ALLTOALL, Collective.ALLTOALLV, Collective.ALLTOALLW),
)
ONE_TO_N = (Collective.BCAST, Collective.SCATTER, Collective.SCATTERV)
N_TO_ONE = (Collective.REDUCE, Collective.GATHER, Collective.GATHERV)
SCANS = (Collective.SCAN, Collective.EXSCAN)
AMONG_NEIGHBORS = (
    *(Collective.NEIGHBOR_ALLGATHER, Collective.NEIGHBOR_ALLGATHERV),
    *(Collective.NEIGHBOR_ALLTOALL, Collective.NEIGHBOR_ALLTOALLV, Collective.NEIGHBOR_ALLTOALLW),
)

MEETINGS = (Collective.CREATE_COMMUNICATOR, Collective.WINDOW, Collective.FILE)
"""Operations on communicators, windows and files: MPI may let ranks leave before the last one has come."""


class Operations:
    """Rows of collective operations, a row for each rank of each.

    Parameters
    ----------
    starts : array of int64, shape (operations,)
        The first row of each operation.
    sides : array of uint8, shape (rows,)
        Between two groups each rank's group, 1 or 2: data goes from each group to the other.  0: one group.
        Rows of the first group come before those of the second.
    begin, end : array of float64, shape (rows,)
        B and F, ns.
    sends, receives : array of bool, shape (rows,)
        Whether the rank sends or receives more than 0 bytes.
    is_root : array of bool, shape (rows,)
        Whether the rank is the root.
    source : array of uint32, shape (rows,)
        Among neighbours, of those that send the rank data the one that comes last: the n-th row of the
        operation; NONE: there is none.
    """

    def __init__(
        self,
        starts: Array,
        sides: Array,
        begin: Array,
        end: Array,
        sends: Array,
        receives: Array,
        is_root: Array,
        source: Array,
    ) -> None:
        self.begin, self.end = begin, end
        self.sends, self.receives, self.is_root = sends, receives, is_root
        second = np.flatnonzero((sides[1:] == 2) & (sides[:-1] == 1)) + 1
        self._starts = np.union1d(starts, second) if len(second) else starts
        self.of_row = np.repeat(np.arange(len(self._starts)), np.diff(np.append(self._starts, len(begin))))
        self.partners_of_row = self.of_row + np.array([0, 1, -1])[sides]
        self.last_source = np.where(source == NONE, -1, self._starts[self.of_row] + source)

    def latest(self, times: Array, counted: Array) -> Array:
        """For each row the latest time among those that it gets data of and that count; -inf: none."""
        times = np.where(counted, times, -np.inf)
        found: Array = np.maximum.reduceat(times, self._starts)[self.partners_of_row]
        return found

    def earliest(self, times: Array, counted: Array) -> Array:
        """For each row the earliest time among those that it gets data of and that count; inf: none."""
        times = np.where(counted, times, np.inf)
        found: Array = np.minimum.reduceat(times, self._starts)[self.partners_of_row]
        return found

    def earliest_beside(self, times: Array, counted: Array) -> Array:
        """For each row the earliest time in its own group among the rows that count; inf if none does."""
        found: Array = np.minimum.reduceat(np.where(counted, times, np.inf), self._starts)[self.of_row]
        return found

    def begins_at(self, times: Array, counted: Array) -> Array:
        """For each row the first that counts of those that it gets data of that begins then; -1: none.

        The times are the same for all rows of a group.
        """
        is_it = counted & (self.begin == times[self._starts][self.partners_of_row])
        first = np.where(is_it, np.arange(len(times)), len(times))
        found: Array = np.minimum.reduceat(first, self._starts)[self.partners_of_row]
        return np.where(found < len(times), found, -1)

    def latest_so_far(self, times: Array) -> Array:
        """For each row the latest time of its operation among this row and those before it."""
        found: Array = times[self.latest_row_so_far(times)]
        return found

    def latest_row_so_far(self, times: Array) -> Array:
        """For each row the row with this time."""
        order = np.argsort(times, kind="stable")
        rank_of = np.empty(len(times), "<i8")
        rank_of[order] = np.arange(len(times))
        latest = np.maximum.accumulate(self.of_row * len(times) + rank_of) - self.of_row * len(times)
        found: Array = order[latest]
        return found


def wait_at_barrier(rows: Operations) -> Array:
    """How long each rank waits in a barrier for the last one to come: ``min(max B, F_i) - B_i``."""
    return _wait(rows, np.ones(len(rows.begin), bool))


def barrier_completion(rows: Operations) -> Array:
    """How long each rank is in a barrier after the first one left it: ``F_i - max(min F, max B)``."""
    return _completion(rows, np.ones(len(rows.begin), bool), np.ones(len(rows.begin), bool))


def wait_at_meeting(rows: Operations) -> Array:
    """How long each rank waits for the last one in an operation of MEETINGS: ``max B - B_i``.

    Who leaves it before the last one has come does not wait for that.
    """
    everyone = np.ones(len(rows.begin), bool)
    return np.where(rows.latest(rows.begin, everyone) <= rows.end, _wait(rows, everyone), 0.0)


def wait_at_n_to_n(rows: Operations) -> Array:
    """How long each rank waits for the last one to come to an operation in which all need data of all.

    ``min(max B, F_i) - B_i`` with B of the ranks that send data; only ranks that receive data wait.
    """
    return np.where(rows.receives, _wait(rows, rows.sends), 0.0)


def n_to_n_completion(rows: Operations) -> Array:
    """How long each rank is in such an operation after the first one left it.

    ``F_i - max(min F, max B)`` with B of the ranks that send data, for ranks that receive data.
    """
    return np.where(rows.receives, _completion(rows, rows.sends, rows.receives), 0.0)


def late_broadcast(rows: Operations) -> Array:
    """How long ranks that receive data wait for a root that comes late: ``min(B_root, F_i) - B_i``."""
    root = rows.latest(rows.begin, rows.is_root)
    waits = np.maximum(np.minimum(root, rows.end) - rows.begin, 0.0)
    return np.where(rows.receives & ~rows.is_root, waits, 0.0)


def early_reduce(rows: Operations) -> Array:
    """How long a root waits for the first of the ranks that send it data: ``min(min B, F_root) - B_root``."""
    senders = rows.sends & ~rows.is_root
    first = rows.earliest(rows.begin, senders)
    waits = np.maximum(np.minimum(first, rows.end) - rows.begin, 0.0)
    return np.where(rows.is_root & np.isfinite(first), waits, 0.0)


def early_scan(rows: Operations) -> Array:
    """How long each rank that receives data waits for those before it: ``min(max B_j, F_i) - B_i``.

    The maximum is over the ranks ``j <= i`` that send data.
    """
    latest = rows.latest_so_far(np.where(rows.sends, rows.begin, -np.inf))
    return np.where(rows.receives, np.maximum(np.minimum(latest, rows.end) - rows.begin, 0.0), 0.0)


def wait_for_neighbours(rows: Operations) -> Array:
    """How long each rank waits for the last of the neighbours that send it data: ``min(max B_j, F_i) - B_i``.

    It is the formula of N-to-N operations, with the maximum over the neighbours ``j`` of rank ``i``; only
    ranks that receive data wait.
    """
    latest = np.where(rows.last_source >= 0, rows.begin[rows.last_source], -np.inf)
    return np.where(rows.receives, np.maximum(np.minimum(latest, rows.end) - rows.begin, 0.0), 0.0)


def last_neighbour(rows: Operations) -> Array:
    """For each row that of the neighbour that sends data and comes last; -1: none."""
    return rows.last_source


def last_of_all(rows: Operations) -> Array:
    """The row of the rank that comes last, for which a barrier's ranks wait; of several the first."""
    everyone = np.ones(len(rows.begin), bool)
    return rows.begins_at(rows.latest(rows.begin, everyone), everyone)


def last_sender(rows: Operations) -> Array:
    """The row of the last rank that sends data, for which all wait that need data of all; -1: none."""
    return rows.begins_at(rows.latest(rows.begin, rows.sends), rows.sends)


def the_root(rows: Operations) -> Array:
    """The row of the root, for which all wait that need its data; -1: none."""
    return rows.begins_at(rows.latest(rows.begin, rows.is_root), rows.is_root)


def first_sender(rows: Operations) -> Array:
    """The row of the first rank that sends data to a root, for which this waits; -1: none."""
    senders = rows.sends & ~rows.is_root
    return rows.begins_at(rows.earliest(rows.begin, senders), senders)


def last_sender_to_root(rows: Operations) -> Array:
    """The row of the last rank that sends data to a root, which a root that started waits for; -1: none."""
    senders = rows.sends & ~rows.is_root
    return rows.begins_at(rows.latest(rows.begin, senders), senders)


def last_sender_before(rows: Operations) -> Array:
    """For each row that of the last rank up to it that sends data, for which a scan waits; -1: none."""
    times = np.where(rows.sends, rows.begin, -np.inf)
    found = rows.latest_row_so_far(times)
    return np.where(rows.sends[found], found, -1)


def _wait(rows: Operations, senders: Array) -> Array:
    waits: Array = np.maximum(np.minimum(rows.latest(rows.begin, senders), rows.end) - rows.begin, 0.0)
    return waits


def _completion(rows: Operations, senders: Array, receivers: Array) -> Array:
    first_end, last_begin = rows.earliest_beside(rows.end, receivers), rows.latest(rows.begin, senders)
    waits: Array = np.maximum(rows.end - np.maximum(first_end, last_begin), 0.0)
    return waits
