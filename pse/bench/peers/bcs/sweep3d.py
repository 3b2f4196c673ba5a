"""A proxy of SWEEP3D: wavefronts over a grid of ranks, block after block, from each of its corners.

    mpiexec -n 4 python -m pse.bench.peers.bcs.sweep3d --comm bcs --nonblocking

A block takes what flows in from the ranks upstream, computes, and passes on what flows out.  Blocking, it
receives, computes and sends, one after the other.  Non-blocking, the receives of the next block are posted
before this one is computed, and sends are waited for when their buffer is needed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

COLUMNS, ANGLES = 50, 30
"""A face has 50 × 30 numbers, 12,000 bytes."""
BLOCKS = 10
"""Blocks that one corner begins after the other."""
CORNERS = ((1, 1), (-1, 1), (-1, -1), (1, -1))
"""Directions of the flow along both axes of the grid."""
BUFFERS = 3
"""Blocks of a rank that can be under way: received, computed, sent."""

Faces = tuple[Array, Array]


def grid_of(ranks: int) -> tuple[int, int]:
    """Give the grid of ranks that is closest to a square."""
    rows = next(one for one in range(int(ranks**0.5), 0, -1) if ranks % one == 0)
    return ranks // rows, rows


class Sweep:
    """One rank's part of the grid."""

    def __init__(self, rank: int, ranks: int, sweeps: int, nonblocking: bool = False) -> None:
        self.sweeps, self.nonblocking = sweeps, nonblocking
        self.grid = grid_of(ranks)
        self.place = rank % self.grid[0], rank // self.grid[0]
        self.source = 0.1 + np.arange(COLUMNS * ANGLES).reshape(COLUMNS, ANGLES) % (rank + 7) / 10
        self.flux = np.zeros((COLUMNS, ANGLES))
        self.buffers = [(np.empty_like(self.flux), np.empty_like(self.flux)) for _ in range(BUFFERS)]
        self._row = np.empty(ANGLES)

    def neighbors(self, step: int, side: int) -> Iterator[tuple[int, int]]:
        """Give axis and rank of those upstream of a step (side -1) or downstream (1)."""
        direction = CORNERS[step // BLOCKS % len(CORNERS)]
        for axis in (0, 1):
            place = list(self.place)
            place[axis] += side * direction[axis]
            if 0 <= place[axis] < self.grid[axis]:
                yield axis, place[0] + self.grid[0] * place[1]

    def faces(self, step: int) -> Faces:
        """Give the faces of a step, on which nothing but the background flows in so far."""
        faces = self.buffers[step % BUFFERS]
        for face in faces:
            face.fill(1.0)
        return faces

    def compute(self, faces: Faces, sweeps: int) -> None:
        """Let what flows in along both axes pass through the columns, sweep after sweep, in place."""
        along, across = faces
        for _ in range(sweeps):
            for column in across:
                np.multiply(column, 0.25, out=self._row)
                along *= 0.5
                along += self._row
                along += self.source
                column[:] = along[-1]
        self.flux += along

    def advance(self, comm: Any, steps: int) -> None:
        """Take steps: a block each."""
        if self.nonblocking:
            self._advance_ahead(comm, steps)
            return
        for step in range(steps):
            faces = self.faces(step)
            for axis, rank in self.neighbors(step, -1):
                comm.Recv(faces[axis], rank, axis)
            self.compute(faces, self.sweeps)
            for axis, rank in self.neighbors(step, 1):
                comm.Send(faces[axis], rank, axis)

    def _advance_ahead(self, comm: Any, steps: int) -> None:
        sends: list[list[Any]] = [[] for _ in range(BUFFERS)]
        receives = self._post(comm, 0)
        for step in range(steps):
            wait_all(sends[(step + 1) % BUFFERS])
            ahead = self._post(comm, step + 1) if step + 1 < steps else []
            wait_all(receives)
            faces = self.buffers[step % BUFFERS]
            self.compute(faces, self.sweeps)
            sends[step % BUFFERS] = [
                comm.Isend(faces[axis], rank, axis) for axis, rank in self.neighbors(step, 1)
            ]
            receives = ahead
        for requests in sends:
            wait_all(requests)

    def _post(self, comm: Any, step: int) -> list[Any]:
        faces = self.faces(step)
        return [comm.Irecv(faces[axis], rank, axis) for axis, rank in self.neighbors(step, -1)]

    def results(self) -> Sequence[Array]:
        """Give the flux."""
        return [self.flux]


def wait_all(requests: Sequence[Any]) -> None:
    """Wait for requests of whatever communicator."""
    if requests:
        type(requests[0]).Waitall(requests)


def oracle(ranks: int, sweeps: int, steps: int) -> str:
    """Compute the blocks of all ranks, one after the other; gives the digest of the results."""
    parts = [Sweep(rank, ranks, sweeps) for rank in range(ranks)]
    for step in range(steps):
        direction = CORNERS[step // BLOCKS % len(CORNERS)]
        faces = [one.faces(step) for one in parts]
        order = sorted(range(ranks), key=lambda rank: sum(np.multiply(parts[rank].place, direction)))
        for rank in order:
            parts[rank].compute(faces[rank], sweeps)
            for axis, other in parts[rank].neighbors(step, 1):
                faces[other][axis][:] = faces[rank][axis]
    return serial_digest(parts)


def work(seconds: float) -> int:
    """Find the sweeps of a block that computes for some time."""
    one = Sweep(0, 1, 0)
    return sweeps_in(seconds, lambda sweeps: one.compute(one.faces(0), sweeps))


def main(words: Sequence[str] | None = None) -> None:
    """Run the proxy as the command line says."""
    parser = arguments("SWEEP3D-like: wavefronts over a grid of ranks", 80, 3.5)
    parser.add_argument("--nonblocking", action="store_true", help="post receives one block ahead")
    given = parser.parse_args(words)
    with communicator(given.comm, given.slice / 1e6) as comm:
        sweeps = agree(comm, lambda: given.sweeps or work(given.compute / 1e3))
        found = timed(comm, Sweep(comm.rank, comm.size, sweeps, given.nonblocking), given.steps)
        if comm.rank == 0:
            name = f"SWEEP3D-like, {'non-blocking' if given.nonblocking else 'blocking'}"
            report(name, given, comm.size, found, oracle(comm.size, sweeps, given.steps))


if __name__ == "__main__":
    main()
