"""Which form the progress of a run has, for whoever watches it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from pse.runtime._channel import Board
from pse.runtime.request._prepared import Prepared
from pse.runtime.status._progress import (
    WATCHER_VARIABLE,
    NoProgress,
    Progress,
    ProgressStream,
    can_draw,
    every,
)
from pse.runtime.supervise._processes import open_job_stderr


def choose_progress(board: Board, prepared: Prepared) -> Progress:
    """Choose the form for whoever watches: a process that started this one, a terminal, or a file."""
    watcher, live = os.environ.pop(WATCHER_VARIABLE, ""), prepared.request.live
    if watcher.isdecimal():
        return ProgressStream(board, prepared, int(watcher))
    if prepared.request.quiet:
        return NoProgress(board, prepared)
    if not can_draw(sys.stderr):
        return Progress(board, prepared, everything=live)
    # It loads rich, which takes a while.
    from pse.runtime.status._terminal_progress import Dashboard, LiveProgress

    form = Dashboard if live else LiveProgress
    return form(board, prepared, everything=live)


@contextlib.contextmanager
def report_in_background(board: Board, prepared: Prepared) -> Iterator[None]:
    """Say what happens meanwhile, for a run without a launcher, in one of its ranks.

    Plain lines, unless everything is to be shown and mpiexec has a terminal on this machine.  What modules
    print goes there past this process, so it would tear lines that are drawn anew.
    """
    with _job_stderr() as terminal:
        progress = _of_rank(board, prepared, terminal)
        progress.start()
        with every(progress.interval, progress.update):
            try:
                yield
            finally:
                progress.stop()


@contextlib.contextmanager
def _job_stderr() -> Iterator[TextIO]:
    terminal = os.fdopen(open_job_stderr(), "w", encoding="utf-8")
    try:
        yield terminal
    finally:
        with contextlib.suppress(OSError):  # A module may have closed what it found open.
            terminal.close()


def _of_rank(board: Board, prepared: Prepared, terminal: TextIO) -> Progress:
    live = prepared.request.live
    if not live or not can_draw(terminal):
        return Progress(board, prepared, everything=live)
    from pse.runtime.status._terminal_progress import DashboardOfRank

    return DashboardOfRank(board, prepared, terminal, everything=True)
