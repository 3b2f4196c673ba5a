"""Ranks exchange in every strict slice until rank 2 kills itself: KILLED gets its slice, SAID how many later.

Slices are long: what counts is that they go on, and that a busy machine is fast enough all the same.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np
from leaving import leave_after
from mpi4py import MPI

from pse import bcs
from pse.files import replace_file

VICTIM, SLICE = 2, 30e-3
world, killed, said = MPI.COMM_WORLD, Path(sys.argv[1]), Path(sys.argv[2])


def exchange(comm):
    """Keep the slices going, without the victim."""
    others = [rank for rank in range(comm.size) if rank != VICTIM]
    at = others.index(comm.rank)
    after, before = others[(at + 1) % len(others)], others[at - 1]
    while True:
        comm.Sendrecv(np.ones(1), after, 0, np.zeros(1), before, 0)


comm = bcs.Comm(world, mode="strict", slice=SLICE, adapt=False)
comm.Barrier()
try:
    if comm.rank == VICTIM:
        comm.Sendrecv(np.ones(1), VICTIM, 1, np.zeros(1), VICTIM, 1)  # The others are at it.
        replace_file(killed, str(comm.totals()["slices"]).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    exchange(comm)
except bcs.RankDiedError as error:
    if comm.rank == 0:
        slices = comm.totals()["slices"] - int(killed.read_text())
        replace_file(said, f"{slices} slices: {error}".encode())
    leave_after(said)
