"""A task farm: rank 0 hands out Monte Carlo integrations to whoever is free, as programs of mpi4py do it.

``farm.py BATCHES STEPS POINTS``
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI
from steps import measure

world = MPI.COMM_WORLD
TASKS = 20


def integrate(seed: int, points: int) -> float:
    """Estimate the volume of the unit ball."""
    place = np.random.default_rng(seed).random((3, points))
    return 8 * float(np.count_nonzero((place**2).sum(axis=0) < 1)) / points


def hand_out() -> float:
    """Give each worker a task whenever it has brought a result; sum up what they found."""
    status, found, next_task, busy = MPI.Status(), 0.0, 0, world.size - 1
    while busy:
        found += world.recv(source=MPI.ANY_SOURCE, status=status)
        world.send(next_task if next_task < TASKS else None, dest=status.source)
        busy -= next_task >= TASKS
        next_task += 1
    return found


def work(points: int) -> None:
    """Bring results until there is no task."""
    found = 0.0
    while True:
        world.send(found, dest=0)
        task = world.recv(source=0)
        if task is None:
            return
        found = integrate(task, points)


def main(batches: int, steps: int, points: int) -> None:
    """Farm out tasks; a step is all of them."""

    def farm() -> float:
        if world.rank == 0:
            return world.bcast(hand_out() / TASKS)
        work(points)
        return world.bcast(None)

    measure(farm, batches, steps)


main(*map(int, sys.argv[1:]))
