"""Rows of two tables that have equal keys: sends and their receives, begins and their ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse.trace._reading import match
from pse.trace.format._field_values import Array

MOST_WAYS = (1 << 64) - 1


def match_keys(sends: tuple[Array, ...], receives: tuple[Array, ...]) -> tuple[Array, Array]:
    """Places of the sends, ascending, and of the receives that have equal keys.

    Columns of a key are unsigned.  It is fastest where the last one ascends among those that are equal in all
    others, as numbers of messages do.

    Parameters
    ----------
    sends, receives : tuples of arrays of unsigned integers, shape (rows,)
        The columns of the keys of both tables.

    Returns
    -------
    sent, received : arrays of int64, shape (pairs,)
        Places in both tables.

    Examples
    --------
    >>> sends, receives = np.array([4, 5, 6], "<u4"), np.array([6, 4], "<u4")
    >>> match_keys((sends,), (receives,))
    (array([0, 2]), array([1, 0]))
    """
    ways, size = pack_keys(sends[:-1], receives[:-1], (len(sends[0]), len(receives[0])))
    out, back = (_in_order(way, ends[-1], size) for way, ends in zip(ways, (sends, receives), strict=True))
    least = min(len(sends[0]), len(receives[0]))
    left, right = np.empty(least, "<i8"), np.empty(least, "<i8")
    found = match(*out[1:], *back[1:], left, right)
    partners = np.full(len(sends[0]), -1, "<i8")
    partners[out[0][left[:found]]] = back[0][right[:found]]
    sent = np.flatnonzero(partners >= 0)
    return sent, partners[sent]


def pack_keys(
    sends: Sequence[Array], receives: Sequence[Array], rows: tuple[int, int]
) -> tuple[list[Array], int]:
    """Keys of several columns as one number each, equal and ordered as they are.

    Parameters
    ----------
    sends, receives : sequences of arrays of unsigned integers, shape (rows,)
        The columns of the keys of both tables; there may be none.
    rows : (int, int)
        How many keys each table has.

    Returns
    -------
    keys : list of two arrays of uint64, shape (rows,)
        Of sends and receives.
    size : int
        All keys are below it.

    Examples
    --------
    >>> one, other = np.array([4, 5], "<u4"), np.array([0, 1], "<u4")
    >>> pack_keys((one, other), (one[:1], other[:1]), (2, 1))
    ([array([ 8, 11], dtype=uint64), array([8], dtype=uint64)], 12)
    """
    keys: list[Array] = [np.zeros(count, "<u8") for count in rows]
    size = 1
    for columns in zip(sends, receives, strict=True):
        values, more = _few(columns, MOST_WAYS // size)
        if more == 1:
            continue  # All are 0.
        if size * more > MOST_WAYS:
            keys, size = _few(keys, 0)
        keys = [key * np.uint64(more) + value for key, value in zip(keys, values, strict=True)]
        size *= more
    return keys, size


def ordinals(columns: Sequence[Array], times: Array | None = None) -> Array:
    """The position of each row among those of its kind, by time or else as they stand; int64, shape (n,)."""
    order = np.lexsort([*([] if times is None else [times]), *columns])
    is_first = np.ones(len(order), bool)
    for column in columns:
        is_first[1:] &= column[order[1:]] == column[order[:-1]]
    is_first[1:] = ~is_first[1:]
    places = np.arange(len(order))
    found = np.empty(len(order), "<i8")
    found[order] = places - np.maximum.accumulate(np.where(is_first, places, 0)) if len(order) else places
    return found


def _few(columns: Sequence[Array], limit: int) -> tuple[list[Array], int]:
    """Two columns with numbers below a bound, and the bound; over the limit, places among all values."""
    bound = 1 + max((int(column.max()) for column in columns if len(column)), default=0)
    if bound <= limit:
        return list(columns), bound
    places = np.unique(np.concatenate(columns), return_inverse=True)[1].astype("<u8")
    return np.split(places, [len(columns[0])]), max(len(places), 1)


def _in_order(ways: Array, numbers: Array, size: int) -> tuple[Array, Array, Array]:
    """The order of keys (way, number), and both in it; there are `size` ways."""
    order = np.argsort(ways.astype("<u2") if size <= 1 << 16 else ways, kind="stable")  # Two bytes: faster.
    way, number = ways[order], numbers[order].astype("<u8")
    if ((way[1:] == way[:-1]) & (number[1:] < number[:-1])).any():
        order = np.lexsort((numbers, ways))
        way, number = ways[order], numbers[order].astype("<u8")
    return order, way, number
