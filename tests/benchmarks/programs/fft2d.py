"""2-D FFTs with mpi4py: ``fft2d.c`` beside it, in Python."""

from __future__ import annotations

from mpi4py import MPI
from peer import (
    ARGUMENTS,
    OVERLAP,
    at,
    digest_sample,
    fill,
    kernels,
    numbers,
    rank,
    size,
    take_turns,
    whole,
    world,
)

N, FRAMES = ARGUMENTS
M = N // size
PARTS = 8 if OVERLAP else 1
found = 0


class Frame:
    """A frame that is under way: our band of it, what is sent and what came."""

    def __init__(self) -> None:
        self.band = numbers(M, 2 * N)
        self.blocks = self.band.view(complex).reshape(M, size, M).transpose(1, 0, 2)
        self.packed, self.arrived = (numbers(size, M, 2 * M).view(complex) for _ in range(2))
        self.request = MPI.REQUEST_NULL

    def load(self, number: int) -> None:
        """Fill our band."""
        fill("fill_frame", self.band, M, N, rank * M, number)

    def pack(self) -> None:
        """Transpose the block for each rank into what is sent to it."""
        self.packed[...] = self.blocks.transpose(0, 2, 1)

    def unpack(self) -> None:
        """Put what came where it belongs."""
        self.blocks[...] = self.arrived

    def transform(self, beside: Frame) -> None:
        """Transform our rows, in parts, between which MPI gets its chance for another frame."""
        for part in range(PARTS):
            begin, end = M * part // PARTS, M * (part + 1) // PARTS
            kernels.rows(at(self.band[begin:]), whole(end - begin), whole(N))
            beside.request.Test()

    def transpose(self) -> None:
        """Exchange."""
        self.pack()
        if size == 1:
            self.blocks[...] = self.packed
            return
        world.Alltoall(self.packed, self.arrived)
        self.unpack()

    def begin_transpose(self) -> None:
        """Begin to exchange."""
        self.pack()
        self.request = world.Ialltoall(self.packed, self.arrived)

    def end_transpose(self) -> None:
        """Wait for what comes."""
        self.request.Wait()
        self.unpack()

    def finish(self) -> None:
        """Keep what shows that the spectrum is right."""
        global found
        found = digest_sample(self.band, rank * M)


def run_blocking(frame: Frame) -> None:
    """Transform one frame after the other."""
    for k in range(FRAMES):
        frame.load(k)
        for _ in range(2):
            frame.transform(frame)
            frame.transpose()
        frame.finish()


def run_overlapping(kept: list[Frame]) -> None:
    """Transform a frame while the one before it, or the next one, is exchanged."""
    for k in range(FRAMES + 1):
        now, before = kept[k % 2], kept[(k + 1) % 2]
        if k < FRAMES:
            now.load(k)
            now.transform(before)
        if k > 0:
            before.end_transpose()
        if k < FRAMES:
            now.begin_transpose()
        if k > 0:
            before.transform(now)
            before.transpose()
            before.finish()


frames = [Frame(), Frame()]
take_turns(lambda: run_overlapping(frames) if OVERLAP else run_blocking(frames[0]), lambda: found)
