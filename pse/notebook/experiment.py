"""`pse.experiment`: run a program at every point of a sweep, some times each, and compare.

Data flow: `sweep` says which runs and knows which are done, `running` does one, `tidy` makes the data frame.
Next rooms: these, and `scaling`, which draws speedup and efficiency.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pse.notebook.errors import NotebookError, needed
from pse.notebook.programs import Checked, checked, spelled
from pse.notebook.running import Job
from pse.notebook.screen import Screen, screen, tell
from pse.notebook.sweep import Notes, Point, Run, Sweep, fingerprint, make_sweep
from pse.runtime.live import share_bar

if TYPE_CHECKING:
    from pse.notebook.tidy import Experiment


def experiment(
    program: str | os.PathLike[str],
    procs: Any = (1,),
    repeats: int = 5,
    *,
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    directory: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> Experiment:
    """Run a program at every point of a sweep.

    The sweep is the product of all lists. Every point is run once, in shuffled order, before any is run
    again, so that what changes on the machine meanwhile falls on all alike. Each run that ends is written
    down at once, and what is written down is not run again: an experiment that was stopped goes on when it is
    called again, and more values or repeats can be added. A run that fails is written down with its error,
    and tried again only when the experiment is called again.

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
    progress : bool, optional
        False: show nothing meanwhile.
    **parameters
        Values, or lists of values, of the program's parameters.

    Returns
    -------
    Experiment
        A pandas data frame with a row for each point: the median of the wall time with its confidence
        interval, speedup and efficiency; ``.runs`` are all runs, ``.draw_speedup()`` and
        ``.draw_efficiency()`` pictures.

    Raises
    ------
    ProgramRejected
        If the program is wrong.
    NotebookError
        If the sweep is, or the directory has runs of another program or sweep.

    Examples
    --------
    >>> frame = pse.experiment("heat.coven", procs=[1, 2, 4], NX=[512, 1024], repeats=5)  # doctest: +SKIP
    >>> frame.draw_speedup()  # doctest: +SKIP
    """
    needed("pandas", "an experiment")
    from pse.notebook.tidy import tidy

    found = checked(program)
    if found.warnings:
        tell(found.warnings)
    known = [parameter.name for parameter in found.program.parameters]
    sweep = make_sweep(procs, dict(params or {}) | parameters, repeats, known)
    said = {name: spelled(value) for name, value in (options or {}).items()}
    place = Path(directory) if directory is not None else Path(f"{Path(found.path).stem}.experiment")
    notes = Notes(place, sweep.names, fingerprint(found, sweep.names, said))
    shown = screen(progress)
    try:
        last = _Runs(found, sweep, said, notes, shown).do()
    except BaseException:
        shown.close()
        raise
    shown.close(last)
    points = set(sweep.points)
    runs = [run for run in notes.runs() if run.point in points and run.repeat < sweep.repeats]
    return tidy(sweep, runs, Path(found.path).name)


class _Runs:
    """Does what is not done yet."""

    def __init__(
        self, found: Checked, sweep: Sweep, options: Mapping[str, str], notes: Notes, shown: Screen
    ) -> None:
        self.found, self.sweep, self.notes, self.shown = found, sweep, notes, shown
        self._options = tuple(f"{name}={value}" for name, value in options.items())
        self._done = {run.key for run in notes.runs() if run.error is None}
        self._before, self._failed, self._began = 0, 0, time.monotonic()

    def do(self) -> str:
        """Do all runs that are left; gives a line about them."""
        order = list(self.sweep.order())
        left = [key for key in order if key not in self._done]
        self._before = len(order) - len(left)
        for number, (point, repeat) in enumerate(left):
            self.shown.show(self._drawn(number, len(left), point, repeat))
            self.notes.write(self._run(point, repeat))
        done = f"{len(left)} runs" + (f", {self._before} were done before" if self._before else "")
        return done + (f"; {self._failed} failed" if self._failed else "")

    def _run(self, point: Point, repeat: int) -> Run:
        values = dict(point)
        processors = values.pop("procs")
        defines = {name: spelled(value) for name, value in values.items()}
        job = Job(self.found, processors, defines, self._options)
        try:
            job.check()
            report = job.run(_Quiet()).report
        except NotebookError as error:
            self._failed += 1
            return Run(point, repeat, None, {}, str(error))
        figures = {name: value for name, value in report.figures.items() if math.isfinite(value)}
        return Run(point, repeat, report.wall_seconds, figures)

    def _drawn(self, number: int, count: int, point: Point, repeat: int) -> RenderableType:
        done, whole = self._before + number, self._before + count
        table = Table.grid(padding=(0, 2, 0, 0))
        bar = share_bar(done / whole, 30)
        elapsed = time.monotonic() - self._began
        rest = f"about {_duration(elapsed / number * (count - number))} left" if number else ""
        failed = [Text(f"{self._failed} failed", "red")] if self._failed else []
        table.add_row(f"{done} of {whole} runs", bar, *failed, rest)
        values = ", ".join(f"{name} = {value}" for name, value in point)
        return Group(table, Text(f"{values}; repeat {repeat + 1} of {self.sweep.repeats}", "dim"))


class _Quiet(Screen):
    """What modules print in a sweep is nobody's business; an error has it."""

    def write(self, text: str, *, error: bool = False) -> None:
        """Drop it."""


def _duration(seconds: float) -> str:
    """Write a duration for people.

    Examples
    --------
    >>> _duration(42), _duration(150), _duration(9000)
    ('42 s', '2.5 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
