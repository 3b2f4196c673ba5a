"""The launcher behind `pse run`: checks a program, builds it, places its ranks, and runs them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pse.errors import UsageError
from pse.runtime.checkpoint._files import removed_if_empty
from pse.runtime.launch._mpiexec import (
    RANK,
    Hosts,
    Mpiexec,
    check_hosts,
    find_mpiexec,
    most_local_ranks,
    mpiexec_command,
    rank_environment,
    spread_ranks,
)
from pse.runtime.launch._serial import run_serially
from pse.runtime.request._prepared import Prepared, Request
from pse.runtime.request._rank_arguments import rank_arguments
from pse.runtime.request._request import build, planned_quickly, prepare
from pse.runtime.request._resume import verify_files
from pse.runtime.status._progress import WATCHER_VARIABLE, announce_preparation
from pse.runtime.supervise import _processes as processes
from pse.runtime.supervise._cleanup import check_shared_memory
from pse.runtime.supervise._file_limit import raise_file_limit
from pse.runtime.supervise._raised_signals import raised_signals

if TYPE_CHECKING:
    from pse.runtime.launch._fork_server import ForkServer
    from pse.runtime.rank._cooperative_wait import WaitTool  # Importing it starts MPI.


def launch_job(request: Request, hosts: Hosts, waiting: Callable[[], WaitTool | None] = lambda: None) -> int:
    """Run a program on ranks that mpiexec starts.

    Parameters
    ----------
    request : Request
        What the command line asks for.
    hosts : Hosts
        Where ranks are to run.
    waiting : callable, optional
        Gives the tool by which modules that have communicators wait in MPI, if there is to be one.

    Returns
    -------
    int
        0 done; 1, 2 or 3 as ranks say; 128 + n after signal n.

    Raises
    ------
    PseError
        If nothing could be started.

    Examples
    --------
    >>> from pse.runtime.launch import Hosts
    >>> launch_job(Request("heat.coven", {"NX": "64"}, processors=2), Hosts())  # doctest: +SKIP
    0
    """
    if processes.inside_mpi_job():
        raise UsageError(
            "`pse run` starts MPI itself and can't run inside an MPI job",
            help=f"inside an MPI job, each rank is: python -m pse {request.asked}",
        )
    if request.control is not None:
        from pse.runtime.control._address import require_free  # Few runs are controlled.

        require_free(request.control)
    with removed_if_empty(request.trace, request.checkpoint):
        if request.serial and WATCHER_VARIABLE not in os.environ:
            run_serially(request, hosts)
        return _run_on_ranks(request, hosts, waiting)


def _run_on_ranks(request: Request, hosts: Hosts, waiting: Callable[[], WaitTool | None]) -> int:
    check_hosts(hosts)
    prepared = prepare(request)
    if prepared.resumed:
        verify_files(str(request.checkpoint), prepared.resumed)
    mpiexec = find_mpiexec()
    if hosts.all_local(os.environ):
        _check_ranks(prepared)
        check_shared_memory(prepared.ranks)
        raise_file_limit(prepared.ranks)
    with announce_preparation(prepared), raised_signals():  # Compilers end with this process.
        build(prepared)
        if not (hosts.all_local(os.environ) and planned_quickly(prepared)):
            from pse.runtime.request._dry_run import dry_run

            dry_run(prepared)
    # Who watches has checked the program, and has the warnings as objects.
    if WATCHER_VARIABLE in os.environ:
        sys.stderr.write(prepared.remarks)
    else:
        prepared.print_warnings(sys.stderr)
    placed = spread_ranks(hosts, prepared.placement, prepared.processors)
    coscheduled = prepared.options.transport == "bcs"
    communicates = not request.serial and (coscheduled or prepared.takes_communicators)
    tool = waiting() if communicates else None
    if tool:
        tool.make()
    arguments = rank_arguments(replace(request, processors=prepared.processors, coopwait=tool is not None))
    with _fork_server(prepared, hosts, mpiexec, arguments, communicates=communicates) as server:
        from pse.runtime.launch._job_run import JobRun  # Ranks' own part is being loaded meanwhile.

        command = [*([server.stand_in] if server else []), *RANK, *arguments]
        line = mpiexec_command(mpiexec, prepared.ranks, placed, command)
        return JobRun(prepared, hosts.all_local(os.environ), server).run(line, mpiexec)


def _fork_server(
    prepared: Prepared, hosts: Hosts, mpiexec: Mpiexec, arguments: Sequence[str], *, communicates: bool
) -> contextlib.AbstractContextManager[ForkServer | None]:
    """Start a server that forks the ranks, where all are here and nothing comes before MPI in them.

    Tools do, and so does what modules that have communicators wait by.
    """
    request, environment = prepared.request, rank_environment(os.environ, mpiexec, local=True)
    alike = mpiexec.hydra and not mpiexec.intel and hosts.all_local(os.environ)
    if communicates or request.sanitize or request.gdb or not alike:
        return contextlib.nullcontext()
    from pse.runtime.launch._fork_server import ForkServer, can_fork  # What it loads, ranks need.

    return ForkServer(prepared, arguments, environment) if can_fork(environment) else contextlib.nullcontext()


def _check_ranks(prepared: Prepared) -> None:
    if prepared.ranks > (most := most_local_ranks()):
        raise UsageError(
            f"-p {prepared.processors} needs {prepared.ranks} ranks; with {len(os.sched_getaffinity(0))} "
            f"cores this machine takes at most {most}",
            help="use fewer processors, or name more machines with --hosts",
        )
