"""`pse.experiment`: run a program at every point of a sweep, some times each, and compare.

`_sweep` says which runs there are and which are done, `_running` does one, `_frames` makes the data frame.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pse.notebook._display import Quiet, Screen, screen, tell
from pse.notebook._errors import Interrupted, NotebookError, needed, translated
from pse.notebook._programs import checked
from pse.notebook._running import Job, chosen_cluster, mapping, options_given
from pse.notebook._sweep import RUNS, Notes, Point, Run, Sweep, fingerprint, make_sweep
from pse.runtime.launch import find_mpiexec
from pse.runtime.status import share_bar
from pse.text import duration_text, value_text

if TYPE_CHECKING:
    from pse.cluster import Cluster
    from pse.notebook._frames import Experiment


def experiment(
    program: str | os.PathLike[str],
    procs: Any = (1,),
    repeats: int = 5,
    *,
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    directory: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    cluster: Cluster | str | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> Experiment:
    """Run a program at every point of a sweep.

    The sweep is the product of all lists. Every point is run once, in shuffled order, before any is run
    again, so that what changes on the machine meanwhile falls on all alike. Each run that ends is written
    down at once, and what is written down is not run again: an experiment that was stopped goes on when it is
    called again, and more values or repeats can be added. A run that fails is written down with its error,
    and tried again only when the experiment is called again. What is wrong with all points ends it: at once
    where that can be known, else when every point has failed.

    Parameters
    ----------
    program : path or str
        The path of a ``.coven`` file, or a program's text.
    procs : int or list of int
        Numbers of processors.
    repeats : int
        How often each point is run.
    params : mapping of str to value or list, optional
        The program's parameters; the same as by keyword, for those whose names are taken here.
    options : mapping of str to value, optional
        Options of all runs.
    directory : path, optional
        Where runs are written down; ``NAME.experiment`` in the current directory if it isn't given.
    timeout : float, optional
        Seconds after which a run is stopped and has failed.
    cluster : pse.cluster.Cluster or str, optional
        The emulated cluster, or its name, on whose nodes all runs are.
    progress : bool, optional
        False: show nothing meanwhile; True: show plain lines where there is no notebook or terminal.
    **parameters
        Values, or lists of values, of the program's parameters.

    Returns
    -------
    Experiment
        A pandas data frame with a row for each point: the median of the wall time with its confidence
        interval, speedup and efficiency; ``.raw`` has all runs, ``.draw_speedup()`` and
        ``.draw_efficiency()`` pictures.

    Raises
    ------
    ProgramRejected
        If the program is wrong.
    NotebookError
        If the sweep is, the directory has runs of another program or sweep, or every point has failed.
    KeyboardInterrupt
        If the user interrupts; the run under way has ended then, and the same call goes on.

    Examples
    --------
    >>> frame = pse.experiment("heat.coven", procs=[1, 2, 4], NX=[512, 1024], repeats=5)  # doctest: +SKIP
    >>> frame.draw_speedup()  # doctest: +SKIP
    """
    needed("pandas", "an experiment")
    from pse.notebook._frames import make_frame

    limit = _seconds(timeout)
    place = chosen_cluster(cluster)
    with translated():
        find_mpiexec()  # Nothing can run without it.
    found = checked(program)
    if found.warnings:
        tell(found.warnings)
    known = [parameter.name for parameter in found.program.parameters]
    sweep = make_sweep(procs, _together(mapping("params", params), parameters), repeats, known)
    job = Job(found, 1, {}, options_given(options), cluster=place, timeout=limit)
    _check_possible(job, sweep)
    kept = f"{Path(found.path).stem}.experiment" if directory is None else os.fspath(directory)
    if not kept:
        raise NotebookError(
            "directory is empty: expected a path",
            help="give a path, or leave it out: it is NAME.experiment then",
        )
    with Notes(Path(kept), sweep.names, fingerprint(job, sweep.names)) as notes:
        _Runs(job, sweep, notes).do_all(screen(progress))
        points = set(sweep.points)
        runs = [run for run in notes.runs() if run.point in points and run.repeat < sweep.repeats]
    return make_frame(sweep, runs, Path(found.path).name)


def _seconds(timeout: Any) -> float | None:
    if timeout is None:
        return None
    seconds = float(timeout) if isinstance(timeout, Real) and timeout is not True else 0.0
    if seconds > 0:
        return seconds
    raise NotebookError(
        f"timeout must be a positive number of seconds, not {timeout!r}",
        help="for example timeout=60; without one a run may take any time",
    )


def _together(params: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    for name in params.keys() & parameters.keys():
        raise NotebookError(
            f"the parameter {name!r} is given twice, by its name and in params={{…}}",
            help="leave out one of them",
        )
    return {**params, **parameters}


def _at(point: Point, job: Job) -> Job:
    """Give a job for one point of a sweep."""
    values = dict(point)
    processors = values.pop("procs")
    defines = {name: value_text(value) for name, value in values.items()}
    return replace(job, processors=processors, defines=defines)


def _check_possible(job: Job, sweep: Sweep) -> None:
    """Make sure that there is a point that can run; else say what is wrong with the first."""
    wrong = None
    for point in sweep.points:
        try:
            return _at(point, job).check()
        except NotebookError as error:
            wrong = wrong or error
    assert wrong is not None
    raise wrong


class _Runs:
    """Does what is not done yet."""

    def __init__(self, job: Job, sweep: Sweep, notes: Notes) -> None:
        self.job, self.sweep, self.notes = job, sweep, notes
        self._done = {run.key for run in notes.runs() if run.error is None}
        order = list(sweep.order())
        self._left = [key for key in order if key not in self._done]
        self._before = len(order) - len(self._left)
        self._failed, self._began = 0, time.monotonic()

    def do_all(self, shown: Screen) -> None:
        """Do all runs that are left; leaves a line about them."""
        done = 0
        try:
            for done, (point, repeat) in enumerate(self._left):
                shown.show(self._drawn(done, point, repeat))
                self._do(point, repeat)
        except KeyboardInterrupt:
            shown.close()
            count = f"{self._before + done} of {self._before + len(self._left)} runs"
            raise Interrupted(f"stopped: {count} are saved; the same call continues the experiment") from None
        except BaseException:
            shown.close()
            raise
        before = f", {self._before} done before" if self._before else ""
        failed = f"; {self._failed} failed" if self._failed else ""
        shown.close(f"{len(self._left)} runs{before}{failed}")

    def _do(self, point: Point, repeat: int) -> None:
        """Do one run and write it down, unless what ran isn't the sweep's program any more."""
        run = self._run(point, repeat)
        self.notes.compare(fingerprint(self.job, self.sweep.names))
        self.notes.write(run)
        self._failed += run.error is not None
        if self._failed == len(self.sweep.points) and not self._done:
            one = len(self.sweep.points) == 1
            help_text = f"the errors are in {self.notes.directory / RUNS}; the same call tries again"
            what = "the run failed:" if one else "the runs of all points failed, the last with:"
            raise NotebookError(f"{what} {run.error}", help=help_text)
        if run.error is None:
            self._done.add(run.key)

    def _run(self, point: Point, repeat: int) -> Run:
        try:
            job = _at(point, self.job)
            job.check()
            report = job.run(Quiet()).report
        except NotebookError as error:
            return Run(point, repeat, None, {}, str(error))
        figures = {name: value for name, value in report.figures.items() if math.isfinite(value)}
        return Run(point, repeat, report.wall_seconds, figures)

    def _drawn(self, number: int, point: Point, repeat: int) -> RenderableType:
        count = len(self._left)
        done, whole = self._before + number, self._before + count
        table = Table.grid(padding=(0, 2, 0, 0))
        bar = share_bar(done / whole, 30)
        elapsed = time.monotonic() - self._began
        rest = f"about {duration_text(elapsed / number * (count - number))} left" if number else ""
        failed = [Text(f"{self._failed} failed", "red")] if self._failed else []
        table.add_row(f"{done} of {whole} runs", bar, *failed, rest)
        values = ", ".join(f"{name} = {value}" for name, value in point)
        return Group(table, Text(f"{values}; repeat {repeat + 1} of {self.sweep.repeats}", "dim"))
