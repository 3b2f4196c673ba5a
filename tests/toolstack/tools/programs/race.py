"""Prints an order that timing decides: who is received from, which request is complete, and when."""

import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
ROUNDS = 20


def dawdle():
    time.sleep(time.monotonic_ns() * 7919 % 300 / 1e6)


if world.rank:
    for i in range(2 * ROUNDS):
        dawdle()
        world.send([world.rank, i], 0, i % 3)
    world.barrier()
    world.Send(np.array([float(world.rank)]), 0, 7)
else:
    seen = [world.recv(source=MPI.ANY_SOURCE) for _ in range(ROUNDS * (world.size - 1))]
    looks = 0
    while len(seen) < 2 * ROUNDS * (world.size - 1):
        looks += 1
        if world.iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG):
            seen.append(world.recv(source=MPI.ANY_SOURCE))
    world.barrier()
    got = np.zeros(world.size)
    requests = [world.Irecv(got[i : i + 1], MPI.ANY_SOURCE, 7) for i in range(world.size - 1)]
    order = [MPI.Request.Waitany(requests) for _ in requests]
    print(seen, looks, order, got)
