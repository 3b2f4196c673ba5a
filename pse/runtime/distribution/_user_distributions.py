"""Patterns that users write in Python: a function that says which partition gets which indices of an axis.

`def zigzag(extent, partitions)` returns the partition of every index, or for every partition a list of its
indices. It is called when a run starts, before any module, and must assign every index to exactly one
partition. Every rank calls it for itself, so it must always return the same.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pse.errors import ProgramError
from pse.modules import ModuleError
from pse.modules.load import import_python, own_traceback
from pse.runtime.distribution._index_sets import IndexSet, Indices, listed
from pse.text import count_text


@functools.lru_cache(maxsize=256)
def pieces(pattern: str, extent: int, parts: int) -> tuple[IndexSet, ...]:
    """Give every partition's indices of an axis, as a user's pattern assigns them.

    Parameters
    ----------
    pattern : str
        ``file.py:function``.
    extent, parts : int
        Indices of the axis, and partitions.

    Raises
    ------
    ProgramError
        If there is no such function, or it doesn't assign every index to exactly one partition.
    ModuleError
        If the file can't be imported, or the function raises.
    """
    call = f"{pattern.rpartition(':')[2]}({extent}, {parts})"
    where = f"pattern {pattern}: {call}"
    function = _function(pattern)
    dealt = [_dealt(where, _ask(where, pattern, function, extent, parts), extent, parts) for _ in range(2)]
    if any(not np.array_equal(one, other) for one, other in zip(*dealt, strict=True)):
        raise ProgramError(
            f"{where} returns something else when called again", help="seed its random numbers"
        )
    return tuple(listed(part) for part in dealt[0])


def _function(pattern: str) -> Callable[[int, int], Any]:
    file, _, name = pattern.rpartition(":")
    if not os.path.isfile(file):
        help = "the path of an import is relative to the program's file"
        raise ProgramError(f"pattern {pattern}: there is no file {file}", help=help)
    function = getattr(import_python(file, file), name, None)
    if not callable(function):
        raise ProgramError(
            f"pattern {pattern}: {file} has no function {name}",
            help=f"write it: def {name}(extent, partitions), giving the partition of every index",
        )
    return function  # type: ignore[no-any-return]  # What it is, its results will show.


def _ask(where: str, pattern: str, function: Callable[[int, int], Any], extent: int, parts: int) -> Any:
    try:
        given = function(extent, parts)
        return given if isinstance(given, np.ndarray) or not isinstance(given, Iterable) else [*given]
    except (Exception, SystemExit) as error:
        file = pattern.rpartition(":")[0]
        frames = own_traceback(error, frozenset({file, os.path.abspath(file)}))
        raise ModuleError(f"{where} failed", traceback=frames) from error


def _dealt(where: str, given: Any, extent: int, parts: int) -> list[Indices]:
    """Read what a function returned, in either form; everything else is refused."""
    try:
        if not isinstance(given, list | np.ndarray):
            raise TypeError("expected a sequence")
        if isinstance(given, np.ndarray) and given.ndim == 1:
            return _by_owner(where, _integers(given), extent, parts)
        if all(np.ndim(item) == 0 for item in given) and not (extent == 0 and len(given) == parts):
            return _by_owner(where, _integers(given), extent, parts)
        return _by_list(where, [_integers(item) for item in given], extent, parts)
    except (TypeError, ValueError):
        raise ProgramError(
            f"{where} returned {given!r:.40}; expected integers",
            help="return the partition of every index, or a list of indices for every partition",
        ) from None


def _integers(values: Any) -> Indices:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError("expected integers")
    return array.astype(np.int64).reshape(-1)


def _by_owner(where: str, owners: Indices, extent: int, parts: int) -> list[Indices]:
    if len(owners) != extent:
        raise ProgramError(
            f"{where} returned partitions for {count_text(len(owners), 'index', 'indices')}; "
            f"expected {extent}",
            help="return one partition for each index",
        )
    for index in np.flatnonzero((owners < 0) | (owners >= parts))[:1]:
        raise ProgramError(
            f"{where} assigned index {index} to partition {owners[index]}; "
            f"partitions go from 0 to {parts - 1}",
            help="return partitions that are counted from 0",
        )
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.searchsorted(owners[order], np.arange(1, parts)))


def _by_list(where: str, lists: Sequence[Indices], extent: int, parts: int) -> list[Indices]:
    if len(lists) != parts:
        raise ProgramError(
            f"{where} returned {count_text(len(lists), 'list')} of indices; expected one for each of "
            f"{count_text(parts, 'partition')}",
            help="return one list of indices for each partition, an empty one where it has none",
        )
    owner = np.full(extent, -1, np.int64)
    for part, indices in enumerate(lists):
        for index in indices[(indices < 0) | (indices >= extent)][:1]:
            raise ProgramError(
                f"{where} assigned index {index} to partition {part}; indices go from 0 to {extent - 1}",
                help="return indices that are counted from 0",
            )
        for index in indices[owner[indices] >= 0][:1]:
            raise ProgramError(
                f"{where} assigned index {index} twice: to partitions {owner[index]} and {part}",
                help="put every index into the list of one partition only",
            )
        owner[indices] = part
        again = np.flatnonzero(np.bincount(indices, minlength=extent) > 1) if indices.size else indices
        for index in again[:1]:
            raise ProgramError(
                f"{where} assigned index {index} twice: to partition {part}",
                help="put every index into its list once",
            )
    for index in np.flatnonzero(owner < 0)[:1]:
        raise ProgramError(
            f"{where} assigned index {index} to none of {count_text(parts, 'partition')}",
            help="put every index into the list of one partition",
        )
    return [np.sort(indices) for indices in lists]
