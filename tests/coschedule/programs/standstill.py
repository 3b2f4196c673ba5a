"""A rank does not come to a barrier: it stops itself (stopped), or waits for a file (busy).

    standstill.py WHAT VICTIM FILE

The lowest other rank writes what it is told of a stopped one into FILE; a busy one waits for FILE.
"""

import os
import signal
import sys
import time
from pathlib import Path

from mpi4py import MPI

from pse import bcs
from pse.files import replace_file

what, victim, file = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
processes = MPI.COMM_WORLD.allgather(os.getpid())
comm = bcs.Comm()
try:
    comm.Barrier()
    if comm.rank == victim and what == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    while comm.rank == victim and not file.exists():
        time.sleep(0.05)
    comm.Barrier()
    comm.Free()
except bcs.RankDiedError as error:
    if comm.rank == (victim == 0):
        os.kill(processes[victim], signal.SIGKILL)
        replace_file(file, str(error).encode())
        os._exit(0)  # MPI_Finalize would wait for the killed rank.
    signal.pause()  # Whoever leaves first ends the others.
