"""The root of all errors that a user may see: what went wrong, what to do, and the exit code that it means.

Every room's errors derive from these; the command line prints ``error: …`` and ``help: …`` and leaves with
`exit_code`.  What is wrong in a program are diagnostics (`pse.language.diagnostics`), many in one pass.
"""

import errno
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

    Examples
    --------
    >>> from pse.errors import UsageError
    >>> try:
    ...     pse.trace.open("run2")
    ... except PseError as error:
    ...     print(error.message, "|", error.help, "|", error.exit_code)
    there is no trace run2 | record one with: pse run PROGRAM -p P --trace DIR | 2
    """

    exit_code: int = ExitCode.FAILED

    def __init__(self, message: str, *, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


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
