"""Making the layer: what the ranks of a node share, and how the nodes reach each other."""

import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from mpi4py import MPI

from pse._abi.coschedule import ENDPOINT_BYTES
from pse.coschedule._agreement import require_everywhere, shared_memory
from pse.coschedule._coschedule import Engine, trace_directory
from pse.coschedule._monitor import names_of_routines
from pse.errors import UsageError
from pse.runtime.supervise import unlink_mpi_files
from pse.text import time_text

_numbers: Final = itertools.count(1)
"""Of communicators in traces; the tool's is 0."""


def nodes_of(comm: MPI.Comm) -> tuple[MPI.Comm, "np.ndarray[Any, Any]"]:
    """Give the communicator of this rank's node, and the node of each rank, counted by their lowest ranks."""
    beside = comm.Split_type(MPI.COMM_TYPE_SHARED, key=comm.rank)
    lowest = np.array([comm.rank], np.int64)
    beside.Bcast(lowest)
    all = np.empty(comm.size, np.int64)
    comm.Allgather(lowest, all)
    return beside, np.unique(all, return_inverse=True)[1]


def _share(comm: MPI.Comm, beside: MPI.Comm, nodes: Sequence[int], options: dict[str, Any]) -> Engine:
    """Share one memory file among the ranks of a node: the lowest makes it, the others open it."""
    place = np.zeros(4, np.int64)
    engine = None
    with shared_memory(comm):
        if beside.rank == 0:
            engine = Engine(ranks=comm.size, nodes=nodes, leader=comm.rank, **options)
            place[:] = os.getpid(), *engine.files(), engine.shortest_slice() if options["strict"] else 0
    beside.Bcast(place)
    shortest = place[3:].copy()
    comm.Allreduce(MPI.IN_PLACE, shortest, MPI.MAX)
    _check_pace(options["slice"], int(shortest[0]))
    process, segment, bells = place[:3].tolist()
    with shared_memory(comm):
        engine = engine or Engine(process, segment, bells, comm.rank)
    return engine


def _connect(comm: MPI.Comm, engine: Engine, nodes: "np.ndarray[Any, Any]", is_leader: bool) -> None:
    """Let the lowest ranks of nodes reach each other."""
    mine = engine.endpoint() if is_leader else bytes(ENDPOINT_BYTES)
    all = np.empty((comm.size, ENDPOINT_BYTES), np.uint8)
    comm.Allgather(np.frombuffer(mine, np.uint8), all)
    leaders = np.unique(nodes, return_index=True)[1]
    why = engine.connect(all[leaders].tobytes()) if is_leader else ""
    require_everywhere(
        comm,
        why and f"the nodes of coscheduled ranks don't reach each other: {why}",
        "their machines must let TCP connections from each other in",
    )


def _trace(comm: MPI.Comm, engine: Engine) -> None:
    """Let this rank's events go into the job's trace, if there is one; that they can't never ends a run."""
    if not trace_directory():
        return
    ranks = comm.group.Translate_ranks(group=MPI.COMM_WORLD.group)
    number = next(_numbers)
    leaders = np.array([number], np.int64)
    comm.Bcast(leaders)
    routines = [f"MPI_{name}" for name in names_of_routines()]
    try:
        engine.trace(MPI.COMM_WORLD.rank, number, int(leaders[0]), ranks, routines)
    except OSError as error:
        sys.stderr.write(f"warning: rank {MPI.COMM_WORLD.rank} is not traced: {error}\n")


def make_engine(
    comm: MPI.Comm, beside: MPI.Comm, nodes: "np.ndarray[Any, Any]", options: dict[str, Any]
) -> Engine:
    """Make this rank's end of a layer of all ranks."""
    engine = _share(comm, beside, nodes.tolist(), options)
    if nodes.any():
        _connect(comm, engine, nodes, beside.rank == 0)
    error = engine.try_reading()
    require_everywhere(
        comm,
        f"ranks may not read each other's memory: {os.strerror(error)}" if error else "",
        "the kernel (kernel.yama.ptrace_scope) or the container (capability SYS_PTRACE) forbids it",
    )
    if beside.rank == 0 and comm.size == MPI.COMM_WORLD.size:
        unlink_mpi_files()  # Who is killed from now on leaves nothing.
    _trace(comm, engine)
    engine.begin()
    return engine


def _check_pace(length: int, shortest: int) -> None:
    if length < shortest:
        raise UsageError(
            f"time slices of {time_text(length)} are too short for this machine: the shortest that works is "
            f"{time_text(shortest)}",
            help="a slice begins at its time only if a core is free then, or SCHED_FIFO is permitted",
        )
