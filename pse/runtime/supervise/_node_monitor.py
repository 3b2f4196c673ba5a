"""The warden: a process of its own that names who died on a node that no launcher of ours watches.

Under a bare mpirun the process manager kills all ranks within milliseconds of the first death, so no rank
lives to say which it was.  The warden is started by the node's first rank as early as possible, in a
session of its own.  It finds the ranks by itself, sleeps until one's pidfd wakes it, names the first that
died, sees to it that the others end, and is gone when they are.  As soon as ranks have agreed on a run
they tell it what it can't know: the board, and what to call ranks and call sites.

Rejected: a thread in every rank (is killed before it can speak), a forked rank (shares MPI's descriptors
and memory).  Light: imports no room before something has gone wrong.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeGuard

from pse.runtime import _faults
from pse.runtime._channel import Board
from pse.runtime.supervise import _processes as processes
from pse.runtime.supervise._exit_diagnosis import RANK_FAILED, Suspect, Verdict, judge
from pse.runtime.supervise._launcher_records import Launcher, Record, Records, find_launcher

PATIENCE = 1.0
"""Seconds that the process manager gets to end the other ranks."""

ORDER_PATIENCE = 2.0
"""Seconds that mpiexec may take to end after it has killed all ranks."""

SAID = (1, 2, 3)
"""Exit codes of a job that a rank ended which has said why."""

MPIEXEC = -1
"""Stands for mpiexec where there are ranks."""

_LOOK = 0.002
"""Seconds between two looks for ranks that have not been seen yet."""


@dataclass(frozen=True)
class Task:
    """What a warden can't find out.

    Attributes
    ----------
    board : (int, int)
        Process and descriptor of the node's board.
    pids : mapping of int to int
        Process numbers of the node's ranks.
    who, sites : sequences of str
        What to call every rank and every call site.
    nodes : int
        How many nodes the job has.
    launcher : Launcher or None
        Who prints; if nobody, the warden writes to its standard error.
    """

    board: tuple[int, int]
    pids: Mapping[int, int]
    who: Sequence[str]
    sites: Sequence[str]
    nodes: int
    launcher: Launcher | None

    def to_json(self) -> bytes:
        """Write it as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Task:
        """Read it back."""
        data = json.loads(text)
        data["pids"] = {int(rank): pid for rank, pid in data["pids"].items()}
        data["launcher"] = Launcher(**data["launcher"]) if data["launcher"] else None
        return cls(**data)


class Hired:
    """A warden as its rank sees it: started early, told its task later, so that its start costs no time."""

    def __init__(self) -> None:
        stderr, mpiexec = processes.open_job_stderr(), processes.hold_mpiexec() or ()
        known = [os.getpid(), os.getppid(), *mpiexec]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pse.runtime.supervise._node_monitor", *map(str, known)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            pass_fds=mpiexec[1:],
            start_new_session=True,
        )
        for fd in (stderr, *mpiexec[1:]):
            os.close(fd)
        # It outlives this process; nobody is to wait for it.
        self._process.returncode = 0

    def post(self, task: Task) -> None:
        """Tell it its task, and wait until it is at its post."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError), self._process.stdin as pipe:
            pipe.write(task.to_json())
        with self._process.stdout as answer:
            answer.read()


def main() -> None:
    """Be a warden."""
    # A terminal's hang-up or a Ctrl-C for the job is not for the one who tells how the job ended.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    warden = _Warden(*map(int, sys.argv[1:]))
    if warden.run():
        from pse.runtime.supervise import _cleanup as leftovers

        leftovers.sweep(warden.began)


class _Warden:
    """Watches the ranks beside the one that hired it, its employer; that one may be gone already.

    So may mpiexec: the employer hands over its hold on it.
    """

    def __init__(self, employer: int, parent: int, *mpiexec: int) -> None:
        self.began = time.time()
        self.task: Task | None = None
        self.board: Board | None = None
        self.poll = select.epoll()
        self.living: dict[int, Suspect] = {}
        self.known: set[int] = set()
        self.breaths: dict[int, processes.Breath] = {}
        self.dying = processes.Dying()
        self.deadline = float("inf")
        self._text = b""
        self._mpiexec_gone, self._mpiexec_lives = "", True
        self._parent = parent
        self._expected = processes.local_ranks()
        for pid, pidfd in zip(mpiexec[::2], mpiexec[1::2], strict=True):
            self._watch(Suspect(MPIEXEC, pid, pidfd, f"mpiexec (pid {pid})"))
        self._employ(processes.own_rank() or 0, employer)
        self.poll.register(0, select.EPOLLIN)

    def run(self) -> bool:
        """Watch until every rank has ended; says whether one failed."""
        while any(suspect.rank != MPIEXEC for suspect in self.living.values()):
            looking = self.task is None and len(self.known - {MPIEXEC}) < self._expected
            if looking:
                self._look()
            # One at a time: epoll hands them out in the order of their deaths.
            events = self.poll.poll(self._patience(looking), maxevents=1)
            if events and events[0][0] == 0:
                self._listen()
            elif events:
                self._happened(events[0][0])
            elif time.monotonic() >= self.deadline:
                self._kill()
                return True
        return self._failing

    @property
    def _failing(self) -> bool:
        return self.deadline != float("inf")

    def _patience(self, looking: bool) -> float | None:
        if self._failing:
            return max(0.0, self.deadline - time.monotonic())
        return _LOOK if looking else None

    def _happened(self, fd: int) -> None:
        """A rank begins to die, or is dead."""
        self.poll.unregister(fd)
        if fd in self.breaths:
            self.dying.begins(self.breaths.pop(fd))
        elif fd in self.living:
            suspect = self.living.pop(fd)
            for rank in self.dying.before(suspect.rank):
                self._expect(rank)
            self._ended(suspect)

    def _expect(self, rank: int) -> None:
        """See to a rank that began to die before another that is dead already."""
        for suspect in [suspect for suspect in self.living.values() if suspect.rank == rank]:
            if processes.is_dead(suspect.pidfd, processes.DEATH_PATIENCE):
                self.poll.unregister(suspect.pidfd)
                self._ended(self.living.pop(suspect.pidfd))

    def _add(self, rank: int, pid: int) -> None:
        if rank in self.known:
            return
        with contextlib.suppress(OSError):
            self._watch(Suspect(rank, pid, os.pidfd_open(pid), self._who(rank, pid)))
            breath = processes.listen(rank, pid)
            if breath:
                self.breaths[breath.fd] = breath
                self.poll.register(breath.fd, 0)  # A hang-up is reported unasked.

    def _watch(self, suspect: Suspect) -> None:
        self.known.add(suspect.rank)
        self.living[suspect.pidfd] = suspect
        self.poll.register(suspect.pidfd, select.EPOLLIN)

    def _employ(self, rank: int, pid: int) -> None:
        """Watch the employer; a process that isn't our parent any more has ended before we could."""
        self._add(rank, pid)
        if os.getppid() != pid:
            self.living = {fd: suspect for fd, suspect in self.living.items() if suspect.rank != rank}
            killed = f"error: {self._who(rank, pid)}, or a rank started with it, was killed as it started\n"
            self._fail("" if self._ended_by_order() else killed, rank)

    def _look(self) -> None:
        """Find the ranks that mpiexec started beside our employer."""
        for process in processes.find_ranks(self._parent):
            os.close(process.pidfd)
            self._add(process.rank, process.pid)

    def _who(self, rank: int, pid: int) -> str:
        return f"rank {rank} (host {socket.gethostname()}, pid {pid})"

    def _listen(self) -> None:
        """Read what the employer has to say; all of it makes a task."""
        data = os.read(0, 1 << 16)
        self._text += data
        if data:
            return
        self.poll.unregister(0)
        if not self._text:
            return  # The ranks did not agree on a run, and end.
        with contextlib.suppress(OSError):  # It is over already.
            task = Task.from_json(self._text)
            self.board = Board.attach(*task.board)
            self.task = task
            for rank, pid in task.pids.items():
                self._add(rank, pid)
            # Ranks on the same machine may belong to another node, which has a warden of its own.
            mine = {MPIEXEC, *task.pids}
            self.living = {fd: suspect for fd, suspect in self.living.items() if suspect.rank in mine}
        os.close(1)

    def _ended(self, suspect: Suspect) -> None:
        verdict = self._judge(suspect)
        if verdict is not None and not self._failing:
            text = verdict.text if self._mpiexec_lives else self._mpiexec_gone
            self._fail(verdict.text and text, suspect.rank)

    def _judge(self, suspect: Suspect) -> Verdict | None:
        if suspect.rank == MPIEXEC:
            # With several nodes, a failure on another one ends mpiexec too; whoever failed there has said so.
            # So has the rank that made it end before there was a task.
            alone = self.task.nodes == 1 if self.task else not _ended_by_itself(suspect.status())
            self._mpiexec_gone = (
                f"error: {suspect.who} ended before its ranks, and took them along\n" if alone else ""
            )
            self._mpiexec_lives = False
            return None
        if self.task is not None and self.board is not None:
            named = Suspect(suspect.rank, suspect.pid, suspect.pidfd, self.task.who[suspect.rank])
            return judge(self.board, named, self.task.sites)
        status = suspect.status()
        if _ended_by_itself(status):
            return Verdict("") if status else None  # Whoever ends itself so early has said why.
        if self._ended_by_order():
            return Verdict("")
        return Verdict(_faults.describe_death(None, suspect.rank, suspect.who, status, None))

    def _ended_by_order(self) -> bool:
        """Say whether mpiexec killed the ranks because one of them, who has said why, made it end."""
        for suspect in self.living.values():
            if suspect.rank == MPIEXEC and processes.is_dead(suspect.pidfd, ORDER_PATIENCE):
                status = suspect.status()
                return _ended_by_itself(status) and os.WEXITSTATUS(status) in SAID
        return False

    def _fail(self, text: str, rank: int) -> None:
        """Say why the job fails, unless that has been said; from now on the other ranks have little time."""
        self.deadline = time.monotonic() + PATIENCE
        if not text or not (self.board is None or self.board.claim_report()):
            return
        if self.task and self.task.nodes > 1:
            text += "note: the first of its node; a failure on another node may have come before\n"
        launcher = self.task.launcher if self.task else find_launcher()
        if launcher:
            with contextlib.suppress(OSError):
                Records.open(launcher).write(Record("failed", rank, RANK_FAILED, text))
                return
        os.write(2, text.encode())

    def _kill(self) -> None:
        for suspect in self.living.values():
            if suspect.rank != MPIEXEC:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(suspect.pidfd, signal.SIGKILL)


def _ended_by_itself(status: int | None) -> TypeGuard[int]:
    return status is not None and os.WIFEXITED(status)


if __name__ == "__main__":
    main()
