"""Standard modules by which rows go to other partitions: `migrate`, and `redistribute` of ragged arrays."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.language.types import block_range
from pse.modules._errors import ModuleError
from pse.modules.std._piece_layout import Pieces

Array = NDArray[Any]


def migrate(x: Array, by: NDArray[np.int64], *, pieces: Pieces | None = None) -> Generator[Any, Any, Array]:
    """Send every row to its partition; what comes is in the order of partitions, and of rows in each.

    Rows that stay are not in the messages.
    """
    assert pieces is not None, "it is allowed only inside PARALLEL"
    messages = pieces.messages
    here, count = messages.partition_index(), messages.partition_count()
    _check(x, by, here, count)
    leaving = np.flatnonzero(by != here)
    sent = np.bincount(by[leaving], minlength=count)
    came = yield messages.alltoall(sent)
    order = leaving[np.argsort(by[leaving], kind="stable")]
    width = x.dtype.itemsize * math.prod(x.shape[1:])
    outgoing = np.split(_bytes(x[order]), np.cumsum(sent[:-1]) * width)
    incoming = yield messages.alltoallv(outgoing, came * width)
    first, stay = int(came[:here].sum()), len(x) - len(leaving)
    rows = np.empty((stay + int(came.sum()), *x.shape[1:]), x.dtype)
    np.take(x, np.flatnonzero(by == here), axis=0, out=rows[first : first + stay], mode="clip")  # unbuffered
    _bytes(rows)[: first * width] = _joined(incoming[:here])
    _bytes(rows)[(first + stay) * width :] = _joined(incoming[here + 1 :])
    return rows


def redistribute_rows(a: Array, *, pieces: Pieces | None = None) -> Generator[Any, Any, Array]:
    """Share out the rows that all partitions have, in their order, into blocks as even as can be."""
    assert pieces is not None, "it is allowed only inside PARALLEL"
    messages = pieces.messages
    rows = yield messages.allgather(len(a))
    first, count = int(rows[: messages.partition_index()].sum()), messages.partition_count()
    ends = [block_range(int(rows.sum()), count, partition).stop for partition in range(count)]
    owners = np.searchsorted(ends, np.arange(first, first + len(a)), side="right")
    return (yield from migrate(a, owners, pieces=pieces))


def _bytes(rows: Array) -> NDArray[np.uint8]:
    return np.ascontiguousarray(rows).reshape(-1).view(np.uint8)


def _joined(parts: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    return np.concatenate([*parts, np.empty(0, np.uint8)])


def _check(x: Array, by: NDArray[np.int64], here: int, count: int) -> None:
    if len(x) != len(by):
        message = f"migrate: partition {here} has {len(x):,} rows, but {len(by):,} numbers of partitions"
        raise ModuleError(message, help="give one number for each row")
    if by.view(np.uint64).max(initial=0) >= count:  # Negative numbers are the largest ones.
        row = np.flatnonzero((by < 0) | (by >= count))[0]
        message = f"migrate: row {row:,} of partition {here} is to go to partition {by[row]}"
        raise ModuleError(message, help=f"there are partitions 0 to {count - 1}")
