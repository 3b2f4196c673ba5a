"""Threads that modules leave behind: Python's end waits for them, and with it the whole job.

Replaces the handler of SIGALRM, and uses the process's timer.
"""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from types import FrameType

from pse.runtime.supervise._output_holders import GRACE, NOTICE
from pse.text import duration_text, list_text


class _Enough(Exception):
    """Python has waited for threads long enough."""


def limit_wait_for_threads(who: str) -> None:
    """Let Python wait for threads of modules for a while only, when this process ends.

    Parameters
    ----------
    who : str
        What to call this rank.
    """
    fired = 0

    def on_time(number: int, frame: FrameType | None) -> None:
        nonlocal fired
        fired += 1
        names = _names()
        if names and fired == 1:
            sys.stderr.write(f"waiting for {names} of {who}, which a module started\n")
        elif names:
            sys.stderr.write(
                f"warning: {who} ends {duration_text(GRACE)} after the program and without {names}, "
                "which a module started\n"
                "help: let the module join it, or make it a daemon thread\n"
            )
            # Python reports, and otherwise ignores, what is raised while it waits.
            sys.unraisablehook = lambda unraisable: None
            raise _Enough

    signal.signal(signal.SIGALRM, on_time)
    signal.setitimer(signal.ITIMER_REAL, NOTICE, GRACE - NOTICE)
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # This comes after the threads.


def _names() -> str:
    """Name the threads that Python waits for."""
    waited_for = [
        thread
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.main_thread()
    ]
    return list_text([f"thread `{thread.name}`" for thread in waited_for], "and")
