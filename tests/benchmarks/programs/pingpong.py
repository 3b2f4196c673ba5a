"""An array to and fro with mpi4py: ``pingpong.c`` beside it, in Python."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from peer import ARGUMENTS, OVERLAP, digest, numbers, rank, take_turns, world

COUNT, ROUNDS = ARGUMENTS
TOKEN = np.empty(0)


def make_window() -> MPI.Win:
    """Make memory that both ranks share."""
    window = MPI.Win.Allocate_shared(8 * COUNT if rank == 0 else 0, 8, comm=world)
    window.Lock_all(MPI.MODE_NOCHECK)
    return window


window = make_window() if OVERLAP else None
x = numbers(COUNT) if window is None else np.frombuffer(window.Shared_query(0)[0])  # type: ignore[call-overload]
if rank == 0:
    x[...] = 0
message = x if window is None else TOKEN


def synchronize() -> None:
    """See what the other one wrote, and let it see ours."""
    if window is not None:
        window.Sync()


def hand_over(give: bool) -> None:
    """Give the array to the other one, or take it."""
    synchronize()
    if give:
        world.Send(message, 1 - rank)
    else:
        world.Recv(message, 1 - rank)
    synchronize()


def touch() -> None:
    """Mark both ends."""
    x[0] += 1
    x[-1] += 1


def work() -> None:
    """Let it go to and fro."""
    for _ in range(ROUNDS):
        hand_over(rank == 0)
        if rank:
            touch()
        hand_over(rank == 1)
        if not rank:
            touch()


take_turns(work, lambda: digest(x.reshape(1, -1), 0, COUNT) if rank == 0 else 0)
if window is not None:
    window.Unlock_all()
    window.Free()
