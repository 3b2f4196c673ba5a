"""Sums and maxima of columns by key, with NumPy alone."""

from __future__ import annotations

import numpy as np

from pse.trace._reading import number
from pse.trace.format._field_values import Array

PIECE = 1 << 16
"""Rows that are looked at together: what they need besides stays in the cache."""


class Groups:
    """Rows that have the same key are one group; groups are in the order of their keys.

    Parameters
    ----------
    first : array of uint32, shape (n,)
        First part of the key.
    second, third : array of unsigned integers below 65,536, shape (n,), optional
        The other parts.

    Attributes
    ----------
    first, second, third : array, shape (groups,)
        The key of each group.
    count : array of int, shape (groups,)
        Rows in each group.
    """

    def __init__(self, first: Array, second: Array | None = None, third: Array | None = None) -> None:
        keys, numbers = _Keys(), np.empty(len(first), "<i8")
        for at in range(0, len(first), PIECE):
            piece = slice(at, at + PIECE)
            others = [part if part is None else part[piece] for part in (second, third)]
            keys.number(_packed(first[piece], *others), numbers[piece])
        found = keys.known[: keys.count]
        self._order, self._numbers = np.argsort(found), numbers
        found = found[self._order]
        self.first = (found >> np.uint64(32)).astype("<u4")
        self.second = (found >> np.uint64(16)).astype("<u2")
        self.third = found.astype("<u2")
        self.count = np.bincount(numbers, minlength=len(found))[self._order]

    def sum(self, column: Array) -> Array:
        """Sum of a column in each group; exact integers."""
        totals = np.zeros(len(self._order), "<i8")
        for at in range(0, len(column), PIECE):
            np.add.at(totals, self._numbers[at : at + PIECE], column[at : at + PIECE].astype("<i8"))
        return totals[self._order]

    def max(self, column: Array) -> Array:
        """Largest value of a column in each group."""
        kind = np.iinfo(column.dtype)
        highest = np.full(len(self._order), kind.min, column.dtype)
        for at in range(0, len(column), PIECE):
            piece = np.ascontiguousarray(column[at : at + PIECE])
            np.maximum.at(highest, self._numbers[at : at + PIECE], piece)
        return highest[self._order]

    def peak(self, column: Array) -> Array:
        """Largest running total of a column in each group, at least 0."""
        highest = np.zeros(len(self._order), "<i8")
        numbers = self._numbers.astype("<u2") if len(self._order) <= 1 << 16 else self._numbers
        order = np.argsort(numbers, kind="stable")  # Two bytes: faster.
        ends = np.cumsum(np.bincount(self._numbers, minlength=len(highest)))
        for group, rows in enumerate(np.split(order, ends[:-1]) if len(highest) else ()):
            highest[group] = max(int(np.cumsum(column[rows]).max()), 0)
        return highest[self._order]


class _Keys:
    """Keys that were seen, by their numbers; a table of slots finds them."""

    def __init__(self) -> None:
        self.count = 0
        self.known: Array = np.empty(0, "<u8")
        self._make_room(1 << 10)

    def number(self, keys: Array, numbers: Array) -> None:
        """Write the number of each key."""
        done = 0
        while done < len(keys):
            more, self.count = number(keys[done:], self.known, self.count, self._slots, numbers[done:])
            done += more
            if done < len(keys):
                self._make_room(8 * len(self.known))

    def _make_room(self, room: int) -> None:
        before = self.known[: self.count]
        self.known, self._slots = np.empty(room, "<u8"), np.zeros(4 * room, "<u4")
        number(before, self.known, 0, self._slots, np.empty(len(before), "<i8"))


def _packed(first: Array, second: Array | None, third: Array | None) -> Array:
    """Keys as one number each, ordered as they are."""
    keys = first.astype("<u8") << np.uint64(32)
    if second is not None:
        keys |= second.astype("<u8") << np.uint64(16)
    if third is not None:
        keys |= third.astype("<u8")
    return keys
