"""What is run slice by slice: the first word is a case; ``ring:strict`` is in strict slices."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse import bcs

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size


def ring(comm):
    came = np.zeros(1)
    comm.Sendrecv(np.ones(1), (rank + 1) % ranks, 4, came, (rank - 1) % ranks, 4)
    comm.Allreduce(came, np.zeros(1))


def farm(comm):
    if rank:
        comm.Send(np.zeros(2), 0, rank)
    for _ in range(0 if rank else ranks - 1):
        comm.Recv(np.zeros(2))


def killed(comm):
    comm.Barrier()
    if rank == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    comm.Barrier()


def deadlock(comm):
    comm.Recv(np.zeros(1), (rank + 1) % ranks)


def endless(comm):
    """Until somebody makes a file."""
    ends = np.zeros(1)
    while not ends[0]:
        ends[0] = Path(sys.argv[2]).exists()
        comm.Bcast(ends)


case, _, mode = sys.argv[1].partition(":")
with bcs.Comm(world, mode=mode or "early") as comm:
    globals()[case](comm)
if rank == 0:
    print("done", flush=True)
