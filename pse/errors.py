"""The root of all errors that a user may see: what went wrong, what to do, and the exit code that it means.

Every room's errors derive from these; the command line prints ``error: …`` and ``help: …`` and leaves with
`exit_code`.  What is wrong in a program are diagnostics (`pse.language.diagnostics`), many in one pass.
"""

import errno
import os
from pathlib import Path
from typing import Any, Final

from pse._abi.waiting import ExitCode

DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Why a file can't grow: the numbers of an `OSError`."""


class PseError(Exception):
    """Any failure that pse knows by name.

    Parameters
    ----------
    message : str
        What was wrong and where, and what was expected.
    help : str, optional
        What to do about it.
    """

    exit_code: int = ExitCode.FAILED

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class ProgramError(PseError):
    """The program is wrong."""

    exit_code: int = ExitCode.PROGRAM


class UsageError(PseError):
    """The command line is wrong."""

    exit_code: int = ExitCode.USAGE


class RunError(PseError):
    """A module or a rank failed."""

    exit_code: int = ExitCode.FAILED


class EvaluationError(ProgramError):
    """An expression has no value: division by zero, overflow, a name without a value.

    Parameters
    ----------
    message : str
        What was wrong.
    span : pse.language.Span, optional
        The smallest expression that has no value.
    """

    def __init__(self, message: str, span: Any = None, *, help: str | None = None) -> None:
        super().__init__(message, help=help)
        self.span = span


class ModuleNotFound(ProgramError):
    """A module finder found nothing under an import path."""


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
    """
    target = Path(output).resolve()
    is_special = target.exists() and not target.is_file()
    draft = target if is_special else target.with_name(f".{target.name}.part")
    try:
        draft.write_bytes(data)
        if not is_special:
            draft.replace(target)
    except OSError as error:
        if not is_special:
            draft.unlink(missing_ok=True)
        raise UsageError(f"cannot write {output}: {error.strerror or error}") from error
