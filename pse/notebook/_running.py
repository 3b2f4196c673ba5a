"""`pse.run`: check a program here, run it in a child process, and bring back what it was like.

So no MPI is ever in this process, and a crash of a rank can't harm a notebook.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pse.notebook._debugging import debugging_options
from pse.notebook._display import Screen, screen, tell
from pse.notebook._errors import NotebookError, RunFailed, as_asked, translated
from pse.notebook._programs import Checked, checked
from pse.notebook._result import Result
from pse.notebook._run_process import COMMAND, Child
from pse.runtime.request import Request, prepare, rank_arguments
from pse.runtime.status import Report
from pse.text import value_text

if TYPE_CHECKING:
    from pse.cluster import Cluster


def run(
    program: str | os.PathLike[str],
    processors: int | None = None,
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    trace: bool | str | os.PathLike[str] | None = None,
    tools: str | os.PathLike[str] | None = None,
    *,
    procs: int | None = None,
    cluster: Cluster | str | None = None,
    progress: bool | None = None,
    debug: bool = False,
    prefix: bool = False,
    serial: bool = False,
    sanitize: str | Sequence[str] | None = None,
    gdb: int | str | None = None,
) -> Result:
    """Run a program on MPI ranks, in the current directory.

    Parameters
    ----------
    program : path or str
        The path of a ``.coven`` file, or a program's text (it has more than one line), which is written to
        ``cell-NAME.coven`` in the current directory.
    processors, procs : int, optional
        How many processors (1 if neither is given; they mean the same: give only one of them).
    params : mapping of str to value, optional
        Values of the program's parameters.
    options : mapping of str to value, optional
        Options that win over the program's: ``{"queue_depth": 4, "queue_depth.thread_C": 1}``.
    trace : bool or path, optional
        Where to record the run; True: in a temporary directory, which is gone when Python ends.
    tools : path or "off", optional
        The MPI tools to put under it, as with ``pse run --tools``.
    cluster : pse.cluster.Cluster or str, optional
        The emulated cluster, or its name, on whose nodes it runs; on this machine if there is none.
    progress : bool, optional
        False: show nothing meanwhile. Else a notebook or a terminal shows how the run stands; with True,
        where there is neither, plain lines do.
    debug, prefix, serial : bool, default False
        Find what overruns its arrays; begin lines that modules print with their call; execute all calls in
        one rank, in order: as with ``pse run --debug``, ``--prefix`` and ``--serial``.
    sanitize : str or sequence of str, optional
        The sanitizers that modules are built with: ``"address,undefined"``.
    gdb : int or "crash", optional
        The rank that waits for gdb when it starts, or any when it crashes; the run says how to attach.

    Returns
    -------
    Result
        The report, what modules printed, and the trace with its tables and pictures.

    Raises
    ------
    ProgramRejected
        If the program, or the value of a parameter, is wrong; with the diagnostics.
    RunFailed
        If a module or a rank failed, or the run could not start.
    NotebookError
        If something else that was asked for is wrong; the root of the others.
    KeyboardInterrupt
        If the user interrupts; the job has ended then.

    Examples
    --------
    >>> result = pse.run("heat.coven", procs=2, params={"NX": 512})  # doctest: +SKIP
    >>> result.report.wall_seconds  # doctest: +SKIP
    1.84
    """
    count = chosen_processors(processors, procs)
    found = checked(program)
    if found.warnings:
        tell(found.warnings)
    how = debugging_options(debug=debug, prefix=prefix, serial=serial, sanitize=sanitize, gdb=gdb)
    job = make_job(found, count, params, options_given(options), trace, tools, cluster, debugging=how)
    shown = screen(progress)
    try:
        result = job.run(shown)
    except BaseException:
        shown.close()
        raise
    shown.close(result.headline)
    return result


def make_job(
    found: Checked,
    processors: int,
    params: Mapping[str, Any] | None = None,
    options: Sequence[str] = (),
    trace: bool | str | os.PathLike[str] | None = None,
    tools: str | os.PathLike[str] | None = None,
    cluster: Cluster | str | None = None,
    *,
    debugging: Mapping[str, Any] | None = None,
) -> Job:
    """Put a run together of what the caller gives, and check it.

    Parameters
    ----------
    found : Checked
        The program.
    processors : int
        How many there are.
    params, options, trace, tools, cluster
        As `run` takes them; options as texts like ``queue_depth=4``.
    debugging : mapping, optional
        Other parts of the request: ``{"serial": True}``.

    Returns
    -------
    Job
        The run, which is not started yet.

    See Also
    --------
    run
    """
    job = Job(
        found,
        processors,
        {name: value_text(value) for name, value in mapping("params", params).items()},
        options,
        trace_directory(trace),
        None if tools is None else os.fspath(tools),
        chosen_cluster(cluster),
        debugging=debugging or {},
    )
    job.check()
    return job


def options_given(options: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Write options as the command line has them."""
    return tuple(f"{name}={value_text(value)}" for name, value in mapping("options", options).items())


def mapping(name: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Give what is given as a dictionary, or an empty one for None; refuse anything else."""
    if given is not None and not isinstance(given, Mapping):
        raise NotebookError(
            f"{name} must be a dictionary, not {given!r}", help=f"write {name}={{'NAME': VALUE}}"
        )
    return given or {}


def chosen_processors(processors: int | None, procs: int | None) -> int:
    """Give the number of processors, which has two names."""
    if processors is not None and procs is not None and processors != procs:
        raise NotebookError(
            f"processors={processors!r} and procs={procs!r} mean the same, and differ",
            help="leave out one of them",
        )
    count = processors if processors is not None else procs
    if count is None:
        return 1
    if isinstance(count, bool) or not hasattr(count, "__index__") or count.__index__() < 1:
        raise NotebookError(
            f"processors must be a whole number of at least 1, not {count!r}",
            help="for example:  processors=4",
        )
    return count.__index__()


def chosen_cluster(cluster: Cluster | str | None) -> Cluster | None:
    """Give the cluster to run on: itself, or the one that is up under a name; None for this machine."""
    if cluster is None:
        return None
    from pse.cluster import Cluster, find_cluster

    if isinstance(cluster, Cluster):
        return cluster
    if not isinstance(cluster, str):
        raise NotebookError(
            f"cluster must be a pse.cluster.Cluster or the name of one, not {cluster!r}",
            help="make one with `pse cluster up NAME`, and give its name",
        )
    with translated():
        return find_cluster(cluster)


def trace_directory(trace: bool | str | os.PathLike[str] | None) -> str | None:
    """Give the directory for a trace, a temporary one for True."""
    if trace is None or trace is False:
        return None
    if trace is not True:
        if not os.fspath(trace):
            raise NotebookError(
                "trace is empty: expected the path of a directory",
                help="give a path, or trace=True for a temporary directory",
            )
        return os.path.abspath(os.fspath(trace))
    directory = tempfile.mkdtemp(prefix="pse-trace-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@dataclass
class Job:
    """One run, from what was asked for to its result.

    Attributes
    ----------
    found : Checked
        The program.
    processors : int
        How many there are.
    defines : mapping of str to str
        The values of parameters.
    options : sequence of str
        Options that win over the program's.
    trace, tools : str or None
        The directory of the trace; the configuration of MPI tools.
    cluster : Cluster or None
        Where it runs.
    timeout : float or None
        Seconds after which it fails.
    debugging : mapping
        Other parts of the request.

    See Also
    --------
    run
    """

    found: Checked
    processors: int
    defines: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    trace: str | None = None
    tools: str | None = None
    cluster: Cluster | None = None
    timeout: float | None = None
    debugging: Mapping[str, Any] = field(default_factory=dict)
    child: Child | None = field(default=None, init=False)
    interrupted: bool = field(default=False, init=False)

    def check(self) -> None:
        """Make sure of parameters and options before anything starts.

        Raises
        ------
        ProgramRejected
            If a parameter's value is wrong.
        NotebookError
            If an option or the directory of the trace is.
        """
        with translated():
            if self.tools not in (None, "off") and not os.path.isfile(self.tools):
                raise NotebookError(
                    as_asked(f"--tools {self.tools}: there is no such file"),
                    help=as_asked("name a configuration of the tool stack, or give --tools off for no tools"),
                )
            prepare(self._request(), file=self.found.file)

    def run(self, shown: Screen) -> Result:
        """Start the child, show how it stands, wait for its end.

        Raises
        ------
        RunFailed
            If a module or a rank failed, or the run could not start.
        """
        child = self.child = Child(*self._start(), shown)
        if self.interrupted:  # Before there was a child.
            child.interrupt()
        child.watch(self.timeout)
        if child.late:
            message = f"the run took longer than {self.timeout:g} s and was stopped"
            help = "give it a longer timeout, or a smaller problem"
            raise RunFailed(message, child.code, child.printed, self.trace, help=help)
        if child.code != 0:
            raise child.failure(self.trace)
        remarks = child.words.decode(errors="replace").strip()
        if remarks:
            shown.write(f"{remarks}\n", error=True)
        return Result(
            program=Path(self.found.path),
            processors=self.processors,
            params=dict(self.defines),
            report=Report.from_json(child.report.decode()),
            output=child.printed,
            directory=Path.cwd(),
            warnings=self.found.warnings,
            trace_directory=Path(self.trace) if self.trace else None,
        )

    def interrupt(self) -> None:
        """End the run that another thread has started; `run` raises there."""
        self.interrupted = True
        if self.child is not None:
            self.child.interrupt()

    def _start(self) -> tuple[list[str], dict[str, str]]:
        """Give the command of the child, and its environment."""
        if self.cluster is None:
            return self._command(), dict(os.environ)
        with translated():
            return self.cluster.command(self._command()), {**os.environ, **self.cluster.environment()}

    def _command(self) -> list[str]:
        tools = ["--tools", self.tools] if self.tools else []
        return [*COMMAND, *tools, *rank_arguments(self._request())]

    def _request(self) -> Request:
        return Request(
            self.found.path,
            self.defines,
            self.options,
            trace=self.trace,
            report="json",
            processors=self.processors,
            **self.debugging,
        )
