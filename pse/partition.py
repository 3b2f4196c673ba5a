"""For modules in Python: the partition that a module runs for, and messages to the others.

``from pse import partition`` in a module's file; then, inside a module that runs in PARALLEL,
``partition.index`` and ``partition.count`` say which partition it is and of how many,
``partition.coordinates`` and ``partition.grid`` where it is on their grid, ``partition.block`` which indices
of an axis it has, and everything else *posts*: it returns a request at once.  What was posted is complete
when the module's call is over: the partition rests until then, while others run.  A module written as a
generator may yield a request, or a list of them, and goes on with what came when it is complete.
"""

from typing import Any

from pse.modules.messaging import (
    Request,
    allgather,
    allreduce,
    alltoall,
    alltoallv,
    barrier,
    bcast,
    gather,
    partition_block as block,
    partition_coordinates,
    partition_count,
    partition_grid,
    partition_index,
    receive,
    reduce,
    scan,
    scatter,
    send,
)

__all__ = [
    "Request",
    "allgather",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "block",
    "coordinates",
    "count",
    "gather",
    "grid",
    "index",
    "receive",
    "reduce",
    "scan",
    "scatter",
    "send",
]

index: int
"""The partition that the running module works for, from 0."""
count: int
"""How many partitions the region has."""
coordinates: tuple[int, ...]
"""Where the partition is on the grid, axis by axis; without a grid, the index alone."""
grid: tuple[int, ...]
"""The extents of the grid of partitions; without a grid, their number alone."""


def __getattr__(name: str) -> Any:
    if name == "index":
        return partition_index()
    if name == "count":
        return partition_count()
    if name == "coordinates":
        return partition_coordinates()
    if name == "grid":
        return partition_grid()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
