"""The 2-D FFT by hand, on one rank: ``fft N FRAMES``; prints seconds of each frame.

Prints the first number of each spectrum too.  It calls the very kernels that ``programs/fft.coven`` calls,
and the engine's own transposition, on arrays that it allocates once.  One rank needs no exchange, so its
Alltoall is left out.
"""

import ctypes
import json
import sys
import time

import numpy as np
from mpi4py import MPI

from pse.bench._kernels import call, native, transpose


def main() -> None:
    """Transform frames, timed from when each is there to when its spectrum is."""
    assert MPI.COMM_WORLD.Get_size() == 1
    n, frames = map(int, sys.argv[1:])
    rows, frame = native("fft.c", "rows"), native("frame.c", "frame")
    image, turned = np.empty((n, n), complex), np.empty((n, n), complex)
    seconds, firsts = [], []
    size = ctypes.c_int64(n)
    for k in range(frames):
        call(frame, ctypes.c_int64(k), size, image)
        begin = time.monotonic()
        call(rows, image, size, size)
        transpose(image, turned)
        call(rows, turned, size, size)
        transpose(turned, image)
        seconds.append(time.monotonic() - begin)
        firsts.append(image[0, 0].real)
    print(json.dumps({"seconds": seconds, "first": firsts}))


if __name__ == "__main__":
    main()
