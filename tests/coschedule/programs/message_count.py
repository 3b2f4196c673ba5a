"""Exchange and reduce on several nodes: ``MODE NODES``; prints slices, and all nodes' messages for them.

Messages are counted between two counts of slices, since strict ones go on for a while.
"""

import sys

import numpy as np
from mpi4py import MPI

from pse import bcs

world, mode = MPI.COMM_WORLD, sys.argv[1]
after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size


def count(comm):
    """Count slices: strict ones that nobody needs have numbers, and don't run."""
    return len(comm.slices()) if mode == "strict" else comm.totals()["slices"]


with bcs.Comm(world, mode=mode, emds=100_000) as comm:
    for step in range(20):
        comm.Sendrecv(np.ones(10), after, step, np.zeros(10), before, step)
        comm.Allreduce(np.ones(1), np.zeros(1))
    first = count(comm)
    world.Barrier()
    sent = comm.totals()["messages"]
    world.Barrier()
    last = count(comm)
    rows = world.gather((first, sent, last))
    nodes = int(sys.argv[2])
    if comm.rank == 0:  # The lowest rank of each node tells for it.
        print(min(row[0] for row in rows), sum(row[1] for row in rows[:nodes]), max(row[2] for row in rows))
