"""Heat conduction on a plate, its rows spread over ranks, as programs of mpi4py are written.

``heat.py BATCHES STEPS SIDE`` prints the median of batches in ns a step, and the heat that is left.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

Plate = npt.NDArray[np.float64]
world = MPI.COMM_WORLD


def exchange(plate: Plate) -> None:
    """Give neighbours the border rows."""
    above = world.rank - 1 if world.rank else MPI.PROC_NULL
    below = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
    world.Sendrecv(plate[1], above, 0, plate[-1], below, 0)
    world.Sendrecv(plate[-2], below, 1, plate[0], above, 1)


def relax(plate: Plate, other: Plate) -> None:
    """Write one step of Jacobi's method to the other plate."""
    inner = other[1:-1, 1:-1]
    np.add(plate[:-2, 1:-1], plate[2:, 1:-1], out=inner)
    inner += plate[1:-1, :-2]
    inner += plate[1:-1, 2:]
    inner *= 0.25


def heat(plate: Plate) -> float:
    """Sum up the heat of all ranks."""
    total: float = world.allreduce(float(plate[1:-1].sum()))
    return total


def step(plate: Plate, other: Plate) -> tuple[Plate, Plate]:
    """Go on by one step; give the plates in their new roles."""
    exchange(plate)
    relax(plate, other)
    heat(other)
    return other, plate


def main(batches: int, steps: int, side: int) -> None:
    """Measure all batches."""
    plate, other = np.zeros((2, side // world.size + 2, side))
    plate[:, 0] = other[:, 0] = 1
    took = []
    for _ in range(batches):
        world.Barrier()
        begin = time.perf_counter_ns()
        for _ in range(steps):
            plate, other = step(plate, other)
        took.append((time.perf_counter_ns() - begin) / steps)
    total = heat(plate)
    if world.rank == 0:
        print(statistics.median(took), total)


main(*map(int, sys.argv[1:]))
