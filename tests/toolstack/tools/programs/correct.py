"""Many right uses of MPI, at any number of ranks: nothing for `check` to say, much for `trace` to record."""

import tempfile

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size


def objects(comm):
    """Collective operations and messages of Python objects."""
    for i in range(5):
        assert comm.sendrecv({"a": i}, right, 3, None, left, 3) == {"a": i}
        assert comm.allreduce(i) == i * size
        assert comm.bcast([i], i % size) == [i]
        comm.gather(rank, i % size)
        comm.scatter(list(range(size)) if rank == i % size else None, i % size)
        comm.allgather(rank)
        comm.alltoall(list(range(size)))
        comm.scan(1)
        comm.reduce(1, root=i % size)


def from_anybody():
    """Receives and probes that take what comes."""
    status = MPI.Status()
    requests = [world.isend("x" * 1000 * tag, 0, tag) for tag in range(3)]
    for _ in range(3 * size if rank == 0 else 0):
        world.recv(None, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    MPI.Request.waitall(requests)
    world.barrier()
    request = world.Isend(np.ones(rank + 1), 0, 9)
    for _ in range(size if rank == 0 else 0):
        world.Probe(MPI.ANY_SOURCE, 9, status)
        world.Recv(np.zeros(status.Get_count(MPI.DOUBLE)), status.source, 9)
    request.Wait()


def derived_types():
    """One sequence of elements in different layouts."""
    strided = MPI.DOUBLE.Create_vector(8, 2, 4).Commit()
    request = world.Irecv(np.zeros(16), left, 4)
    world.Send([np.arange(32.0), 1, strided], right, 4)
    request.Wait()
    strided.Free()
    mixed = MPI.Datatype.Create_struct([1, 2], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()
    other = mixed.Dup().Commit()
    request = world.Irecv([np.zeros(24, "b"), 1, other], left, 5)
    world.Send([np.zeros(24, "b"), 1, mixed], right, 5)
    request.Wait()
    other.Free()
    mixed.Free()


def communicators():
    """Communicators that are made, used and freed."""
    twin, half = world.Dup(), world.Split(rank % 2, rank)
    half.allreduce(1)
    ring = world.Create_cart([size], [True])
    low, high = ring.Shift(0, 1)
    ring.Sendrecv(np.ones(3), high, 1, np.zeros(3), low, 1)
    ring.neighbor_allgather(rank)
    MPI.Request.Waitall([twin.Ibarrier(), twin.Iallreduce(np.ones(4), np.zeros(4))])
    later, request = twin.Idup()
    request.Wait()
    later.sendrecv(1, right, 0, None, left, 0)
    if size > 1:
        across = half.Create_intercomm(0, world, 1 - rank % 2, 12)
        merged = across.Merge()
        merged.Barrier()
        for comm in (merged, across):
            comm.Free()
    for comm in (later, ring, half, twin):
        comm.Free()


def requests():
    """Requests that are started again, cancelled, and tested for."""
    receive, send = world.Recv_init(np.zeros(3), left, 6), world.Send_init(np.ones(3), right, 6)
    for _ in range(3):
        MPI.Prequest.Startall([receive, send])
        MPI.Request.Waitall([receive, send])
    receive.Free()
    send.Free()
    cancelled = world.Irecv(np.zeros(3), left, 77)
    cancelled.Cancel()
    cancelled.Wait()
    cancelled_sends(MPI.COMM_SELF)
    pending = [world.Irecv(np.zeros(1), left, 8) for _ in range(4)]
    pending += [world.Isend(np.zeros(1), right, 8) for _ in range(4)]
    done = 0
    while done < 8:
        done += len(MPI.Request.Testsome(pending) or ())
    world.Sendrecv_replace(np.zeros(5), right, 1, left, 1)
    world.Send(np.zeros(5), MPI.PROC_NULL)
    world.Recv(np.zeros(5), MPI.PROC_NULL)


def cancelled_sends(own):
    """Sends that are cancelled, which some MPIs can't do, and others after them."""
    for end in (MPI.Request.Free, MPI.Request.Wait):
        status, request = MPI.Status(), own.Issend(np.ones(1), 0, 9)
        request.Cancel()
        request.Get_status(status)
        if not status.Is_cancelled():
            own.Recv(np.zeros(1), 0, 9)
        end(request)
        own.Sendrecv(np.ones(2), 0, 9, np.zeros(2), 0, 9)
        requests = [own.Irecv(np.zeros(3), 0, 9), own.Isend(np.ones(3), 0, 9)]
        MPI.Request.Waitall(requests)


def windows():
    """One-sided operations, which are not checked, beside what is."""
    window = MPI.Win.Allocate(64, 1, comm=world)
    window.Fence()
    window.Put(np.zeros(1), right)
    window.Fence()
    window.Free()


def files():
    """Requests of files, which are not checked."""
    with tempfile.NamedTemporaryFile() as own:
        file = MPI.File.Open(MPI.COMM_SELF, own.name, MPI.MODE_RDWR)
        for _ in range(20):
            file.Iwrite(np.zeros(100)).Wait()
        file.Close()


objects(world)
from_anybody()
derived_types()
communicators()
requests()
windows()
files()
