"""Every routine of MPI's large-count kind that mpi4py can call, with checks of what comes back.

Runs with any number of ranks; its argument is a directory for files.
"""

import os
import sys

import numpy as np
from mpi4py import MPI

world, myself, double = MPI.COMM_WORLD, MPI.COMM_SELF, MPI.DOUBLE
rank, size = world.rank, world.size
one, got = np.full(1, rank + 1.0), np.zeros(1)


def block():
    """One number for each process."""
    return np.arange(size, dtype="f8") + rank


def vector(number, each=1):
    """A buffer with `each` numbers for each of `number` processes, with counts and displacements."""
    content = np.arange(number * each, dtype="f8") + rank
    return [content, [each] * number, [each * i for i in range(number)], double]


def wide(number):
    """The same with one number each, a type for each and displacements in bytes."""
    return [np.full(number, float(rank)), [1] * number, [8 * i for i in range(number)], [double] * number]


def forms(comm, blocking, *arguments):
    """Call a collective's blocking, non-blocking and persistent form."""
    getattr(comm, blocking)(*arguments)
    getattr(comm, f"I{blocking.lower()}")(*arguments).Wait()
    request = getattr(comm, f"{blocking}_init")(*arguments)
    for _ in range(2):
        request.Start()
        request.Wait()
    request.Free()


def send_to_myself():
    """All ways to send, and to receive."""
    for name in ("Send", "Ssend", "Rsend", "Bsend"):
        post = myself.Irecv(got, 0, 1)
        getattr(myself, name)(one, 0, 1)
        post.Wait()
        post = myself.Irecv(got, 0, 1)
        getattr(myself, f"I{name.lower()}")(one, 0, 1).Wait()
        post.Wait()
        pair = [myself.Recv_init(got, 0, 1), getattr(myself, f"{name}_init")(one, 0, 1)]
        for request in pair:
            request.Start()
        MPI.Request.Waitall(pair)
        for request in pair:
            request.Free()
    for receive in (
        lambda: myself.Recv(got, 0, 4),
        lambda: MPI.Message.Probe(myself, 0, 4).Recv(got),
        lambda: MPI.Message.Probe(myself, 0, 4).Irecv(got).Wait(),
    ):
        request = myself.Isend(one, 0, 4)
        got[0] = 0
        receive()
        request.Wait()
        assert got[0] == rank + 1


def exchange():
    """Both directions in one call."""
    right, left = (rank + 1) % size, (rank - 1) % size
    world.Sendrecv(one, right, 0, got, left, 0)
    assert got[0] == left + 1
    world.Sendrecv_replace(got, left, 0, right, 0)
    world.Isendrecv(one, right, 0, got, left, 0).Wait()
    world.Isendrecv_replace(got, left, 0, right, 0).Wait()
    assert got[0] == rank + 1


def collectives():
    """All collectives with their arrays of counts."""
    at_root = rank == 0
    forms(world, "Bcast", got)
    forms(world, "Gather", one, block() if at_root else None)
    forms(world, "Gatherv", one, vector(size) if at_root else None)
    forms(world, "Scatter", block() if at_root else None, got)
    forms(world, "Scatterv", vector(size) if at_root else None, got)
    assert got[0] == rank
    forms(world, "Allgather", one, out := block())
    assert (out == np.arange(size) + 1).all()
    forms(world, "Allgatherv", one, out := vector(size))
    assert (out[0] == np.arange(size) + 1).all()
    forms(world, "Alltoall", block(), out := block())
    assert (out == rank + np.arange(size)).all()
    forms(world, "Alltoallv", vector(size, 2), out := vector(size, 2))
    assert (out[0].reshape(size, 2)[:, 1] == 2 * rank + 1 + np.arange(size)).all()
    forms(world, "Alltoallw", wide(size), out := wide(size))
    assert (out[0] == np.arange(size)).all()


def reductions():
    """All reductions."""
    total = size * (size + 1) // 2
    for name in ("Reduce", "Allreduce", "Scan", "Exscan"):
        forms(world, name, one, got)
    forms(world, "Allreduce", one, got)
    assert got[0] == total
    forms(world, "Reduce_scatter_block", block(), got)
    forms(world, "Reduce_scatter", block(), got, [1] * size)
    assert got[0] == rank * size + size * (size - 1) // 2
    MPI.SUM.Reduce_local(one, got)


def neighbours():
    """Neighbourhood collectives, in a grid and in a graph with one neighbour each way."""
    left = (rank - 1) % size
    ring = world.Create_dist_graph_adjacent([left], [(rank + 1) % size])
    for comm, degree in ((world.Create_cart([size], periods=[True]), 2), (ring, 1)):
        forms(comm, "Neighbor_allgather", one, np.zeros(degree))
        forms(comm, "Neighbor_allgatherv", one, out := vector(degree))
        assert out[0][0] == left + 1
        forms(comm, "Neighbor_alltoall", np.zeros(degree), np.zeros(degree))
        constant = [np.full(degree, float(rank)), *vector(degree)[1:]]
        forms(comm, "Neighbor_alltoallv", constant, out := vector(degree))
        assert out[0][0] == left
        forms(comm, "Neighbor_alltoallw", wide(degree), out := wide(degree))
        assert out[0][0] == left


def types():
    """All constructors of types, and what a type says of itself."""
    made = [
        double.Create_contiguous(2),
        double.Create_vector(2, 1, 2),
        double.Create_hvector(2, 1, 16),
        double.Create_indexed([1, 2], [0, 3]),
        double.Create_hindexed([1, 2], [0, 24]),
        double.Create_indexed_block(1, [0, 2]),
        double.Create_hindexed_block(1, [0, 16]),
        MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, double]),
        double.Create_subarray([4], [2], [1]),
        double.Create_darray(1, 0, [4], [MPI.DISTRIBUTE_BLOCK], [MPI.DISTRIBUTE_DFLT_DARG], [1]),
        double.Create_resized(0, 16),
    ]
    assert [kind.Get_size() for kind in made] == [16, 16, 16, 24, 24, 16, 16, 12, 16, 32, 8]
    assert [kind.Get_extent()[1] for kind in made] == [16, 24, 24, 40, 40, 24, 24, 16, 32, 32, 16]
    assert made[3].Get_true_extent() == (0, 40)
    assert made[8].decode()[2] == {"sizes": [4], "subsizes": [2], "starts": [1], "order": MPI.ORDER_C}
    assert [kind.Get_envelope()[-1] for kind in made[:2]] == [MPI.COMBINER_CONTIGUOUS, MPI.COMBINER_VECTOR]
    for kind in made:
        kind.Free()


def packing():
    """Packed buffers, with positions that go in and come back."""
    packed = bytearray(64)
    place = double.Pack(one, packed, 0, world)
    got[0] = -1
    assert double.Unpack(packed, 0, got, world) == place == 8
    assert got[0] == rank + 1
    place = double.Pack_external("external32", one, packed, 0)
    got[0] = -1
    assert double.Unpack_external("external32", packed, 0, got) == place == 8
    assert got[0] == rank + 1
    assert double.Pack_size(3, world) == double.Pack_external_size("external32", 3) == 24
    status = MPI.Status()
    status.Set_elements(double, 3)
    assert status.Get_elements(double) == status.Get_count(double) == 3


def windows():
    """One-sided communication."""
    window = MPI.Win.Create(block(), 8, comm=world)
    window.Lock_all()
    for name in ("Put", "Get", "Accumulate"):
        getattr(window, name)(one if name != "Get" else got, rank)
        window.Flush(rank)
    assert got[0] == rank + 1
    window.Get_accumulate(one, got, rank)
    window.Flush(rank)
    for name in ("Rput", "Rget", "Raccumulate"):
        getattr(window, name)(one if name != "Rget" else got, rank).Wait()
    window.Rget_accumulate(one, got, rank).Wait()
    window.Unlock_all()
    window.Free()
    MPI.Win.Allocate(8, 1, comm=world).Free()
    window = MPI.Win.Allocate_shared(8, 4, comm=world)
    assert window.Shared_query(rank)[1] == 4
    window.Free()


def files(folder):
    """All ways to write and read a file."""
    file = MPI.File.Open(myself, os.path.join(folder, f"rank{rank}"), MPI.MODE_CREATE | MPI.MODE_RDWR)
    plain = ["", "_all", "_shared", "_ordered"]
    for name in [way + form for form in plain for way in ("Write", "Read")]:
        use_file(file, name, ())
        if not name.endswith("ordered"):
            use_file(file, f"I{name.lower()}", ())
        if name.endswith(("all", "ordered")):
            use_split(file, name, ())
    for name in ("Write_at", "Read_at", "Write_at_all", "Read_at_all"):
        use_file(file, name, (0,))
        use_file(file, f"I{name.lower()}", (0,))
        if name.endswith("all"):
            use_split(file, name, (0,))
    assert file.Get_type_extent(double) == 8
    file.Close()


def use_file(file, name, offset):
    """One call, from the file's beginning."""
    file.Seek(0)
    file.Seek_shared(0)
    got[0] = 0
    request = getattr(file, name)(*offset, one if "rite" in name else got)
    if request:
        request.Wait()
    assert "rite" in name or got[0] == rank + 1, name


def use_split(file, name, offset):
    """A collective call in two halves."""
    file.Seek(0)
    file.Seek_shared(0)
    buffer = one if "rite" in name else got
    getattr(file, f"{name}_begin")(*offset, buffer)
    getattr(file, f"{name}_end")(buffer)


def attach_buffers():
    """A buffer for each of what may have one, one after the other."""
    is_older = MPI.Get_version() < (4, 1)
    for where in (MPI,) if is_older else (MPI, myself):
        where.Attach_buffer(bytearray(4096 + MPI.BSEND_OVERHEAD))
        if where is MPI:
            send_to_myself()
        assert len(where.Detach_buffer()) == 4096 + MPI.BSEND_OVERHEAD
    if is_older:
        return
    session = MPI.Session.Init()
    session.Attach_buffer(bytearray(64 + MPI.BSEND_OVERHEAD))
    session.Detach_buffer()
    session.Finalize()


attach_buffers()
exchange()
collectives()
reductions()
neighbours()
types()
packing()
windows()
files(sys.argv[1])
