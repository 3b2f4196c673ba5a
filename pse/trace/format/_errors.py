"""The exception of this room."""

from __future__ import annotations

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
    TraceError: run2 does not exist
    """
