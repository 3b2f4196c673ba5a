"""Matrix product with mpi4py: ``matmul.c`` beside it, in Python."""

from __future__ import annotations

from mpi4py import MPI
from peer import (
    ARGUMENTS,
    OVERLAP,
    Numbers,
    at,
    digest,
    fill,
    kernels,
    numbers,
    rank,
    size,
    take_turns,
    whole,
    world,
)

N, WIDTH = ARGUMENTS
ROWS = N // size
PARTS = 4 if OVERLAP else 1

a, b, c = (numbers(ROWS, N) for _ in range(3))
columns = numbers(WIDTH, ROWS)
buffers = numbers(WIDTH, N), numbers(WIDTH, N)


def strip(first: int, number: int) -> tuple[Numbers, int]:
    """Give where the strip that begins at a row lies here, and whose it is."""
    owner = first // ROWS
    height = min(WIDTH, N - first, (owner + 1) * ROWS - first)
    begin = first - owner * ROWS
    return (b[begin : begin + height] if rank == owner else buffers[number % 2][:height]), owner


def add_product(first: int, of_b: Numbers, request: MPI.Request | None = None) -> None:
    """Add the product of a strip with our columns of A, in parts, between which MPI gets its chance."""
    height = len(of_b)
    for part in range(PARTS):
        begin, end = ROWS * part // PARTS, ROWS * (part + 1) // PARTS
        packed = columns.reshape(-1)[: height * (end - begin)].reshape(height, end - begin)
        packed[...] = a[begin:end, first : first + height].T
        extents = map(whole, (end - begin, height, height, N))
        kernels.multiply(at(packed), at(of_b), at(c[begin:]), *extents)
        if request is not None:
            request.Test()


def run_blocking() -> None:
    """Show a strip, then multiply it."""
    first = 0
    while first < N:
        of_b, owner = strip(first, 0)
        world.Bcast(of_b, owner)
        add_product(first, of_b)
        first += len(of_b)


def run_overlapping() -> None:
    """Show the next strip while one is multiplied."""
    first, number = 0, 0
    here, owner = strip(first, number)
    request = world.Ibcast(here, owner)
    while first < N:
        request.Wait()
        following, number = first + len(here), number + 1
        of_b = here
        if following < N:
            here, owner = strip(following, number)
            request = world.Ibcast(here, owner)
        add_product(first, of_b, request)
        first = following


def work() -> None:
    """Multiply."""
    c[...] = 0
    (run_overlapping if OVERLAP else run_blocking)()


fill("fill_whole_numbers", a, ROWS, N, rank * ROWS, 0, 1)
fill("fill_whole_numbers", b, ROWS, N, rank * ROWS, 0, 2)
take_turns(work, lambda: digest(c, rank * ROWS, N))
