"""Where a run that can be controlled is found: a socket of its name, in a directory of its user's.

That is ``pse`` in the user's runtime directory (XDG Base Directory Specification), or ``pse-UID`` in the
directory for temporary files.  The socket takes its name when somebody listens.  What a run that was killed
has left, its launcher removes, or the next run that can be controlled.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from pathlib import Path

from pse.errors import RunError, UsageError

_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,47}", re.ASCII)
_LONGEST = 96
"""Bytes that the address of a socket may have; it has another ending while it is made."""
_ENDING = ".control"


def directory() -> Path:
    """Give the directory of the sockets, which only its user may enter."""
    users = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(users) and os.access(users, os.W_OK):
        return Path(users, "pse")
    import tempfile  # Most runs are not controlled, and those that are mostly have the other.

    return Path(tempfile.gettempdir(), f"pse-{os.getuid()}")


def _own_directory() -> Path:
    """Make the directory, and make sure that nobody else put another in its place."""
    path = directory()
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise RunError(
            f"{path} is not a directory of yours alone",
            help=f"chmod 700 {path}, or name a directory of yours in XDG_RUNTIME_DIR",
        )
    return path


def address(name: str) -> str:
    """Give the address of a run.

    Raises
    ------
    UsageError
        If runs can't have this name.
    """
    if not _NAME.fullmatch(name):
        help = "use letters, digits, `_`, `-` and `.`, at most 48 of them"
        raise UsageError(f"a run can't be called {name!r}", help=help)
    path = str(directory() / f"{name}{_ENDING}")
    if len(os.fsencode(path)) > _LONGEST:
        raise UsageError(f"{path} is too long for a socket", help="choose a shorter name, or XDG_RUNTIME_DIR")
    return path


def connect(name: str) -> socket.socket | None:
    """Connect with a run; None if there is none of this name."""
    path = address(name)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    return connection


def remove_stale(name: str) -> None:
    """Remove the socket of a run that is over, if it could not do so itself.

    Parameters
    ----------
    name : str
        The run's name.

    See Also
    --------
    running
    """
    with contextlib.suppress(OSError):
        if (found := connect(name)) is not None:
            found.close()
        else:
            os.unlink(address(name))


def require_free(name: str) -> None:
    """Make sure that no run goes on under this name.

    Raises
    ------
    UsageError
        If one does, or runs can't have it.
    """
    found = connect(name)
    if found is not None:
        found.close()
        raise UsageError(f"a run called {name} goes on already", help="choose another name for --control")


def listen(name: str) -> socket.socket:
    """Open the socket of a run of this name."""
    _own_directory()
    require_free(name)
    for other in _names():
        with contextlib.suppress(UsageError):
            remove_stale(other)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    new = f"{address(name)}.{os.getpid()}"
    listener.bind(new)
    listener.listen()
    os.rename(new, address(name))  # Whoever finds it can connect.
    return listener


def running() -> list[str]:
    """List the runs of this user on this machine that can be controlled.

    Returns
    -------
    list of str
        Their names, as ``pse run --control NAME`` gave them.

    Examples
    --------
    >>> from pse.runtime.control import running
    >>> running()  # doctest: +SKIP
    ['heat']
    """
    names = []
    for name in _names():
        with contextlib.suppress(UsageError, OSError):
            if found := connect(name):
                found.close()
                names.append(name)
    return names


def _names() -> list[str]:
    """List the names of all sockets, also of runs that are over."""
    found = (path.name.removesuffix(_ENDING) for path in directory().glob(f"*{_ENDING}"))
    return sorted(filter(_NAME.fullmatch, found))
