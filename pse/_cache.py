"""Where `pse` keeps what it can make again: built modules and tools, the tables of its grammar."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from pse.errors import RunError, UsageError

_TITLES = {
    "modules": "compiled modules",
    "toolstack": "compiled MPI tools",
    "grammar": "tables of the language's grammar",
    "fftw.wisdom": "how FFTW computes fastest here",
}
_LOCK = "lock"


@dataclass(frozen=True)
class Kept:
    """What the cache keeps under one name: what it is, and its size in bytes."""

    name: str
    title: str
    size: int


def directory() -> Path:
    """Give the cache directory: `PSE_CACHE`, else the user's cache directory of the system."""
    chosen = os.environ.get("PSE_CACHE")
    if chosen:
        return Path(chosen).absolute()
    import platformdirs

    return platformdirs.user_cache_path("pse")


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
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _delete(entry: Path) -> None:
    """Remove a file, or all of a folder but its lock, for which others may be waiting."""
    if not entry.is_dir():
        entry.unlink(missing_ok=True)
        return
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
        If it belongs to another user than this one and root.
    """
    found = directory()
    owner = stranger(found)
    if owner is None:
        return found
    raise RunError(
        f"the cache directory {found} belongs to {owner}, and pse loads only code of yours or of root's",
        help="set PSE_CACHE to a directory of your own",
    )


def stranger(path: Path) -> str | None:
    """Name the owner of a file or directory, unless that is this user or root; None also if there is none."""
    try:
        owner = path.stat().st_uid
    except OSError:
        return None
    if owner in (0, os.geteuid()):
        return None
    import pwd

    try:
        return f"user {pwd.getpwuid(owner).pw_name}"
    except KeyError:
        return f"user {owner}"
