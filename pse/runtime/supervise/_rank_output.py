"""Passing on what ranks print: whole lines at once, without hydra's banners about ends that are named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO

_CHUNK = 1 << 16
_BANNER = re.compile(
    rb"={70,}$|=   (BAD TERMINATION|(RANK \d+ )?PID \d+ RUNNING|EXIT (CODE|STATUS):|KILLED BY SIGNAL:|"
    rb"CLEANING UP|YOU CAN IGNORE)"
    rb"|YOUR APPLICATION TERMINATED WITH THE EXIT STRING"
    rb"|This typically refers to a problem with your application\.$"
    rb"|Please see the FAQ page for debugging suggestions$"
    rb"|Abort\(\d+\) on node \d+|\[(proxy|mpiexec)[:@]"
)

_GLUED = re.compile(rb"(?<=.)YOUR APPLICATION TERMINATED WITH THE EXIT STRING: .*$")
"""A banner behind a line that a rank did not end: a prompt, or dots that show how far it is."""

_ABORT = re.compile(rb"Abort\(\d+\) on node (\d+) .*: application called MPI_Abort\(")

_UNREACHABLE = tuple(
    re.compile(line, re.MULTILINE)
    for line in (
        rb"^ssh: (?P<why>Could not resolve hostname (?P<host>\S+): .*)",
        rb"^ssh: (?P<why>connect to host (?P<host>\S+) port \d+: .*)",
        rb"^(?P<why>(?:\S+@)?(?P<host>[^\s@:]+): Permission denied \(.*)",
        rb"^(?P<host>)(?P<why>Host key verification failed\.)",
        rb"^\[mpiexec@\S+\] Error: (?P<why>Unable to run bstrap_proxy on (?P<host>\S+?)(:\d+)? \(.*)",
    )
)
"""What ssh says where mpiexec cannot start ranks by it, once without the host; what Intel's mpiexec says."""


class RankOutput:
    """One stream of a job.

    Parameters
    ----------
    stream : binary file
        The end that mpiexec writes to.
    deliver : callable
        Gets the bytes, in whole lines as far as possible.
    hydra : bool
        Whether mpiexec is MPICH's, whose banners are known.

    Attributes
    ----------
    aborted : int or None
        The rank that called MPI_Abort: all ranks are then killed, and MPICH says in its output why.
    unreachable : tuple of (str, str) or None
        The machine on which ssh starts nothing (empty where it names none), and what is said of it.
    """

    def __init__(self, stream: IO[bytes], deliver: Callable[[bytes], None], hydra: bool) -> None:
        self.fd = stream.fileno()
        os.set_blocking(self.fd, False)
        self._stream, self._deliver, self._hydra = stream, deliver, hydra
        self._tail = b""
        self._dropping = False
        self.aborted: int | None = None
        self.unreachable: tuple[str, str] | None = None

    def drop_banners(self) -> None:
        """From now on leave out hydra's banners: the launcher says what happened."""
        self._dropping = self._hydra

    def read_available(self) -> bool:
        """Pass on what is there; says whether more may come."""
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return True
        lines, self._tail = _split(self._tail + data, hold_empty=self._dropping)
        self._pass_on(lines)
        if not data or len(self._tail) > _CHUNK:
            self._pass_on(self._tail)
            self._tail = b""
        return bool(data)

    def drain(self) -> None:
        """Pass on all that was written so far; whoever still holds the other end writes in vain."""
        while True:
            try:
                data = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                data = b""
            if not data:
                break
            self._tail += data
        self._pass_on(self._tail)
        self._tail = b""
        self._stream.close()

    def _pass_on(self, data: bytes) -> None:
        aborted = _ABORT.search(data) if self._hydra else None
        if aborted:
            self.aborted = int(aborted[1])
        found = next(filter(None, (line.search(data) for line in _UNREACHABLE)), None)
        if self.unreachable is None and found:
            host, why = (found[part].decode(errors="replace").strip() for part in ("host", "why"))
            self.unreachable = host, why
            self.drop_banners()
        if self._dropping:
            data = b"".join(_without_banners(data.splitlines(keepends=True)))
        if data:
            self._deliver(data)


def _split(data: bytes, *, hold_empty: bool) -> tuple[bytes, bytes]:
    """Whole lines, and what waits for more: also an empty line, which may be the first of a banner."""
    end = data.rfind(b"\n") + 1
    if hold_empty and (data[:end] == b"\n" or data[:end].endswith(b"\n\n")):
        end -= 1
    return data[:end], data[end:]


def _without_banners(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Leave out banners, and the empty line that hydra writes before one."""
    is_banner = [_BANNER.match(line.rstrip()) is not None for line in lines]
    for number, line in enumerate(lines):
        if not is_banner[number] and not (line == b"\n" and any(is_banner[number + 1 : number + 2])):
            yield _GLUED.sub(b"", line)
