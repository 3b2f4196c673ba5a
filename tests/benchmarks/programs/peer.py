"""What the programs of mpi4py have in common; they take turns as those in C do.

``PROGRAM.py blocking|overlap TURNS KERNELS LIBRARY ARGUMENTS…``: libraries with the kernels of the program,
and with what ``turns.h`` declares.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

Numbers = npt.NDArray[np.float64]
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
OVERLAP = sys.argv[1] == "overlap"
TURNS = int(sys.argv[2])
kernels = ctypes.CDLL(sys.argv[3])
_turns = ctypes.CDLL(sys.argv[4])
ARGUMENTS = [int(word) for word in sys.argv[5:]]
for _function in (_turns.turn_clock, _turns.digest, _turns.digest_sample, _turns.sum_of_frame):
    _function.restype = ctypes.c_int64
_LINE = 64


def numbers(*shape: int) -> Numbers:
    """Make an array of zeros that lies as vector code likes it."""
    count = int(np.prod(shape))
    memory = np.zeros(count * 8 + _LINE, np.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : begin + 8 * count].view(float).reshape(shape)


def at(array: Any) -> ctypes.c_void_p:
    """Give the address of an array."""
    return ctypes.c_void_p(array.ctypes.data)


def whole(number: int) -> ctypes.c_int64:
    """Give a whole number as the kernels take it."""
    return ctypes.c_int64(number)


def fill(name: str, *arguments: Any) -> None:
    """Call a function of ``turns.h`` that fills arrays."""
    getattr(_turns, name)(*map(_argument, arguments))


def _argument(one: Any) -> Any:
    if isinstance(one, float):
        return ctypes.c_double(one)
    return whole(one) if isinstance(one, int) else at(one)


def digest(block: Numbers, row: int, total: int) -> int:
    """Give the sum of a block that begins at a row of an array with so many columns."""
    stride = block.strides[0] // 8
    extents = (*block.shape, stride, row, 0, total)
    return int(_turns.digest(at(block), *map(whole, extents)))


def digest_sample(band: Numbers, row: int) -> int:
    """Give the sum of some rows of a band of complex numbers that begins at a row."""
    rows, columns = band.shape
    return int(_turns.digest_sample(at(band), whole(rows), whole(columns // 2), whole(row)))


def sum_of_frame(spectrum: Any) -> int:
    """Give 1,024 times the sum of the frame that a spectrum is of."""
    return int(_turns.sum_of_frame(at(spectrum)))


def take_turns(work: Callable[[], None], total: Callable[[], int]) -> None:
    """Work whenever it is this job's turn; say how long that took, and what was computed."""
    for _ in range(TURNS):
        if not _turns.turn_await(whole(rank)):
            return
        world.Barrier()
        begin = _turns.turn_clock()
        work()
        end = _turns.turn_clock()
        first, last, result = world.reduce(begin, MPI.MIN), world.reduce(end, MPI.MAX), world.reduce(total())
        if rank == 0:
            _turns.turn_tell(ctypes.c_double(first), ctypes.c_double(last), whole(result))
