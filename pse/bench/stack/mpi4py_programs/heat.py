"""Heat conduction on a plate, its rows spread over ranks, as programs of mpi4py are written.

``heat.py BATCHES STEPS SIDE``
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from steps import measure

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


def main(batches: int, steps: int, side: int) -> None:
    """Warm a plate from its left border."""
    plates = np.zeros((2, side // world.size + 2, side))
    plates[:, :, 0] = 1
    now, then = plates

    def step() -> float:
        nonlocal now, then
        exchange(now)
        relax(now, then)
        now, then = then, now
        return heat(now)

    measure(step, batches, steps)


main(*map(int, sys.argv[1:]))
