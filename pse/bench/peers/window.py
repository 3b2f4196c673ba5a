"""A shared window by hand: rank 0 fills it, rank 1 passes over it twice: ``window BYTES``; prints ms.

Rank 1 waits for rank 0 in a barrier; nothing is copied.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI


def main() -> None:
    """Measure the first pass over fresh memory and a second one."""
    comm = MPI.COMM_WORLD
    size = int(sys.argv[1])
    window = MPI.Win.Allocate_shared(size if comm.Get_rank() == 0 else 0, 1, comm=comm)
    memory, _ = window.Shared_query(0)
    array = np.asarray(memory).view(np.float64)
    if comm.Get_rank() == 0:
        array[:] = 1.0
    comm.Barrier()
    if comm.Get_rank() == 1:
        begin = time.monotonic_ns()
        array.sum()
        middle = time.monotonic_ns()
        array.sum()
        end = time.monotonic_ns()
        comm.Send(np.array([middle - begin, end - middle], np.float64), 0)
    else:
        passes = np.zeros(2)
        comm.Recv(passes, 1)
        print(json.dumps({"first": passes[0] / 1e6, "second": passes[1] / 1e6}))
    window.Free()


if __name__ == "__main__":
    main()
