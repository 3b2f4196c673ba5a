"""How the monitor of a node comes to be: who starts it, and what it inherits.

The first rank of the node starts it, as early as it can.  Until Python has started in the monitor as well, an
epoll instance that it inherits notes in which order ranks die.  A socket without a place in the file system,
which goes with the processes that hold it, tells the other ranks that there is a monitor; if the first rank
is dead, and there is none, one of them starts it.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Iterator, Sequence

from pse import _proc
from pse.runtime.supervise import _processes as processes
from pse.runtime.supervise._processes import PipeHangup, RankProcess

MPIEXEC = -1
"""Stands for mpiexec where there are ranks."""

_NONE = -1


class InheritedRanks:
    """The living ranks that a process started, and mpiexec, as the monitor inherits them.

    Parameters
    ----------
    manager : int
        The process number of who started the ranks.

    Attributes
    ----------
    numbers : list of int
        Words of the monitor's command line: the epoll instance, then four numbers for every process.
    descriptors : list of int
        What the monitor inherits.
    """

    def __init__(self, manager: int) -> None:
        self._epoll = select.epoll()
        self.numbers, self.descriptors = [self._epoll.fileno()], [self._epoll.fileno()]
        mpiexec = processes.hold_mpiexec()
        if mpiexec:
            self._add(RankProcess(MPIEXEC, *mpiexec), None)
        for process in processes.find_ranks(manager):
            self._add(process, PipeHangup.open(process))

    def _add(self, process: RankProcess, hangup: PipeHangup | None) -> None:
        self._note(process.pidfd, select.EPOLLIN)
        if hangup:
            self._note(hangup.fd, 0)  # A hang-up is reported in any case.
        self.numbers += [process.rank, process.pid, process.pidfd, hangup.fd if hangup else _NONE]

    def _note(self, fd: int, events: int) -> None:
        self._epoll.register(fd, events)
        self.descriptors.append(fd)

    def close(self) -> None:
        """Leave them to the monitor."""
        for fd in self.descriptors[1:]:
            os.close(fd)
        self._epoll.close()


def inherited_ranks(numbers: Sequence[int]) -> Iterator[tuple[RankProcess, PipeHangup | None]]:
    """Give what `InheritedRanks.numbers` has: first who began to die, in the order of that."""
    with select.epoll.fromfd(numbers[0]) as epoll:
        dying = {fd: place for place, (fd, _) in reversed([*enumerate(epoll.poll(0))])}
    ranks = [numbers[at : at + 4] for at in range(1, len(numbers), 4)]
    for rank, pid, pidfd, fd in sorted(ranks, key=lambda four: _place(dying, four[2:])):
        yield RankProcess(rank, pid, pidfd), PipeHangup(rank, fd) if fd != _NONE else None


def _place(dying: dict[int, int], fds: Sequence[int]) -> int:
    return min(dying.get(fd, len(dying)) for fd in fds)


def claim_start(manager: int) -> socket.socket | None:
    """Claim to start the monitor of the ranks that a process started; None if another rank has done so.

    Whoever listens at the socket says that there is a monitor.
    """
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(_place_of_monitor(manager))
    except OSError:
        claim.close()
        return None
    return claim


def is_started(manager: int) -> bool:
    """Say whether there is a monitor of the ranks that a process started."""
    with socket.socket(socket.AF_UNIX) as look:
        look.setblocking(False)
        return look.connect_ex(_place_of_monitor(manager)) in (0, errno.EAGAIN)


def _place_of_monitor(manager: int) -> bytes:
    """Give what all ranks of a node know, and no other job: its process manager, and when that began."""
    status = _proc.status(manager)
    return f"\0pse-monitor-{manager}-{status.started if status else 0}".encode()
