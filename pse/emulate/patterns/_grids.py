"""Grids of ranks: their dimensions, coordinates and neighbours, row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pse.text import count_text

MOST_DIMENSIONS = 3


def dimensions_of(ranks: int, options: Mapping[str, Any]) -> tuple[int, ...]:
    """Give the dimensions of a grid: those that were asked for, or a square as far as it goes."""
    given = options.get("dimensions")
    return balanced(ranks, 2) if given is None else tuple(int(extent) for extent in given)


def balanced(ranks: int, axes: int) -> tuple[int, ...]:
    """Factor a number of ranks into extents that are as equal as possible, the greatest first.

    Examples
    --------
    >>> balanced(12, 2), balanced(8, 3), balanced(7, 2)
    ((4, 3), (2, 2, 2), (7, 1))
    """
    if axes == 1:
        return (ranks,)
    root = round(ranks ** (1 / axes))
    least = next(extent for extent in range(max(root, 1), 0, -1) if ranks % extent == 0)
    return tuple(sorted((*balanced(ranks // least, axes - 1), least), reverse=True))


def grid_problem(ranks: int, options: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the dimensions of a grid, or with its edges."""
    periodic = options.get("periodic", True)
    if not isinstance(periodic, bool):
        return f"periodic = {periodic!r}: expected true or false"
    given = options.get("dimensions")
    if given is None:
        return None
    if (problem := dimensions_problem(given)) is not None:
        return problem
    if math.prod(given) != ranks:
        product = " × ".join(map(str, given))
        return f"dimensions = {product} are {count_text(math.prod(given), 'rank')}, not {ranks}"
    return None


def dimensions_problem(given: Any) -> str | None:
    """Say why something can't be the dimensions of a grid of any number of ranks."""
    whole = isinstance(given, list | tuple) and all(type(extent) is int and extent > 0 for extent in given)
    if whole and 1 <= len(given) <= MOST_DIMENSIONS:
        return None
    return f"dimensions = {given!r}: expected 1 to {MOST_DIMENSIONS} integers from 1, such as [2, 2]"


def coordinates(rank: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Give the place of a rank in a grid."""
    return tuple(map(int, np.unravel_index(rank, extents)))


def rank_at(place: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Give the rank at a place of a grid."""
    return int(np.ravel_multi_index(place, extents))


def neighbour(rank: int, extents: tuple[int, ...], axis: int, step: int, *, periodic: bool) -> int | None:
    """Give the rank a step away along an axis; None beyond the edge, or if that is the rank itself."""
    place = list(coordinates(rank, extents))
    place[axis] += step
    if not periodic and not 0 <= place[axis] < extents[axis]:
        return None
    place[axis] %= extents[axis]
    found = rank_at(tuple(place), extents)
    return None if found == rank else found
