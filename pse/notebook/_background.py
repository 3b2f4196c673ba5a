"""`pse.start`: a run that goes on in the background, to be watched, changed, stopped and waited for."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, TimeoutError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pse.errors import PseError
from pse.notebook._debugging import debugging_options
from pse.notebook._display import Quiet, tell
from pse.notebook._errors import NotebookError, needed, translated
from pse.notebook._programs import checked
from pse.notebook._result import RUN_IN_BACKGROUND, Result
from pse.notebook._running import Job, chosen_processors, make_job, options_given
from pse.runtime.control import RunControl, running
from pse.runtime.request import require_watchable
from pse.text import count_text

if TYPE_CHECKING:
    from pse.cluster import Cluster
    from pse.notebook._tag_widget import TagWidget

_LOOK = 0.05
"""Seconds between two looks for a run that starts."""
_NUMBERS = itertools.count(1)


def start(
    program: str | os.PathLike[str],
    processors: int | None = None,
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    trace: bool | str | os.PathLike[str] | None = None,
    tools: str | os.PathLike[str] | None = None,
    *,
    procs: int | None = None,
    cluster: Cluster | str | None = None,
    serial: bool = False,
) -> Running:
    """Run a program in the background.

    Parameters
    ----------
    program, processors, params, options, trace, tools, procs, cluster, serial
        As `run` takes them.

    Returns
    -------
    Running
        The run, which goes on; it ends with this process.

    Raises
    ------
    ProgramRejected
        If the program, or the value of a parameter, is wrong; with the diagnostics.
    NotebookError
        If something else that was asked for is wrong.

    Examples
    --------
    >>> run = pse.start("heat.coven", procs=2)  # doctest: +SKIP
    >>> run.watch("u")  # doctest: +SKIP
    >>> run.result().report.wall_seconds  # doctest: +SKIP
    1.84
    """
    count = chosen_processors(processors, procs)
    found = checked(program)
    if found.warnings:
        tell(found.warnings)
    how = debugging_options(serial=serial)
    return in_background(
        lambda more: make_job(
            found, count, params, options_given(options), trace, tools, cluster, debugging=how | more
        )
    )


def in_background(make: Callable[[dict[str, str]], Job]) -> Running:
    """Start a run that can be controlled; `make` gets what its request has for that."""
    name = f"notebook.{os.getpid()}.{next(_NUMBERS)}"
    job = make({"control": name})
    return Running(job, name)


class Running:
    """A run that goes on in the background.

    Parameters
    ----------
    job : Job
        What to run; it is started.
    name : str
        By which ``pse ctl`` and ``pse watch`` find it.

    See Also
    --------
    start
    """

    def __init__(self, job: Job, name: str) -> None:
        self.name, self._job = name, job
        self._end: Future[Result] = Future()
        self._stopped = False
        # The child process dies with the thread that started it.
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        try:
            self._end.set_result(self._job.run(Quiet()))
        except BaseException as error:
            self._end.set_exception(error)

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._end.done()

    def result(self, timeout: float | None = None) -> Result:
        """Wait until the run has ended, and give what it was like; an interrupt ends the waiting only.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait.

        Raises
        ------
        RunFailed
            If a module or a rank failed, or the run was stopped.
        NotebookError
            If it goes on after that time.
        """
        try:
            return self._end.result(timeout)
        except TimeoutError:
            help = "wait longer, look at it with .watch, or end it with .stop()"
            raise NotebookError(f"the run has not ended after {timeout:g} s", help=help) from None

    def stop(self) -> None:
        """End the run, and wait until it has ended."""
        self._stopped = not self.done
        self._job.interrupt()
        self._end.exception()

    def control(self) -> RunControl:
        """Connect with the run, as soon as it listens: to hold it, step, and change live parameters.

        Raises
        ------
        NotebookError
            If it has ended.
        """
        ended = threading.Event()
        self.when_done(ended.set)
        while not ended.wait(_LOOK):
            if self.name in running():
                with translated():
                    return RunControl(self.name)
        raise NotebookError(str(self), help="start it again")

    def when_done(self, act: Callable[[], None]) -> None:
        """Have something done when it has ended; at once if it has."""
        self._end.add_done_callback(lambda _: act())

    def watch(self, tag: str) -> TagWidget:
        """Show a tag as it changes; in a notebook, as the last value of a cell.

        Parameters
        ----------
        tag : str
            A tag of the program that is made of numbers.

        Returns
        -------
        TagWidget
            A number is a curve over time, a line a line, two axes are an image; three axes are slices,
            surfaces or a volume, and rows of three numbers points in space.

        Raises
        ------
        NotebookError
            If there is no such tag, or the run has ended.
        """
        if self.done:
            raise NotebookError(str(self), help=RUN_IN_BACKGROUND)
        needed("anywidget", "a live picture")
        from pse.notebook._tag_widget import TagWidget

        with translated():
            require_watchable(self._job.found.program, tag)
        return TagWidget(tag, self)

    def __repr__(self) -> str:
        where = f"{Path(self._job.found.path).name} on {count_text(self._job.processors, 'processor')}"
        if not self.done:
            return f"{where} is running: {self.name}"
        error = self._end.exception()
        if error is None:
            return f"{where} has ended after {self._end.result().report.wall_seconds:.3g} s"
        if self._stopped:
            return f"{where} was stopped"
        return f"{where} has failed: {error.message if isinstance(error, PseError) else error}"
