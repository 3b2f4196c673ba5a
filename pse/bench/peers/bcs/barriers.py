"""A barrier every 1.9 ms, and how many slices are between two of them (section 5.3 of the paper on BCS-MPI).

    mpiexec -n 2 python -m pse.bench.peers.bcs.barriers

A rank that goes on when a slice begins computes for 7.6 slices of 250 µs; its barrier is scheduled in the
slice after that, and it goes on when the next one begins: every ninth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.bench.peers.bcs._proxy import at_least, communicator

EVERY, SLICE = 1.9e-3, 250e-6
_CELLS = 4096
_ROWS = 9
"""A slice in which something goes on, and those that follow though nobody needs them."""
_SHOWN = 5
"""The most numbers of slices that are listed."""


def synchronize(comm: Any, barriers: int, every: float = EVERY) -> None:
    """Compute for some time before each of some barriers."""
    cells = np.ones(_CELLS)
    for _ in range(barriers):
        until = time.perf_counter() + every
        while time.perf_counter() < until:
            np.multiply(cells, 0.5, out=cells)
            cells += 0.5
        comm.Barrier()


def slices_of_barriers(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Count the slices from one barrier to the next, of what a communicator's `slices` gives."""
    scheduled: NDArray[np.int64] = rows["slice"][rows["ncollmsm"] > 0].astype(np.int64)
    return scheduled[1:] - scheduled[:-1]


def periods(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Give the time from slice to slice in ns: GETTS over the slices that passed, idle ones included."""
    timed = rows[rows["timed"] > 0]
    passed = np.diff(timed["slice"].astype(np.int64))
    return np.diff(timed["begin"].astype(np.int64)) / passed


def jitter(rows: NDArray[Any], slice: float) -> NDArray[np.float64]:
    """Give how far strobes are from where the one before says that they should be, in ns."""
    timed = rows[rows["timed"] > 0]
    passed = np.diff(timed["slice"].astype(np.int64))
    return np.abs(np.diff(timed["begin"].astype(np.int64)) - passed * round(slice * 1e9))


def histogram(counts: NDArray[np.int64]) -> str:
    """List the numbers of slices that came most often, and how often the others came."""
    numbers, times = np.unique(counts, return_counts=True)
    most = sorted(np.argsort(-times, kind="stable")[:_SHOWN])
    lines = [f"{numbers[one]:6d} slices {times[one]:6d} times" for one in most]
    others = len(counts) - int(times[most].sum())
    return "\n".join([*lines, *([f"another number {others:5d} times"] if others else [])])


def main(words: Sequence[str] | None = None) -> None:
    """Run the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description="a barrier every 1.9 ms, in slices of 250 µs")
    parser.add_argument("--barriers", type=at_least(3), default=1000)
    given = parser.parse_args(words)
    from mpi4py import MPI

    kept = _ROWS * given.barriers * (MPI.COMM_WORLD.size + 1)
    with communicator("bcs-strict", SLICE, emds=kept) as comm:
        synchronize(comm, given.barriers)
        if comm.rank == 0:
            rows = comm.slices()
            getts = np.percentile(periods(rows), [1, 50, 99]) / 1e3
            print(f"slices from one of {given.barriers} barriers to the next:")
            print(histogram(slices_of_barriers(rows)))
            print("GETTS, the time from one slice to the next:")
            print("  1 % {:.1f} µs, median {:.1f} µs, 99 % {:.1f} µs".format(*getts))


if __name__ == "__main__":
    main()
