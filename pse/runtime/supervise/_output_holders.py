"""Processes that modules leave behind: they hold a rank's output, for whose end MPI's launcher waits.

Linux only: reads /proc.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import time
from collections.abc import Iterator

from pse import _proc
from pse.runtime.supervise._processes import RankProcess
from pse.text import duration_text, list_text

NOTICE = 1.0
"""Seconds after the last rank's end from which on they are named."""

GRACE = 5.0
"""Seconds after the last rank's end when they are ended."""

_WRITES = os.O_WRONLY | os.O_RDWR


class OutputHolders:
    """Who still holds the pipes of ranks that have ended.

    Call `look` from time to time once all ranks have ended.
    """

    def __init__(self) -> None:
        self._pipes: set[str] = set()
        self._began = float("inf")
        self._noticed = self._ended = False

    def add(self, process: RankProcess) -> None:
        """Remember the pipes of a rank."""
        for fd in (1, 2):
            path = f"/proc/{process.pid}/fd/{fd}"
            with contextlib.suppress(OSError):
                if stat.S_ISFIFO(os.stat(path).st_mode):
                    self._pipes.add(os.readlink(path))

    def left(self) -> bool:
        """Say whether a process is left."""
        return bool(self._find())

    def look(self) -> str:
        """Give what is to be said of processes that are left, once; end them when their time is over."""
        now = time.monotonic()
        self._began = min(self._began, now)
        if now >= self._began + GRACE and not self._ended:
            self._ended = True
            return self._end()
        if now >= self._began + NOTICE and not self._noticed:
            self._noticed = True
            names = _names(self._find())
            return f"waiting for {names}, which a module started and did not wait for\n" if names else ""
        return ""

    def _end(self) -> str:
        found = self._find()
        names = _names(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return ""
        return (
            f"warning: pse ended {names}, which a module started, {duration_text(GRACE)} after the program\n"
            "help: let the module wait for what it starts, or give that an output of its own\n"
        )

    def _find(self) -> list[int]:
        """Find the other processes that may write to one of the pipes, but what stands for a rank."""
        others = (p for p in _proc.processes() if p != os.getpid() and _proc.name(p) != _proc.STAND_IN)
        return [pid for pid in others if any(link in self._pipes for link in _written(pid))]


def _written(pid: int) -> Iterator[str]:
    """Give what a process may write to, as /proc names it."""
    for fd, link in _proc.open_files(pid):
        with contextlib.suppress(OSError):
            if link.startswith("pipe:") and _flags(pid, fd) & _WRITES:
                yield link


def _flags(pid: int, fd: int) -> int:
    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
        return next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))


def _names(pids: list[int]) -> str:
    return list_text([f"process {pid} ({_proc.command_line(pid)})" for pid in pids], "and")
