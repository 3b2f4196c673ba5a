"""Run under mpiexec: strided arrays go to the next rank without packing; they arrive as NumPy copies them."""

import random

import numpy as np
from mpi4py import MPI

from pse.runtime.transport import _transport as transport

ELEMENTS = {1: "i4", 2: "i8", 3: "f4", 4: "f8", 5: "c8", 6: "c16", 7: "u1", 8: "u2", 9: "?"}


def random_view(chance: random.Random, dtype: str) -> np.ndarray:
    """A view with up to four axes, stepped and permuted, possibly empty."""
    axes = chance.randint(1, 4)
    whole = np.arange(6**axes).astype(dtype).reshape((6,) * axes)
    steps = tuple(
        slice(chance.randint(0, 2), chance.randint(2, 6), chance.randint(1, 2)) for _ in range(axes)
    )
    return whole[steps].transpose(chance.sample(range(axes), axes))


def send_around(comm: MPI.Comm, view: np.ndarray, code: int) -> np.ndarray:
    """Send to the next rank, receive from the one before; both have the same array."""
    datatype = transport._several(transport._TYPES[code], view.itemsize, ((0, view.shape, view.strides),))
    arrived = np.zeros(view.shape, view.dtype)
    rank, size = comm.Get_rank(), comm.Get_size()
    receive = comm.Irecv([arrived, transport._TYPES[code]], (rank - 1) % size, 1)
    comm.Isend([transport.buffer_bytes(view), 1, datatype], (rank + 1) % size, 1).Wait()
    receive.Wait()
    datatype.Free()
    return arrived


def send_pieces(comm: MPI.Comm, chance: random.Random) -> None:
    """Send several parts of one array as one message; they arrive one after the other."""
    whole = np.arange(200, dtype="f8").reshape(10, 20)
    first, second = whole[1::3, 2:7], whole[:4, chance.randint(7, 12) :: 2]
    parts = tuple((v.ctypes.data - whole.ctypes.data, v.shape, v.strides) for v in (first, second))
    datatype = transport._several(transport._TYPES[4], whole.itemsize, parts)
    arrived = np.zeros(first.size + second.size)
    rank, size = comm.Get_rank(), comm.Get_size()
    receive = comm.Irecv(arrived, (rank - 1) % size, 1)
    comm.Isend([whole, 1, datatype], (rank + 1) % size, 1).Wait()
    receive.Wait()
    datatype.Free()
    np.testing.assert_array_equal(arrived, np.concatenate([first.ravel(), second.ravel()]))


def main() -> None:
    comm, chance = MPI.COMM_WORLD, random.Random(4711)
    for _ in range(20):
        send_pieces(comm, chance)
    for _ in range(300):
        code = chance.choice(sorted(ELEMENTS))
        view = random_view(chance, ELEMENTS[code])
        np.testing.assert_array_equal(send_around(comm, view, code), view)
    if comm.Get_rank() == 0:
        print("all arrived")


main()
