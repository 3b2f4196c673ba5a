"""The calls of ring.c, from mpi4py; attaches a stack first if a configuration is given."""

import sys

import numpy as np
from mpi4py import MPI

if len(sys.argv) > 1:
    from pse.toolstack import attach

    assert attach(sys.argv[1])
    assert not attach(sys.argv[1])

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
out, into = np.zeros(4, "i"), np.zeros(4, "i")
for turn in range(3 if size > 1 else 0):
    if rank > 0:
        world.Recv(into, rank - 1, turn)
    if rank < size - 1:
        world.Send(out, rank + 1, turn)
    world.Barrier()
world.Bcast(out, 0)
one, total = np.array([rank], "i"), np.zeros(1, "i")
world.Allreduce(one, total)
assert total[0] == size * (size - 1) // 2
