"""Both ends of messages: the nth send of a kind belongs to the nth receive of this kind that was posted."""

from __future__ import annotations

import numpy as np

from pse.trace import NONE
from pse.trace.format import Array
from pse.trace.query import match_keys

KIND = ("communicator", "sender", "receiver", "tag")


def match_ends(sends: Array, receives: Array) -> tuple[Array, Array]:
    """Rows of sends and of the receives that they belong to.

    Parameters
    ----------
    sends, receives : arrays of END_DTYPE
        Of any ranks; those of one rank are in the order of its operations.

    Returns
    -------
    sent, received : arrays of int64, shape (messages,)
        Rows; of ends that are left out the partner is not among the rows.
    """
    rows, ordered = [], []
    for ends, key in zip((sends, receives), _keys(sends, receives), strict=True):
        known = (ends["sender"] != NONE) & (ends["receiver"] != NONE) & (ends["communicator"] != NONE)
        kept = np.flatnonzero(known)
        order = kept[_in_order(key[kept], ends["order"][kept])]
        rows.append(order)
        ordered.append(key[order])
    if np.array_equal(ordered[0], ordered[1]):
        return rows[0], rows[1]
    left, right = match_keys(*((key, _ordinals(key)) for key in ordered))
    return rows[0][left], rows[1][right]


def _keys(sends: Array, receives: Array) -> list[Array]:
    """What kind each message is, as one number."""
    keys = [np.zeros(len(ends), "<u8") for ends in (sends, receives)]
    size = 1
    for name in KIND:
        columns = [ends[name] for ends in (sends, receives)]
        bound = 1 + max((int(column.max()) for column in columns if len(column)), default=0)
        if size * bound >= 1 << 64:
            size, keys = _fewer(keys)
        keys = [key * np.uint64(bound) + column for key, column in zip(keys, columns, strict=True)]
        size *= bound
    return keys


def _fewer(keys: list[Array]) -> tuple[int, list[Array]]:
    values, places = np.unique(np.concatenate(keys), return_inverse=True)
    return max(len(values), 1), np.split(places.astype("<u8"), [len(keys[0])])


def _in_order(key: Array, order: Array) -> Array:
    """Rows by kind, then in the order in which they are started; a kind has one sender and one receiver."""
    by_start = np.argsort(order, kind="stable") if (order[1:] < order[:-1]).any() else None
    if by_start is None:
        return np.argsort(key, kind="stable")
    found: Array = by_start[np.argsort(key[by_start], kind="stable")]
    return found


def _ordinals(ordered: Array) -> Array:
    found: Array = (np.arange(len(ordered)) - np.searchsorted(ordered, ordered)).astype("<u8")
    return found
