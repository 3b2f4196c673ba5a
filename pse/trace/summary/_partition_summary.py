"""Messages among partitions as rows of a summary: how many, and how their bytes went."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse.trace.format._events import MessageFlag
from pse.trace.format._field_values import Array
from pse.trace.query._group_reduce import Groups
from pse.trace.query._names import Names


@dataclass(frozen=True)
class PartitionRow:
    """What one thread's partitions sent from one call site; bytes.

    Bytes went from partition to partition of one rank, to another rank of the node, or between nodes.
    """

    site: int | None
    label: str
    place: str
    thread: str
    what: str  # messages; collectives: parts of collective operations
    messages: int
    own: int
    node: int
    remote: int


def partition_rows(names: Names, messages: Array) -> tuple[PartitionRow, ...]:
    """Count messages among partitions (`PARTITION_MESSAGE_DTYPE`) by call site, thread, and what they are."""
    messages = messages[messages["sent"] >= 0]
    groups = Groups(messages["site"], names.thread_numbers(messages["sender"]), messages["collective"])
    own = messages["sender"] == messages["receiver"]
    remote = messages["flags"] & MessageFlag.REMOTE != 0
    ways = [groups.sum(np.where(way, messages["bytes"], 0)) for way in (own, ~own & ~remote, remote)]
    return tuple(
        PartitionRow(
            *names.site(site),
            names.threads[thread],
            "collectives" if is_collective else "messages",
            *map(int, counts),
        )
        for site, thread, is_collective, *counts in zip(
            groups.first, groups.second, groups.third, groups.count, *ways, strict=True
        )
    )
