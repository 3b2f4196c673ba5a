"""What modules leave behind and Python's end waits for, and with it the whole job.

That are threads, processes of `multiprocessing`, and functions for `atexit`.  Replaces the handler of
SIGALRM, and uses the process's timer, which the rank's own function for `atexit` stops.
"""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from types import FrameType
from typing import Any, NamedTuple

from pse.runtime.pause._stop import Stopped
from pse.runtime.supervise._output_holders import GRACE, NOTICE
from pse.text import duration_text, list_text


class _Enough(Exception):
    """Python has waited long enough."""


class _Awaited(NamedTuple):
    """What Python waits for at its end: in words, where that comes from, and what helps."""

    names: str
    origin: str
    help: str


def limit_wait_for_leftovers(who: str) -> None:
    """Let Python wait for what modules have left for a while only, when this process ends.

    Parameters
    ----------
    who : str
        What to call this rank.
    """
    fired, ends = 0, list[bool]()
    atexit.register(ends.append, True)  # All that modules have registered comes after it.

    def on_time(number: int, frame: FrameType | None) -> None:
        nonlocal fired
        fired += 1
        awaited = _awaited(frame, at_exit=bool(ends))
        if awaited is None:
            return
        if fired == 1:
            sys.stderr.write(f"waiting for {awaited.names} of {who}, which {awaited.origin}\n")
            return
        sys.stderr.write(
            f"warning: {who} ends {duration_text(GRACE)} after the program and without {awaited.names}, "
            f"which {awaited.origin}\nhelp: {awaited.help}\n"
        )
        for child in _children():
            child.kill()
        raise _Enough

    sys.unraisablehook = _ignore_ends
    signal.signal(signal.SIGALRM, on_time)
    signal.setitimer(signal.ITIMER_REAL, NOTICE, GRACE - NOTICE)


def _ignore_ends(unraisable: sys.UnraisableHookArgs) -> None:
    """Python reports, and else ignores, what is raised while it waits: what ends the wait is no error."""
    if not issubclass(unraisable.exc_type, (_Enough, Stopped)):
        sys.__unraisablehook__(unraisable)


def _awaited(frame: FrameType | None, *, at_exit: bool) -> _Awaited | None:
    """What of modules Python waits for; None if it is not their doing that the end takes long."""
    threads = [
        f"thread `{thread.name}`"
        for thread in threading.enumerate()
        if not thread.daemon and thread is not threading.main_thread()
    ]
    if threads:
        help = "let the module join it, or make it a daemon thread"
        return _Awaited(list_text(threads, "and"), "a module started", help)
    if not at_exit:
        return None
    children = [f"process {child.pid} (`{child.name}`)" for child in _children()]
    if children:
        help = "let the module join or terminate it, or make it a daemon process"
        return _Awaited(list_text(children, "and"), "a module started", help)
    help = "let the function take less time, or let a module call it before the end"
    return _Awaited(_outermost(frame), "a module registered with atexit", help)


def _children() -> list[Any]:
    """Processes of `multiprocessing` that still run."""
    loaded = sys.modules.get("multiprocessing.process")
    return list(loaded.active_children()) if loaded else []


def _outermost(frame: FrameType | None) -> str:
    """Name the function that Python calls at its end; below it there may be frames of pse."""
    while frame is not None and frame.f_back is not None and not _is_own(frame.f_back):
        frame = frame.f_back
    code = frame.f_code if frame is not None else None
    return f"`{code.co_qualname}` ({code.co_filename}:{code.co_firstlineno})" if code else "a function"


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "pse"
