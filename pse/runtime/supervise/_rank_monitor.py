"""The launcher's monitor: ranks that descend from mpiexec, the first node's board, and records of ranks.

Ranks of other machines are out of its sight: their nodes have a `NodeMonitor` each, which leaves a record.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Iterable, Sequence

from pse import _proc
from pse._abi.waiting import ABORT_HELP, RankState
from pse.records import dataclass
from pse.runtime._channel import Board
from pse.runtime.supervise._backoff import Backoff
from pse.runtime.supervise._exit_diagnosis import (
    START_PATIENCE,
    Diagnosis,
    diagnose_exit,
    lost_manager,
    never_seen,
)
from pse.runtime.supervise._launcher_records import Records
from pse.runtime.supervise._monitor import Monitor
from pse.runtime.supervise._processes import (
    RankProcess,
    adopted_a_rank,
    find_managers,
    is_dead,
    name_rank,
    read_forked,
)

RECORD_PATIENCE = 0.3
"""Seconds in which the other ranks of a node name one that died, where its board is not the launcher's."""

_ALONE_PATIENCE = 1.0
"""Seconds that mpiexec has to end by itself, once nothing lives of what it started."""


@dataclass(frozen=True)
class JobNames:
    """What to call a job's ranks (by the threads that they run) and call sites in messages."""

    places: Sequence[str]
    sites: Sequence[str]


class RankMonitor(Monitor):
    """Monitors the ranks that descend from mpiexec.

    Parameters
    ----------
    names : JobNames
        What to call ranks and call sites.
    board : Board
        The first node's board.
    records : Records
        Where ranks and node monitors leave what they have to say.
    root : int
        Process number of mpiexec.
    mark : str
        Environment entry that all of the job's processes have.
    hydra : bool
        Whether mpiexec is MPICH's, which starts ranks by a process manager.
    selector : selectors.BaseSelector
        Gets two descriptors for every rank.
    forker : tuple of int, optional
        The process that forks ranks, if mpiexec does not start them, and the descriptor by which it tells
        which process each rank is.
    """

    def __init__(
        self,
        names: JobNames,
        board: Board,
        records: Records,
        root: int,
        mark: str,
        hydra: bool,
        selector: selectors.BaseSelector,
        forker: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(os.getpid() if forker else root, len(names.places), selector, mark)
        self._mpiexec = root
        self._forker: int | None = None
        self._forked: int | None = None
        if forker:
            self._forker, self._forked = forker
        self._add_manager(self._forker, "the process that forks ranks")
        self.names, self.board, self.records = names, board, records
        self._marked, self._by_manager, self._alone_since = mark, hydra, float("inf")

    def find(self) -> None:
        """Look for ranks that have not been found, and for who starts them."""
        for process in read_forked(self._forked) if self._forked is not None else ():
            self.add(process)
        if not self._forks:
            super().find()
        if self.managers.keys() <= {self._forker}:
            for pid in find_managers(self._mpiexec):
                self._add_manager(pid)

    @property
    def _forks(self) -> bool:
        """Whether a process forks the ranks; if it ends before, each of them starts by itself."""
        return self._forker in self.managers and not is_dead(self.managers[self._forker].pidfd)

    def look_behind(self) -> str:
        """Give what is to be said, once all ranks have ended, of processes for which mpiexec waits."""
        return self._continue_forker() or self.holders.look()

    def _continue_forker(self) -> str:
        """Let the process that forks ranks go on if somebody has stopped it: it says how they have ended."""
        if self._forker is None or not _proc.is_stopped(self._forker):
            return ""
        signal.pidfd_send_signal(self.managers[self._forker].pidfd, signal.SIGCONT)
        return f"warning: the process that forks ranks (pid {self._forker}) was stopped; pse continued it\n"

    def discover(self) -> Diagnosis | None:
        """Look for ranks that have not been found; names one that must have died before it could be."""
        self.find()
        lost = self._manager_lost()
        if lost or self.complete or time.monotonic() - self.last_found < START_PATIENCE:
            return lost
        return self._killed_manager(0.0) or self._never_seen()

    def _killed_manager(self, patience: float) -> Diagnosis | None:
        """Blame a process manager that was killed, even one whose end this process never saw."""
        return super()._killed_manager(patience) or self._manager_lost()

    def is_mpiexec(self, pid: int) -> bool:
        """Say whether a process is mpiexec."""
        return pid == self._mpiexec

    def _manager_lost(self) -> Diagnosis | None:
        """Blame a process manager that ended before a rank began: unseen, or seen and reaped by mpiexec.

        If nobody saw it, ranks that it started are adopted.  One may also live and have lost its ranks.
        """
        if not self._by_manager or self.any_begun:
            return None
        seen = {pid: manager for pid, manager in self.managers.items() if pid != self._forker}
        if not (self._is_left_alone(seen) or (not seen and adopted_a_rank(self._marked))):
            return None
        if any(not is_dead(manager.pidfd) for manager in seen.values()):
            return self._never_seen()
        return lost_manager(next(iter(seen), None), socket.gethostname(), "ended as they started")

    def _is_left_alone(self, managers: Iterable[int]) -> bool:
        """Say whether mpiexec or a process manager has lost what it started, and goes on waiting for it."""
        if not any(_proc.has_lost_children(pid) for pid in (self._mpiexec, *managers)):
            self._alone_since = float("inf")
            return False
        self._alone_since = min(self._alone_since, time.monotonic())
        return time.monotonic() - self._alone_since > _ALONE_PATIENCE

    def _never_seen(self) -> Diagnosis:
        """Name the ranks that were never seen alive."""
        missing = sorted(set(range(self.expected)) - set(self.ranks))
        names = [f"rank {rank} ({self.names.places[rank]})" for rank in missing]
        return never_seen(names, socket.gethostname())

    def check_the_rest(self) -> Diagnosis | None:
        """Diagnose, after mpiexec has failed, the ranks whose end has not been looked at."""
        for process in self.watched:
            diagnosis = self.ended(process) if is_dead(process.pidfd) else None
            if diagnosis:
                return diagnosis
        if self.complete:
            return None
        return self._killed_manager(0.0) or (self._never_seen() if self.ranks else None)

    def diagnose(self, process: RankProcess) -> Diagnosis | None:
        """Say what the end of a rank means; a failure that a rank or node monitor recorded goes first."""
        name = name_rank(process.rank, socket.gethostname(), process.pid, self.names.places[process.rank])
        diagnosis = diagnose_exit(self.board, process, name, self.names.sites)
        if diagnosis is None:
            return None
        patience = 0.0
        if diagnosis.text and not self.has_begun(process.rank):
            if not (self.complete or self.any_begun or self._forks):
                # Only the first to die can have died unseen: the others died of it.
                return self._never_seen()
            patience = RECORD_PATIENCE if self.any_begun else 0.0
        return self.recorded_failure(patience) or diagnosis

    def aborted(self, rank: int) -> Diagnosis | None:
        """Name a rank of this node that called MPI_Abort; it may run on until MPI's launcher kills it."""
        if rank not in self.ranks:
            return None
        name = name_rank(rank, socket.gethostname(), self.ranks[rank].pid, self.names.places[rank])
        return Diagnosis(f"error: {name} called MPI_Abort()\nhelp: {ABORT_HELP}\n")

    def has_begun(self, rank: int) -> bool:
        """Say whether a rank has come as far as its place on the board."""
        return self.board.slot(rank).state != RankState.ABSENT

    @property
    def all_begun(self) -> bool:
        """Whether every rank has come as far as its place on the board."""
        return all(map(self.has_begun, range(self.expected)))

    @property
    def any_begun(self) -> bool:
        """Whether some rank has."""
        return any(map(self.has_begun, range(self.expected)))

    def recorded_failure(self, patience: float = 0.0) -> Diagnosis | None:
        """Give what was recorded about the failure, waiting for it at most so many seconds."""
        failures: list[Diagnosis] = []

        def look() -> list[Diagnosis]:
            failures.extend(
                Diagnosis(record.text, record.exit_code)
                for record in self.records.read()
                if record.kind == "failed"
            )
            return failures

        Backoff(shortest=2e-3).sleep_until(look, patience)
        return failures[0] if failures else None
