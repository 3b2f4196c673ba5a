"""Rank 0 computes for some seconds, the others wait for its message in MPI_Recv: ``wait SECONDS``."""

import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI


def main() -> None:
    """Say that computing has begun by making the file ``begun``."""
    comm = MPI.COMM_WORLD
    message = np.zeros(1)
    if comm.Get_rank() != 0:
        comm.Recv(message, 0)
        return
    Path("begun").touch()
    until = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < until:
        pass
    for other in range(1, comm.Get_size()):
        comm.Send(message, other)


if __name__ == "__main__":
    main()
