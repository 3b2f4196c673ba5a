"""2-D FFTs there and back, transposed by MPI_Alltoall, as programs of mpi4py are written.

``spectrum.py BATCHES STEPS SIDE``
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from steps import measure

Frame = npt.NDArray[np.complex128]
world = MPI.COMM_WORLD


def transpose(frame: Frame) -> Frame:
    """Give each rank its columns as rows."""
    rows, side = frame.shape
    blocks = np.ascontiguousarray(frame.reshape(rows, world.size, rows).transpose(1, 2, 0))
    received = np.empty_like(blocks)
    world.Alltoall(blocks, received)
    return received.transpose(1, 0, 2).reshape(rows, side)


def forward(frame: Frame) -> Frame:
    """Transform rows, then columns."""
    return np.fft.fft(transpose(np.fft.fft(frame)))


def backward(frame: Frame) -> Frame:
    """Transform columns back, then rows."""
    return np.fft.ifft(transpose(np.fft.ifft(frame)))


def energy(frame: Frame) -> float:
    """Sum up what all ranks have."""
    total: float = world.allreduce(float(np.vdot(frame, frame).real))
    return total


def main(batches: int, steps: int, side: int) -> None:
    """Filter noise until only its smooth part is left."""
    rows = side // world.size
    frame: Frame = np.random.default_rng(world.rank).normal(size=(rows, side)) + 0j
    waves = np.fft.fftfreq(side)
    mine = waves[world.rank * rows : (world.rank + 1) * rows]
    smooth = np.exp(-((mine[:, None] ** 2) + waves**2))

    def step() -> float:
        nonlocal frame
        frame = backward(forward(frame) * smooth)
        return energy(frame)

    measure(step, batches, steps)


main(*map(int, sys.argv[1:]))
