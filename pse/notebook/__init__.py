"""Jupyter, and Python in general: run programs, look at results, sweep over parameters.

`run` checks a program and runs it in a child process, so nothing here ever imports MPI; `experiment` does so
for a whole sweep and returns a data frame; ``%load_ext pse`` brings the cell magic ``%%coven`` (`magics`).
`pse.run` and `pse.experiment` are these functions.

May touch: files that the caller names, a temporary directory for traces, child processes.  Needs pandas,
matplotlib or IPython only for what uses them.  Next rooms: ``views`` draws, ``trace`` reads, ``runtime``
runs.
"""

from pse.notebook.errors import NotebookError, ProgramRejected, RunFailed
from pse.notebook.experiment import experiment
from pse.notebook.result import Result
from pse.notebook.running import run

__all__ = ["NotebookError", "ProgramRejected", "Result", "RunFailed", "experiment", "run"]
