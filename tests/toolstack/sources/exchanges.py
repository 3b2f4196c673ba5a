"""Messages by mpi4py, in many ways, to partners and of lengths by chance; each is checked as it comes."""

import random

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
chance = random.Random(815)
for step in range(28):
    distance, length = chance.randrange(1, size), chance.randrange(40)
    to, source = (rank + distance) % size, (rank - distance) % size
    out, into, status = np.full(length, rank + step, "i4"), np.full(50, -1, "i4"), MPI.Status()
    match step % 7:
        case 0:
            request = world.isend({"from": rank, "data": out}, to, step)
            got = world.recv(None, MPI.ANY_SOURCE, step, status)
            assert got["from"] == source
            into[: got["data"].size] = got["data"]
            request.wait()
        case 1:
            requests = [world.Irecv(into, MPI.ANY_SOURCE, step), world.Isend(out, to, step)]
            statuses = [MPI.Status(), MPI.Status()]
            MPI.Request.Waitall(requests, statuses)
            status = statuses[0]
        case 2:
            world.Sendrecv(out, to, step, into, MPI.ANY_SOURCE, step, status)
        case 3:
            request = world.Isend(out, to, step)
            world.Mprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status).Recv(into)
            request.Wait()
        case 4:
            request = world.Issend(out, to, step)
            while not world.Iprobe(MPI.ANY_SOURCE, step, status):
                pass
            world.Recv(into, status.source, step)
            request.Wait()
        case 5:
            request, done = world.Irecv(into, source, step), False
            world.Send(out, to, step)
            while not done:
                done = request.Test(status)
        case 6:
            sending, receiving = world.Send_init(out, to, step), world.Recv_init(into, source, step)
            for _ in range(2):
                MPI.Prequest.Startall([sending, receiving])
                sending.Wait()
                receiving.Wait(status)
            sending.Free()
            receiving.Free()
    assert (status.source, status.tag) == (source, step), step
    assert step % 7 == 0 or status.Get_count(MPI.INT) == length, step
    assert (into == [source + step] * length + [-1] * (50 - length)).all(), step
    world.Barrier()
