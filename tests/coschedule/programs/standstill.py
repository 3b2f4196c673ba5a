"""A rank does not come to a barrier: it stops itself (stopped), or waits for a file (busy).

Or rank 0 stops it at a moment at which it has the lock of what the ranks share (locked).

    standstill.py WHAT VICTIM FILE

The lowest other rank writes what it is told of a stopped one into FILE; a busy one waits for FILE.
"""

import mmap
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from leaving import leave_after
from mpi4py import MPI

from pse import _proc, bcs
from pse.files import replace_file
from pse.runtime.supervise import die_with_parent


def shared_words():
    """Map the first page of what the ranks share, as 32-bit numbers."""
    (file,) = [file for file, path in _proc.open_files(os.getpid()) if "memfd:pse-coschedule" in path]
    return np.frombuffer(mmap.mmap(file, mmap.PAGESIZE), np.uint32)


def has_lock(words, process):
    """Say whether the process has a mutex: the C library writes the thread into it, twice."""
    futex, owner = words[:-2] & 0x3FFFFFFF, words[2:]
    return bool(((futex == process) & (owner == process)).any())


def stop_with_lock(process):
    """Stop a process that takes the lock again and again, at a moment at which it has it."""
    words = shared_words()
    while True:
        os.kill(process, signal.SIGSTOP)
        while ") T " not in Path(f"/proc/{process}/stat").read_text():
            time.sleep(1e-4)
        if has_lock(words, process):
            return
        os.kill(process, signal.SIGCONT)


die_with_parent()  # The process manager ends no more than the shell above, and waits for all that lives.
what, victim, file = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
processes = MPI.COMM_WORLD.allgather(os.getpid())
comm = bcs.Comm(ordered=what != "locked")
try:
    comm.Barrier()
    while what == "locked" and comm.rank == victim:
        comm.Iprobe()
    if what == "locked":
        stop_with_lock(processes[victim])
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
    leave_after(file)
