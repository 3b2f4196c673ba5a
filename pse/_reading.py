"""Programs and modules are files: one place opens them, and light enough for what starts ranks."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def open_text(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a program or a module's source to read: a file, nothing that could keep its reader waiting.

    Parameters
    ----------
    path : path
        The file.

    Yields
    ------
    BinaryIO
        Its bytes.

    Raises
    ------
    OSError
        The system refuses, or it is a pipe or a device.

    Examples
    --------
    >>> with open_text("heat.coven") as file:
    ...     file.readline()
    b'coven 1\n'
    >>> with open_text("/dev/null") as file:
    ...     file.readline()
    Traceback (most recent call last):
        ...
    OSError: [Errno 6] it is a pipe or a device, not a file: '/dev/null'
    """
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.ENXIO, "it is a pipe or a device, not a file", os.fspath(path))
        yield file


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)  # A pipe would wait for who writes to it.
