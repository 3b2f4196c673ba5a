"""The monitor of a node that no launcher of ours watches: a process of its own, which a rank starts.

It finds the ranks by itself, names the first that dies, sees to it that the others end, and is gone when
they are.  As soon as ranks have agreed on a run, its rank tells it what it can't know (`MonitorHandle`).
It imports no room before something has gone wrong.  Rejected: a thread in every rank (is killed before it
can speak), a forked rank (shares MPI's descriptors and memory).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import time

from pse import _proc
from pse._abi.waiting import ExitCode, RankState
from pse.runtime._channel import Board
from pse.runtime.supervise import _processes as processes
from pse.runtime.supervise._cleanup import remove_leaked, remove_session, started
from pse.runtime.supervise._exit_diagnosis import (
    START_PATIENCE,
    Diagnosis,
    diagnose_exit,
    exit_status,
    explained_code,
    lost_manager,
    never_seen,
)
from pse.runtime.supervise._launcher_records import find_launcher
from pse.runtime.supervise._monitor import Monitor
from pse.runtime.supervise._monitor_handle import WATCHING, MonitoredJob
from pse.runtime.supervise._monitor_start import MPIEXEC, inherited_ranks
from pse.runtime.supervise._node_links import DONE, FAILED, Link, NodeLinks
from pse.runtime.supervise._output_holders import GRACE
from pse.runtime.supervise._processes import PipeHangup, ProcessManager, RankProcess, name_rank
from pse.text import text_bytes

PATIENCE = 1.0
"""Seconds that the process manager gets to end the other ranks."""

ELSEWHERE_PATIENCE = 1.0
"""Seconds that the word of another node's failure may take longer than what MPI's launcher does of it."""

ABORT_PATIENCE = 2.0
"""Seconds that mpiexec may take to end after it has killed all ranks."""

SCANCEL_PATIENCE = 10.0
"""Seconds that scancel may take."""

_INIT = 1
"""Process number of the one that adopts orphans."""

_LOOK_FOR_HOLDERS = 0.5
"""Seconds between two looks for processes that hold the output of ranks that have ended."""

_LOOK = 0.002
"""Seconds between two looks for ranks that have not been found yet."""


def main() -> None:
    """Be a node monitor: gets the rank that starts it, what started that, and what `InheritedRanks` says."""
    # A terminal's hang-up or a Ctrl-C for the job is not for the one who tells how the job ended.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    began = started(int(sys.argv[1]))
    monitor = NodeMonitor(*map(int, sys.argv[1:]))
    failed = monitor.run()
    if failed or not processes.inside_mpi_job():  # Without a launcher, Open MPI 5 leaves files in any case.
        remove_leaked(began)
        if monitor.lost_mpiexec is not None:
            remove_session(monitor.lost_mpiexec)


class NodeMonitor(Monitor):
    """Monitors the rank that started it and the ranks beside that one.

    The starter may be gone already, and so may mpiexec: the starter hands over a pidfd of it.

    Parameters
    ----------
    starter, manager : int
        Process numbers of the rank that started this process, and of the process that started that rank.
    *inherited : int
        What `InheritedRanks` says of mpiexec and the ranks that the starter has seen.
    """

    def __init__(self, starter: int, manager: int, *inherited: int) -> None:
        # What descends from init is anybody's, unless init is mpiexec, as in a container.
        root = manager if manager != _INIT or processes.mpiexec_above(_INIT) else starter
        super().__init__(root, processes.local_ranks(), selectors.DefaultSelector())
        self.job: MonitoredJob | None = None
        self.board: Board | None = None
        self.deadline = float("inf")
        self._text = b""
        self._mpiexec: RankProcess | None = None
        self._mpiexec_ended: str | None = None
        self.selector.register(0, selectors.EVENT_READ)
        self.links = NodeLinks(self.selector)
        with contextlib.suppress(BrokenPipeError):
            os.write(1, f"{self.links.port}\n".encode())
        self._orphaned = _proc.parent(manager) is None and _proc.parent(starter) is not None
        self._step = ""
        for process, hangup in inherited_ranks(inherited):
            self._inherit(process, hangup)
        if (processes.own_rank() or 0) not in self.ranks:
            self._add_starter(processes.own_rank() or 0, starter)
        if not self.expected:  # All ranks of a node are there before one of them starts its monitor.
            for process in processes.find_ranks(self._root):
                self.add(process)

    def run(self) -> bool:
        """Monitor until every rank has ended; says whether one failed."""
        while self.watched:
            self.find()
            self._miss()
            events = self.selector.select(self._patience())
            for key, _ in events:
                self._handle(key.data)
            if not events and time.monotonic() >= self.deadline:
                self.kill()
                break
        if self._failing:
            self._end_mpiexec()
            self._end_step()
        else:
            self.links.say(DONE)
            if processes.inside_mpi_job():  # Outside, the output is the user's, and so is who else has it.
                self._await_holders()
        return self._failing

    def _miss(self) -> None:
        """End the job if a rank has not come up that must have, where MPI's launcher lets the others wait."""
        late = time.monotonic() - self.last_found > START_PATIENCE
        if late and not (self.complete or self.job or self._failing):
            self._fail(self._never_seen().text, 0)

    def _never_seen(self) -> Diagnosis:
        host, ranks = socket.gethostname(), set(processes.node_ranks())
        missing = sorted(ranks - set(self.ranks)) if ranks.issuperset(self.ranks) else []
        return never_seen([f"rank {rank}" for rank in missing], host)

    @property
    def lost_mpiexec(self) -> int | None:
        """Process number of mpiexec where that was on this machine and has ended."""
        mpiexec = self._mpiexec
        return mpiexec.pid if mpiexec and processes.is_dead(mpiexec.pidfd, PATIENCE) else None

    def _end_mpiexec(self) -> None:
        """End mpiexec where it waits for a process manager that was killed."""
        mpiexec = self._mpiexec
        if mpiexec and self._killed_manager(0.0) and not processes.is_dead(mpiexec.pidfd, PATIENCE):
            signal.pidfd_send_signal(mpiexec.pidfd, signal.SIGTERM)

    def _end_step(self) -> None:
        """End Slurm's job step: ranks of other nodes wait in the start of MPI, and have heard of nothing."""
        if self._step:
            import subprocess

            with contextlib.suppress(OSError, subprocess.SubprocessError):
                line = ["scancel", "--signal=KILL", self._step]
                subprocess.run(line, check=False, capture_output=True, timeout=SCANCEL_PATIENCE)

    def _await_holders(self) -> None:
        """Name, and in the end kill, processes that modules left, while MPI's launcher waits for them."""
        until = time.monotonic() + GRACE + 2 * _LOOK_FOR_HOLDERS
        while self.holders.left() and time.monotonic() < until:
            text = self.holders.look()
            if text:
                os.write(2, text_bytes(text))
            if self._mpiexec is None:
                time.sleep(_LOOK_FOR_HOLDERS)
            elif processes.is_dead(self._mpiexec.pidfd, _LOOK_FOR_HOLDERS):
                return

    @property
    def _failing(self) -> bool:
        return self.deadline != float("inf")

    def _patience(self) -> float | None:
        if self._failing:
            return max(0.0, self.deadline - time.monotonic())
        return None if self.complete else _LOOK

    def _handle(self, source: object) -> None:
        """Deal with a rank that begins to die or is dead, the end of mpiexec, or what the starter says."""
        if source is None:
            self._listen()
        elif isinstance(source, PipeHangup):
            self.begins_to_die(source)
        elif isinstance(source, NodeLinks):
            source.accept()
        elif isinstance(source, Link):
            text = self.links.heard(source)
            if text is not None and not self._failing:
                self._fail(text, 0)
        elif isinstance(source, ProcessManager):
            self._conclude(self.died_before() or self.manager_ended(source))
        elif isinstance(source, RankProcess):
            if source.rank != MPIEXEC:
                self._conclude(self.ended(source), source.rank)
                return
            self.selector.unregister(source.pidfd)
            self._conclude(self.died_before())
            self._mpiexec_ended = self._blame_mpiexec(source)

    def has_begun(self, rank: int) -> bool:
        """Say whether a rank has come as far as its place on the board."""
        return self.board is not None and self.board.slot(rank).state != RankState.ABSENT

    def is_mpiexec(self, pid: int) -> bool:
        """Say whether a process is mpiexec, which is monitored on its own."""
        return self._mpiexec is not None and pid == self._mpiexec.pid

    def _inherit(self, process: RankProcess, hangup: PipeHangup | None) -> None:
        """Monitor what the starter has handed over; who is dead already is so in this order."""
        if process.rank == MPIEXEC:
            self._mpiexec = process
            self.selector.register(process.pidfd, selectors.EVENT_READ, process)
        else:
            self.add(process, hangup)

    def _add_starter(self, rank: int, pid: int) -> None:
        """Monitor the starter; a process that isn't our parent any more has ended before we could."""
        self._open(rank, pid)
        if os.getppid() != pid:
            for process in self.watched:
                self.settle(process, diagnose=False)
            name = name_rank(rank, socket.gethostname(), pid)
            killed = f"error: {name}, or a rank started with it, was killed as it started\n"
            self._fail("" if self._mpiexec_aborted() else killed, rank)

    def _open(self, rank: int, pid: int) -> None:
        with contextlib.suppress(OSError):
            self.add(RankProcess(rank, pid, os.pidfd_open(pid)))

    def _listen(self) -> None:
        """Read what the starter has to say; all of it describes the job."""
        data = os.read(0, 1 << 16)
        self._text += data
        if data:
            return
        self.selector.unregister(0)
        if not self._text:
            return  # The ranks did not agree on a run, and end.
        with contextlib.suppress(OSError):  # It is over already.
            job = MonitoredJob.from_json(self._text)
            self.board = Board.attach(*job.board)
            self.job, self.expected = job, 0
            for rank, pid in job.pids.items():
                self._open(rank, pid)
            # Ranks on the same machine may belong to another node, which has a monitor of its own.
            for process in self.watched:
                if process.rank not in job.pids:
                    self.settle(process, diagnose=False)
            self.watch_held_pipes()
            os.write(1, WATCHING)
        os.close(1)
        if self.job and self.job.meeting and self.job.leads:
            self.links.lead(self.job.meeting.token)
        elif self.job and self.job.meeting:
            self.links.join(self.job.meeting)

    def diagnose(self, process: RankProcess) -> Diagnosis | None:
        """Say what the end of a rank means; nothing, if the rank or one that ended the job has said it."""
        if self.job is not None:
            return diagnose_exit(self.board, process, self.job.names[process.rank], self.job.sites)
        name = name_rank(process.rank, socket.gethostname(), process.pid)
        diagnosis = diagnose_exit(None, process, name)
        if diagnosis and diagnosis.text and self._orphaned:
            return lost_manager(self._root, socket.gethostname(), "ended as they started")
        if diagnosis and self._mpiexec_aborted():
            return Diagnosis("")
        # Only the first to die can have died unseen: the others died of it.
        return diagnosis if self.complete or not (diagnosis and diagnosis.text) else self._never_seen()

    def _blame_mpiexec(self, mpiexec: RankProcess) -> str:
        """Say that mpiexec ended, unless it did so because of a failure that has been named.

        With several nodes, a failure on another one ends mpiexec too.  So does, before there is a job, a rank
        that ends itself.
        """
        status = exit_status(mpiexec)
        alone = self.job.nodes == 1 if self.job else status is None or not os.WIFEXITED(status)
        return (
            f"error: mpiexec (pid {mpiexec.pid}) ended before its ranks did, and ended them\n"
            if alone
            else ""
        )

    def _mpiexec_aborted(self) -> bool:
        """Say whether mpiexec killed the ranks because one of them, which has said why, made it end."""
        mpiexec = self._mpiexec if self._mpiexec_ended is None else None
        if mpiexec is None or not processes.is_dead(mpiexec.pidfd, ABORT_PATIENCE):
            return False
        return bool(explained_code(exit_status(mpiexec)))

    def _conclude(self, diagnosis: Diagnosis | None, rank: int = 0) -> None:
        """The first diagnosis counts: what happens to other ranks after it is a consequence."""
        if diagnosis is None or self._failing:
            return
        text = diagnosis.text if self._mpiexec_ended is None else self._mpiexec_ended
        self._fail(diagnosis.text and text, rank)

    def _fail(self, text: str, rank: int) -> None:
        """Say why the job fails, unless that has been said; from now on the other ranks have little time."""
        self.deadline = time.monotonic() + PATIENCE
        self.links.say(FAILED)
        self._step = processes.slurm_step() if text and self.job is None else ""
        if not text or self._ended_from_elsewhere():
            return
        if not (self.board is None or self.board.claim_report()):
            return
        if self.job and self.job.nodes > 1:
            text += (
                "note: this was the first failure on its node; one on another node may have come before it\n"
            )
        launcher = self.job.launcher if self.job else find_launcher()
        if not (launcher and launcher.record_failure(rank, ExitCode.FAILED, text)):
            os.write(2, text_bytes(text))

    def _ended_from_elsewhere(self) -> bool:
        """Say whether MPI's process manager ended the ranks of this node, for a failure on another one.

        Then it fails itself; that of the node where a rank has died ends in order.  Our own ranks may be dead
        before the other monitor's word is here, since that has another way.
        """
        if self.job is None or not self.links.failure_elsewhere(ELSEWHERE_PATIENCE):
            return False
        dead = [each for each in self.managers.values() if processes.is_dead(each.pidfd, ELSEWHERE_PATIENCE)]
        return any(map(exit_status, dead))


if __name__ == "__main__":
    main()
