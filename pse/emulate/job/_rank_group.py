"""Ranks on a communicator of their own, and the machine under them: the timed loop is run from here."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from pse._abi.emulate import STEP_DTYPE
from pse.emulate import _cycles
from pse.emulate.job._clock import ticks_rate
from pse.emulate.patterns._cycle import Buffers, Step, rows_of
from pse.emulate.patterns._simulation import Groups
from pse.errors import RunError
from pse.runtime.supervise import await_request

_MOST_CORES = 1 << 13
"""Linux numbers no more."""


@dataclass
class Machine:
    """What the timed loop needs to know: MPI's routines, the rate of the clock, and how ranks wait.

    Attributes
    ----------
    library : Library
        The routines of MPI.
    rate : float
        Ticks of a second.
    origin : int
        Tick of the launch's begin.
    sleeps : bool
        Whether waits sleep.
    """

    library: _cycles.Library
    rate: float
    origin: int
    sleeps: bool

    @classmethod
    def find(cls, comm: MPI.Intracomm, waits: str) -> Machine:
        """Look at the machine; ranks sleep in waits where one node has more of them than cores."""
        sleeps = waits == "sleep"
        if waits == "auto":
            node = comm.Split_type(MPI.COMM_TYPE_SHARED)
            crowded = np.array([node.size > _cores_of(node)], np.int32)
            await_request(comm.Iallreduce(MPI.IN_PLACE, crowded, MPI.MAX))
            sleeps = bool(crowded[0])
            node.Free()
        return cls(_find_library(), ticks_rate(), _cycles.ticks(), sleeps)


def _cores_of(node: MPI.Comm) -> int:
    """Count the cores that the ranks of a node may use: a launcher may have bound each rank to some."""
    usable = np.zeros(_MOST_CORES, np.int8)
    usable[list(os.sched_getaffinity(0))] = 1
    await_request(node.Iallreduce(MPI.IN_PLACE, usable, MPI.MAX))
    return int(usable.sum())


def _find_library() -> _cycles.Library:
    """Find MPI's routines: where a preloaded tool offers them, or else in the library that mpi4py uses."""
    process = ctypes.CDLL(None)
    source = process if hasattr(process, "MPI_Send") else ctypes.CDLL(MPI.__file__)
    addresses = [
        ctypes.cast(getattr(source, name), ctypes.c_void_p).value or 0 for name in _cycles.routine_names()
    ]
    byte, real, sum, bit_or = (MPI._handleof(one) for one in (MPI.BYTE, MPI.DOUBLE, MPI.SUM, MPI.BOR))
    return _cycles.Library(addresses, byte, real, sum, bit_or, MPI._sizeof(MPI.Request))


def _communicator(comm: MPI.Intracomm, ranks: Sequence[int], tag: int) -> MPI.Comm:
    """Make a communicator of some ranks, in their order; the others get none."""
    if comm.Get_rank() not in ranks:
        return MPI.COMM_NULL
    return comm.Create_group(comm.Get_group().Incl(list(ranks)), tag)


class RankGroup:
    """Ranks that execute cycles together, on a communicator of their own.

    Parameters
    ----------
    comm : MPI.Intracomm
        The ranks.
    machine : Machine
        What the timed loop needs to know.
    groups : sequence of sequence of int
        Ranks that have collective operations of their own: they get communicators.
    """

    def __init__(self, comm: MPI.Intracomm, machine: Machine, groups: Groups = ()) -> None:
        self.comm, self.machine = comm, machine
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self._comms = [comm, *(_communicator(comm, ranks, tag) for tag, ranks in enumerate(groups))]
        self._handles = [MPI._handleof(one) for one in self._comms]
        self._out, self._into = np.ones(1, np.uint8), np.ones(1, np.uint8)

    def meet(self) -> None:
        """Wait for all, in sleep."""
        await_request(self.comm.Ibarrier())

    def mean(self, value: float) -> float:
        """Give the mean of all ranks' values."""
        total = np.array([value])
        await_request(self.comm.Iallreduce(MPI.IN_PLACE, total, MPI.SUM))
        return float(total[0]) / self.size

    def greatest(self, value: float) -> float:
        """Give the greatest of all ranks' values."""
        found = np.array([value])
        await_request(self.comm.Iallreduce(MPI.IN_PLACE, found, MPI.MAX))
        return float(found[0])

    def align(self) -> None:
        """Let all begin at the same time: they meet in sleep, and then as cycles do."""
        self.meet()
        self.run([[]], 2)

    def run(
        self, variants: Sequence[Sequence[Step]], cycles: int, *, synchronous: bool = True
    ) -> NDArray[np.void]:
        """Execute cycles.

        Parameters
        ----------
        variants : sequence of sequence of Step
            The steps of this rank, of each variant of the cycle.
        cycles : int
            How many.
        synchronous : bool
            Whether a barrier follows each.

        Returns
        -------
        numpy.ndarray
            The times of each cycle, TIMES_DTYPE\\[cycles].

        Raises
        ------
        RunError
            MPI reported an error.
        """
        lowered = [rows_of(list(steps), self.size) for steps in variants]
        self._reserve([need for _, need in lowered])
        rows = np.concatenate([rows for rows, _ in lowered]) if lowered else np.zeros(0, STEP_DTYPE)
        error, times = _cycles.run_cycles(
            self.machine.library,
            self._handles,
            rows,
            np.cumsum([0, *(len(own) for own, _ in lowered)]),
            cycles,
            out=self._out,
            into=self._into,
            synchronous=synchronous,
            sleeps=self.machine.sleeps,
            origin=self.machine.origin,
            rate=self.machine.rate,
        )
        if error:
            raise RunError(
                f"MPI reported an error in an emulated application: {MPI.Get_error_string(error)}",
                help="run `pse doctor`: it tries MPI on this machine",
            )
        return times

    def _reserve(self, needs: Sequence[Buffers]) -> None:
        """Make buffers large enough, and touch their pages, before anything is timed."""
        out, into = (max([getattr(need, name) for need in needs], default=1) for name in ("out", "into"))
        if len(self._out) < out:
            self._out = np.ones(out, np.uint8)
        if len(self._into) < into:
            self._into = np.ones(into, np.uint8)

    def gather(self, rows: NDArray[Any], root: int = 0) -> NDArray[Any] | None:
        """Gather records of all ranks at one of them; None on the others."""
        counts = np.zeros(self.size, np.int64)
        await_request(self.comm.Iallgather(np.array([rows.nbytes], np.int64), counts))
        found = np.empty(int(counts.sum()), np.uint8) if self.rank == root else np.empty(0, np.uint8)
        into = [found, counts, MPI.BYTE] if self.rank == root else None
        await_request(self.comm.Igatherv([np.ascontiguousarray(rows).view(np.uint8), MPI.BYTE], into, root))
        return found.view(rows.dtype) if self.rank == root else None
