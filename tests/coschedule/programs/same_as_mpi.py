"""Every operation by the coscheduled communicator and by MPI itself, on the same data."""

import sys

import numpy as np
from mpi4py import MPI

from pse import bcs

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
SIZES = (1, 7, 3001)  # In a descriptor, and not.
PAIR = MPI.DOUBLE_INT


def numbers(kind, size, seed):
    drawn = np.random.default_rng((seed, rank)).integers(1, 5, size)
    return drawn.astype(kind)


def both(name, comm, *buffers, **arguments):
    """Call an operation of both communicators, blocking and not, and compare the last buffer."""
    results = []
    for one, call in ((world, name), (comm, name), (comm, f"I{name.lower()}")):
        made = [buffer() if callable(buffer) else buffer for buffer in buffers]
        request = getattr(one, call)(*made, **arguments)
        if request is not None:
            request.Wait()
        results.append(made[-1])
    expected, blocking, immediate = (None if one is None else np.asarray(one) for one in results)
    for found in (blocking, immediate):
        assert np.array_equal(expected, found), (name, expected, found)


def reductions(comm):
    logical = (MPI.LAND, MPI.LOR, MPI.LXOR, MPI.BAND, MPI.BOR, MPI.BXOR)
    second = MPI.Op.Create(lambda a, b, _: np.copyto(np.frombuffer(b, "f8"), np.frombuffer(a, "f8")), commute=False)
    cases = [("f8", (MPI.SUM, MPI.PROD, MPI.MAX, MPI.MIN, second)), ("i4", logical), ("c16", (MPI.SUM,)), ("u8", (MPI.SUM,))]
    for kind, operations in cases:
        for size in SIZES:
            data = numbers(kind, size, 1)
            for operation in operations:
                both("Allreduce", comm, data, lambda: np.zeros_like(data), op=operation)
                both("Scan", comm, data, lambda: np.zeros_like(data), op=operation)
                both("Exscan", comm, data, lambda: np.zeros_like(data), op=operation)
                last = ranks - 1
                both("Reduce", comm, data, lambda: np.zeros_like(data) if rank == last else None, op=operation, root=last)
                both("Allreduce", comm, MPI.IN_PLACE, lambda: data.copy(), op=operation)
                both("Scan", comm, MPI.IN_PLACE, lambda: data.copy(), op=operation)
    second.Free()


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
    for size in SIZES:
        data, root = numbers("f8", size, 2), ranks // 2
        both("Bcast", comm, lambda: data.copy(), root=root)
        both("Allgather", comm, data, lambda: np.zeros((ranks, size)))
        both("Gather", comm, data, lambda: np.zeros((ranks, size)) if rank == root else None, root=root)
        whole = numbers("f8", size * ranks, 3)
        both("Scatter", comm, whole if rank == root else None, lambda: np.zeros(size), root=root)
        both("Alltoall", comm, whole, lambda: np.zeros(size * ranks))
        both("Alltoall", comm, MPI.IN_PLACE, lambda: whole.copy())
        counts = [size + one for one in range(ranks)]
        starts = [sum(counts[:one]) for one in range(ranks)]
        mine, total = numbers("i8", counts[rank], 4), sum(counts)
        into = [np.zeros(total, "i8") for _ in range(3)]
        for one, place in zip((world, comm), into, strict=False):
            one.Allgatherv(mine, [place, (counts, starts), MPI.INT64_T])
        assert np.array_equal(into[0], into[1])
        parts = numbers("i8", total, 5)
        for one, place in zip((world, comm), into, strict=False):
            place[:] = 0
            one.Scatterv([parts, (counts, None), MPI.INT64_T] if rank == root else None, place[: counts[rank]], root=root)
        assert np.array_equal(into[0], into[1])
        for one, place in zip((world, comm), into, strict=False):
            place[:] = 0
            one.Gatherv(mine, [place, counts] if rank == root else None, root=root)
        assert np.array_equal(into[0], into[1])
        mirrored = [size + rank] * ranks
        there = [np.zeros(total, "i8") for _ in range(2)]
        for one, place in zip((world, comm), there, strict=True):
            one.Alltoallv(
                [numbers("i8", sum(mirrored), 6), (mirrored, None), MPI.INT64_T], [place, (counts, starts), MPI.INT64_T]
            )
        assert np.array_equal(there[0], there[1])


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
    assert bcs.Request.Waitany(requests) in (1, 2)
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
        with comm.Split(rank % 2) as half, half.Dup() as again:
            total = np.zeros(1)
            again.Allreduce(np.ones(1), total)
            assert total[0] == again.Get_size() == len(range(rank % 2, ranks, 2))
    else:
        both("Allreduce", comm, numbers("f8", 3001, 1), lambda: np.zeros(3001))
        both("Alltoall", comm, numbers("f8", 5 * ranks, 1), lambda: np.zeros(5 * ranks))
