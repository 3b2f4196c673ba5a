"""What messages and collective operations prove about the order of events: the clock condition.

A message is received after it was sent (L. Lamport: Time, clocks, and the ordering of events in a
distributed system, Communications of the ACM 21 (1978) 558-565); nobody leaves a barrier before the last one
has come, nor any other collective operation before those have come whose data it needs.  Of MPI_Alltoallv,
MPI_Alltoallw, and their like among neighbours, the trace does not say who needs data of whom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse.analysis.patterns._collective import (
    AMONG_NEIGHBORS,
    BARRIERS,
    MEETINGS,
    N_TO_N,
    N_TO_ONE,
    ONE_TO_N,
    SCANS,
    Operations,
)
from pse.trace import Collective
from pse.trace.format import Array

_UNKNOWN = (
    *(Collective.ALLTOALLV, Collective.ALLTOALLW),
    *(Collective.NEIGHBOR_ALLTOALLV, Collective.NEIGHBOR_ALLTOALLW),
)
_ALL = tuple(kind for kind in (*BARRIERS, *N_TO_N) if kind not in _UNKNOWN)


@dataclass(frozen=True)
class ClockCondition:
    """Whether times agree with what happened before what.

    Parameters
    ----------
    count : int
        How many messages and ends of collective operations were looked at.
    violations : int
        How many of them are earlier than what happened before them.
    largest : float
        By how much, at most, ns.
    """

    count: int = 0
    violations: int = 0
    largest: float = 0.0

    def __add__(self, other: ClockCondition) -> ClockCondition:
        largest = max(self.largest, other.largest)
        return ClockCondition(self.count + other.count, self.violations + other.violations, largest)


def check_condition(before: Array, after: Array) -> ClockCondition:
    """Compare times with those of what happened before.

    Parameters
    ----------
    before, after : array of float64, shape (events,)
        Times, ns; those that are not known are nan or infinite, and not looked at.

    Returns
    -------
    ClockCondition
        How often, and how far, `after` is earlier than `before`.
    """
    early = before - after
    known = np.isfinite(early)
    wrong = early[known & (early > 0)]
    return ClockCondition(int(known.sum()), len(wrong), float(wrong.max(initial=0.0)))


def senders_and_receivers(operation: Array, rows: Operations) -> tuple[Array, Array]:
    """Which ranks have to have come to a collective operation before which leave it; scans are left out.

    Parameters
    ----------
    operation : array of uint8, shape (rows,)
        `Collective` of each row.
    rows : Operations
        The rows.

    Returns
    -------
    senders, receivers : array of bool, shape (rows,)
        Whether the rank's begin is before the others' ends, and its end is after the others' begins.
    """
    barrier, everybody = np.isin(operation, BARRIERS), np.isin(operation, _ALL)
    one, many = np.isin(operation, ONE_TO_N), np.isin(operation, N_TO_ONE)
    senders = (one & rows.is_root) | (many & rows.sends & ~rows.is_root) | (everybody & rows.sends) | barrier
    receivers = (
        (one & rows.receives & ~rows.is_root) | (many & rows.is_root) | (everybody & rows.receives) | barrier
    )
    return senders, receivers


def needs_neighbours(operation: Array) -> Array:
    """Which rows are of operations in which a rank needs data of each neighbour that sends any."""
    return np.isin(operation, AMONG_NEIGHBORS) & ~np.isin(operation, _UNKNOWN)


def is_scan(operation: Array) -> Array:
    """Which rows are of scans: a rank's end is after the begins of those before it."""
    return np.isin(operation, SCANS)


def bounds(operation: Array, rows: Operations) -> Array:
    """When each rank can leave its collective operation at the earliest, ns; -inf where nothing is known.

    Parameters
    ----------
    operation : array of uint8, shape (rows,)
        `Collective` of each row.
    rows : Operations
        The rows.

    Returns
    -------
    array of float64, shape (rows,)
        The latest begin of those that have to have come.
    """
    if not len(operation):
        return np.empty(0)
    senders, receivers = senders_and_receivers(operation, rows)
    found = np.where(receivers, rows.latest(rows.begin, senders), -np.inf)
    among = needs_neighbours(operation) & (rows.last_source >= 0)
    found[among] = rows.begin[rows.last_source[among]]
    scan = is_scan(operation)
    if scan.any():
        before = rows.latest_so_far(np.where(rows.sends, rows.begin, -np.inf))
        found = np.where(scan & rows.receives, before, found)
    return found


def likely_bounds(operation: Array, rows: Operations) -> Array:
    """When each rank can leave its operation, ns; -inf where nothing is known.

    As `bounds`, but where the trace does not say who needs data of whom, ranks need that of all (of all
    neighbours) that send any, and of all in operations on communicators, windows and files, unless they left
    before the last one of these came.
    """
    found = bounds(operation, rows)
    everyone = np.ones(len(operation), bool)
    of_neighbours = np.where(rows.last_source >= 0, rows.begin[rows.last_source], -np.inf)
    kinds = (
        (N_TO_N, rows.receives, rows.latest(rows.begin, rows.sends)),
        (AMONG_NEIGHBORS, rows.receives, of_neighbours),
        (MEETINGS, everyone, rows.latest(rows.begin, everyone)),
    )
    for kind, waits, latest in kinds:
        unsaid = np.isin(operation, kind) & np.isin(operation, (*_UNKNOWN, *MEETINGS))
        found = np.where(unsaid & waits & (latest <= rows.end), latest, found)
    return found
