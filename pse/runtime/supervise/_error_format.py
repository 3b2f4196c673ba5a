"""How an exception becomes the text that a user reads; one form for launcher, ranks and every command."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from pse._abi.channel import NO_SITE
from pse._abi.waiting import ExitCode
from pse.errors import NO_MPI_HELP, PseError, RunError
from pse.language.diagnostics import ProgramRefused, print_diagnostics
from pse.runtime._channel import Board
from pse.runtime.supervise._stdio import is_stream_full
from pse.text import count_text, exception_text

DEBUG = "PSE_DEBUG"
"""Environment variable that brings the traceback of an internal error."""


def describe_running(board: Board, ranks: Sequence[int], sites: Sequence[str]) -> str:
    """Say which calls run on ranks of a board, by the texts of all call sites."""
    if len(ranks) == 1:
        site = board.slot(ranks[0]).site
        return f"  running: {sites[site]}\n" if site != NO_SITE else ""
    numbers = Counter(board.slot(rank).site for rank in ranks)
    return "".join(
        f"  meanwhile, on {count_text(count, 'rank')}: {sites[site]}\n"
        for site, count in sorted(numbers.items())
        if site != NO_SITE
    )


def format_error(error: BaseException) -> str:
    """Write an exception as the user sees it: the one form for command line, launcher and ranks.

    Parameters
    ----------
    error : BaseException
        What went wrong.

    Returns
    -------
    str
        ``error: …``, the frames of a module's own exception, and ``help: …``; ends with a newline.

    Examples
    --------
    >>> print(format_error(RunError("the rank is gone", help="start it again")), end="")
    error: the rank is gone
    help: start it again
    """
    if isinstance(error, ProgramRefused):
        return error.message
    if isinstance(error, PseError):
        return _known(error)
    if is_stream_full(error):
        return _known(
            RunError(
                f"output can't be written: {error.strerror}", help="free space on the disk that it goes to"
            )
        )
    if isinstance(error, MemoryError):
        return _known(_no_memory(error))
    if _lacks_mpi(error):
        words = " ".join(exception_text(error).split())
        return _known(RunError(f"mpi4py can't load an MPI library ({words})", help=NO_MPI_HELP))
    return _internal(error)


def _lacks_mpi(error: BaseException) -> bool:
    """Whether mpi4py found no MPI library: one that is compiled for any MPI looks for it itself."""
    if isinstance(error, ImportError):
        return error.name == "mpi4py.MPI"
    frames = traceback.extract_tb(error.__traceback__) if isinstance(error, RuntimeError) else []
    return bool(frames) and os.path.basename(frames[-1].filename) == "_mpiabi.py"


def _no_memory(error: MemoryError) -> RunError:
    """Say for what the system has no memory left, if the exception says it."""
    words = str(error).removeprefix("no memory left")
    what = words if words.startswith(" ") or not words else f": {words}"
    return RunError(
        f"the system has no memory left{what}",
        help="use smaller arrays or fewer processors, or end what else takes memory here (free -h, top)",
    )


def print_error(error: BaseException, stream: TextIO) -> None:
    """Print an exception as the user sees it: diagnostics in colour on a terminal, all else as plain text.

    Parameters
    ----------
    error : BaseException
        What was raised.
    stream : TextIO
        Where to, usually stderr.

    Examples
    --------
    >>> import sys
    >>> from pse.errors import UsageError
    >>> print_error(UsageError("there is no file heta.coven", help="did you mean heat.coven?"), sys.stdout)
    error: there is no file heta.coven
    help: did you mean heat.coven?
    """
    if isinstance(error, ProgramRefused):
        print_diagnostics(error.diagnostics, error.sources, stream)
    else:
        stream.write(format_error(error))


def exit_code_of(error: BaseException) -> int:
    """Give the exit code that an exception means.

    Parameters
    ----------
    error : BaseException
        What went wrong.

    Returns
    -------
    int
        That of a `PseError`; 3 for what nobody foresaw.

    Examples
    --------
    >>> from pse.errors import UsageError
    >>> int(exit_code_of(UsageError("no such file"))), int(exit_code_of(ZeroDivisionError()))
    (2, 3)
    """
    return error.exit_code if isinstance(error, PseError) else ExitCode.FAILED


def _known(error: PseError) -> str:
    lines = [f"error: {error.message.rstrip()}"]
    frames = getattr(error, "traceback", "")
    if frames:
        lines.append(frames.rstrip("\n"))
    if error.help:
        lines.append(f"help: {error.help}")
    return "\n".join(lines) + "\n"


def _internal(error: BaseException) -> str:
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        return "".join(traceback.format_exception(error))
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    words = " ".join(exception_text(error).split())
    return (
        f"error: internal error: {type(error).__name__}: {words}{place}\n"
        f"help: this is a bug in pse; {DEBUG}=1 in the environment brings the traceback\n"
    )
