"""Standard streams that are closed or full; loads nothing, so that every command and rank can begin here."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TextIO, TypeGuard

from pse.errors import DISK_FULL

_REFUSED = (*DISK_FULL, errno.EIO)


def open_closed_streams() -> None:
    """Make standard streams safe to write to.

    Those that are closed are given to nobody: the next file that is opened would be one of them.  What
    can't be encoded is written as Python writes it.

    See Also
    --------
    redirect_to_null
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            redirect_to_null(number)
            stream: TextIO = os.fdopen(number, "w" if number else "r", closefd=False)
            setattr(sys, name, stream)
    # Names of files may hold bytes that are not text.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def redirect_to_null(descriptor: int) -> None:
    """Let a descriptor lead nowhere.

    Parameters
    ----------
    descriptor : int
        Its number, which from now on stands for /dev/null.

    Examples
    --------
    >>> with open("log.txt", "wb", buffering=0) as file:
    ...     redirect_to_null(file.fileno())
    ...     _ = file.write(b"lost")
    >>> Path("log.txt").read_bytes()
    b''
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def is_stream_full(error: BaseException) -> TypeGuard[OSError]:
    """Say whether an exception means that a stream can't be written: its device is full or gone.

    Parameters
    ----------
    error : BaseException
        What was raised; of a file, unlike of a stream, an `OSError` has the name.

    Returns
    -------
    bool
        Whether nothing more can be written there.

    Examples
    --------
    >>> import errno
    >>> is_stream_full(OSError(errno.ENOSPC, "no space")), is_stream_full(ValueError())
    (True, False)
    """
    return isinstance(error, OSError) and error.errno in _REFUSED and error.filename is None
