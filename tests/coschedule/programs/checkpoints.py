"""Checkpoints, and what is refused: the command line names a case; rank 0 says what it is told."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse import bcs
from pse.errors import PseError

world = MPI.COMM_WORLD
rank = world.rank


def save(comm):
    comm.checkpoint("saved", x=1)
    comm.checkpoint("saved", x=np.array([3.0, 4.0]), file=rank)


def load(comm):
    state = comm.restore("saved")
    say(sorted(state), state["x"].tolist())


def requests(comm):
    request = comm.Irecv(np.zeros(1), 0, 5) if rank == 1 else None
    try:
        comm.checkpoint("saved", x=1)
    finally:
        comm.Send(np.zeros(1), 1, 5) if rank == 0 else request.Wait()


def objects(comm):
    comm.checkpoint("saved", x=np.array([None]))


def file(comm):
    comm.checkpoint(Path("saved/checkpoint.json"), x=1)


def late(comm):
    comm.Send(np.zeros(1), rank)
    try:
        comm.restore("saved")
    finally:
        comm.Recv(np.zeros(1), rank)


def seldom(comm):
    say([comm.checkpoint("other", every=3600, x=1) for _ in range(2)])


def say(*words):
    if rank == 0:
        print(*words)


with bcs.Comm(world) as comm:
    try:
        globals()[sys.argv[1]](comm)
    except PseError as error:
        say(f"{error}\nhelp: {error.help}")
