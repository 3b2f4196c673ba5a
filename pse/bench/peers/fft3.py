"""2-D FFTs one after the other, one rank on each node: ``fft3 N LIBRARY [JOBS NUMBER]``; prints times.

LIBRARY is FFTW's MPI library (built for this MPI), whose own transform is then used; or ``-``: the same calls
by hand, that is FFTW's transforms of the rows, MPI_Alltoall, and transpositions before and after it.  With
JOBS, so many of these run at once: each says in the directory that it is ready, and begins when all are.
Prints when one FFT began and ended, and when three did, in seconds of the monotonic clock, and the first
number of each spectrum.
"""

import contextlib
import ctypes
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse import _proc
from pse._cache import code_directory
from pse.bench._kernels import call, native, transpose

FORWARD, MEASURE, TRANSPOSED_OUT = -1, 0, 1 << 30
_HANDLE = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p


class ByHand:
    """The calls of FFTW's MPI transform, written out."""

    def __init__(self, comm: MPI.Intracomm, n: int) -> None:
        self.comm, self.rows, self.n = comm, native("fft.c", "rows"), n
        self.m = n // comm.Get_size()
        self.band = np.empty((self.m, n), complex)
        self.packed = np.empty((comm.Get_size(), self.m, self.m), complex)
        self.arrived = np.empty_like(self.packed)

    def execute(self) -> None:
        """Transform the band in place."""
        for _ in range(2):
            call(self.rows, self.band, ctypes.c_int64(self.m), ctypes.c_int64(self.n))
            blocks = self.band.reshape(self.m, -1, self.m).transpose(1, 0, 2)
            for block, packed in zip(blocks, self.packed, strict=True):
                transpose(block, packed)
            self.comm.Alltoall(self.packed, self.arrived)
            for source, block in zip(self.arrived, blocks, strict=True):
                block[...] = source


class Fftw:
    """FFTW's own MPI transform of an array that is cut along its first axis.

    If the spectrum may be left transposed, it is cut along its second axis, and one exchange is enough.
    """

    def __init__(
        self, comm: MPI.Intracomm, shape: tuple[int, ...], path: str, transposed: bool = False
    ) -> None:
        for loaded in _mapped("libmpi"):  # FFTW's library leaves it to its users to load MPI.
            ctypes.CDLL(loaded, ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(path)
        self.library.fftw_mpi_init()
        self.band = _aligned(math.prod(shape) // comm.Get_size()).reshape(-1, *shape[1:])
        words = ("-".join(map(str, shape)), "transposed" if transposed else "plain")
        name = f"bench-mpi-{'-'.join(words)}-{comm.Get_size()}.wisdom"
        with self._wisdom(comm, code_directory() / name):
            self.plan = self._plan(comm, shape, MEASURE | (TRANSPOSED_OUT if transposed else 0))

    @contextlib.contextmanager
    def _wisdom(self, comm: MPI.Intracomm, path: Path) -> Iterator[None]:
        """Plan by what is kept in a file, and keep what was found."""
        broadcast, gather = self.library.fftw_mpi_broadcast_wisdom, self.library.fftw_mpi_gather_wisdom
        broadcast.argtypes = gather.argtypes = [_HANDLE]
        if comm.Get_rank() == 0:
            self.library.fftw_import_wisdom_from_filename(str(path).encode())
        broadcast(MPI._handleof(comm))
        yield
        gather(MPI._handleof(comm))
        if comm.Get_rank() == 0:
            self.library.fftw_export_wisdom_to_filename(str(path).encode())

    def _plan(self, comm: MPI.Intracomm, shape: tuple[int, ...], flags: int) -> ctypes.c_void_p:
        plan = self.library.fftw_mpi_plan_dft
        plan.restype = ctypes.c_void_p
        extents, integer = (ctypes.c_ssize_t * len(shape))(*shape), ctypes.c_int
        address = ctypes.c_void_p
        plan.argtypes = [integer, type(extents), address, address, _HANDLE, integer, ctypes.c_uint]
        band = self.band.ctypes.data
        made = plan(len(shape), extents, band, band, MPI._handleof(comm), FORWARD, flags)
        return ctypes.c_void_p(made)

    def execute(self) -> None:
        """Transform the band in place."""
        self.library.fftw_execute(self.plan)


def _aligned(count: int) -> NDArray[np.complex128]:
    """Make room for complex numbers that begins where FFTW's vector code wants it."""
    raw = np.empty(count * 16 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + raw.size - 64].view(complex)


def _mapped(name: str) -> set[str]:
    """Paths of libraries of this name that the process has loaded."""
    return {path for path in _proc.mapped_files() if Path(path).name.startswith(f"{name}.so")}


def meet(comm: MPI.Intracomm, jobs: int, number: int) -> None:
    """Wait until all ranks of all jobs are here."""
    comm.Barrier()
    if comm.Get_rank() == 0 and jobs > 1:
        Path(f"ready-{number}").touch()
        while not all(Path(f"ready-{job}").exists() for job in range(jobs)):
            time.sleep(0.001)
    comm.Barrier()


def main() -> None:
    """Warm up, then time one FFT, then three."""
    comm = MPI.COMM_WORLD
    n, library = int(sys.argv[1]), sys.argv[2]
    jobs, number = map(int, sys.argv[3:]) if len(sys.argv) > 3 else (1, 0)
    work = ByHand(comm, n) if library == "-" else Fftw(comm, (n, n), library)
    band = native("fft3.c", "band")
    firsts: list[float] = []
    times = []

    def frames(count: int) -> None:
        for k in range(count):
            counts = [ctypes.c_int64(number) for number in (k, 0)]
            sizes = [ctypes.c_int64(extent) for extent in work.band.shape]
            call(band, *counts, work.band, *sizes)
            work.execute()
            firsts.append(float(work.band[0, 0].real))

    frames(1)
    firsts.clear()
    for turn, count in enumerate((1, 3 if jobs == 1 else 1)):
        meet(comm, jobs if turn else 1, number)
        begin = time.monotonic()
        frames(count)
        times.append(comm.gather((begin, time.monotonic())))
    if comm.Get_rank() == 0:
        one, three = ([min(b for b, _ in found), max(e for _, e in found)] for found in times if found)
        print(json.dumps({"one": one, "three": three, "first": firsts}))


if __name__ == "__main__":
    main()
