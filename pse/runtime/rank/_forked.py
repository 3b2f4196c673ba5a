"""Processes that a module forks: they are not ranks, and must neither go on with the run nor fail it."""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn, TextIO


def end_forked(failure: BaseException | None = None) -> NoReturn:
    """End this process, which a module has forked, as Python ends one.

    Parameters
    ----------
    failure : BaseException, optional
        What was raised in it.
    """
    code = 0
    if isinstance(failure, SystemExit):
        code = _exit_code(failure, sys.stderr)
    elif failure is not None:
        traceback.print_exception(failure)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _exit_code(exit: SystemExit, stream: TextIO) -> int:
    """Give the exit code that ``sys.exit(value)`` means."""
    if exit.code is None or isinstance(exit.code, int):
        return int(exit.code or 0)
    stream.write(f"{exit.code}\n")
    return 1
