"""Threads of Python that talk at once; mpi4py keeps Python's lock in calls that don't block."""

import threading

from mpi4py import MPI

world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
own = [world.Dup() for _ in range(2)]
for comm in own:
    comm.allreduce(0)  # The first call makes a communicator of mpi4py's own, and not all threads can at once.


def talk(tag):
    for i in range(10):
        assert world.sendrecv({"i": i}, right, tag, None, left, tag) == {"i": i}


def add(comm):
    for i in range(10):
        assert comm.allreduce(i) == i * comm.size


threads = [threading.Thread(target=talk, args=(tag,)) for tag in range(3)]
threads += [threading.Thread(target=add, args=(comm,)) for comm in own]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for comm in own:
    comm.Free()
MPI.Win.Allocate(8, comm=world).Free()  # Who has a tool's lock must not take it again.
