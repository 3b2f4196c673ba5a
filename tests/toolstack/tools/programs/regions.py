"""Functions that are entered and left in all ways that Python has."""

import asyncio
import os
import sys
import threading
import warnings

from mpi4py import MPI

import pse.trace
from pse.trace import EventType

world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size


def ring(tag):
    world.Sendrecv(bytes(8), right, tag, bytearray(8), left, tag)


def recursive(depth):
    ring(depth)
    if depth:
        recursive(depth - 1)


def failing():
    world.Barrier()
    raise ValueError


def generator():
    try:
        for tag in range(3):
            ring(tag)
            yield tag
    finally:
        world.Barrier()


async def step(tag):
    await asyncio.sleep(0)
    ring(tag)


async def steps():
    for tag in range(2):
        await step(tag)


def work(tag):
    for _ in range(20):
        ring(tag)


def hot():
    pass


def child():
    warnings.simplefilter("ignore", DeprecationWarning)  # MPI may have threads; Python 3.12 objects.
    if (pid := os.fork()) == 0:
        hot()
        os._exit(0)
    os.waitpid(pid, 0)


def deep(depth):
    return deep(depth - 1) if depth else world.Barrier()


def is_waiting(rank):
    """Whether what a rank has recorded ends in a call that waits."""
    return pse.trace.open(sys.argv[-1]).events(rank)["type"][-1] == EventType.MPI_AWAIT


def main():
    recursive(2)
    try:
        failing()
    except ValueError:
        ring(0)
    started = generator()
    next(started), next(started)
    started.close()
    asyncio.run(steps())
    threads = [threading.Thread(target=work, args=(tag,)) for tag in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child()
    sys.setrecursionlimit(50_000)
    deep(10_000)


main()
if "hot" in sys.argv:
    for _ in range(100_000):
        hot()
    ring(1)
if "exit" in sys.argv:  # Ranks 1 and 2 wait for each other; rank 0 sees in the trace that they do.
    if world.rank == 1:
        world.Recv(bytearray(8), 2, 4)
    elif world.rank == 2:
        free = world.Irecv(bytearray(8), MPI.ANY_SOURCE, 5)
        world.Irecv(bytearray(8), 1, 6).Wait()
    while not all(is_waiting(rank) for rank in (1, 2)):
        pass
    world.Abort(3)
