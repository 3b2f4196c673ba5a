"""Compute and give to the neighbour, by hand: ``synthetic UNITS STEPS NUMBERS RANKS``; prints seconds.

RANKS is 1 or 2 for each node.  With one, it computes a unit and then exchanges with the neighbours.  With
two, the first computes, and tells the second when a unit is there, which exchanges it meanwhile; the data
would lie in a shared window, so only the word is sent.  Waits are MPI's own.
"""

import ctypes
import json
import sys
import time

import numpy as np
from mpi4py import MPI

from pse.bench._kernels import call, native


def exchange(comm: MPI.Comm, mine: np.ndarray, theirs: np.ndarray) -> None:
    """Give to the next node, get from the one before."""
    rank, size = comm.Get_rank(), comm.Get_size()
    comm.Sendrecv(mine, (rank + 1) % size, recvbuf=theirs, source=(rank - 1) % size)


def main() -> None:
    """Time from when all are there to when the last has its last unit."""
    comm = MPI.COMM_WORLD
    units, steps, numbers, ranks = map(int, sys.argv[1:])
    rank = comm.Get_rank()
    communicates = rank % ranks == ranks - 1
    group = comm.Split(communicates, rank)
    burn, mine, theirs = native("burn.c", "burn"), np.ones(numbers), np.ones(numbers)
    word = np.zeros(1)
    comm.Barrier()
    begin = time.monotonic()
    for _ in range(units):
        if rank % ranks == 0:
            call(burn, ctypes.c_int64(steps))
        if ranks == 2:
            comm.Recv(word, rank - 1) if communicates else comm.Send(word, rank + 1)
        if communicates:
            exchange(group, mine, theirs)
    times = comm.gather((begin, time.monotonic()))
    if times is not None:
        begins, ends = zip(*times, strict=True)
        print(json.dumps({"seconds": max(ends) - min(begins)}))


if __name__ == "__main__":
    main()
