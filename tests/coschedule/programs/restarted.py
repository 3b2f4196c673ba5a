"""A program that goes on where its checkpoint was: restarted.py FOLDER RESULT KILL STEPS.

KILL chooses a rank, and the slice in which it is killed; 0: none is.
"""

import hashlib
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse import bcs

folder, result, kill, steps = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
after, before = (rank + 1) % ranks, (rank - 1) % ranks
dice = random.Random(kill)
victim, last = kill % ranks, dice.randrange(1, 40)


def kill_in_slice(comm, number):
    while comm.totals()["slices"] < number:
        time.sleep(0)  # The program goes on meanwhile.
    os.kill(os.getpid(), signal.SIGKILL)


def exchange(comm, step, x):
    """One step: a message of the step before comes, rank 0 takes from any rank, and one stays in flight."""
    if step:
        comm.Recv(came := np.zeros(size_of(step - 1)), before, step - 1)
        x = x * 0.75 + came[-1] / 3
    if rank:
        comm.Send(x, 0, 1000)
    else:
        for _ in range(ranks - 1):
            comm.Recv(came := np.zeros(2), MPI.ANY_SOURCE, 1000)
            x = x / 3 + came
    comm.Allreduce(x / (rank + 1), total := np.zeros(2))
    return x + np.sin(total)


def size_of(step):
    """Small messages, and some that don't travel with their descriptor."""
    return 20_000 if step % 3 == 0 else 2


with bcs.Comm(world, schedule=100_000, slice=100e-6) as comm:
    state = comm.restore(folder) or {"step": 0, "x": np.array([1.0, rank])}
    if kill and victim == rank:
        first = comm.totals()["slices"]  # Slices go on from those of the checkpoint.
        threading.Thread(target=kill_in_slice, args=(comm, first + last), daemon=True).start()
    x, requests = state["x"], []
    for step in range(int(state["step"]), steps):
        x = exchange(comm, step, x)
        requests.append(comm.Isend(np.full(size_of(step), x[0]), after, step))
        comm.checkpoint(folder, step=step + 1, x=x)
    comm.Recv(np.zeros(size_of(steps - 1)), before, steps - 1)
    bcs.Request.Waitall(requests)
    comm.Barrier()
    schedule = comm.schedule()[["epoch", "receiver", "source", "receive", "send", "bytes", "tag"]]
    seen = hashlib.sha256(repr((x.tobytes(), sorted(schedule.tolist()))).encode()).hexdigest()
    lines = world.gather(f"{seen} {len(schedule)}")
    if rank == 0:
        result.write_text("\n".join(lines))
