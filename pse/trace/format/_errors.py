"""The exception of this room, and files that can not be read."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from pse.errors import UsageError


class TraceError(UsageError):
    """A trace can't be written or read, or what is asked of it isn't in it (exit code 2).

    Parameters
    ----------
    message : str
        What was wrong, where, and what was expected.
    help : str, optional
        What to do about it.

    Examples
    --------
    >>> pse.trace.open("run2")
    Traceback (most recent call last):
        ...
    TraceError: there is no trace run2
    """


DAMAGED = "the file is damaged or unfinished: copy the trace again, or record the run again"
"""What to do about a file of a trace that can't be understood."""


def refuse_pipes(path: Path) -> None:
    """Raise OSError if reading could wait for somebody who writes."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")
