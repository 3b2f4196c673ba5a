"""What some rank can't do is the same error on all of them: nobody waits for a rank that has given up."""

import contextlib
from collections.abc import Iterator

import numpy as np
from mpi4py import MPI

from pse.errors import RunError


def require_everywhere(comm: MPI.Comm, why: str, help: str) -> None:
    """Raise on all ranks what the lowest one says that can't go on, if there is one; the others say ""."""
    refused = np.array([comm.rank if why else comm.size], np.int32)
    comm.Allreduce(MPI.IN_PLACE, refused, MPI.MIN)
    if refused[0] < comm.size:
        raise RunError(comm.bcast(why, int(refused[0])), help=help)


@contextlib.contextmanager
def shared_memory(comm: MPI.Comm) -> Iterator[None]:
    """Make shared memory, or open it: what the system refuses one rank is an error on all."""
    why = ""
    try:
        yield
    except OSError as error:
        why = f"rank {comm.rank} can't {error.strerror}"
    require_everywhere(
        comm, why, "raise that rank's limits of files and memory (ulimit -f, -n, -v), or its container's"
    )
