"""A rank that fails before all have agreed on the run: it says why, and the others don't wait for it.

They wait for it in MPI, and MPI_Finalize would wait for them.  So it leaves without; the launcher, the
process manager or the node's monitor ends the others.  Loads nothing of ours before something has gone
wrong: it may be the installation that is broken.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from pse._abi.environment import PMI_ABORT
from pse._abi.waiting import ABORT_MILLISECONDS, DRAIN_MILLISECONDS, ExitCode

if TYPE_CHECKING:
    from pse.runtime.supervise._launcher_records import Launcher

_STOPPED = 128 + signal.SIGINT
_TURN_SECONDS = 0.25
_LAST_TURN = 8
_LOOK_SECONDS = 0.01


@contextlib.contextmanager
def ending_the_job() -> Iterator[None]:
    """End the whole job, with this rank's name, if what is done inside fails.

    Examples
    --------
    >>> with ending_the_job():
    ...     import pse
    """
    try:
        yield
    except KeyboardInterrupt:
        os._exit(_STOPPED)  # Whoever stopped the job says so.
    except Exception as error:
        who = f"pid {os.getpid()} on {socket.gethostname()}"
        code, text = int(ExitCode.FAILED), f"error: {who}: {type(error).__name__}\n"
        with contextlib.suppress(Exception):  # The words below may be what is broken.
            code, text = _explain(error)
        _tell(code, text)
        _leave(code)


@contextlib.contextmanager
def failing_together() -> Iterator[None]:
    """Let rank 0 alone say what is wrong on all ranks; what goes wrong on one of them ends the job.

    Inside, a UsageError is what all ranks raise.  It goes on on rank 0; the others leave after it, with its
    exit code: the first to leave ends the job, and what others have yet to say is lost.

    Raises
    ------
    UsageError
        What all ranks raised, on rank 0.

    Examples
    --------
    >>> with failing_together():
    ...     raise pse.errors.UsageError("there is no such file")
    Traceback (most recent call last):
        ...
    UsageError: there is no such file
    """
    from pse.errors import UsageError

    failed = None
    with ending_the_job():
        try:
            yield
        except UsageError as error:
            failed = error
    if failed is not None and _rank() == 0:
        raise failed
    if failed is not None:
        _await_departure()
        sys.exit(failed.exit_code)


def name_aborts() -> None:
    """Have modules that call MPI_Abort named, in a process that has not loaded MPI.

    See Also
    --------
    ending_the_job

    Examples
    --------
    >>> name_aborts()
    """
    from pse.runtime import _faults

    _faults.find_aborts()


def _who() -> str:
    from pse.runtime.supervise._processes import name_rank

    return name_rank(_rank(), socket.gethostname(), os.getpid())


def _rank() -> int:
    from pse.runtime.supervise._processes import own_rank

    return own_rank() or 0


def _explain(error: Exception) -> tuple[int, str]:
    from pse.errors import RunError
    from pse.runtime.supervise._error_format import DEBUG, exit_code_of, format_error

    if isinstance(error, ImportError) and not os.environ.get(DEBUG):
        error = RunError(
            f"{_who()} can't load what pse needs: {error}",
            help=f"every node needs pse with the same packages and MPI; {DEBUG}=1 brings the traceback",
        )
        return exit_code_of(error), format_error(error)
    return exit_code_of(error), f"on {_who()}:\n{format_error(error)}"


def _launcher() -> Launcher | None:
    with contextlib.suppress(Exception):
        from pse.runtime.supervise._launcher_records import find_launcher

        return find_launcher()
    return None


def _tell(code: int, text: str) -> None:
    """Leave a record for the launcher, who prints the first one; without one, print."""
    launcher = _launcher()
    if launcher is not None and launcher.record_failure(_rank(), code, text):
        return
    # What is broken may be so for all ranks: the first to speak ends the others.
    time.sleep(min(_rank(), _LAST_TURN) * _TURN_SECONDS)
    if _takes_the_word() and not _another_has_left():
        os.write(_job_stderr(), text.encode(errors="backslashreplace"))


def _takes_the_word() -> bool:
    """Be the one rank of this node that speaks, until this process ends; False if there is another."""
    try:
        word = socket.socket(socket.AF_UNIX)
    except OSError:  # It may open no more files: better all speak than none.
        return True
    try:
        word.bind(f"\0pse-failed-{os.getuid()}-{os.getppid()}")
    except OSError:
        word.close()
        return False
    word.detach()
    return True


def _await_departure() -> None:
    """Wait, for as long as the last to speak would, until a rank of this node has ended.

    Where MPI has been started, its end waits for all.
    """
    deadline = time.monotonic() + _LAST_TURN * _TURN_SECONDS
    while "mpi4py.MPI" not in sys.modules and not _another_has_left() and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _another_has_left() -> bool:
    """Say whether a rank of this node has ended: it has said why, and its launcher will end the rest."""
    with contextlib.suppress(Exception):
        from pse.runtime.supervise._processes import find_ranks, local_ranks

        return len(find_ranks(os.getppid())) < local_ranks()
    return False


def _job_stderr() -> int:
    with contextlib.suppress(Exception):
        from pse.runtime.supervise._processes import open_job_stderr

        return open_job_stderr()
    return 2


def _leave(code: int) -> NoReturn:
    launcher = _launcher()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        time.sleep(DRAIN_MILLISECONDS / 1e3)  # What lies in pipes is lost when the job ends.
        if launcher is None or not launcher.sees_all:
            _end_others(code)
    os._exit(code)


def _end_others(code: int) -> None:
    """Have the process manager end the job, as MPI_Abort does."""
    from pse.runtime.supervise._processes import proxy_descriptor

    proxy = proxy_descriptor()
    if proxy >= 0:
        os.write(proxy, f"{PMI_ABORT}{code}\n".encode())
        time.sleep(ABORT_MILLISECONDS / 1e3)
    elif "mpi4py.MPI" in sys.modules:
        from mpi4py import MPI

        MPI.COMM_WORLD.Abort(code)
