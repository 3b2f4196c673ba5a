"""The node monitor as its rank sees it: how it is started, and what it is told.

It is started before the rank loads anything heavy, so this imports neither it nor another room.
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
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict

from pse.errors import RunError
from pse.records import dataclass
from pse.runtime.supervise import _processes as processes
from pse.runtime.supervise._backoff import Backoff
from pse.runtime.supervise._launcher_records import Launcher
from pse.runtime.supervise._monitor_start import InheritedRanks, claim_start, is_started

WATCHING = b"watching\n"
"""What a monitor says when it monitors all ranks of its node."""

_FIRST_RANK_PATIENCE = 1.0
"""Seconds after which a node without a monitor may have lost the rank that starts it."""


@dataclass(frozen=True)
class Meeting:
    """Where the monitors of a job meet, and the word by which they know each other."""

    host: str
    port: int
    token: str


@dataclass(frozen=True)
class MonitoredJob:
    """What a node monitor can't find out.

    Attributes
    ----------
    board : (int, int)
        Process and descriptor of the node's board.
    pids : mapping of int to int
        Process numbers of the node's ranks.
    names, sites : sequences of str
        What to call every rank and every call site.
    nodes : int
        How many nodes the job has.
    meeting : Meeting or None
        Where the monitors of several nodes meet; None if the job's launcher watches the first node.
    leads : bool
        Whether this is the monitor that the others connect to.
    launcher : Launcher or None
        Who prints; if nobody, the monitor writes to its standard error.
    """

    board: tuple[int, int]
    pids: Mapping[int, int]
    names: Sequence[str]
    sites: Sequence[str]
    nodes: int
    meeting: Meeting | None
    leads: bool
    launcher: Launcher | None

    def to_json(self) -> bytes:
        """Write it as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> MonitoredJob:
        """Read it back."""
        data = json.loads(text)
        data["pids"] = {int(rank): pid for rank, pid in data["pids"].items()}
        data["meeting"] = Meeting(**data["meeting"]) if data["meeting"] else None
        data["launcher"] = Launcher(**data["launcher"]) if data["launcher"] else None
        return cls(**data)


class MonitorHandle:
    """A node monitor that this process starts.

    It is a process of its own, in a session of its own, and outlives this one: under a bare ``mpirun`` the
    process manager kills all ranks within milliseconds of the first death, so no rank lives to say which one
    died.  It is started as early as possible, and told later what all ranks have agreed on (`tell`).

    Examples
    --------
    >>> monitor = MonitorHandle()  # doctest: +SKIP
    >>> monitor.port()  # doctest: +SKIP
    40213
    """

    def __init__(self) -> None:
        manager = processes.own_manager()
        self._start(manager, claim_start(manager))

    @classmethod
    def start_if_first_rank_is_dead(cls) -> None:
        """See to it that this node has a monitor, before MPI is started: it waits for a rank that is dead."""
        manager = processes.own_manager()
        while not Backoff(shortest=1e-3).sleep_until(lambda: is_started(manager), _FIRST_RANK_PATIENCE):
            if processes.first_rank_lives(manager):
                return
            claim = claim_start(manager)
            if claim:
                cls.__new__(cls)._start(manager, claim)

    def _start(self, manager: int, claim: socket.socket | None) -> None:
        stderr, ranks = processes.open_job_stderr(), InheritedRanks(manager)
        known = [os.getpid(), manager, *ranks.numbers]
        held = [claim.fileno()] if claim else []
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pse.runtime.supervise._node_monitor", *map(str, known)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=os.environ,  # Open MPI 4 adds a rank, for C alone, where no launcher has given one.
            pass_fds=[*held, *ranks.descriptors],
            start_new_session=True,
        )
        if claim:
            claim.listen()
            claim.close()
        ranks.close()
        os.close(stderr)
        # It outlives this process; nobody is to wait for it.
        self._process.returncode = 0

    def port(self) -> int:
        """Give the port at which the monitor listens for those of other nodes; 0 if it is gone."""
        assert self._process.stdout is not None
        return int(self._process.stdout.readline() or 0)

    def tell(self, job: MonitoredJob) -> None:
        """Tell the monitor about the job, and wait until it monitors all ranks of the node.

        Raises
        ------
        RunError
            If it is gone.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError), self._process.stdin as pipe:
            pipe.write(job.to_json())
        with self._process.stdout as answer:
            watching = WATCHING in answer.read()
        if not watching:
            from pse._abi.waiting import KILLED_HELP

            raise RunError(
                f"the process that was to monitor the ranks of this host (pid {self._process.pid}) ended as "
                "they started",
                help=KILLED_HELP,
            )

    def heed_its_end(self, still_needed: Callable[[], bool], ranks: Collection[int]) -> None:
        """Say so if the monitor is killed while it is needed.

        Parameters
        ----------
        still_needed : callable
            Says whether ranks of this node still run.
        ranks : collection of int
            Process numbers of these, if they are to end with it: monitors of other nodes, which can't tell
            that from the end of the host, end theirs.  Without any, the run goes on.
        """
        with contextlib.suppress(OSError):
            pidfd = os.pidfd_open(self._process.pid)
            arguments = (self._process.pid, pidfd, still_needed, ranks)
            threading.Thread(
                target=_await_end, args=arguments, name="awaits the monitor", daemon=True
            ).start()


def _await_end(pid: int, pidfd: int, still_needed: Callable[[], bool], ranks: Collection[int]) -> None:
    select.select([pidfd], [], [])
    if not still_needed():
        return
    killed = f"the process that monitors the ranks of this host (pid {pid}) was killed\n"
    if ranks:
        _say(f"error: {killed}help: the run ends: to other hosts this one looks as if it had failed\n")
        for rank in sorted(ranks, key=os.getpid().__eq__):  # This one last.
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
    else:
        _say(
            f"warning: {killed}"
            "help: the run goes on; if a rank is killed now, nobody names it, and others wait for it\n"
        )


def _say(text: str) -> None:
    stderr = processes.open_job_stderr()
    os.write(stderr, text.encode())
    os.close(stderr)
