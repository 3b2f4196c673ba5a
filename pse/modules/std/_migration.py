"""Standard modules by which rows go to other partitions: `migrate`, and `redistribute` of ragged arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.language.types import block_range
from pse.memory import keep_rows, leaving_rows, pack_rows
from pse.modules._errors import ModuleError
from pse.modules.std._piece_layout import Pieces

Array = NDArray[Any]
Make = Callable[[int], Array]


def migrate(
    x: Array, by: NDArray[np.int64], *, make: Make | None = None, pieces: Pieces | None = None
) -> Generator[Any, Any, Array]:
    """Send every row to its partition; what comes is in the order of partitions, and of rows in each.

    Rows that stay are not in the messages: they are copied once, to where `make` makes the result, which may
    be where `x` is.
    """
    assert pieces is not None, "it is allowed only inside PARALLEL"
    assert make is not None, "it is the engine that calls it"
    messages = pieces.messages
    here, count = messages.partition_index(), messages.partition_count()
    leaving, sent = _leaving(x, by, here, count)
    came = yield messages.alltoall(sent)
    width = x.dtype.itemsize * math.prod(x.shape[1:])
    coming = messages.exchange_pieces(_packed(x, by, leaving, sent, width), sent * width, came * width)
    made = make(len(x) - len(leaving) + int(came.sum()))
    rows, first, stay = _bytes(made), int(came[:here].sum()) * width, (len(x) - len(leaving)) * width
    keep_rows(rows[first : first + stay], _bytes(x), len(x), leaving)
    incoming = yield coming
    rows[:first], rows[first + stay :] = incoming[:first], incoming[first:]
    return made


def _leaving(
    x: Array, by: NDArray[np.int64], here: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the rows that leave, and how many go to each partition."""
    if len(x) != len(by):
        message = f"migrate: partition {here} has {len(x):,} rows, but {len(by):,} numbers of partitions"
        raise ModuleError(message, help="give one number for each row")
    leaving, sent = np.empty(len(by), np.int64), np.zeros(count, np.int64)
    found = leaving_rows(by, here, leaving, sent)
    if found < 0:
        row = -1 - found
        message = f"migrate: row {row:,} of partition {here} is to go to partition {by[row]}"
        raise ModuleError(message, help=f"there are partitions 0 to {count - 1}")
    return leaving[:found], sent


def _packed(
    x: Array, by: NDArray[np.int64], leaving: NDArray[np.int64], sent: NDArray[np.int64], width: int
) -> NDArray[np.uint8]:
    """Give the bytes of the rows that leave, by the partition that they go to."""
    packed = np.empty(len(leaving) * width, np.uint8)
    pack_rows(packed, _bytes(x), by, leaving, np.cumsum(sent) - sent)
    return packed


def redistribute_rows(
    a: Array, *, make: Make | None = None, pieces: Pieces | None = None
) -> Generator[Any, Any, Array]:
    """Share out the rows that all partitions have, in their order, into blocks as even as can be."""
    assert pieces is not None, "it is allowed only inside PARALLEL"
    messages = pieces.messages
    rows = yield messages.allgather(len(a))
    first, count = int(rows[: messages.partition_index()].sum()), messages.partition_count()
    ends = [block_range(int(rows.sum()), count, partition).stop for partition in range(count)]
    owners = np.searchsorted(ends, np.arange(first, first + len(a)), side="right")
    return (yield from migrate(a, owners, make=make, pieces=pieces))


def transpose_rows(a: Array, *, make: Make | None = None) -> Array:
    """Swap the last two axes of rows that stay where they are."""
    assert make is not None, "it is the engine that calls it"
    made = make(len(a))
    made[...] = a.swapaxes(-1, -2)
    return made


def _bytes(rows: Array) -> NDArray[np.uint8]:
    return np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
