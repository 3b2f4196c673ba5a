"""The exception of this room.

The room imports no other, so whoever calls it turns its errors into the product's (``pse/cli/trace.py``).
"""

from __future__ import annotations


class TraceError(Exception):
    """A trace can't be written or read.

    Parameters
    ----------
    message : str
        What was wrong, where, and what was expected.
    help : str, optional
        What to do about it.
    """

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help
