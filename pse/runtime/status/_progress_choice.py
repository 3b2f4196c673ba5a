"""Which form the progress of a run has, for whoever watches it."""

from __future__ import annotations

import os
import sys

from pse.runtime._channel import Board
from pse.runtime.request._prepared import Prepared
from pse.runtime.status._progress import WATCHER_VARIABLE, NoProgress, Progress, ProgressStream, can_draw


def choose_progress(board: Board, prepared: Prepared, *, everything: bool = False) -> Progress:
    """Choose the form for whoever watches: a process that started this one, a terminal, or a file.

    Parameters
    ----------
    everything : bool
        Whether to show loops, threads, queues and memory as well as call sites.
    """
    watcher = os.environ.pop(WATCHER_VARIABLE, "")
    if watcher.isdecimal():
        return ProgressStream(board, prepared, int(watcher))
    if prepared.request.quiet:
        return NoProgress(board, prepared)
    if not can_draw(sys.stderr):
        return Progress(board, prepared, everything=everything)
    # It loads rich, which takes a while.
    from pse.runtime.status._terminal_progress import Dashboard, LiveProgress

    form = Dashboard if everything else LiveProgress
    return form(board, prepared, everything=everything)
