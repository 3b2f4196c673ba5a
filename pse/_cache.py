"""Where `pse` keeps what it can make again: built modules and tools, the tables of its grammar, pages."""

import contextlib
import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from pse._locks import held, try_lock
from pse.errors import RunError, UsageError
from pse.records import dataclass

_TITLES = {
    "modules": "compiled modules",
    "toolstack": "compiled MPI tools",
    "grammar": "tables of the language's grammar",
    "trees": "syntax trees of programs and directives",
    "layouts": "where boxes lie in the graphs that pse desk draws",
    "pages": "pages of traces that pse view --serve has made",
    "fftw": "how FFTW computes fastest here",
    "fftw.wisdom": "how FFTW computes the rows of programs/fft2d.coven fastest here",
}
_LOCK = "lock"


@dataclass(frozen=True)
class Kept:
    """What the cache keeps under one name: what it is, and its size in bytes."""

    name: str
    title: str
    size: int


def directory() -> Path:
    """Give the cache directory: `PSE_CACHE`, else one in the user's (XDG Base Directory Specification)."""
    chosen = os.environ.get("PSE_CACHE")
    if chosen:
        return Path(chosen).absolute()
    users = os.environ.get("XDG_CACHE_HOME", "")  # One that is not absolute is to be ignored.
    return Path(users if os.path.isabs(users) else os.path.expanduser("~/.cache"), "pse")


def advice(failure: OSError) -> str:
    """Say what helps where the cache can't be written to."""
    where = f"set PSE_CACHE to a directory that you may write to (it is {directory()} now)"
    return f"free some space, or {where}" if failure.errno in (errno.ENOSPC, errno.EDQUOT) else where


def contents() -> list[Kept]:
    """List what is in the cache, by name."""
    return [Kept(name, _TITLES[name], size) for name in _TITLES if (size := _size(directory() / name))]


def clear(names: Collection[str] = ()) -> int:
    """Remove what is kept under some names, or everything.

    What is being built at this moment stays.

    Parameters
    ----------
    names : collection of str
        Names that `contents` gives; empty for all.

    Returns
    -------
    int
        How many bytes were freed.

    Raises
    ------
    UsageError
        If nothing is kept under one of the names.
    """
    if unknown := [name for name in names if name not in _TITLES]:
        raise UsageError(
            f"the cache keeps nothing under the name {unknown[0]}", help=f"names are {', '.join(_TITLES)}"
        )
    return sum(_remove(directory() / name) for name in names or _TITLES)


def _size(path: Path) -> int:
    """Count the bytes of a file, or of the files in a folder."""
    files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    size = 0
    for file in files if path.is_dir() else [path]:
        with contextlib.suppress(FileNotFoundError):
            size += file.lstat().st_size
    return size


def _remove(path: Path) -> int:
    before = _size(path)
    for entry in path.iterdir() if path.is_dir() else [path]:
        with _unused(entry / _LOCK) as unused:
            if unused:
                _delete(entry)
    return before - _size(path)


@contextlib.contextmanager
def _unused(lock: Path) -> Iterator[bool]:
    """Hold a lock, and say whether it was to be had; what has no lock is nobody's."""
    if not lock.is_file():
        yield True
        return
    with lock.open("ab") as file:
        yield try_lock(file)


def _delete(entry: Path) -> None:
    """Remove a file, or all of a folder but its lock, for which others may be waiting."""
    if not entry.is_dir():
        entry.unlink(missing_ok=True)
        return
    import shutil  # Rarely is anything removed.

    for inner in entry.iterdir():
        if inner.is_dir():
            shutil.rmtree(inner, ignore_errors=True)
        elif inner.name != _LOCK:
            inner.unlink(missing_ok=True)


def code_directory() -> Path:
    """Give the cache directory for what processes load: no code of strangers, so it must not be theirs.

    Raises
    ------
    RunError
        If another user than this one and root may put code there.
    """
    found = directory()
    refuse(found)
    return found


def refuse(path: Path) -> None:
    """Make sure that nothing strangers have made would be loaded from a place in the cache.

    Raises
    ------
    RunError
        If `distrust` says why.
    """
    if why := distrust(path):
        raise RunError(
            f"{why}, and pse loads only code that nobody but you and root can have made",
            help="set PSE_CACHE to a directory of your own that only you may write to",
        )


def distrust(path: Path) -> str | None:
    """Say why what is in a place of the cache is not loaded; None if it can be.

    The cache directory, the file, and every directory between them must belong to this user or root.  Nobody
    else may write there, but for directories in which everybody can only change what is theirs (mode 1777).
    """
    top = directory()
    if not path.is_relative_to(top):
        return f"{path} is not in the cache directory {top}"
    between = path.relative_to(top).parts
    places = [top.joinpath(*between[:count]) for count in range(len(between) + 1)]
    return next((why for why in map(_stranger, places) if why), None)


def _stranger(path: Path) -> str | None:
    """Say who else than this user and root owns or may change a file or directory; None if nobody."""
    try:
        link, status = path.lstat(), path.stat()
    except OSError:
        return None
    what = f"{'the cache directory' if path == directory() else 'in the cache,'} {path}"
    for owner in (link.st_uid, status.st_uid):
        if owner not in (0, os.geteuid()):
            return f"{what} belongs to {_user(owner)}"
    if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return None
    ours = status.st_gid in (0, os.getegid())  # Many users have a group of their own, which may write.
    if status.st_mode & (stat.S_IWOTH if ours else stat.S_IWOTH | stat.S_IWGRP):
        return f"{what} can be written to by other users"
    return None


def _user(number: int) -> str:
    import pwd

    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"


def locked(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of a folder in the cache."""
    path = folder / _LOCK
    if path.is_dir():  # Nothing of ours makes a directory there.
        import shutil

        shutil.rmtree(path)
    return held(path)
