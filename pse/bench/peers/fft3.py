"""2-D FFTs one after the other, one rank on each node: ``fft3 N LIBRARY [JOBS NUMBER]``; prints times.

LIBRARY is FFTW's MPI library (built for this MPI), whose own transform is then used; or ``-``: the same calls
by hand, that is FFTW's transforms of the rows, MPI_Alltoall, and transpositions before and after it.  With
JOBS, so many of these run at once: each says in the directory that it is ready, and begins when all are.
Prints when one FFT began and ended, and when three did, in seconds of the monotonic clock, and the first
number of each spectrum.
"""

import ctypes
import json
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from pse import _proc
from pse._cache import code_directory
from pse.bench._kernels import call, native, transpose

FORWARD, MEASURE = -1, 0


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
    """FFTW's own MPI transform."""

    def __init__(self, comm: MPI.Intracomm, n: int, path: str) -> None:
        for loaded in _mapped("libmpi"):  # FFTW's library leaves it to its users to load MPI.
            ctypes.CDLL(loaded, ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(path)
        size, integer = ctypes.c_ssize_t, ctypes.c_int
        handle = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p
        self.library.fftw_mpi_init()
        plan = self.library.fftw_mpi_plan_dft_2d
        plan.restype = ctypes.c_void_p
        plan.argtypes = [size, size, ctypes.c_void_p, ctypes.c_void_p, handle, integer, ctypes.c_uint]
        raw = np.empty(n // comm.Get_size() * n * 16 + 64, np.uint8)
        start = -raw.ctypes.data % 64  # FFTW's vector code wants aligned arrays.
        self.band = raw[start : start + raw.size - 64].view(complex).reshape(-1, n)
        address = self.band.ctypes.data
        wisdom = str(code_directory() / f"bench-mpi-{n}-{comm.Get_size()}.wisdom").encode()
        one = comm.Get_rank() == 0
        if one:
            self.library.fftw_import_wisdom_from_filename(wisdom)
        broadcast, gather = self.library.fftw_mpi_broadcast_wisdom, self.library.fftw_mpi_gather_wisdom
        broadcast.argtypes = gather.argtypes = [handle]
        broadcast(MPI._handleof(comm))
        self.plan = ctypes.c_void_p(plan(n, n, address, address, MPI._handleof(comm), FORWARD, MEASURE))
        gather(MPI._handleof(comm))
        if one:
            self.library.fftw_export_wisdom_to_filename(wisdom)

    def execute(self) -> None:
        """Transform the band in place."""
        self.library.fftw_execute(self.plan)


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
    work = ByHand(comm, n) if library == "-" else Fftw(comm, n, library)
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
