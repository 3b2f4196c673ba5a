"""Each rank sends each other one messages of sizes about those where they travel another way: ``MODE``."""

import random
import sys

import numpy as np
from mpi4py import MPI

from pse import bcs

NUMBERS = (0, 1, 511, 512, 513, 8191, 8192, 8193, 20_000)
ROUNDS = 5


def numbers(source, dest, count):
    """What that message has."""
    return np.arange(count) * (dest + 1.0) + source


with bcs.Comm(MPI.COMM_WORLD, mode=sys.argv[1], table=3) as comm:
    dice, others = random.Random(comm.rank), [rank for rank in range(comm.size) if rank != comm.rank]
    for _ in range(ROUNDS):
        plan = [(other, tag) for other in others for tag in range(len(NUMBERS))]
        dice.shuffle(plan)
        into = {(other, tag): np.zeros(NUMBERS[tag]) for other, tag in plan}
        requests = [comm.Irecv(array, *key) for key, array in into.items()]
        total = np.zeros(2000)
        requests.append(comm.Iallreduce(np.full(2000, comm.rank + 1.0), total))
        dice.shuffle(plan)
        for other, tag in plan:
            requests.append(comm.Isend(numbers(comm.rank, other, NUMBERS[tag]), other, tag))
        bcs.Request.Waitall(requests)
        assert (total == comm.size * (comm.size + 1) / 2).all()
        for (other, tag), array in into.items():
            assert (array == numbers(other, comm.rank, NUMBERS[tag])).all(), (other, tag)
