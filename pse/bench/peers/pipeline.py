"""Units by two ranks, one computes and one transfers: ``pipeline UNITS STEPS SECONDS``; prints seconds.

Rank 0 computes and sends each unit (1 KiB) to rank 1, which waits for it in MPI_Recv and then for the time
that a transfer takes, asleep.
"""

import ctypes
import json
import sys
import time

import numpy as np
from mpi4py import MPI

from pse.bench._kernels import call, native


def main() -> None:
    """Time from when all are there to when the last unit is away."""
    comm = MPI.COMM_WORLD
    units, steps, seconds = int(sys.argv[1]), ctypes.c_int64(int(sys.argv[2])), float(sys.argv[3])
    burn, unit = native("burn.c", "burn"), np.zeros(128)
    comm.Barrier()
    begin = time.monotonic()
    for _ in range(units):
        if comm.Get_rank() == 0:
            call(burn, steps)
            comm.Send(unit, 1)
        else:
            comm.Recv(unit, 0)
            time.sleep(seconds)
    if comm.Get_rank() == 0:
        ended = np.zeros(1)
        comm.Recv(ended, 1)
        print(json.dumps({"seconds": float(ended[0]) - begin}))
    else:
        comm.Send(np.array([time.monotonic()]), 0)


if __name__ == "__main__":
    main()
