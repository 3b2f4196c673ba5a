"""Every operation by the coscheduled communicator and by MPI itself, on the same data."""

import itertools
import sys

import numpy as np
from mpi4py import MPI

from pse import bcs

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
SIZES = (1, 7, 3001, 20_001)  # With their descriptors, reduced whole or not, and alone.
PAIR = MPI.DOUBLE_INT


def numbers(kind, size, seed):
    drawn = np.random.default_rng((seed, rank)).integers(1, 5, size)
    return drawn.astype(kind)


def both(name, comm, *buffers, **arguments):
    """Compare an operation of both communicators, blocking and not, each with a copy of the last buffer."""
    results = []
    for one, call in ((world, name), (comm, name), (comm, f"I{name.lower()}")):
        into = None if buffers[-1] is None else buffers[-1].copy()
        request = getattr(one, call)(*buffers[:-1], into, **arguments)
        if request is not None:
            request.Wait()
        results.append(into)
    for found in results[1:]:
        assert np.array_equal(results[0], found), (name, results)


def second(a, b, _):
    np.copyto(np.frombuffer(b, "f8"), np.frombuffer(a, "f8"))


def reductions(comm):
    # Their numbers make the handle of the last one another one on each rank.
    made = [MPI.Op.Create(second, commute=False) for _ in range(rank + 1)]
    logical = (MPI.LAND, MPI.LOR, MPI.LXOR, MPI.BAND, MPI.BOR, MPI.BXOR)
    kinds = {
        "f8": (MPI.SUM, MPI.PROD, MPI.MAX, MPI.MIN, made[-1]),
        "i4": logical,
        "c16": (MPI.SUM,),
        "u8": (MPI.SUM,),
    }
    for (kind, operations), size in itertools.product(kinds.items(), SIZES):
        for operation in operations:
            reduce(comm, numbers(kind, size, 1), operation)
    for operation in made:
        operation.Free()


def reduce(comm, data, operation):
    zeros, last = np.zeros_like(data), ranks - 1
    for name in ("Allreduce", "Scan", "Exscan"):
        both(name, comm, data, zeros, op=operation)
    both("Reduce", comm, data, zeros if rank == last else None, op=operation, root=last)
    for name in ("Allreduce", "Scan"):
        both(name, comm, MPI.IN_PLACE, data, op=operation)


def locations(comm):
    """Pairs of a value and where it is."""
    pairs = np.zeros(3, [("value", "f8"), ("index", "i4"), ("room", "i4")])
    pairs["value"], pairs["index"] = [rank % 2, -rank, 1], rank
    for operation in (MPI.MAXLOC, MPI.MINLOC):
        found = [np.zeros_like(pairs) for _ in range(2)]
        for one, into in zip((world, comm), found, strict=True):
            one.Allreduce([pairs, 3, PAIR], [into, 3, PAIR], op=operation)
        assert np.array_equal(found[0][["value", "index"]], found[1][["value", "index"]])


def movements(comm):
    root = ranks // 2
    for size in SIZES:
        data, whole = numbers("f8", size, 2), numbers("f8", size * ranks, 3)
        table = np.zeros((ranks, size))
        both("Bcast", comm, data, root=root)
        both("Allgather", comm, data, table)
        both("Gather", comm, data, table if rank == root else None, root=root)
        both("Scatter", comm, whole if rank == root else None, np.zeros(size), root=root)
        both("Alltoall", comm, whole, np.zeros_like(whole))
        both("Alltoall", comm, MPI.IN_PLACE, whole)


def pieces(comm):
    """Pieces of different sizes."""
    root = ranks // 2
    for size in SIZES:
        counts, mirrored = [size + one for one in range(ranks)], [size + rank] * ranks
        starts, total = [sum(counts[:one]) for one in range(ranks)], sum(counts)
        mine, parts = numbers("i8", counts[rank], 4), numbers("i8", max(total, sum(mirrored)), 5)
        found = []
        for one in (world, comm):
            into = [np.zeros(total, "i8") for _ in range(4)]
            one.Allgatherv(mine, [into[0], (counts, starts), MPI.INT64_T])
            sent = [parts, (counts, None), MPI.INT64_T] if rank == root else None
            one.Scatterv(sent, into[1][: counts[rank]], root=root)
            one.Gatherv(mine, [into[2], counts] if rank == root else None, root=root)
            one.Alltoallv([parts, (mirrored, None), MPI.INT64_T], [into[3], (counts, starts), MPI.INT64_T])
            found.append(into)
        assert all(map(np.array_equal, *found))


def messages(comm):
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    for size in (0, 1, 600, 2_000_000):
        out, into = np.full(size, float(rank)), np.zeros(size)
        status = MPI.Status()
        comm.Sendrecv(out, after, 3, into, before, 3, status)
        assert (into == before).all()
        assert (status.Get_source(), status.Get_tag(), status.Get_count(MPI.DOUBLE)) == (before, 3, size)
    requests = [comm.Irecv(np.zeros(1), before, tag) for tag in range(50)]
    requests += [comm.Isend(np.ones(1), after, tag) for tag in reversed(range(50))]
    assert bcs.Request.Waitall(requests)
    requests = [comm.Irecv(np.zeros(1), before, tag) for tag in (1, 2)] + [comm.Isend(np.ones(1), after, 2)]
    assert bcs.Request.Waitany(requests) == 1
    comm.Isend(np.ones(1), after, 1).Wait()
    assert bcs.Request.Waitall(requests)
    request = comm.Isend(np.ones(4), after, 9)
    assert comm.Probe(before, 9, status)
    assert status.Get_count(MPI.DOUBLE) == 4
    comm.Recv(np.zeros(4), MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    assert (status.Get_source(), status.Get_tag()) == (before, 9)
    request.Wait()
    comm.Barrier()
    assert not comm.Iprobe()
    comm.Send(np.ones(1), MPI.PROC_NULL)
    comm.Recv(np.ones(1), MPI.PROC_NULL)


mode = sys.argv[1]
with bcs.Comm(world, mode=mode, slice=200e-6) as comm:
    messages(comm)
    if mode == "early":
        reductions(comm)
        locations(comm)
        movements(comm)
        pieces(comm)
        with comm.Split(rank % 2) as half, half.Dup() as again:
            total = np.zeros(1)
            again.Allreduce(np.ones(1), total)
            assert total[0] == again.Get_size() == len(range(rank % 2, ranks, 2))
    else:
        both("Allreduce", comm, numbers("f8", 3001, 1), np.zeros(3001))
        both("Alltoall", comm, numbers("f8", 5 * ranks, 1), np.zeros(5 * ranks))
