"""Reductions and collective operations among partitions, as coven.h has them.

Made from cext/abi/coven.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum


class Reduction(IntEnum):
    """Operations of reductions; the language and Python modules spell them in lower case."""

    SUM = 1
    PROD = 2
    MIN = 3
    MAX = 4
    ALL = 5  # 1 where both are other than 0
    ANY = 6
    HYPOT = 7  # The square root of the sum of squares, of reals; no square overflows on the way


class CollectiveKind(IntEnum):
    """Collective operations."""

    BARRIER = 1
    BCAST = 2
    REDUCE = 3
    ALLREDUCE = 4
    SCAN = 5
    GATHER = 6
    ALLGATHER = 7
    SCATTER = 8
    ALLTOALL = 9
    ALLTOALLV = 10
    NEIGHBOR_ALLTOALLV = 11


ROOTED = {
    CollectiveKind.BCAST,
    CollectiveKind.REDUCE,
    CollectiveKind.GATHER,
    CollectiveKind.SCATTER,
}
