"""`pse.run`: check a program here, run it in a child process, and bring back what it was like.

The child is `pse run`, which starts mpiexec; it tells by a pipe how the run stands and what modules print
(`pse.runtime.progress.Told`), and its standard output is the report.  So no MPI is ever in this process, and
a crash of a rank can't harm a notebook.  An interrupt ends the job, and the child dies with this process.
Next rooms: `programs` finds and checks, `result` is what comes back, `screen` shows how it goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pse.language import bind_parameters
from pse.language.diagnostics import has_errors
from pse.notebook.errors import Interrupted, NotebookError, ProgramRejected, RunFailed, translated
from pse.notebook.programs import Checked, checked, spelled
from pse.notebook.result import Result
from pse.notebook.screen import Screen, screen, tell
from pse.runtime.overview import Overview
from pse.runtime.progress import WATCHER
from pse.runtime.report import from_json
from pse.runtime.request import Request, prepare

STOP_PATIENCE = 5.0
"""Seconds that an interrupted run gets to end; the product promises two."""

_CHILD = """
from pse.runtime.processes import die_with_parent
die_with_parent()
from pse.cli import main
main()
"""
_COMMAND = (sys.executable, "-P", "-c", _CHILD, "run")


def run(
    program: str | os.PathLike[str],
    processors: int | None = None,
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    trace: bool | str | os.PathLike[str] | None = None,
    tools: str | os.PathLike[str] | None = None,
    *,
    procs: int | None = None,
    progress: bool | None = None,
) -> Result:
    """Run a program on MPI ranks, in the current directory.

    Parameters
    ----------
    program : path or str
        The path of a ``.coven`` file, or a program's text (it has more than one line), which is written to
        ``cell-NAME.coven`` in the current directory.
    processors, procs : int, optional
        How many processors (1 if neither is given; they are two names of one thing).
    params : mapping of str to value, optional
        Values of the program's parameters.
    options : mapping of str to value, optional
        Options that win over the program's: ``{"queue_depth": 4, "queue_depth.thread_C": 1}``.
    trace : bool or path, optional
        Where to record the run; True: in a temporary directory, which is gone when Python ends.
    tools : path or "off", optional
        The MPI tools to put under it, as with ``pse run --tools``.
    progress : bool, optional
        False: show nothing meanwhile. Else a notebook or a terminal shows how the run stands.

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
    job = make_job(found, count, params, options, trace, tools)
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
    options: Mapping[str, Any] | None = None,
    trace: bool | str | os.PathLike[str] | None = None,
    tools: str | os.PathLike[str] | None = None,
) -> Job:
    """Put a run together of what the caller gives, and check it; see `run`."""
    job = Job(
        found,
        processors,
        {name: spelled(value) for name, value in (params or {}).items()},
        tuple(f"{name}={spelled(value)}" for name, value in (options or {}).items()),
        trace_directory(trace),
        None if tools is None else os.fspath(tools),
    )
    job.check()
    return job


def chosen_processors(processors: int | None, procs: int | None) -> int:
    """Give the number of processors, which has two names."""
    if processors is not None and procs is not None and processors != procs:
        raise NotebookError(f"processors={processors!r} and procs={procs!r} are two names of one thing")
    count = processors if processors is not None else procs
    if count is None:
        return 1
    if isinstance(count, bool) or not hasattr(count, "__index__") or count.__index__() < 1:
        raise NotebookError(f"processors must be a whole number from 1, not {count!r}")
    return count.__index__()


def trace_directory(trace: bool | str | os.PathLike[str] | None) -> str | None:
    """Give the directory for a trace, a temporary one for True."""
    if trace is None or trace is False:
        return None
    if trace is not True:
        if not os.fspath(trace):
            raise NotebookError("the trace's directory has no name", help="trace=True takes a temporary one")
        return os.path.abspath(os.fspath(trace))
    directory = tempfile.mkdtemp(prefix="pse-trace-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


@dataclass
class Job:
    """One run, from what was asked for to its result."""

    found: Checked
    processors: int
    defines: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    trace: str | None = None
    tools: str | None = None

    def check(self) -> None:
        """Make sure of parameters and options before anything starts.

        Raises
        ------
        ProgramRejected
            If a parameter's value is wrong.
        NotebookError
            If an option or the directory of the trace is.
        """
        _, diagnostics = bind_parameters(self.found.program, self.defines, self.processors)
        if has_errors(diagnostics):
            raise ProgramRejected(diagnostics, {self.found.path: self.found.program.text})
        with translated():
            prepare(
                Request(
                    self.found.path,
                    self.defines,
                    self.options,
                    trace=self.trace,
                    processors=self.processors,
                )
            )

    def run(self, shown: Screen) -> Result:
        """Start the child, show how it stands, wait for its end."""
        child = _Child(self._command(), shown)
        child.watch()
        if child.code != 0:
            raise _failure(child, self.trace)
        remarks = child.words.decode(errors="replace").replace(str(self.found.warnings), "").strip()
        if remarks:
            shown.write(f"{remarks}\n", error=True)
        return Result(
            program=Path(self.found.path),
            processors=self.processors,
            params=dict(self.defines),
            report=from_json(child.report.decode()),
            output=child.printed,
            directory=Path.cwd(),
            warnings=self.found.warnings,
            trace_directory=Path(self.trace) if self.trace else None,
        )

    def _command(self) -> list[str]:
        words = [*_COMMAND, self.found.path, "-p", str(self.processors), "--report", "json"]
        for name, value in self.defines.items():
            words += ["-D", f"{name}={value}"]
        for option in self.options:
            words += ["-o", option]
        words += ["--trace", self.trace] if self.trace else []
        return words + (["--tools", self.tools] if self.tools else [])


class _Child:
    """The process `pse run`, and what it says: the report, its own words (errors), what modules printed."""

    def __init__(self, command: Sequence[str], shown: Screen) -> None:
        self.shown = shown
        self.report, self.words = bytearray(), bytearray()
        self._printed: list[str] = []
        self.code = 0
        self._tail = b""
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                command,
                env=os.environ | {WATCHER: str(writing)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(writing,),
                start_new_session=True,  # An interrupt of the kernel is for this process, which passes it on.
            )
        except OSError as error:
            os.close(reading)
            raise NotebookError(f"{command[0]} can't be started: {error.strerror}") from None
        finally:
            os.close(writing)
        self._told = reading

    def watch(self) -> None:
        """Read what comes until all is said; an interrupt ends the run first."""
        try:
            with self._process, contextlib.closing(selectors.DefaultSelector()) as selector:
                try:
                    self._read_all(selector)
                except BaseException as error:
                    self._stop()
                    if isinstance(error, KeyboardInterrupt):
                        raise Interrupted from None
                    raise
        finally:
            os.close(self._told)
        self.code = self._process.returncode

    def _read_all(self, selector: selectors.BaseSelector) -> None:
        for stream, take in self._streams():
            os.set_blocking(stream, False)
            selector.register(stream, selectors.EVENT_READ, take)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, 1 << 16)
                if data:
                    key.data(data)
                else:
                    selector.unregister(key.fd)

    def _streams(self) -> Iterator[tuple[int, Callable[[bytes], None]]]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        yield self._told, self._take
        yield self._process.stdout.fileno(), self.report.extend
        yield self._process.stderr.fileno(), self.words.extend

    def _take(self, data: bytes) -> None:
        """Understand what `Told` writes: a JSON object on each line."""
        *lines, self._tail = (self._tail + data).split(b"\n")
        drawing = None
        for line in lines:
            for kind, content in json.loads(line).items():
                if kind == "overview":
                    drawing = content
                else:
                    self._printed.append(content)
                    self.shown.write(content, error=kind == "stderr")
        if drawing:
            from pse.runtime.live import drawn

            self.shown.show(drawn(Overview.from_json(drawing)))

    @property
    def printed(self) -> str:
        """What modules have printed."""
        return "".join(self._printed)

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_PATIENCE)
        except (
            BaseException
        ):  # Not done in time, or interrupted once more: the kernel ends the ranks with it.
            self._process.kill()
            self._process.wait()


def _failure(child: _Child, trace: str | None) -> RunFailed:
    """Make an exception of what `pse run` said: its error, and its help."""
    if child.code < 0:
        how = f"the run was killed by {signal.Signals(-child.code).name}"
        return RunFailed(how, 128 - child.code, child.printed, trace)
    words = child.words.decode(errors="replace").strip()
    _, error, message = f"\n{words}".partition("\nerror: ")
    if not error:
        message = words or f"the run ended with code {child.code} and didn't say why"
    message, _, help_text = message.partition("\nhelp: ")
    return RunFailed(message.strip(), child.code, child.printed, trace, help=help_text.strip() or None)
