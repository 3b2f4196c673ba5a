"""What comes before MPI in a process: the stack of tools, and the runtime of sanitizers.

A process that has begun already can't have it any more: it begins again, by exec.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pse._abi.environment import TRACE_VARIABLE
from pse.toolstack._mpi import find_mpi
from pse.toolstack._stack import environment

_RESTARTED = "PSE_RESTARTED"
"""Environment variable: the process number of a rank that has begun again under its tools."""


def preload_tools(tools: str | None, trace: str | None = None) -> None:
    """Have what this process starts run under MPI tools.

    Parameters
    ----------
    tools : str or None
        The configuration's path, if there are to be any.
    trace : str, optional
        Directory for what tools record.

    Raises
    ------
    UsageError
        Something is wrong with the configuration, with file and line.

    Examples
    --------
    >>> preload_tools(None)

    See Also
    --------
    restart_preloaded
    """
    if tools is None:
        return
    os.environ.update(environment(tools, find_mpi()))
    if trace is not None:
        os.environ[TRACE_VARIABLE] = os.path.abspath(trace)


def restart_preloaded(tools: str | None, trace: str | None, sanitizers: Sequence[str]) -> None:
    """Have this process begin again under tools and sanitizers; return if it has, or if there are none.

    Parameters
    ----------
    tools, trace : str or None
        As `preload_tools` takes them.
    sanitizers : sequence of str
        Among ``address`` and ``undefined``.

    Raises
    ------
    UsageError
        Something is wrong with the configuration, with file and line.
    BuildError
        The compiler has no runtime for a sanitizer.

    Examples
    --------
    >>> restart_preloaded(None, None, [])

    See Also
    --------
    preload_tools
    """
    if tools is None and not sanitizers:
        return
    if os.environ.pop(_RESTARTED, "") == str(os.getpid()):
        _spare_children(sanitizers)
        return
    preload_tools(tools, trace)
    if sanitizers:
        from pse.modules.build import sanitizer_environment  # Few need it.

        os.environ.update(sanitizer_environment(sanitizers, dict(os.environ)))
    os.environ[_RESTARTED] = str(os.getpid())
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _spare_children(sanitizers: Sequence[str]) -> None:
    """Let what modules start be without the sanitizer's runtime."""
    if "address" in sanitizers:
        _, _, *others = os.environ["LD_PRELOAD"].split(":")
        os.environ["LD_PRELOAD"] = ":".join(others)
