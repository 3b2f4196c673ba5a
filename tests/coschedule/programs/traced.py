"""A program whose trace is looked at: each way to send and receive messages, and collective operations."""

import numpy as np
from mpi4py import MPI

from pse import bcs

with bcs.Comm() as comm:
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for size in (1, 20_000):
        came = np.zeros(size)
        comm.Sendrecv(np.ones(size), after, 1, came, before, 1)
        requests = [comm.Irecv(came, MPI.ANY_SOURCE, 2), comm.Isend(np.ones(size), after, 2)]
        bcs.Request.Waitall(requests)
        comm.Send(np.ones(1), after, 3)
        comm.Probe(before, 3)
        comm.Recv(came, before, 3)
        comm.Allreduce(np.ones(size), np.zeros(size))
        comm.Ibarrier().Wait()
        comm.Alltoall(np.ones(comm.size), np.zeros(comm.size))
    part = comm.Split(comm.rank % 2)
    part.Bcast(np.zeros(3))
    part.Free()
