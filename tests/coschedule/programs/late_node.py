"""Rank 0 stops rank 1, which leads another node, until strobes have found it late; prints the counts."""

import os
import signal

import numpy as np
from mpi4py import MPI

from pse import bcs

world = MPI.COMM_WORLD
processes = world.allgather(os.getpid())
with bcs.Comm(mode="strict", emds=1000) as comm:
    comm.Barrier()
    if comm.rank == 0:
        os.kill(processes[1], signal.SIGSTOP)
        request = comm.Isend(np.ones(1), 1)
        before = comm.totals()["late"]
        while comm.totals()["late"] < before + 12:  # The first strobe may find nobody late.
            continue
        os.kill(processes[1], signal.SIGCONT)
        request.Wait()
    elif comm.rank == 1:
        comm.Recv(np.zeros(1), 0)
    comm.Barrier()
    if comm.rank == 0:
        seen, totals = comm.slices(), comm.totals()
        print(totals["late"], int((seen["usrdem"] + seen["usrmsm"]).sum()), totals["length"])
