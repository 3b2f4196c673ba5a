"""Collective operations between two groups, where some ranks are neither root nor in the other group."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
right = world.rank >= (world.size + 1) // 2
own = world.Split(right)
between = own.Create_intercomm(0, world, 0 if right else (world.size + 1) // 2)
root = 0 if right else MPI.ROOT if own.rank == 0 else MPI.PROC_NULL
others, some = between.remote_size, np.arange(4.0)
nothing = root == MPI.PROC_NULL

got = some if root == MPI.ROOT else np.zeros(4)
between.Bcast(None if nothing else got, root)
assert nothing or (got == some).all()

total = np.zeros(4)
between.Reduce(some if right else None, total if root == MPI.ROOT else None, MPI.SUM, root)
assert root != MPI.ROOT or (total == others * some).all()

gathered = np.zeros((others, 4)) if root == MPI.ROOT else None
between.Gather(some if right else None, gathered, root)
assert gathered is None or (gathered == some).all()
between.Gatherv(some if right else None, gathered, root)

part = np.zeros(4) if right else None
between.Scatter(np.tile(some, (others, 1)) if root == MPI.ROOT else None, part, root)
assert part is None or (part == some).all()

between.Allreduce(some, total)
assert (total == others * some).all()
counts = [2 * others] * own.size
share = np.zeros(counts[own.rank])
between.Reduce_scatter(np.ones(sum(counts)), share, counts)
assert (share == others).all()

for make in (MPI.Comm.Dup, MPI.Comm.Idup):
    made = make(between)
    if isinstance(made, tuple):
        made, request = made
        request.Wait()
    made.Barrier()
    made.Free()
between.Free()
own.Free()

try:
    prepared = [world.Bcast_init(some, root=0), world.Barrier_init(), world.Allreduce_init(some, total)]
except NotImplementedError:  # MPI 3
    prepared = []
for _ in range(2):
    MPI.Prequest.Startall(prepared)
    MPI.Request.Waitall(prepared)
assert not prepared or (total == world.size * some).all()
for request in prepared:
    request.Free()
