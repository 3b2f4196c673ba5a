"""What the tool `bcs` is asked to do: python bcs.py CASE; each prints on rank 0, or fails."""

import ctypes
import random
import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
after, before = (rank + 1) % size, (rank - 1) % size


def tell(*words):
    if rank == 0:
        print(*words, flush=True)


def wildcards():
    """Rank 0 receives from any rank, in two communicators; the others send when chance says so."""
    came, status, other = [], MPI.Status(), world.Dup()
    for _ in range(10 if rank else 10 * (size - 1)):
        if rank:
            time.sleep(random.random() / 1000)
            world.Send(np.array([rank]), 0, 1)
            other.send({"rank": rank}, 0)
        else:
            world.Recv(np.zeros(1, int), MPI.ANY_SOURCE, 1, status)
            came += [status.Get_source(), other.recv(source=MPI.ANY_SOURCE)["rank"]]
    tell(came)


def mixtures():
    """Requests of the tool and of MPI are waited for together; MPI's make progress while others wait."""
    halves = world.Split(rank % 2, rank)
    between = halves.Create_intercomm(0, world, 1 - rank % 2) if size > 1 else None
    peer = halves.rank if between and halves.rank < between.remote_size else MPI.PROC_NULL
    for wait in (MPI.Request.Waitall, waitany, waitsome, testall):
        own, foreign = np.zeros(1), np.full(1, -1.0)
        requests = [world.Irecv(own, before, 3), world.Isend(np.array([float(rank)]), after, 3)]
        if between:
            requests += [between.Irecv(foreign, peer, 4), between.Isend(np.array([7.0]), peer, 4)]
        requests += [MPI.REQUEST_NULL]
        wait(requests)
        assert all(request == MPI.REQUEST_NULL for request in requests)
        assert own[0] == before
        assert foreign[0] == (-1 if peer == MPI.PROC_NULL or not between else 7)
    tell("mixed")


def waitany(requests):
    while MPI.Request.Waitany(requests) != MPI.UNDEFINED:
        pass


def waitsome(requests):
    while MPI.Request.Waitsome(requests) is not None:
        pass


def testall(requests):
    while not MPI.Request.Testall(requests):
        pass


def several():
    """All that has come is given at once."""
    requests = [world.Irecv(np.zeros(1), rank, tag) for tag in range(4)]
    told = []
    for tags in ([3], [2, 0], [1]):
        for tag in tags:
            world.Ssend(np.zeros(1), rank, tag)
        told += [sorted(MPI.Request.Waitsome(requests))]
    tell(*told, MPI.Request.Waitsome(requests))


def looks():
    """Looks at several requests, of the tool and of MPI, leave them as they are."""
    if MPI.Get_version() < (4, 1):
        return tell("[0, 2] True")
    own, message = world.Dup(), np.zeros(1)
    foreign, made = world.Idup()
    made.Wait()
    requests = [own.Irecv(message, rank, 1), own.Irecv(message, rank, 2), foreign.Irecv(message, rank, 3)]
    look = MPI.Request
    assert (look.Get_status_all(requests), look.Get_status_any(requests)[1]) == (False, False)
    assert look.Get_status_some(requests) == []
    own.Send(message, rank, 1)
    foreign.Send(message, rank, 3)
    while len(look.Get_status_some(requests)) < 2:
        pass
    some = look.Get_status_some(requests)
    assert look.Get_status_any(requests) == (0, True)
    own.Send(message, rank, 2)
    statuses = []
    while not look.Get_status_all(requests, statuses):
        pass
    assert [status.tag for status in statuses] == [1, 2, 3]
    look.Waitall(requests)
    return tell(some, look.Get_status_some(requests) is None and look.Get_status_any(requests)[1])


def elsewhere():
    """A rank is in MPI's own calls while others need its message, from any source."""
    window = MPI.Win.Allocate(8, comm=world)
    halves = world.Split(rank % 2, rank)
    between = halves.Create_intercomm(0, world, 1 - rank % 2)
    if rank == 0:
        world.Recv(np.zeros(1), MPI.ANY_SOURCE)
        between.Send(np.zeros(1), 0)
    elif rank == 1:
        world.Send(np.zeros(1), 0)
        between.Recv(np.zeros(1), 0)
    window.Fence()
    window.Free()
    taken = world.Irecv(np.zeros(1), before, 99)
    taken.Cancel()
    status = MPI.Status()
    taken.Wait(status)
    tell("cancelled", status.Is_cancelled())


def sums():
    """The same bits as pse.bcs.Comm gives, by whatever way."""
    from pse import bcs

    own = np.random.default_rng(rank).random(20_000) * 10.0**rank
    with bcs.Comm(world) as comm:
        for elements in (5, own.size):
            results = [np.zeros(elements) for _ in range(4)]
            comm.Allreduce(own[:elements], results[0])
            world.Allreduce(own[:elements], results[1])
            world.Iallreduce(own[:elements], results[2]).Wait()
            world.Reduce(own[:elements], results[3], root=0)
            world.Bcast(results[3])
            assert all((one == results[0]).all() for one in results)
    tell("same bits")


def layouts():
    """Datatypes with gaps, in messages and collective operations; part of an element comes."""
    column = MPI.DOUBLE.Create_vector(4, 1, 4).Commit()
    table, came = np.arange(16.0).reshape(4, 4) + 100 * rank, np.zeros((4, 4))
    world.Sendrecv([table, 1, column], after, 0, [came, 1, column], before, 0)
    assert (came[:, 0] == np.arange(0, 16, 4) + 100 * before).all()
    assert not came[:, 1:].any()
    world.Bcast([table, 1, column], root=size - 1)
    assert (table[:, 0] == np.arange(0, 16, 4) + 100 * (size - 1)).all()
    status = MPI.Status()
    request = world.Isend(np.array([1.5, 2.5]), after)
    part = np.zeros((4, 4))
    world.Recv([part, 1, column], before, status=status)
    request.Wait()
    assert part[0, 0] == 1.5
    assert part[1, 0] == 2.5
    assert not part[2:].any()
    assert status.Get_count(MPI.DOUBLE) == 2
    assert status.Get_count(column) == MPI.UNDEFINED
    column.Free()
    tell("gaps")


def windows():
    """Ranks wait in the layer while another one waits in MPI for their windows."""
    mine, one, before = (np.full(1, value, "i8") for value in (0, 1, -1))
    window = MPI.Win.Create(mine, comm=world)
    world.Barrier()
    if rank == 0:
        for target in range(size):
            window.Lock(target)
            window.Fetch_and_op(one, before, target)
            window.Unlock(target)
    world.Barrier()
    if rank == 0:
        window.Start(window.Get_group().Excl([0]))
        window.Complete()
    else:
        window.Post(window.Get_group().Incl([0]))
    world.Barrier()
    ended = np.full(1, rank == 0 or window.Test(), "i8")
    world.Allreduce(MPI.IN_PLACE, ended, MPI.MIN)
    tell(mine[0], ended[0])
    window.Free()


def truncation():
    request = world.Isend(np.zeros(4), after)
    try:
        world.Recv(np.zeros(1), before)
    except MPI.Exception as error:
        tell(error.Get_error_class() == MPI.ERR_TRUNCATE)
    request.Wait()


def monitored():
    for size in (7, 4096, 70000):
        request = world.Isend(np.zeros(size, "u1"), rank)
        world.Recv(np.zeros(size, "u1"), rank)
        request.Wait()
    for _ in range(5):
        world.Allreduce(np.ones(3), np.zeros(3))
    world.Sendrecv(np.zeros(5), after, 0, np.zeros(5), before)
    world.Alltoall(np.zeros(world.size), np.zeros(world.size))
    counts = range(1, world.size + 1)
    world.Gatherv(np.zeros(rank + 1), [np.zeros(sum(counts)), list(counts), MPI.DOUBLE], root=1)
    world.Dup().Barrier()


def deadlock():
    world.Recv(np.zeros(1), after)


def mismatch():
    world.Bcast(np.zeros(2), 0) if rank == 0 else world.Barrier()
    world.Barrier()


def roots():
    world.Reduce(np.zeros(2), np.zeros(2), root=min(rank, 1))
    world.Barrier()


def short():
    world.Bcast(np.zeros(1 + (rank == 2)), 0)
    world.Barrier()


def left():
    if rank == 1:
        ctypes.CDLL(None).exit(0)  # As a program in C ends that doesn't call MPI_Finalize.
    world.Barrier()


def ended():
    if rank != 1:
        world.Recv(np.zeros(1), 1)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
