"""A proxy of SAGE: compute, exchange 64 KiB with both neighbors, and a reduction, in each step.

    mpiexec -n 2 python -m pse.bench.peers.bcs.sage --comm bcs

The ranks form a ring.  Each has rows of cells that diffuse along the rows; the first and the last row are
mixed with the neighbors', as far as the smallest of all ranks' limits allows.  The communicator is the only
difference between MPI and coscheduled communication.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pse.bench.peers.bcs._proxy import (
    Array,
    agree,
    arguments,
    communicator,
    report,
    serial_digest,
    sweeps_in,
    timed,
)

ROWS, CELLS = 8, 8192
"""A row of cells has 64 KiB."""


class Sage:
    """The cells of one rank."""

    def __init__(self, rank: int, sweeps: int) -> None:
        self.sweeps = sweeps
        self.cells = 1 + (np.arange(ROWS * CELLS) * (rank + 3) % 997).reshape(ROWS, CELLS) / 997
        self.before, self.after = np.empty(CELLS), np.empty(CELLS)
        self.limit, self.smallest = np.empty(1), np.empty(1)
        self._sums = np.empty((ROWS, CELLS - 2))

    def compute(self, sweeps: int) -> None:
        """Let the cells diffuse along the rows."""
        inner = self.cells[:, 1:-1]
        for _ in range(sweeps):
            np.add(self.cells[:, :-2], self.cells[:, 2:], out=self._sums)
            self._sums *= 0.25
            inner *= 0.5
            inner += self._sums
        self.limit[0] = 0.5 / self.cells.max()

    def join(self) -> None:
        """Mix the outer rows with those of the neighbors."""
        self.cells[0] += self.smallest * (self.before - self.cells[0])
        self.cells[-1] += self.smallest * (self.after - self.cells[-1])

    def advance(self, comm: Any, steps: int) -> None:
        """Take steps."""
        from mpi4py import MPI

        before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        for _ in range(steps):
            self.compute(self.sweeps)
            requests = [
                comm.Irecv(self.before, before, 1),
                comm.Irecv(self.after, after, 2),
                comm.Isend(self.cells[-1], after, 1),
                comm.Isend(self.cells[0], before, 2),
            ]
            type(requests[0]).Waitall(requests)
            comm.Allreduce(self.limit, self.smallest, op=MPI.MIN)
            self.join()

    def results(self) -> Sequence[Array]:
        """Give the cells."""
        return [self.cells]


def oracle(ranks: int, sweeps: int, steps: int) -> str:
    """Take the steps of all ranks without any communication; gives the digest of the results."""
    blocks = [Sage(rank, sweeps) for rank in range(ranks)]
    for _ in range(steps):
        for one in blocks:
            one.compute(sweeps)
        for rank, one in enumerate(blocks):
            one.before[:], one.after[:] = blocks[rank - 1].cells[-1], blocks[(rank + 1) % ranks].cells[0]
            one.smallest[0] = min(other.limit[0] for other in blocks)
        for one in blocks:
            one.join()
    return serial_digest(blocks)


def work(seconds: float) -> int:
    """Find the sweeps of a step that computes for some time."""
    return sweeps_in(seconds, Sage(0, 0).compute)


def main(words: Sequence[str] | None = None) -> None:
    """Run the proxy as the command line says."""
    given = arguments("SAGE-like: non-blocking exchange and a reduction in each step", 50, 4.0).parse_args(
        words
    )
    with communicator(given.comm, given.slice / 1e6) as comm:
        sweeps = agree(comm, lambda: given.sweeps or work(given.compute / 1e3))
        found = timed(comm, Sage(comm.rank, sweeps), given.steps)
        if comm.rank == 0:
            report("SAGE-like", given, comm.size, found, oracle(comm.size, sweeps, given.steps))


if __name__ == "__main__":
    main()
