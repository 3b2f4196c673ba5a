"""What can go wrong: one case for each word on the command line; what is told goes to the output.

``deadlock:strict`` is the case in strict slices.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np
from leaving import leave_after
from mpi4py import MPI

from pse import bcs
from pse._abi.coschedule import MOST_OPERATIONS
from pse.errors import PseError, RunError
from pse.files import replace_file

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
one = np.zeros(1)


def deadlock(comm):
    comm.Recv(one, source=(rank + 1) % ranks, tag=rank)


def mismatch(comm):
    comm.Barrier() if rank == 0 else comm.Bcast(one, root=1)


def sizes(comm):
    comm.Allreduce(np.zeros(1 + (rank == 1)), np.zeros(2))


def operations(comm):
    comm.Allreduce(np.zeros(2), np.zeros(2), MPI.MAX if rank == 1 else MPI.SUM)


def abandoned(comm):
    """In strict mode rank 0 begins the slices; it leaves with an error, and the others still communicate."""
    with bcs.Comm(world, mode="strict", slice=100e-6) as strict:
        if rank == 0:
            raise RunError("no input")
        if rank == 1:
            strict.Send(one, 2)
        else:
            strict.Recv(one, 1)
        strict.Recv(one, 0)


def truncated(comm):
    if rank == 0:
        comm.Send(np.zeros(5), 1)
    elif rank == 1:
        comm.Recv(one, 0)


def gathered(comm):
    comm.Gather(np.zeros(2), np.zeros(ranks) if rank == 0 else None)


def killed(comm):
    comm.Barrier()  # Nobody is in MPI any more.
    if rank == ranks - 2:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.Barrier()


def left(comm):
    if rank != 1:
        comm.Recv(one, source=1)


def full(comm):
    """Who sends more than there are buffers for waits for the receiver."""
    if rank == 0:
        for _ in range(100):
            comm.Send(one, 1)
    else:
        comm.Recv(one, source=0, tag=1)


def crowded(comm):
    for _ in range(MOST_OPERATIONS + 1):
        comm.Irecv(one, 0)


def flooded(comm):
    """No error: whoever sends too much waits for the receiver."""
    if rank == 0:
        for number in range(2000):
            comm.Send(np.full(1, number), 1)
    elif rank == 1:
        place = np.zeros(1, int)
        for number in range(2000):
            comm.Recv(place, 0)
            assert place[0] == number
    looked()


def looked():
    """A look that may depend on timing finds what has been sent."""
    with bcs.Comm(world, ordered=False) as comm:
        if rank:
            comm.Send(one, 0)
        comm.Barrier()
        if rank == 0:
            assert comm.Iprobe()
            assert all(comm.Irecv(np.zeros(1), source).Test() for source in range(1, ranks))


def interrupted(comm):
    """Ctrl-C ends a wait."""
    if rank == 1:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            comm.Recv(one, source=0, tag=7)
        except KeyboardInterrupt:
            print("interrupted")
        world.Send(one, 0)
    if rank == 0:
        world.Recv(one, 1)  # Not blocked in the layer: that would be a deadlock.
        comm.Send(one, 1, tag=7)


def arguments(comm):
    for call in (
        lambda: comm.Send(one, ranks),
        lambda: comm.Send(one, 0, tag=-5),
        lambda: comm.Bcast(one, root=ranks),
        lambda: comm.Send(np.zeros((4, 4))[:, 1], 0),
        lambda: comm.Send([np.zeros(4), 5, MPI.DOUBLE], 0),
        lambda: comm.Allgatherv(one, [np.zeros(9), [1] * (ranks + 1)]),
        lambda: comm.Allreduce(np.zeros(3), np.zeros(2)),
        lambda: bcs.Comm(world, slice=50e-6),
        lambda: bcs.Comm(world, mode="late"),
    ):
        try:
            call()
        except (PseError, BufferError) as error:
            print(error)
        else:
            print("nothing was said")


def together(comm):
    comm.Barrier()


case, _, mode = sys.argv[1].partition(":")
comm = bcs.Comm(world, table=50, mode=mode or "early")
try:
    globals()[case](comm)
    if case not in ("left", "abandoned"):
        comm.Free()
except PseError as error:
    if rank == int(sys.argv[2]):
        said = f"{type(error).__name__}: {error}\nhelp: {error.help}"
        # The process manager may lose what ranks print when one of them is killed.
        replace_file(sys.argv[3], said.encode()) if sys.argv[3:] else print(said)
    if case == "killed":
        leave_after(Path(sys.argv[3]))
