"""Sums and maxima of columns by key, with NumPy alone."""

from __future__ import annotations

import numpy as np

from pse.trace.format._field_values import Array


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
        keys = first.astype("<u8") << np.uint64(32)
        if second is not None:
            keys |= second.astype("<u8") << np.uint64(16)
        if third is not None:
            keys |= third.astype("<u8")
        self._order = np.argsort(keys, kind="stable")
        ordered = keys[self._order]
        is_begin = np.ones(len(ordered), bool)
        is_begin[1:] = ordered[1:] != ordered[:-1]
        self._begins = np.flatnonzero(is_begin)
        found = ordered[self._begins]
        self.first = (found >> np.uint64(32)).astype("<u4")
        self.second = (found >> np.uint64(16)).astype("<u2")
        self.third = found.astype("<u2")
        self.count = np.diff(np.append(self._begins, len(ordered)))

    def sum(self, column: Array) -> Array:
        """Sum of a column in each group; exact integers."""
        return self._reduce(np.add, column.astype("<i8"))

    def max(self, column: Array) -> Array:
        """Largest value of a column in each group."""
        return self._reduce(np.maximum, column)

    def peak(self, column: Array) -> Array:
        """Largest running total of a column in each group, at least 0."""
        totals = np.cumsum(column[self._order])
        before = np.append(0, totals)[self._begins]
        if not len(totals):
            return totals
        highest: Array = np.maximum.reduceat(totals, self._begins) - before
        return np.maximum(highest, 0)

    def _reduce(self, operation: np.ufunc, column: Array) -> Array:
        if not len(self._begins):
            return column[:0]
        reduced: Array = operation.reduceat(column[self._order], self._begins)
        return reduced
