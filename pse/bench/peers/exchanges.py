"""ACE's exchanges, and those of a plain C loop, in turn: ``exchanges LIBRARY BATCHES ROUNDS SIZE…``.

Prints for both the seconds of one way by size: the median of the batches' medians.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable

import mpi4py
import numpy as np

from pse.emulate import Configuration, run_launch

Medians = dict[int, float]


def plain(library: ctypes.CDLL, sizes: tuple[int, ...], rounds: int) -> Medians:
    """Measure the plain loop's exchanges."""
    found = {}
    for size in sizes:
        seconds = np.ones(rounds)
        if library.exchange(size, rounds, seconds.ctypes.data_as(ctypes.c_void_p)):
            raise MemoryError(f"there is no memory for two messages of {size} bytes")
        found[size] = float(np.median(seconds)) / 2
    return found


def emulated(sizes: tuple[int, ...], rounds: int, batch: int) -> Medians:
    """Measure phase one of ACE; at rank 0."""
    asked = Configuration((), 2, waits="mpi", exchange_sizes=sizes, repetitions=rounds)
    found = run_launch(asked, batch)
    if found is None:
        return {}
    own = found.exchanges[found.exchanges["rank"] == 0]
    return {size: float(np.median(own["seconds"][own["size"] == size])) for size in sizes}


def main() -> None:
    """Measure batch by batch, each time beginning with the other one."""
    mpi4py.rc.threads = False
    from mpi4py import MPI

    library = ctypes.CDLL(sys.argv[1])
    batches, rounds, *sizes = map(int, sys.argv[2:])
    samples: dict[str, list[Medians]] = {"ace": [], "plain": []}
    for batch in range(batches):
        ways: dict[str, Callable[[int], Medians]] = {
            "ace": lambda batch: emulated(tuple(sizes), rounds, batch),
            "plain": lambda batch: plain(library, tuple(sizes), rounds),
        }
        for name in sorted(ways, reverse=bool(batch % 2)):
            MPI.COMM_WORLD.Barrier()
            samples[name].append(ways[name](batch))
    if MPI.COMM_WORLD.Get_rank() == 0:
        print(json.dumps({name: _middle(found) for name, found in samples.items()}))


def _middle(found: list[Medians]) -> Medians:
    return {size: float(np.median([one[size] for one in found])) for size in found[0]}


if __name__ == "__main__":
    main()
