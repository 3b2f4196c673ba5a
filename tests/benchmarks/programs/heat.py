"""Heat conduction with mpi4py: ``heat.c`` beside it, in Python."""

from __future__ import annotations

import ctypes

import numpy as np
from mpi4py import MPI
from peer import (
    ARGUMENTS,
    OVERLAP,
    Numbers,
    at,
    digest,
    kernels,
    numbers,
    rank,
    size,
    take_turns,
    whole,
    world,
)

SIDE, STEPS = ARGUMENTS
ROWS = SIDE // size
ABOVE = rank - 1 if rank else MPI.PROC_NULL
BELOW = rank + 1 if rank + 1 < size else MPI.PROC_NULL
COUNT, INNER, ONE, COLUMNS = whole(ROWS), whole(ROWS - 2), whole(1), whole(SIDE)


class Plate:
    """An array with a frame, and where its rows lie."""

    def __init__(self, rows: int) -> None:
        self.cells: Numbers = numbers(rows + 2, SIDE + 2)
        self.at = [at(row) for row in self.cells]


now, then, edge = Plate(ROWS), Plate(ROWS), Plate(1)
found = ctypes.c_double()
residual, largest = np.zeros(1), np.zeros(1)
FOUND = ctypes.byref(found)
kernels.init(now.at[0], COUNT, COLUMNS)


def blocking_step() -> None:
    """Exchange the border rows, then compute."""
    cells = now.cells
    world.Sendrecv(cells[1], ABOVE, 0, cells[-1], BELOW, 0)
    world.Sendrecv(cells[-2], BELOW, 1, cells[0], ABOVE, 1)
    kernels.step(now.at[0], then.at[0], FOUND, COUNT, COLUMNS)
    residual[0] = found.value


def edge_step(number: int) -> None:
    """Compute one row that has neighbours elsewhere."""
    kernels.step(now.at[number - 1], edge.at[0], FOUND, ONE, COLUMNS)
    then.cells[number] = edge.cells[1]
    residual[0] = max(residual[0], found.value)


def overlapping_step() -> None:
    """Compute what needs no neighbour while the border rows travel."""
    cells = now.cells
    requests = [
        world.Irecv(cells[0], ABOVE, 1),
        world.Irecv(cells[-1], BELOW, 0),
        world.Isend(cells[1], ABOVE, 0),
        world.Isend(cells[-2], BELOW, 1),
    ]
    residual[0] = 0
    if ROWS > 2:
        kernels.step(now.at[1], then.at[1], FOUND, INNER, COLUMNS)
        residual[0] = found.value
    MPI.Request.Waitall(requests)
    for number in {1, ROWS}:
        edge_step(number)


def work() -> None:
    """Take all steps; the largest change of all decides whether there is another one."""
    global now, then
    step = overlapping_step if OVERLAP else blocking_step
    for _ in range(STEPS):
        step()
        world.Allreduce(residual, largest, MPI.MAX)
        now, then = then, now
        if largest[0] <= 0:
            break


take_turns(work, lambda: digest(now.cells[1:-1, 1:-1], rank * ROWS, SIDE))
