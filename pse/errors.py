"""The root of all errors that a user may see: what went wrong, what to do, and the exit code that it means.

Every room's errors derive from these; the command line prints ``error: …`` and ``help: …`` and leaves with
`exit_code`.  What is wrong in a program are diagnostics (`pse.language.diagnostics`), many in one pass.
"""

import errno
import os
from typing import Any, Final

from pse._abi.waiting import ExitCode

DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Why a file can't grow: the numbers of an `OSError`."""


LIMITS_HELP: Final = "look at the limits of this shell (ulimit -a) and of its cgroup"
"""What to do where the system refuses memory that processes share."""


NO_MPI_HELP: Final = (
    "install the embedded MPI (pip install 'pse[mpich]'), or load your site's MPI and compile mpi4py for it: "
    "pip install --no-binary mpi4py --force-reinstall mpi4py"
)
"""What to do where mpi4py finds no MPI library."""


_RED, _GREEN, _PLAIN = "\x1b[1;31m", "\x1b[1;32m", "\x1b[0m"


class PseError(Exception):
    """Any failure that pse knows by name.

    Parameters
    ----------
    message : str
        What was wrong and where, and what was expected.
    help : str, optional
        What to do about it.

    Examples
    --------
    >>> from pse.errors import UsageError
    >>> try:
    ...     pse.trace.open("run2")
    ... except PseError as error:
    ...     print(error.message, "|", error.help.partition(" (")[0], "|", error.exit_code)
    there is no trace run2 | record one with: pse run PROGRAM -p P --trace DIR | 2
    """

    exit_code: int = ExitCode.FAILED

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def _render_traceback_(self) -> list[str]:
        """Give what IPython shows instead of a traceback: not the inside of pse."""
        lines = [f"{_RED}error{_PLAIN}: {self.message}"]
        return lines + ([f"{_GREEN}help{_PLAIN}: {self.help}"] if self.help else [])


class ProgramError(PseError):
    """The program is wrong.

    See Also
    --------
    PseError
    """

    exit_code: int = ExitCode.PROGRAM


class UsageError(PseError):
    """The command line is wrong.

    See Also
    --------
    PseError
    """

    exit_code: int = ExitCode.USAGE


class RunError(PseError):
    """A module or a rank failed.

    See Also
    --------
    PseError
    """

    exit_code: int = ExitCode.FAILED


class EvaluationError(ProgramError):
    """An expression has no value: division by zero, overflow, a name without a value.

    Parameters
    ----------
    message : str
        What was wrong.
    span : pse.language.Span, optional
        The smallest expression that has no value.
    help : str, optional
        What to do.

    See Also
    --------
    PseError
    """

    def __init__(self, message: str, span: Any = None, *, help: str | None = None) -> None:
        super().__init__(message, help=help)
        self.span = span


class ModuleNotFound(ProgramError):
    """A module finder found nothing under an import path.

    See Also
    --------
    PseError
    """


_REMEDIES: Final = {
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM), "change who may use it (ls -ld, chmod), or name another path"
    ),
    **dict.fromkeys(DISK_FULL, "free space there, or name a path on another disk"),
    errno.EROFS: "its file system takes no changes: name a path on another one",
    errno.EISDIR: "it is a directory: name a file",
    errno.ENOTDIR: "a part of this path is a file: name a path that leads through directories",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ELOOP: "a link in this path leads back to itself: remove the link",
    errno.EIO: "the device or file system fails, or holds no file there: name another path",
    errno.EMFILE: "too many files are open: raise the limit (ulimit -n)",
}


def system_help(
    error: BaseException, path: str | os.PathLike[str], *, ending: str = "", writing: bool = False
) -> str:
    """Say what to do about a path that the system refuses.

    Parameters
    ----------
    error : BaseException
        What was raised; those other than `OSError` mean that it can't be a path.
    path : path
        The path.
    ending : str, optional
        How names end that could have been meant.
    writing : bool, default False
        Whether something was to be made there.

    Returns
    -------
    str
        The advice; where a file isn't there, it names one of similar name.

    Examples
    --------
    >>> system_help(FileNotFoundError(errno.ENOENT, "No such file or directory"), "hat.coven")
    'did you mean `heat.coven`?'
    >>> system_help(NotADirectoryError(errno.ENOTDIR, "Not a directory"), "heat.c/run1")
    'a part of this path is a file: name a path that leads through directories'
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in _REMEDIES:
        return _REMEDIES[number]
    if number != errno.ENOENT:
        return "name another path"
    if writing:
        return "nothing can be made there: name a path in a directory that you can write to"
    return _similar(os.fspath(path), ending)


def _similar(path: str, ending: str) -> str:
    """Name what could have been meant by a path where nothing is."""
    from pse.text import nearest_word  # Most paths are right.

    folder, name = os.path.split(path)
    try:
        beside = [entry for entry in os.listdir(folder or ".") if entry.endswith(ending)]
    except OSError:
        return f"there is no directory {folder} either: paths are relative to the current directory"
    whole = name + ending
    found = whole if whole in beside else nearest_word(name, beside, cutoff=0.5)
    what = f"a file that ends in {ending}" if ending else "one that exists"
    return (
        f"did you mean `{os.path.join(folder, found)}`?"
        if found
        else f"name {what}, relative to the current directory"
    )
