"""Calls blocking routines through mpi4py, in an order that follows from a seed: the large-count forms.

Prints a digest of all that came out on each rank. Usage: calls.py SEED ROUNDS
"""

import hashlib
import random
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD.Dup()
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
chance = random.Random(int(sys.argv[1]))
digest = hashlib.sha256()


def add(*values):
    for value in values:
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())


def arrays(count, times=1):
    return rank * 1000.0 + np.arange(count), np.zeros(count * times)


def ring():
    out, back = arrays(chance.randrange(1, 5000))
    status = MPI.Status()
    comm.Sendrecv(out, right, 3, back, left, 3, status)
    add(back, status.source, status.tag, status.Get_count(MPI.DOUBLE))
    comm.Sendrecv_replace(back, right, 4, left, 4)
    add(back, comm.sendrecv({"from": rank}, right, source=left))


def reductions():
    out, back = arrays(chance.randrange(1, 50))
    root = chance.randrange(size)
    comm.Allreduce(out, back, MPI.MAX)
    comm.Scan(MPI.IN_PLACE, back, MPI.MAX)
    add(back, comm.allreduce([rank]), comm.reduce(rank, root=root))
    comm.Reduce(MPI.IN_PLACE if rank == root else out, out if rank == root else None, MPI.SUM, root)
    add(out)


def spreading():
    count = chance.randrange(1, 50)
    out, back = arrays(count, size)
    comm.Allgather(out, back)
    add(back)
    comm.Alltoall(back, full := np.zeros(count * size))
    counts = [count] * size
    comm.Alltoallv([back, counts], [full, counts])
    add(full, comm.bcast(rank, chance.randrange(size)), comm.gather(rank), comm.scatter(list(range(size))))
    comm.Barrier()


def requests():
    out, back = arrays(chance.randrange(1, 200))
    MPI.Request.Waitall([comm.Irecv(back, left), comm.Isend(out, right)])
    add(back)
    sent = comm.isend(rank, right, 9)
    message = comm.mprobe(left, 9)
    add(message.recv())
    sent.wait()


def errors():
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    for call in (lambda: comm.Send(np.zeros(1), size + 3), lambda: comm.bcast(1, size + 3)):
        try:
            call()
        except MPI.Exception as error:
            add(error.Get_error_class())


for _ in range(int(sys.argv[2])):
    chance.choice([ring, reductions, spreading, requests, errors])()
print("\n".join(comm.gather(f"{rank} {digest.hexdigest()}") or []), end="\n" if rank == 0 else "")
