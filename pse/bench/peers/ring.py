"""A buffer goes round all ranks: ``ring BYTES ROUNDS [CORE…]``; prints the median time of a hop in µs."""

import itertools
import json
import os
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI


def go_round(comm: MPI.Intracomm, buffer: np.ndarray, rounds: int) -> list[int]:
    """Send the buffer round so often; gives when each round began at rank 0, and when the last one ended."""
    rank, size = comm.Get_rank(), comm.Get_size()
    after, before = (rank + 1) % size, (rank - 1) % size
    times = []
    for _ in range(rounds):
        times.append(time.monotonic_ns())
        if rank == 0:
            comm.Send(buffer, after)
        comm.Recv(buffer, before)
        if rank != 0:
            comm.Send(buffer, after)
    return [*times, time.monotonic_ns()]


def main() -> None:
    """Pin the ranks to the cores that are given, one each; then measure."""
    comm = MPI.COMM_WORLD
    size, rounds, *cores = map(int, sys.argv[1:])
    if cores:
        os.sched_setaffinity(0, {cores[comm.Get_rank()]})
    buffer = np.ones(size, np.uint8)
    go_round(comm, buffer, max(rounds // 10, 1))
    times = go_round(comm, buffer, rounds)
    if comm.Get_rank() == 0:
        hops = [(end - begin) / comm.Get_size() / 1000 for begin, end in itertools.pairwise(times)]
        print(json.dumps({"hop": statistics.median(hops)}))


if __name__ == "__main__":
    main()
