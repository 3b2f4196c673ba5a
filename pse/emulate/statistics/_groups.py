"""Rows of a table in groups: equal keys together, and a statistic of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pse.text import size_text

Floats = NDArray[np.float64]

SMALL_MESSAGE = 4096
"""Bytes up to which a message costs what a message does, rather than what its bytes do."""


def groups(table: NDArray[np.void], *columns: str) -> Iterator[tuple[tuple[int, ...], NDArray[np.void]]]:
    """Yield the keys of each group in ascending order, and its rows in the table's order."""
    if not len(table):
        return
    order = np.lexsort([table[name] for name in reversed(columns)])
    ordered = table[order]
    changed = np.zeros(len(table), bool)
    for name in columns:
        changed[1:] |= ordered[name][1:] != ordered[name][:-1]
    for rows in np.split(ordered, np.flatnonzero(changed)):
        yield tuple(int(rows[name][0]) for name in columns), rows


def exchange_classes(exchanges: NDArray[np.void]) -> Iterator[tuple[str, bool, NDArray[np.void]]]:
    """Yield small and large exchanges, where there are any: what they are called, whether large, and rows."""
    for word, is_large in (("up to", False), ("above", True)):
        chosen = exchanges[(exchanges["size"] > SMALL_MESSAGE) == is_large]
        if len(chosen):
            yield f"exchanges {word} {size_text(SMALL_MESSAGE, zeros=False)}", is_large, chosen


def pivot(
    table: NDArray[np.void],
    columns: Sequence[str],
    value: str,
    statistic: Callable[[Floats], float | np.floating] = np.median,
) -> tuple[list[NDArray[np.int64]], Floats]:
    """Give the values of each column, and an array of a statistic with an axis for each; nan: no rows."""
    found = [(keys, statistic(rows[value])) for keys, rows in groups(table, *columns)]
    axes = [np.unique(table[name]).astype(np.int64) for name in columns]
    cells = np.full([len(axis) for axis in axes], np.nan)
    for keys, number in found:
        cells[tuple(np.searchsorted(axis, key) for axis, key in zip(axes, keys, strict=True))] = number
    return axes, cells
