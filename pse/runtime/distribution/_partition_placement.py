"""On which processor every partition lives: its owner.

`placement = block` cuts the partitions into runs, `cyclic` assigns them in turn, and `"file.py:function"`
calls a function of the user's. All ranks need the same result, so one rank calls it and broadcasts what it
returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from pse.errors import ProgramError, RunError
from pse.language.check import ResolvedProgram
from pse.language.types import Value, block_range
from pse.modules import ModuleError
from pse.modules.load import import_python, own_traceback
from pse.text import count_text

if TYPE_CHECKING:
    from mpi4py import MPI  # Importing it starts MPI: not in the launcher.

Owners = tuple[int, ...]
"""The processor of every partition."""


def block(partitions: int, processors: int) -> Owners:
    """Give each processor a run of partitions; runs differ by one at most, the first are longer.

    Examples
    --------
    >>> block(7, 3)
    (0, 0, 0, 1, 1, 2, 2)
    >>> block(2, 4)
    (0, 1)
    """
    sizes = (len(block_range(partitions, processors, processor)) for processor in range(processors))
    return tuple(chain.from_iterable([processor] * count for processor, count in enumerate(sizes)))


def cyclic(partitions: int, processors: int) -> Owners:
    """Assign partitions to processors in turn.

    Examples
    --------
    >>> cyclic(7, 3)
    (0, 1, 2, 0, 1, 2, 0)
    """
    return tuple(partition % processors for partition in range(partitions))


RULES: Mapping[str, Callable[[int, int], Owners]] = {"block": block, "cyclic": cyclic}
"""Placements that need no function of the user's."""


def is_users(placement: str) -> bool:
    """Whether a placement is a function of the user's.

    Examples
    --------
    >>> is_users("cyclic"), is_users("place.py:near")
    (False, True)
    """
    return placement not in RULES


def place_partitions(placement: str, counts: Mapping[str, int], processors: int) -> dict[str, Owners]:
    """Give the processor of every partition.

    Parameters
    ----------
    placement : str
        ``block``, ``cyclic``, or ``file.py:function``.
    counts : mapping of str to int
        How many partitions there are, by name.
    processors : int
        How many processors there are.

    Raises
    ------
    ProgramError
        If the file has no such function, or it doesn't give a processor for each partition.
    ModuleError
        If the file can't be imported, or the function raises.

    Examples
    --------
    >>> place_partitions("block", {"P": 4, "Q": 2}, 2)
    {'P': (0, 0, 1, 1), 'Q': (0, 1)}
    """
    if is_users(placement):
        return {name: _ask(placement, name, count, processors) for name, count in counts.items()}
    return {name: RULES[placement](count, processors) for name, count in counts.items()}


def agree(
    comm: MPI.Intracomm, placement: str, counts: Mapping[str, int], processors: int
) -> dict[str, Owners]:
    """Give the processor of every partition, the same on all ranks: the first calls a user's function.

    Raises
    ------
    PseError
        On the first rank, as `place_partitions` does.
    """
    if not is_users(placement):
        return place_partitions(placement, counts, processors)
    import numpy as np  # Not for the launcher, where the program's rule is enough.

    told = np.empty(sum(counts.values()), np.int32)
    if comm.Get_rank() == 0:
        placed = place_partitions(placement, counts, processors)
        told[:] = list(chain.from_iterable(placed.values()))
    comm.Bcast(told)
    ends = np.cumsum(list(counts.values()), dtype=np.int64)
    return {
        name: tuple(told[end - counts[name] : end].tolist()) for name, end in zip(counts, ends, strict=True)
    }


def partition_counts(program: ResolvedProgram, environment: Mapping[str, Value]) -> dict[str, int]:
    """Give how many pieces each partition of a program has."""
    return {partition.name: int(str(environment[partition.name])) for partition in program.partitions}


def _ask(placement: str, name: str, partitions: int, processors: int) -> Owners:
    """Call a user's function and check that it returns a placement."""
    file, _, function = placement.rpartition(":")
    place = getattr(_imported(placement, file), function, None)
    if not callable(place):
        raise ProgramError(
            f"placement {placement}: {file} has no function {function}",
            help=f"write it: def {function}(partitions, processors), giving the processor of every partition",
        )
    try:
        given = place(partitions, processors)
        owners = [*given] if isinstance(given, list | tuple | range) or hasattr(given, "__array__") else given
    except (Exception, SystemExit) as error:
        message = f"placement {placement}: {function}({partitions}, {processors}) failed for partition {name}"
        raise ModuleError(
            message, traceback=own_traceback(error, frozenset({file, os.path.abspath(file)}))
        ) from error
    _check(f"placement {placement}: {function}({partitions}, {processors})", owners, partitions, processors)
    return tuple(int(owner) for owner in owners)


def _imported(placement: str, file: str) -> object:
    if not os.path.isfile(file):
        raise ProgramError(
            f"placement {placement}: there is no file {file}",
            help="a path in a program is relative to it, one on the command line to the current directory",
        )
    return import_python(file, file)


def _check(call: str, owners: object, partitions: int, processors: int) -> None:
    from numbers import Integral  # Few programs place their partitions.

    expected = (
        f"expected a processor from 0 to {processors - 1} for each of {count_text(partitions, 'partition')}"
    )
    if not isinstance(owners, list):
        raise RunError(f"{call} returned {owners!r:.40}; {expected}", help="return a list of integers")
    if len(owners) != partitions:
        raise RunError(
            f"{call} returned {count_text(len(owners), 'processor')}; {expected}",
            help="return one processor for each partition",
        )
    for partition, owner in enumerate(owners):
        number = isinstance(owner, Integral) and not isinstance(owner, bool)
        if not number or not 0 <= owner < processors:
            raise RunError(
                f"{call} returned {owner!r:.40} for partition {partition}; {expected}",
                help="return integers from 0 up to, and without, the number of processors",
            )
