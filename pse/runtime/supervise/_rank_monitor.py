"""Watching ranks from the launcher: which processes they are, who died first, and what to say about it.

Data flow: pidfds tell when a process ends, the board what it was doing, the record file what it said
itself.  The first rank that ends in any other way than done is the culprit.  Ranks of other machines are
out of sight: their nodes have wardens.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time

from pse._abi.waiting import RankState
from pse.runtime._channel import Board
from pse.runtime.request._request import Prepared
from pse.runtime.supervise._exit_diagnosis import Suspect, Verdict, judge
from pse.runtime.supervise._launcher_records import Records
from pse.runtime.supervise._processes import (
    DEATH_PATIENCE,
    Breath,
    Dying,
    RankProcess,
    find_ranks,
    is_dead,
    listen,
)

START_PATIENCE = 2.5
"""Seconds after which a rank that was never seen, though others were, counts as dead."""

SAID = (0, 1, 2, 3)
"""Exit codes by which a rank ends that has no more to say."""

LOST_HELP = "somebody killed it, or the kernel did for want of memory (see `dmesg`)"

RECORD_PATIENCE = 0.3
"""Seconds in which the other ranks of a node name one that died, where its board is not the launcher's."""


class RankWatch:
    """Watches the ranks that descend from mpiexec.

    Parameters
    ----------
    root : int
        Process number of mpiexec.
    mark : str
        Environment entry that all of the job's processes have.
    selector : selectors.BaseSelector
        Gets two descriptors for every rank, with its `RankProcess` and its `Breath` as data.
    """

    def __init__(
        self,
        prepared: Prepared,
        board: Board,
        records: Records,
        root: int,
        mark: str,
        selector: selectors.BaseSelector,
    ) -> None:
        self.prepared, self.board, self.records = prepared, board, records
        self._root, self._mark, self._selector = root, mark, selector
        self._ranks: dict[int, RankProcess] = {}
        self._sites = prepared.site_texts
        self._dying = Dying()
        self._judged: set[int] = set()
        self._last_found = float("inf")

    @property
    def complete(self) -> bool:
        """Whether every rank has been seen."""
        return len(self._ranks) == self.prepared.ranks

    def discover(self) -> Verdict | None:
        """Look for ranks that have not been seen; says if one died unseen."""
        for process in find_ranks(self._root, self._mark):
            if process.rank in self._ranks:
                os.close(process.pidfd)
                continue
            self._ranks[process.rank] = process
            self._selector.register(process.pidfd, selectors.EVENT_READ, process)
            breath = listen(process.rank, process.pid)
            if breath:
                # A reading end is never ready to be written to: this reports nothing but its hang-up.
                self._selector.register(breath.fd, selectors.EVENT_WRITE, breath)
            self._last_found = time.monotonic()
        if self.complete or time.monotonic() - self._last_found < START_PATIENCE:
            return None
        return self._unseen()

    def _unseen(self) -> Verdict:
        """Name the first rank that nobody has seen alive."""
        missing = min(set(range(self.prepared.ranks)) - set(self._ranks))
        where = self.prepared.placement.describe(missing)
        text = f"error: a rank was killed as it started; rank {missing} ({where}) was never seen alive\n"
        return Verdict(f"{text}help: {LOST_HELP}\n")

    def stopped(self, breath: Breath) -> None:
        """Remember that a rank began to die, and when."""
        self._selector.unregister(breath.fd)
        self._dying.begins(breath)
        # Whoever can be seen now has not died before it.
        self.discover()

    def ended(self, process: RankProcess) -> Verdict | None:
        """Judge a rank that has ended; None if that was in order.

        Who began to die before it is judged before it: ranks are not dead in the order of dying.
        """
        for rank in self._dying.before(process.rank):
            earlier = self._ranks[rank]
            verdict = self._judge(earlier) if is_dead(earlier.pidfd, DEATH_PATIENCE) else None
            if verdict:
                return verdict
        return self._judge(process)

    def last_look(self) -> Verdict | None:
        """Judge what is left to judge after mpiexec has failed: ranks whose end nobody has looked at."""
        for process in self._ranks.values():
            verdict = self.ended(process) if is_dead(process.pidfd) else None
            if verdict:
                return verdict
        return self._unseen() if self._ranks and not self.complete else None

    def _judge(self, process: RankProcess) -> Verdict | None:
        if process.rank in self._judged:
            return None
        self._judged.add(process.rank)
        self._selector.unregister(process.pidfd)
        who = self.prepared.who(process.rank, socket.gethostname(), process.pid)
        suspect = Suspect(process.rank, process.pid, process.pidfd, who)
        if self.board.slot(process.rank)["state"] != RankState.ABSENT:
            verdict = judge(self.board, suspect, self._sites)
            return verdict and (self.told() or verdict)
        status = suspect.status()
        if status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) in SAID:
            # It never began, or has a board of its own; whoever ends itself so has said why.
            code = os.WEXITSTATUS(status)
            return self.told() or Verdict("", code) if code else None
        if not self.complete and not self.any_begun:
            # Only who was first to die can have died unseen: the others died of it.
            return self._unseen()
        patience = RECORD_PATIENCE if self.any_begun else 0.0
        return self.told(patience) or judge(self.board, suspect, self._sites)

    @property
    def all_begun(self) -> bool:
        """Whether every rank has come as far as its place on the board."""
        return all(self.board.slot(rank)["state"] != RankState.ABSENT for rank in range(self.prepared.ranks))

    @property
    def any_begun(self) -> bool:
        """Whether some rank has."""
        return any(self.board.slot(rank)["state"] != RankState.ABSENT for rank in range(self.prepared.ranks))

    def told(self, patience: float = 0.0) -> Verdict | None:
        """Give what a rank said about the failure, waiting for it at most so many seconds."""
        deadline = time.monotonic() + patience
        while True:
            for record in self.records.read():
                if record.kind == "failed":
                    return Verdict(record.text, record.exit_code)
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.01)

    def kill(self) -> None:
        """Kill every rank that has been seen and still lives."""
        for process in self._ranks.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Give back the pidfds."""
        for process in self._ranks.values():
            os.close(process.pidfd)
