"""Rows of several fields, each in an array of its own: NumPy goes over those faster than over records."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pse.trace.format import Array


class Columns:
    """Rows by the names of their fields.

    Parameters
    ----------
    columns : mapping of str to array, shape (rows,)
        The fields.

    Examples
    --------
    >>> rows = Columns.empty(np.dtype([("rank", "<u4"), ("time", "<f8")]), 3)
    >>> rows["rank"] = [2, 1, 0]
    >>> rows.take([1])["rank"].tolist()
    [1]
    """

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self._columns = columns

    @classmethod
    def empty(cls, dtype: np.dtype[np.void], count: int) -> Columns:
        """Rows with the fields of a structured type, of any values."""
        return cls({name: np.empty(count, dtype[name]) for name in dtype.names or ()})

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __setitem__(self, name: str, values: object) -> None:
        self._columns[name][:] = values

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def part(self, begin: int, end: int) -> Columns:
        """Rows of a range, as views."""
        return Columns({name: values[begin:end] for name, values in self._columns.items()})

    def take(self, rows: Array) -> Columns:
        """Copy some rows."""
        return Columns({name: values[rows] for name, values in self._columns.items()})

    def packed(self, dtype: np.dtype[np.void]) -> Array:
        """The rows as records."""
        found = np.empty(len(self), dtype)
        for name in dtype.names or ():
            found[name] = self._columns[name]
        return found


def columns_of(records: Array) -> Columns:
    """The fields of records, each in an array of its own."""
    return Columns({name: np.ascontiguousarray(records[name]) for name in records.dtype.names or ()})


def joined(dtype: np.dtype[np.void], parts: list[Columns]) -> Columns:
    """Rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    names = dtype.names or ()
    empty = Columns.empty(dtype, 0)
    return Columns({name: np.concatenate([part[name] for part in (empty, *parts)]) for name in names})
