"""Transforms of frames by FFTW's own MPI library: what ``slabs_2d.coven`` and ``slabs_3d.coven`` do, by hand.

The library is the one that PSE_FFTW_MPI names.  It may leave spectra cut along the second axis, as Coven's
segments do, so that one exchange is enough.
"""

from __future__ import annotations

from peer import ARGUMENTS, fill, rank, size, sum_of_frame, take_turns, world

from pse.bench.peers.fft3 import Fftw
from pse.bench.subjects.fft3 import library

N, AXES, FRAMES = ARGUMENTS
ROWS = N // size
work = Fftw(world, (N,) * AXES, library(), transposed=True)


def transform_frames() -> None:
    """Transform one frame after the other."""
    for k in range(FRAMES):
        fill("fill_frame", work.band, ROWS, N ** (AXES - 1), rank * ROWS, k)
        work.execute()


take_turns(transform_frames, lambda: sum_of_frame(work.band) if rank == 0 else 0)
