"""An allreduce of 8 bytes, again and again: ``allreduce ROUNDS [single]``; prints µs of a round.

With ``single`` MPI is started as by a program without threads: MPICH then polls without giving way.
Otherwise mpi4py asks for MPI_THREAD_MULTIPLE, under which it yields the core between polls.
"""

import json
import statistics
import sys
import time

import mpi4py
import numpy as np

mpi4py.rc.threads = "single" not in sys.argv

from mpi4py import MPI  # noqa: E402 (it starts MPI)


def main() -> None:
    """Time every round at rank 0."""
    comm = MPI.COMM_WORLD
    mine, all_of_us = np.ones(1), np.zeros(1)
    comm.Allreduce(mine, all_of_us)
    times = []
    begin = time.monotonic_ns()
    for _ in range(int(sys.argv[1])):
        comm.Allreduce(mine, all_of_us, MPI.SUM)
        end = time.monotonic_ns()
        times.append((end - begin) / 1000)
        begin = end
    assert all_of_us[0] == comm.Get_size()
    if comm.Get_rank() == 0:
        print(json.dumps({"mean": statistics.fmean(times), "median": statistics.median(times)}))


if __name__ == "__main__":
    main()
