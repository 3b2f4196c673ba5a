"""Locks on files, beside errors and texts under all rooms: the system gives them back, even after a kill."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from typing import IO


def try_lock(file: int | IO[bytes], *, shared: bool = False) -> bool:
    """Lock an open file until it is closed, unless somebody else has; OSError: there are no locks here.

    Those who want it `shared` don't keep each other away.
    """
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def held(path: str | os.PathLike[str], mode: int = 0o644) -> Iterator[None]:
    """Hold the lock of a file, which is made if need be; waits for whoever has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
