"""Where a rank begins and ends: agree on the run with all others, run, report, or fail by name.

`python -m pse` comes here in every rank, whoever started it: the launcher of `pse run` or a bare mpirun.
What may go wrong for one rank alone is agreed on by all before anything waits for anybody.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import signal
import socket
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from pse import _loading
from pse._abi.environment import FORK_SERVER_VARIABLE, TRACE_VARIABLE
from pse.errors import RunError
from pse.memory import default_capacity
from pse.runtime import _faults
from pse.runtime.distribution import _partition_placement as owners
from pse.runtime.pause._stop import Stopped, stop
from pse.runtime.plan._job import Job
from pse.runtime.rank._cooperative_wait import WaitTool, coschedule_all, engage_on_all
from pse.runtime.rank._cores import bind_to_cores, cores_text
from pse.runtime.rank._node import Node
from pse.runtime.rank._output_prefix import prefixed_output
from pse.runtime.rank._python_calls import end_if_forked
from pse.runtime.rank._rank_loop import Outcome, execute_plan
from pse.runtime.request._dry_run import agreed, dry_run
from pse.runtime.request._prepared import Prepared, Request
from pse.runtime.request._request import planned_quickly, prepare
from pse.runtime.request._resume import description, job_before, verify_files, way_on
from pse.runtime.status import _report_gathering as report
from pse.runtime.supervise._cleanup import started, unlink_mpi_files
from pse.runtime.supervise._error_format import exit_code_of, print_error
from pse.runtime.supervise._launcher_records import LAUNCHER_VARIABLE, Launcher, Record
from pse.runtime.supervise._monitor_handle import MonitorHandle
from pse.text import count_text

if TYPE_CHECKING:
    from pse.runtime.control._control import Control
    from pse.runtime.pause._changes import LiveValues
    from pse.runtime.pause._checkpoint import Checkpoints


def run_rank(
    request: Request,
    monitor: MonitorHandle | None = None,
    wait_tool: WaitTool | None = None,
    checked: Prepared | None = None,
) -> int:
    """Run this rank's part of a request.

    What is raised here is raised before all have agreed on the run: the caller ends the job
    (`pse.runtime.faults.ending_the_job`).

    Parameters
    ----------
    request : Request
        What the command line asks for.
    monitor : MonitorHandle, optional
        The node's monitor, if this process has started it.
    wait_tool : WaitTool, optional
        The tool by which modules wait in MPI; None if they wait as MPI does.  Without a launcher that has
        decided, all ranks use it if some module has a communicator.
    checked : Prepared, optional
        The program as the launcher has checked it, of which this process is forked.

    Returns
    -------
    int
        The exit code: 0, or what all ranks get if one of them can't prepare the run.  A run that fails ends
        this process.

    Examples
    --------
    >>> run_rank(Request("heat.coven", {}))  # doctest: +SKIP
    0
    """
    comm = MPI.COMM_WORLD
    comm.Barrier()
    unlink_mpi_files()
    node = Node(comm, monitor)
    # These are for this process alone, not for what modules may start.
    for name in (LAUNCHER_VARIABLE, FORK_SERVER_VARIABLE, "HWLOC_XMLFILE"):
        os.environ.pop(name, None)
    prepared = _agree(comm, request, node.launcher, checked)
    if isinstance(prepared, int):
        return prepared
    if prepared.options.transport == "bcs" and not request.serial:
        if request.trace:  # The layer begins before the trace is made.
            os.environ[TRACE_VARIABLE] = os.path.abspath(request.trace)
        if code := coschedule_all(node, wait_tool):
            return code
    elif prepared.takes_communicators if request.coopwait is None else request.coopwait:
        engage_on_all(node, wait_tool)
    node.join(prepared)
    try:
        _run_prepared(node, prepared)
    except Stopped as stopped:
        end_if_forked(stopped)
        node.stop(stopped.number, prepared.site_texts, way_on(request))
    except BaseException as error:
        end_if_forked(error)
        node.fail(error)
    from pse.runtime.rank._leftovers import limit_wait_for_leftovers

    limit_wait_for_leftovers(prepared.who(node.rank, socket.gethostname(), os.getpid()))
    return 0


def _refuse_another_world(comm: MPI.Intracomm, prepared: Prepared) -> None:
    """Refuse to be one of fewer ranks than the launcher has started: each would wait for the others."""
    if comm.Get_size() != prepared.ranks:
        library = MPI.Get_library_version().split(",")[0].splitlines()[0].strip()
        raise RunError(
            f"mpiexec belongs to another MPI than mpi4py uses ({library}): "
            f"of {count_text(prepared.ranks, 'rank')} each sees {comm.Get_size()}",
            help="have the mpiexec of mpi4py's MPI first on PATH; `pse doctor` tells which is which",
        )


def _agree(
    comm: MPI.Intracomm, request: Request, launcher: Launcher | None, checked: Prepared | None
) -> Prepared | int:
    """Prepare the run on every rank; if any can't, the first of them says why and all get its exit code."""
    error: Exception | None = None
    try:
        if checked:
            _refuse_another_world(comm, checked)
        prepared = replace(checked, request=request) if checked else prepare(request, comm.Get_size())
        if prepared.resumed and not launcher:
            verify_files(str(request.checkpoint), prepared.resumed, comm.Get_rank(), comm.Get_size())
        if launcher and launcher.sees_all and comm.Get_rank() == 0 and planned_quickly(prepared):
            dry_run(prepared)
    except Exception as raised:
        error = raised
    codes = np.zeros(comm.Get_size(), np.int32)
    comm.Allgather(np.array([0 if error is None else exit_code_of(error)], np.int32), codes)
    if not codes.any():
        if comm.Get_rank() == 0 and not launcher:
            prepared.print_warnings(sys.stderr)
        return prepared
    first = int(codes.nonzero()[0][0])
    if error is not None and comm.Get_rank() == first:
        where = f"on rank {first} (host {socket.gethostname()}):\n" if first else ""
        sys.stderr.write(where)
        print_error(error, sys.stderr)
    return int(codes[first])


def _prepare_trace(trace: str, node: Node, job: Job, text: str) -> None:
    from pse.runtime.rank._recording import describe_run, prepare_trace, write_definitions  # Takes 10 ms.

    if node.first:
        prepare_trace(trace)
    node.comm.Barrier()
    if node.rank == 0:
        write_definitions(trace, describe_run(job, node.hosts), text)


def _run_prepared(node: Node, prepared: Prepared) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    # Hydra sends it when a rank has died: MPICH's handler would interrupt a module's system call, and that
    # module would be blamed.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    _faults.catch_stops()
    bind_to_cores(prepared, node.nodes, node.rank)
    job = agreed(prepared, node.nodes, _placements(node, prepared))
    trace, capacity = prepared.request.trace, prepared.options.arena
    if trace:
        _prepare_trace(trace, node, job, prepared.program.text)
    else:
        node.comm.Barrier()
    speaks = node.rank == 0 and node.launcher is None
    if prepared.request.gdb is not None:
        from pse.runtime.rank._debugger import attach_debugger

        attach_debugger(prepared.request.gdb, node.rank, node.name)
    output = _set_output_aside(node, prepared)
    # What modules register comes before it, while the wait for that is limited (_leftovers.py).
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)
    _loading.end()  # Modules in Python come next.
    began, computed = time.monotonic_ns(), _cpu_time()
    launched = node.launcher is not None and bool(node.launcher.sees_all)
    prefixed = prefixed_output(launched) if prepared.request.prefix else contextlib.nullcontext()
    with _progress(node, prepared) if speaks else contextlib.nullcontext(), prefixed as pipe:
        live = _live(prepared)
        outcome = execute_plan(
            node.comm,
            job,
            board=node.board,
            arena_capacity=capacity if isinstance(capacity, int) else default_capacity(),
            trace=trace,
            culprit=_faults.culprit_address(),
            descriptor=node.needed_descriptor,
            checkpoints=_checkpoints(node, prepared, job),
            control=_control(node, prepared, live) if live else None,
            live=live,
            output=pipe,
        )
    _report(node, prepared, outcome, output, wall=time.monotonic_ns() - began, cpu=_cpu_time() - computed)


def _progress(node: Node, prepared: Prepared) -> contextlib.AbstractContextManager[None]:
    from pse.runtime.status._progress_choice import report_in_background

    if prepared.request.quiet or prepared.request.serial:  # A debugger has the terminal.
        return contextlib.nullcontext()
    return report_in_background(node.board, prepared)


def _checkpoints(node: Node, prepared: Prepared, job: Job) -> Checkpoints | None:
    directory, kept = prepared.request.checkpoint, prepared.resumed
    if directory is None:
        return None
    from pse.runtime.pause._checkpoint import Checkpoints, Resumed

    resumed = Resumed(job_before(job, kept), kept) if kept else None
    return Checkpoints(node.comm, job, node.board, directory, description(prepared), resumed)


def _live(prepared: Prepared) -> LiveValues | None:
    if prepared.request.control is None and not prepared.changes:
        return None
    from pse.runtime.pause._changes import LiveValues

    return LiveValues(prepared.changes)


def _control(node: Node, prepared: Prepared, live: LiveValues) -> Control | None:
    name = prepared.request.control
    if name is None:
        return None
    from pse.runtime.control._control import Control
    from pse.runtime.control._hub import Controlled

    launcher = node.launcher.pid if node.launcher else 0
    environment = {p.name: prepared.environment[p.name] for p in prepared.program.parameters}
    about = Controlled(
        name, prepared.program, environment, prepared.processors, prepared.request.checkpoint, launcher
    )
    return Control(about, live)


def _placements(node: Node, prepared: Prepared) -> dict[str, owners.Owners]:
    counts = owners.partition_counts(prepared.program, prepared.environment)
    return owners.agree(node.comm, prepared.options.placement, counts, prepared.processors)


def _set_output_aside(node: Node, prepared: Prepared) -> int:
    """Give the descriptor for the report; a JSON report is alone there, modules print to standard error."""
    if node.records or prepared.request.report != "json":
        return 1
    output = os.dup(1)
    os.dup2(2, 1)
    return output


def _report(node: Node, prepared: Prepared, outcome: Outcome, output: int, *, wall: int, cpu: int) -> None:
    made = report.gather(
        node.comm,
        prepared,
        report.contribution(node.board, node.rank, len(prepared.sites)),
        cpu=cpu,
        wall=wall,
        peak=outcome.arena.peak if outcome.arena and node.first else 0,
        figures=outcome.figures,
        moves=outcome.moves,
        cores=cores_text(os.sched_getaffinity(0)),
    )
    if made is None:
        return
    waited = time.time() - started(node.launcher.pid if node.launcher else os.getpid())
    made = replace(made, startup_seconds=max(0.0, waited - wall / 1e9))
    if node.records:
        node.records.write(Record("report", 0, 0, made.to_json()))
    else:
        from pse.runtime.status._report_text import format_report

        if prepared.request.report == "json":
            text = made.to_json() + "\n"
        else:
            text = "" if prepared.request.quiet else format_report(made)
        sys.stdout.flush()
        with open(output, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)


def _cpu_time() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)
