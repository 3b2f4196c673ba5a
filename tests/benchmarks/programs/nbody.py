"""Gravitating bodies with mpi4py: ``nbody.c`` beside it, in Python."""

from __future__ import annotations

import ctypes

from mpi4py import MPI
from peer import ARGUMENTS, OVERLAP, at, digest, fill, kernels, numbers, rank, size, take_turns, whole, world

ALL, STEPS = ARGUMENTS
N = ALL // size
PARTS = 8 if OVERLAP else 1
DT = 1e-3
TO, FROM = (rank + 1) % size, (rank - 1) % size
HALF, WHOLE, COUNT = ctypes.c_double(0.5 * DT), ctypes.c_double(DT), whole(N)

xm, vel, acc = numbers(N, 4), numbers(N, 3), numbers(N, 3)
visiting, following = numbers(N, 4), numbers(N, 4)
XM, VEL, ACC = at(xm), at(vel), at(acc)


def attract(request: MPI.Request | None) -> None:
    """Add what the visiting bodies do to ours, in parts, between which MPI gets its chance."""
    for part in range(PARTS):
        begin, end = N * part // PARTS, N * (part + 1) // PARTS
        kernels.forces(at(xm[begin:]), at(visiting), at(acc[begin:]), whole(end - begin), COUNT)
        if request is not None:
            request.Test()


def hop(last: bool) -> None:
    """Let a block of bodies act on ours, and give it to the next rank: afterwards, or meanwhile."""
    if last:
        attract(None)
    elif OVERLAP:
        arriving, leaving = world.Irecv(following, FROM), world.Isend(visiting, TO)
        attract(arriving)
        MPI.Request.Waitall([arriving, leaving])
    else:
        attract(None)
        world.Sendrecv(visiting, TO, 0, following, FROM, 0)


def ring() -> None:
    """Let all blocks visit us."""
    global visiting, following
    visiting[...] = xm
    acc[...] = 0
    for number in range(size):
        hop(number == size - 1)
        visiting, following = following, visiting


def work() -> None:
    """Take all steps."""
    for _ in range(STEPS):
        kernels.kick(VEL, ACC, HALF, COUNT)
        kernels.drift(XM, VEL, WHOLE, COUNT)
        ring()
        kernels.kick(VEL, ACC, HALF, COUNT)


fill("fill_bodies", xm, vel, N, rank * N, ALL)
ring()
take_turns(work, lambda: digest(vel, rank * N, 3))
