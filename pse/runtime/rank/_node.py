"""A rank's place on its node: who else is there, the board they share, and who is told when something fails.

The node's first rank makes the board, unless the launcher has one for it, and starts the node's monitor,
unless the launcher monitors all ranks.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

import numpy as np
from mpi4py import MPI

from pse._abi.waiting import RankState
from pse.errors import RunError
from pse.runtime import _faults
from pse.runtime._channel import Board
from pse.runtime.faults._stack_frames import register_python_frames, stack_frame_command
from pse.runtime.request._prepared import Prepared
from pse.runtime.supervise._error_format import describe_running, exit_code_of, format_error
from pse.runtime.supervise._launcher_records import Launcher, Record, Records, find_launcher
from pse.runtime.supervise._monitor_handle import Meeting, MonitoredJob, MonitorHandle
from pse.runtime.supervise._processes import (
    hold_pipe,
    kept_proxy_descriptor,
    open_job_stderr,
    proxy_descriptor,
)
from pse.text import text_bytes

_TOKEN_BYTES = 16
_NAMING_SECONDS = 0.3

NAME_ROOM = 64
"""Bytes of a host's name that ranks tell each other."""


class Node:
    """One rank's place.

    Parameters
    ----------
    comm : MPI.Intracomm
        All ranks.
    monitor : MonitorHandle or None
        The node's monitor, if this process has started it already.

    Attributes
    ----------
    nodes : list of int
        The node of every rank; nodes are numbered by their first ranks.
    hosts : list of str
        The host of every rank, once `join` is over.
    first : bool
        Whether this is its node's first rank.
    launcher : Launcher or None
        Who prints the report, and failures.
    board : Board
        The node's board, once `join` is over.
    name : str
        What messages call this rank, once `join` is over.
    """

    board: Board
    hosts: list[str]

    def __init__(self, comm: MPI.Intracomm, monitor: MonitorHandle | None) -> None:
        self.comm, self.rank = comm, comm.Get_rank()
        self.local = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.nodes = _number_nodes(comm, self.local)
        self.first = self.local.Get_rank() == 0
        self.launcher = find_launcher()
        self.records = _open_records(self.launcher)
        self._words = self.records.fd if self.records else open_job_stderr()
        # The launcher's board is the first node's; on others it wouldn't know what a dead rank was doing.
        watched = self.launcher is not None and self.launcher.sees_all and self.nodes[self.rank] == 0
        self._needs_monitor = self.first and not watched
        self._monitor = monitor if self._needs_monitor else None

    def join(self, prepared: Prepared) -> None:
        """Open the board, and let no crash and no death on this node go without a name from now on."""
        self.board = _join_board(self.local, prepared, self.launcher if self.nodes[self.rank] == 0 else None)
        hold_pipe()
        self.hosts, pids = _exchange_names(self.comm)
        names = [prepared.who(rank, self.hosts[rank], pids[rank]) for rank in range(self.comm.Get_size())]
        self.name = names[self.rank]
        self.board.start(self.rank, os.getpid())
        kept = kept_proxy_descriptor()
        proxy = -1 if self.launcher and self.launcher.sees_all else kept
        _faults.install(self.board, self.rank, self.name, self._words, self.records is not None, proxy)
        if prepared.request.sanitize:
            _faults.expect_sanitizers()
        _faults.prepare_stack_frames(*stack_frame_command())
        _faults.prepare_python_frames(*register_python_frames())
        # MPI_Finalize first deletes this attribute; later it waits for all other ranks.
        MPI.COMM_SELF.Set_attr(MPI.Comm.Create_keyval(delete_fn=_on_finalize), True)
        if self._needs_monitor:
            self._monitor = self._monitor or MonitorHandle()
        meeting = self._meeting()
        self._meets = meeting is not None
        if self._monitor:
            job = self._monitored_job(prepared, names, pids, meeting)
            self._monitor.tell(job)
            self._monitor.heed_its_end(self._still_runs(job.pids), job.pids.values() if self._meets else ())
        self.local.Barrier()
        self.local.Free()

    def _still_runs(self, ranks: Iterable[int]) -> Callable[[], bool]:
        return lambda: any(self.board.slot(rank).state < RankState.DONE for rank in ranks)

    def _meeting(self) -> Meeting | None:
        """Agree on where the monitors of several nodes meet: at the first node's, if it has one."""
        if len(set(self.nodes)) == 1:
            return None
        place = np.zeros(1 + _TOKEN_BYTES, np.int64)
        if self.rank == 0 and self._monitor:
            place[0], place[1:] = self._monitor.port(), list(os.urandom(_TOKEN_BYTES))
        self.comm.Bcast(place)
        port, token = int(place[0]), bytes(place[1:].tolist()).hex()
        return Meeting(self.hosts[0], port, token) if port else None

    def _monitored_job(
        self, prepared: Prepared, names: list[str], pids: list[int], meeting: Meeting | None
    ) -> MonitoredJob:
        mine = self.nodes[self.rank]
        return MonitoredJob(
            board=(os.getpid(), self.board.fd),
            pids={rank: pid for rank, pid in enumerate(pids) if self.nodes[rank] == mine},
            names=names,
            sites=prepared.site_texts,
            nodes=len(set(self.nodes)),
            meeting=meeting,
            leads=self.rank == 0,
            launcher=self.launcher if self.records else None,
        )

    @property
    def needed_descriptor(self) -> int:
        """Give a descriptor that no module may close: MPI's for its process manager, or the one for words."""
        proxy = proxy_descriptor()
        return proxy if proxy >= 0 else self._words

    def fail(self, error: BaseException) -> NoReturn:
        """Tell why this rank fails, unless another rank of the node was first, and end the job."""
        self._tell(exit_code_of(error), format_error(error))
        self._leave(exit_code_of(error))

    def stop(self, number: int, sites: Sequence[str], way_on: str) -> NoReturn:
        """End because of a signal; `sites` are texts of call sites, `way_on` says how to go on later.

        A launcher of ours knows whether the whole job is stopped; otherwise it is, as by a batch system.
        """
        own = _faults.stopped_call()
        here = [rank for rank, node in enumerate(self.nodes) if node == self.nodes[self.rank]]
        running = f"  running: {own}\n" if own else describe_running(self.board, here, sites)
        if self.launcher:
            # MPI's launcher stops ranks after one that called MPI_Abort: whoever sees that one end names it.
            # Where all are stopped, one that ran something has more to say than one that waited.
            time.sleep(_NAMING_SECONDS if own else 2 * _NAMING_SECONDS)
        what = f"{self.name} was stopped by {signal.Signals(number).name}\n"
        self._tell(RunError.exit_code, f"error: {what}{running}" if self.launcher else f"{what}{way_on}")
        self._leave(128 + number, everywhere=self._meets)

    def _tell(self, code: int, text: str) -> None:
        if not self.board.claim_report():
            return
        try:
            if self.records:
                self.records.write(Record("failed", self.rank, code, text))
            else:
                os.write(self._words, text_bytes(text))
        except OSError:  # A module may have closed what it found open.
            self._tell_anew(code, text)

    def _tell_anew(self, code: int, text: str) -> None:
        if not (self.launcher and self.launcher.record_failure(self.rank, code, text)):
            os.write(open_job_stderr(), text_bytes(text))

    def _leave(self, code: int, *, everywhere: bool = False) -> NoReturn:
        """End without MPI_Finalize, which would wait for the others; they end because this rank does.

        Parameters
        ----------
        code : int
            The exit code.
        everywhere : bool, default False
            Whether monitors of nodes see to it that the ranks of other nodes end.
        """
        sys.stdout.flush()
        self.board.set_state(self.rank, RankState.FAILED)
        if len(set(self.nodes)) > 1 and proxy_descriptor() < 0 and not everywhere:
            self.comm.Abort(code)
        _faults.leave(code)


def _on_finalize(comm: MPI.Comm, keyval: int, value: object) -> None:
    _faults.finalize_called()


def _number_nodes(comm: MPI.Intracomm, local: MPI.Comm) -> list[int]:
    leader = np.array([comm.Get_rank()], np.int32)
    local.Bcast(leader)
    leaders = np.empty(comm.Get_size(), np.int32)
    comm.Allgather(leader, leaders)
    numbers = {first: number for number, first in enumerate(sorted(set(leaders.tolist())))}
    return [numbers[first] for first in leaders.tolist()]


def _exchange_names(comm: MPI.Intracomm) -> tuple[list[str], list[int]]:
    """Tell everybody every rank's host and process number."""
    mine = np.zeros(1, dtype=[("host", f"S{NAME_ROOM}"), ("pid", np.int64)])
    mine["host"], mine["pid"] = socket.gethostname().encode()[:NAME_ROOM], os.getpid()
    everybody = np.zeros(comm.Get_size(), dtype=mine.dtype)
    comm.Allgather([mine.view(np.uint8), MPI.BYTE], [everybody.view(np.uint8), MPI.BYTE])
    return [host.decode(errors="replace") for host in everybody["host"]], everybody["pid"].tolist()


def _open_records(launcher: Launcher | None) -> Records | None:
    try:
        return Records.open(launcher) if launcher else None
    except OSError:
        return None  # It is in another container, or gone.


def _join_board(local: MPI.Comm, prepared: Prepared, launcher: Launcher | None) -> Board:
    """Open the node's board: its first rank takes the launcher's if there is one that fits, or makes one."""
    place = np.zeros(2, np.int64)
    board = None
    if local.Get_rank() == 0:
        board = _launchers_board(prepared, launcher)
        if board and launcher:
            place[:] = launcher.pid, launcher.board
        else:
            board = Board.create(*prepared.board_size)
            place[:] = os.getpid(), board.fd
    local.Bcast(place)
    return board or Board.attach(int(place[0]), int(place[1]))


def _launchers_board(prepared: Prepared, launcher: Launcher | None) -> Board | None:
    if launcher is None:
        return None
    try:
        board = Board.attach(launcher.pid, launcher.board)
    except OSError:
        return None
    return board if tuple(board.size) == prepared.board_size else None
