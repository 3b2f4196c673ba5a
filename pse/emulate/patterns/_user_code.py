"""Executing what users wrote: for so long at most, and with file and line of what goes wrong."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from typing import NoReturn

from pse.emulate.patterns._cycle import PatternError

PATIENCE = 10.0
"""Seconds that a user's function may take: it makes a list of steps, and waits for nothing."""


class _Overdue(BaseException):
    """It takes too long; no `except Exception` of the user's stops this."""


@contextlib.contextmanager
def user_code(what: str, file: str) -> Iterator[None]:
    """Raise PatternError for whatever a user's code raises, or if it doesn't end.

    Parameters
    ----------
    what : str
        What can't be done then.
    file : str
        Where the code is: its line is named.

    Raises
    ------
    PatternError
        What went wrong.
    """
    try:
        with _in_time():
            yield
    except (Exception, SystemExit, _Overdue) as error:
        frames = traceback.walk_tb(error.__traceback__)
        lines = [line for frame, line in frames if frame.f_code.co_filename == file]
        place = f" ({file}, line {lines[-1]})" if lines else ""
        raise PatternError(f"{what}: {_reason(error)}{place}", help=_help(error)) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, PatternError):
        return error.message
    if isinstance(error, _Overdue):
        return f"it takes longer than {PATIENCE:g} s"
    return f"{type(error).__name__}: {error}"


def _help(error: BaseException) -> str | None:
    if isinstance(error, _Overdue):
        return "make sure that its loops end"
    return error.help if isinstance(error, PatternError) else None


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Interrupt what takes longer, in the main thread: only there do signals arrive."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler, begin = signal.signal(signal.SIGALRM, _overdue), time.monotonic()
    # Again and again: what is raised in a callback of the garbage collector is lost.
    left, interval = signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        rest = max(left - (time.monotonic() - begin), 1e-6) if left else 0.0
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)  # None: a library's.
        signal.setitimer(signal.ITIMER_REAL, rest, interval)


def _overdue(number: int, frame: object) -> NoReturn:
    raise _Overdue
