"""Communicators for modules: a parameter of type `comm` gets one over the instances of its call site.

In PARALLEL these are the thread's ranks in order of partitions and in their grid, which takes one partition
on each processor; such partitions stay where they are (`bound`), where those of other sets move. Outside, it
is the root thread's rank alone. Every call site has a communicator of its own, made before the run, so sites
can't take each other's messages. Who may be inside a collective call, and when, is decided by
`cext/engine/transport/collective_order.c`.
This file is for launcher and ranks: only `make` needs MPI.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pse._abi.plan import CallKind
from pse.errors import ProgramError
from pse.language.check import CallSite, Parallel
from pse.records import dataclass
from pse.runtime import _faults
from pse.text import count_text

if TYPE_CHECKING:
    from mpi4py import MPI  # Importing it starts MPI: not in the launcher.

    from pse.runtime.plan._job import Job

_PLACE_IN_MPICH = re.compile(r"^\w+\(\d+\)\.*: ")
"""How MPICH begins the lines of an error: the last one says what is wrong."""


@dataclass(frozen=True)
class Communicator:
    """What the module of one call site gets on one rank.

    Attributes
    ----------
    comm : MPI.Intracomm
        For Python code.
    handle : array or None
        Where the handle stands that compiled code gets.
    """

    comm: Any
    handle: np.ndarray[Any, Any] | None = None

    @property
    def address(self) -> int:
        """Where compiled code finds its handle."""
        return 0 if self.handle is None else int(self.handle.ctypes.data)


def waits_for_turn(site: CallSite, kind: CallKind) -> bool:
    """Whether a call may block until its instances on all processors have come to it."""
    return site.parallel and kind in (CallKind.NATIVE, CallKind.PYTHON) and site.takes_communicator


def members(job: Job, site: CallSite) -> list[int]:
    """List the ranks of a call site's communicator, in their order there.

    Raises
    ------
    ProgramError
        If some processor has no partition of the region, or several.
    """
    placement = job.liveness.placement
    key = placement.thread_of(site)
    region = _region(job, site)
    if region is None:
        return job.ranks_of(key)
    owners = job.owners(region)
    if sorted(owners) != list(range(job.processors)):
        raise ProgramError(
            f"{site.span}: {site.label} takes a communicator, which has a rank for each partition; "
            f"{region} has {count_text(len(owners), 'partition')} on "
            f"{count_text(job.processors, 'processor')}",
            help="leave out -p: with --serial there is one rank"
            if placement.serial
            else f"write partition {region} = procs, or let the module send messages to partitions by number",
        )
    return [placement.rank_of(key, processor) for processor in owners]


def bound(job: Job) -> frozenset[int]:
    """Give the partitions that stay where they are, as ranks of a communicator, by `Job.load_of`."""
    regions = {_region(job, site) for site in job.liveness.walk.sites if site.takes_communicator}
    sizes = {name: len(owners) for name, owners in job.placements.items() if name in regions}
    return frozenset(job.load_of(name, index) for name, size in sizes.items() for index in range(size))


def make(comm: MPI.Intracomm, job: Job) -> dict[int, Communicator]:
    """Make this rank's communicators, by call site.

    Collective over the ranks of each thread, which all come to its sites in the same order.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks of the job.
    job : Job
        What all ranks agree on.
    """
    placement = job.liveness.placement
    key = placement.seat(comm.Get_rank()).key
    walk = job.liveness.walk
    sites = [site for site in walk.sites if site.takes_communicator and placement.thread_of(site) == key]
    return {site.id: _made(_comm(comm, job, site), site, walk.line(site)) for site in sites}


def _comm(comm: MPI.Intracomm, job: Job, site: CallSite) -> MPI.Intracomm:
    """Make a communicator of a call site's ranks; in PARALLEL it is Cartesian, as the partitions' grid is."""
    everybody = comm.Get_group()
    group = everybody.Incl(members(job, site))
    made = comm.Create_group(group, site.id)
    group.Free()
    everybody.Free()
    region = _region(job, site)
    if region is None:
        return made
    cartesian = made.Create_cart(job.grid(region))
    made.Free()
    return cartesian


def _made(made: MPI.Intracomm, site: CallSite, line: str) -> Communicator:
    from mpi4py import MPI

    made.Set_name(f"{site.label}:{line}")
    # Code that checks what MPI returns is rare outside Python, where mpi4py does it.
    made.Set_errhandler(MPI.ERRORS_RETURN if site.module.language == "python" else _naming_errors())
    if site.module.language == "fortran":
        return Communicator(made, np.array([made.py2f()], np.int32))
    size = MPI._sizeof(MPI.Comm)
    place = MPI.buffer.fromaddress(MPI._addressof(made), size)
    return Communicator(made, np.frombuffer(place.tobytes(), np.uint8))


@functools.cache
def _naming_errors() -> MPI.Errhandler:
    """Make what names the call site of an error: MPI itself would end all ranks, by a number of its own."""
    from mpi4py import MPI

    def fail(comm: MPI.Comm, code: int) -> None:
        last = MPI.Get_error_string(code).strip().splitlines()[-1]
        _faults.mpi_failed(_PLACE_IN_MPICH.sub("", last))

    return MPI.Comm.Create_errhandler(fail)


def _region(job: Job, site: CallSite) -> str | None:
    """Name the partition of the PARALLEL around a call site."""
    walk = job.liveness.walk
    around = (walk.steps[step].statement for step in walk.ancestors(walk.step_of_site[site.id]))
    return next((statement.partition for statement in around if isinstance(statement, Parallel)), None)
