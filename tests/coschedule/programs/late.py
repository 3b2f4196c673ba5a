"""Rank 1 stops rank 0, which sends the strobes, for longer than a slice, until slices are longer."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse import bcs

SLICE, MOST = 250e-6, 100


def is_stopped(process):
    return " T " in Path(f"/proc/{process}/stat").read_text()


def stop_for_two_slices(process):
    os.kill(process, signal.SIGSTOP)
    while not is_stopped(process):
        pass
    until = time.monotonic() + 2 * SLICE
    while time.monotonic() < until:
        pass
    os.kill(process, signal.SIGCONT)


def exchange(comm, process, turns):
    """Give the length of slices at the end; a strobe is due whenever rank 0 is stopped."""
    token = np.zeros(1)
    for _ in range(turns):
        if comm.rank:
            request = comm.Isend(token, 0)
            stop_for_two_slices(process)
            request.Wait()
        else:
            comm.Recv(token, 1)
    return MPI.COMM_WORLD.bcast(comm.totals()["length"])


def main():
    process = MPI.COMM_WORLD.bcast(os.getpid())
    turns, length, schedule = 0, round(SLICE * 1e9), None
    with bcs.Comm(slice=SLICE, mode="strict", schedule=MOST * 10, emds=10_000) as comm:
        while length == round(SLICE * 1e9) and turns < MOST:
            turns += 10
            length = exchange(comm, process, 10)
        schedule = comm.schedule()
    with bcs.Comm(slice=SLICE, mode="strict", replay=schedule) as comm:
        replayed = exchange(comm, process, turns)
    if comm.rank == 0:
        sys.stdout.write(f"{length} {replayed}\n")


main()
