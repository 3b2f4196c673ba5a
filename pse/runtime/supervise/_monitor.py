"""What both monitors of ranks share: which processes the ranks are, in which order they die, and their end.

A pidfd tells when a process has ended, and the hang-up of its standard output when it began to.
`RankMonitor` (the launcher's) and `NodeMonitor` (a process of its own) add what they know of a rank that
has ended.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable

from pse import _proc
from pse.runtime.supervise._exit_diagnosis import MANAGER_PATIENCE, Diagnosis, diagnose_manager
from pse.runtime.supervise._output_holders import OutputHolders
from pse.runtime.supervise._processes import (
    DEATH_PATIENCE,
    DeathOrder,
    PipeHangup,
    ProcessManager,
    RankProcess,
    find_ranks,
    held_pipe,
    is_dead,
)


class Monitor(ABC):
    """Finds the ranks of a job on this machine, and diagnoses those that end, in the order of their deaths.

    Parameters
    ----------
    root : int
        Process from which ranks descend.
    expected : int
        How many ranks there are to be found.
    mark : str, optional
        Environment entry that all of the job's processes have.
    selector : selectors.BaseSelector
        Gets two descriptors for every rank, with its `RankProcess` and its `PipeHangup` as data.

    Attributes
    ----------
    ranks : dict of int to RankProcess
        The ranks that were found.
    managers : dict of int to ProcessManager
        The processes that started these ranks, by process number.
    holders : OutputHolders
        Who still holds the output of ranks that have ended.
    last_found : float
        When the last one of them was found, by the monotonic clock; infinite before the first.
    """

    def __init__(
        self, root: int, expected: int, selector: selectors.BaseSelector, mark: str | None = None
    ) -> None:
        self.ranks: dict[int, RankProcess] = {}
        self.managers: dict[int, ProcessManager] = {}
        self.holders = OutputHolders()
        self.expected, self.selector = expected, selector
        self._root, self._mark = root, mark
        self._order = DeathOrder()
        self._settled: set[int] = set()
        self.last_found = float("inf")

    @abstractmethod
    def diagnose(self, process: RankProcess) -> Diagnosis | None:
        """Say what the end of a rank means; None if it is in order."""

    @abstractmethod
    def has_begun(self, rank: int) -> bool:
        """Say whether a rank has come as far as its place on the board."""

    @property
    def complete(self) -> bool:
        """Whether every rank has been found."""
        return len(self.ranks) >= self.expected

    @property
    def watched(self) -> list[RankProcess]:
        """The ranks whose end has not been looked at."""
        return [process for rank, process in self.ranks.items() if rank not in self._settled]

    def find(self) -> None:
        """Look for ranks that have not been found."""
        for process in [] if self.complete else find_ranks(self._root, self._mark):
            self.add(process)

    def add(self, process: RankProcess, hangup: PipeHangup | None = None) -> None:
        """Monitor a rank, whose descriptors belong to this object from now on."""
        if process.rank in self.ranks:
            for fd in (process.pidfd, *([hangup.fd] if hangup else [])):
                os.close(fd)
            return
        self.ranks[process.rank], self.last_found = process, time.monotonic()
        self.selector.register(process.pidfd, selectors.EVENT_READ, process)
        self.holders.add(process)
        if process.pid != self._root:
            self._add_manager(_proc.parent(process.pid))
        self._watch(hangup or PipeHangup.open(process))

    def watch_held_pipes(self) -> None:
        """Watch the pipes that ranks hold: all have come as far as that."""
        for process in self.watched:
            self._watch(PipeHangup.open(process, held_pipe()))

    def _watch(self, hangup: PipeHangup | None) -> None:
        if hangup:
            # A reading end is never ready to be written to: this reports nothing but the hang-up.
            self.selector.register(hangup.fd, selectors.EVENT_WRITE, hangup)

    def _add_manager(self, pid: int | None, name: str = ProcessManager.name) -> None:
        """Monitor the parent of a rank, unless the rank is orphaned or mpiexec itself started it."""
        if pid in (None, 1, os.getpid()) or pid in self.managers or self.is_mpiexec(pid):
            return
        with contextlib.suppress(OSError):
            manager = self.managers[pid] = ProcessManager(pid, os.pidfd_open(pid), name)
            self.selector.register(manager.pidfd, selectors.EVENT_READ, manager)

    def is_mpiexec(self, pid: int) -> bool:
        """Say whether a process is mpiexec, whose end is looked at elsewhere."""
        return pid == self._root

    def manager_ended(self, manager: ProcessManager) -> Diagnosis | None:
        """Diagnose the end of a process manager, or of a rank that began to die before it."""
        self.selector.unregister(manager.pidfd)
        return self._diagnose_manager(manager)

    def _diagnose_manager(self, manager: ProcessManager) -> Diagnosis | None:
        orphans = any(not is_dead(process.pidfd) for process in self.watched)
        return diagnose_manager(manager, socket.gethostname(), orphans=orphans)

    def _killed_manager(self, patience: float) -> Diagnosis | None:
        """Blame a process manager that was killed: ranks that start end without it."""
        for manager in self.managers.values():
            if is_dead(manager.pidfd, patience):
                diagnosis = self._diagnose_manager(manager)
                if diagnosis:
                    return diagnosis
        return None

    def begins_to_die(self, hangup: PipeHangup) -> None:
        """Remember that a rank began to die, and when."""
        self.selector.unregister(hangup.fd)
        self._order.add(hangup)
        self.find()  # Whoever can be found now has not died before it.

    def ended(self, process: RankProcess) -> Diagnosis | None:
        """Diagnose a rank that has ended, or another that began to die before it; None if all is in order."""
        return self.died_before(process.rank) or self.settle(process)

    def died_before(self, rank: int | None = None) -> Diagnosis | None:
        """Diagnose the ranks that began to die before another one, or so far; gives the first failure."""
        for earlier in self._order.before(rank):
            if earlier in self._settled:
                continue
            process = self.ranks[earlier]
            diagnosis = self.settle(process) if is_dead(process.pidfd, DEATH_PATIENCE) else None
            if diagnosis:
                return diagnosis
        return None

    def settle(self, process: RankProcess, *, diagnose: bool = True) -> Diagnosis | None:
        """Diagnose a rank, unless that has been done, and monitor it no longer."""
        if process.rank in self._settled:
            return None
        self._settled.add(process.rank)
        self.selector.unregister(process.pidfd)
        if not diagnose:
            return None
        diagnosis = self.diagnose(process)
        if diagnosis is None or not diagnosis.text:
            return diagnosis
        return self._killed_manager(0.0 if self.has_begun(process.rank) else MANAGER_PATIENCE) or diagnosis

    def kill(self) -> None:
        """Kill every rank that was found and still lives."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Send a signal to every rank that was found and still lives."""
        for process in self.ranks.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process.pidfd, number)

    def reap(self) -> None:
        """Let go of dead ranks that this process has adopted from a fork server."""
        for process in self.ranks.values():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)

    def close(self) -> None:
        """Give back the pidfds."""
        held: Iterable[RankProcess | ProcessManager] = (*self.ranks.values(), *self.managers.values())
        for process in held:
            os.close(process.pidfd)
