"""Two ranks flood two others, which receive from any rank: ``SEEDS BUFFERS``; the same schedule each time.

A sender goes on when a buffer is free, and what it sends next must not come sooner or later by chance.
"""

import random
import sys
import time

import numpy as np
from mpi4py import MPI

from pse import bcs

world = MPI.COMM_WORLD
DECIDED = ["epoch", "receiver", "source", "receive", "send", "bytes", "tag", "kind"]  # All but the slice.
TAGS = 6


def receive(comm, tag, count, pause):
    """Take so many messages of any rank."""
    into, status = np.zeros(1), MPI.Status()
    for _ in range(count):
        pause()
        comm.Recv(into, MPI.ANY_SOURCE, tag, status)
        yield status.Get_source(), into[0]


def run(seed, pauses, buffers):
    """Give what this rank saw, and what was decided; `pauses` disturb the timing."""
    dice, delay, seen = random.Random(seed), random.Random(f"{pauses} {world.rank}"), []

    def pause():
        if pauses and delay.random() < 0.3:
            time.sleep(delay.random() * 5e-4)

    with bcs.Comm(world, table=buffers, schedule=100_000) as comm:
        for tag in range(TAGS):
            root, hot = dice.sample(range(comm.size), 2)
            flood, others = dice.randrange(3, 30), comm.size - 2
            if comm.rank == hot:
                seen += receive(comm, tag, flood * others, pause)
            elif comm.rank == root:
                seen += receive(comm, TAGS + tag, flood * others, pause)
            else:
                for dest, kind in ((hot, tag), (root, TAGS + tag)):
                    for number in range(flood):
                        pause()
                        comm.Send(np.array([float(number)]), dest, kind)
        comm.Barrier()
        return seen, comm.schedule()[DECIDED].tolist()


for seed in range(int(sys.argv[1])):
    first, *others = (run(seed, pauses, int(sys.argv[2])) for pauses in range(3))
    assert all(other == first for other in others), (seed, world.rank)
