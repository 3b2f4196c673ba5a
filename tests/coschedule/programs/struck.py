"""Ranks communicate without end until one is killed; the others say what they are told.

MODE FOLDER: each rank writes its process to `pid-RANK` there, and later what it is told to `said-RANK`.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse import bcs
from pse.files import replace_file

mode, folder = sys.argv[1], Path(sys.argv[2])
comm = bcs.Comm(MPI.COMM_WORLD, mode=mode, adapt=False)
after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
comm.Barrier()
replace_file(folder / f"pid-{comm.rank}", str(os.getpid()).encode())
out, into, step = np.ones(40_000), np.zeros(40_000), 0
try:
    while True:
        size = len(out) if step % 3 == 0 else 1
        comm.Sendrecv(out[:size], after, 0, into[:size], before, 0)
        comm.Allreduce(np.ones(1), np.zeros(1))
        if step % 7 == 0:
            comm.Iprobe()
        step += 1
except bcs.CommunicationError as error:
    replace_file(folder / f"said-{comm.rank}", str(error).encode())
    while len(list(folder.glob("said-*"))) < comm.size - 1:
        time.sleep(0.01)  # Whoever leaves first ends the others.
    os._exit(0)  # MPI_Finalize would wait for the killed rank.
