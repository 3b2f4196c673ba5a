"""A command of ``pse`` on several ranks of this machine, of which mpiexec's own words are left out."""

from __future__ import annotations

import functools
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

from pse._abi.waiting import ExitCode
from pse._proc import has_killed_child
from pse.errors import RunError, UsageError
from pse.runtime.launch._mpiexec import (
    RANK,
    Mpiexec,
    command_on_ranks,
    find_mpiexec,
    most_local_ranks,
    rank_environment,
)
from pse.runtime.supervise import _processes as processes
from pse.runtime.supervise._raised_signals import raised_signals
from pse.runtime.supervise._rank_output import RankOutput

_MARK = "PSE_COMMAND"
_SILENCE = 2.0
"""Seconds without output after which it is looked whether a rank was killed: Intel MPI waits for it."""


def run_command_on_ranks(ranks: int, arguments: Sequence[str]) -> int:
    """Execute ``python -m pse`` on ranks that mpiexec starts on this machine; nothing is left of them.

    Parameters
    ----------
    ranks : int
        How many.
    arguments : sequence of str
        The words after ``python -m pse``.

    Returns
    -------
    int
        The exit code of the ranks.

    Raises
    ------
    RunError
        If there is no mpiexec, or a rank was killed.
    UsageError
        If the ranks are more than this machine takes.

    See Also
    --------
    command_on_ranks
    """
    mpiexec = find_mpiexec()
    if ranks > (most := most_local_ranks()):
        raise UsageError(f"-n {ranks}: this machine takes at most {most} processes", help="use fewer")
    with raised_signals(), _started(command_on_ranks(ranks, [*RANK, *arguments]), mpiexec) as process:
        _pass_on_output(process, mpiexec)
        code = process.wait()
    if code and code not in tuple(ExitCode):
        raise RunError(
            f"a process of `pse {arguments[0]}` was killed, or not even started (mpiexec ended with {code})",
            help="if there is too little memory, use fewer processes, or leave -n out",
        )
    return code


@contextmanager
def _started(line: Sequence[str], mpiexec: Mpiexec) -> Iterator[subprocess.Popen[bytes]]:
    mark = os.urandom(8).hex()
    processes.adopt_orphans(True)
    try:
        with subprocess.Popen(
            line,
            env={**rank_environment(os.environ, mpiexec, local=True), _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # A terminal's Ctrl-C is for this process alone.
            preexec_fn=mpiexec.die_with_starter,
        ) as process:
            try:
                yield process
            finally:
                processes.kill_job(os.getpid(), f"{_MARK}={mark}")
    finally:
        processes.adopt_orphans(False)


def _pass_on_output(process: subprocess.Popen[bytes], mpiexec: Mpiexec) -> None:
    """Print what ranks print, until all of them have closed their streams; end them if one was killed."""
    with selectors.DefaultSelector() as selector:
        for source, target in ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer)):
            assert source is not None
            output = RankOutput(source, functools.partial(_print, target), mpiexec.hydra)
            output.drop_banners()
            selector.register(output.fd, selectors.EVENT_READ, output)
        while selector.get_map():
            ready = selector.select(_SILENCE)
            if not ready and has_killed_child(process.pid):
                process.kill()
                return
            for key, _ in ready:
                if not key.data.read_available():
                    selector.unregister(key.fd)


def _print(target: BinaryIO, data: bytes) -> None:
    target.write(data)
    target.flush()
