"""Files and directories that appear whole or not at all, beside errors and texts under all rooms.

What is written goes to a hidden neighbour first and takes its name at the end; whatever goes wrong, the
neighbour is removed, and what was there before stays.  A writer that is killed leaves its neighbour
(``.NAME.….part``), and never less than what was there.  A `brief_directory` goes with its process.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pse.errors import UsageError, system_help

_HERE: Final = -100
"""AT_FDCWD: paths count from the working directory."""
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE: both names exist, and change places."""


def require_directory(output: str | os.PathLike[str]) -> None:
    """Refuse an output whose directory does not exist: none is made, since its name may be a mistake.

    Parameters
    ----------
    output : path
        The file or directory that will be made.

    Raises
    ------
    UsageError
        The directory that it is to be in does not exist.

    Examples
    --------
    >>> require_directory("nowhere/run1.json")
    Traceback (most recent call last):
        ...
    UsageError: cannot write nowhere/run1.json: there is no directory nowhere
    """
    parent = os.path.dirname(os.fspath(output)) or "."
    if not os.path.isdir(parent):
        raise UsageError(
            f"cannot write {output}: there is no directory {parent}", help=f"make it with: mkdir -p {parent}"
        )


def write_file(data: bytes, output: str | os.PathLike[str]) -> None:
    """Write a file, all of it or nothing; what is there already stays until then.

    Parameters
    ----------
    data : bytes
        All of the file.
    output : path
        The file; a device or pipe is written to directly.

    Raises
    ------
    UsageError
        The system refuses, with its reason.

    Examples
    --------
    >>> write_file(b"[]", "list.json")
    >>> Path("list.json").read_bytes()
    b'[]'
    """
    with explained(output):
        replace_file(output, data)


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Do the same, and raise what the system says.

    Parameters
    ----------
    path : path
        The file; its mode stays, a link stays a link, a device or pipe is written to directly.
    data : bytes
        Its new contents.

    Raises
    ------
    OSError
        It can't be done; the file is as it was.

    See Also
    --------
    write_file
    """
    with draft_file(path) as draft:
        draft.write_bytes(data)


@contextlib.contextmanager
def explained(output: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the system says about an output into words for users.

    Parameters
    ----------
    output : path
        What is written.

    Raises
    ------
    UsageError
        The system refused, with its reason.

    Examples
    --------
    >>> with explained("run1.json"):
    ...     open("nowhere/run1.json", "w")
    Traceback (most recent call last):
        ...
    UsageError: cannot write run1.json: No such file or directory
    """
    try:
        yield
    except OSError as error:
        message = f"cannot write {output}: {error.strerror or error}"
        raise UsageError(message, help=system_help(error, output, writing=True)) from error


@contextlib.contextmanager
def draft_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty neighbour of a file to write to, which takes its name and mode at the end.

    Parameters
    ----------
    path : path
        The file; one that is there is replaced if it may be written to, a link stays a link, a device or
        pipe is given itself.

    Yields
    ------
    Path
        The neighbour; it is gone whatever happens.

    Raises
    ------
    OSError
        The system refuses.

    Examples
    --------
    >>> with draft_file("list.json") as draft:
    ...     _ = draft.write_text("[1]")
    >>> Path("list.json").read_text()
    '[1]'
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    if target.exists() and not os.access(target, os.W_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, "it is read-only", os.fspath(path))
    draft = _neighbour(target)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        yield draft
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def draft_directory(target: Path) -> Iterator[Path]:
    """Give an empty neighbour of a directory to write into, which takes its name at the end.

    Parameters
    ----------
    target : Path
        The directory; one that is there is replaced with all that is in it.

    Yields
    ------
    Path
        The neighbour; it is gone whatever happens.

    Raises
    ------
    OSError
        The system refuses.

    Examples
    --------
    >>> with draft_directory(Path("copies")) as draft:
    ...     _ = (draft / "one.txt").write_text("1")
    >>> [file.name for file in Path("copies").iterdir()]
    ['one.txt']
    """
    draft = _neighbour(target)
    draft.mkdir()
    try:
        yield draft
        if target.exists() and any(target.iterdir()):
            _exchange(draft, target)
        else:
            draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def brief_directory(prefix: str, parent: str | None = None) -> Iterator[str]:
    """Give a directory that is gone afterwards, also if this process is killed.

    Parameters
    ----------
    prefix : str
        What its name begins with.
    parent : str, optional
        Where it is; by default with the system's temporary files.

    Yields
    ------
    str
        Its path.

    Raises
    ------
    UsageError
        The system refuses, with its reason.

    Examples
    --------
    >>> with brief_directory("pse-ace-") as directory:
    ...     write_file(b"[]", f"{directory}/list.json")
    >>> os.path.exists(directory)
    False
    """
    import subprocess  # Most that is written needs no process.

    with explained(parent or tempfile.gettempdir()):
        directory = tempfile.mkdtemp(prefix=prefix, dir=parent)
    # Its input ends with this process, however that ends.
    guard = ["sh", "-c", 'read -r nothing; rm -rf -- "$0"', directory]
    with subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True):
        yield directory


@contextlib.contextmanager
def locked_output(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other writers who ask for it from an output: for who reads what is there to write it with more.

    The directory that it is in is locked, so nothing is left behind; a kill ends that, too.

    Parameters
    ----------
    path : path
        The file or directory.

    Yields
    ------
    None
        When nobody else has it; at once where the file system has no locks.

    Raises
    ------
    OSError
        The directory can't be opened.

    Examples
    --------
    >>> with locked_output("count.txt"):
    ...     write_file(b"1", "count.txt")
    """
    descriptor = os.open(Path(path).absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _neighbour(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")


def _exchange(one: Path, other: Path) -> None:
    """Let two directories change places at once; where the file system can't, one after the other."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    ends = os.fsencode(one), os.fsencode(other)
    if rename is not None and rename(_HERE, ends[0], _HERE, ends[1], _EXCHANGE) == 0:
        return
    aside = _neighbour(other)
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)
