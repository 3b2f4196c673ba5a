"""Processes of a job on this machine: who descends from the launcher, which rank each is, how they end.

Linux only: reads /proc and uses pidfds, so that a process number that is used anew is never hit.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import stat
import struct
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pse import _proc
from pse._abi.environment import (
    HYDRA_VARIABLES,
    LAUNCHERS,
    LOCAL_RANK_VARIABLES,
    LOCAL_SIZE_VARIABLES,
    MPI_RANK_VARIABLES,
    NODE_RANKS_VARIABLE,
)
from pse.records import dataclass
from pse.runtime.supervise._backoff import Backoff

if TYPE_CHECKING:
    import socket

DEATH_PATIENCE = 1.0
"""Seconds that a rank may take to be dead after it began to die."""

FORKED = struct.Struct("2i")
"""A rank, and the process that was forked to be it, as a fork server tells the launcher."""

_ANCESTORS = 3
_KEPT_BELOW = 4096  # As far as a table of descriptors costs nothing to speak of.
_KEPT_ROOM = 16
_SPEECH_PATIENCE = 5.0
_KILL_PATIENCE = 1.0
_UCRED = struct.Struct("3i")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PIDFD_GETFD = 438  # the system call's number


@dataclass(frozen=True)
class RankProcess:
    """A rank's process on this machine, held by a pidfd."""

    rank: int
    pid: int
    pidfd: int


def name_rank(rank: int, host: str, pid: int, place: str = "") -> str:
    """Name a rank in messages.

    Examples
    --------
    >>> name_rank(3, "n1", 77, "thread_B of processor 1")
    'rank 3 (thread_B of processor 1, host n1, pid 77)'
    """
    return f"rank {rank} ({place}{', ' if place else ''}host {host}, pid {pid})"


@dataclass(frozen=True)
class PipeHangup:
    """The other end of a pipe of a rank, which hangs up just before anybody sees the rank die.

    A dying process first closes its descriptors and only then is dead to others.  What follows from its death
    (mpiexec begins to kill) comes after the first, but may well come before the second.  Linux closes high
    descriptors first: standard output may come after the one that mpiexec looks at, a held pipe comes before.
    """

    rank: int
    fd: int

    @classmethod
    def open(cls, process: RankProcess, descriptor: int = 1) -> PipeHangup | None:
        """Open that of a descriptor; None if it is not of a pipe, or the rank is dead already."""
        path = f"/proc/{process.pid}/fd/{descriptor}"
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.stat(path).st_mode):
                return cls(process.rank, os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return None


class DeathOrder:
    """The order in which ranks began to die: they are dead in any order, so this tells the culprit."""

    def __init__(self) -> None:
        self._order: list[int] = []

    def add(self, hangup: PipeHangup) -> None:
        """Note that a rank began to die."""
        os.close(hangup.fd)
        self._order.append(hangup.rank)

    def before(self, rank: int | None) -> Iterator[int]:
        """Give the ranks that began to die before one that is dead (None: so far), each only once."""
        while self._order and self._order[0] != rank:
            yield self._order.pop(0)


@dataclass(frozen=True)
class ProcessManager:
    """The process that started ranks on this machine, and what to call it."""

    pid: int
    pidfd: int
    name: str = "MPI's process manager"


def is_dead(pidfd: int, patience: float = 0.0) -> bool:
    """Say whether a process has ended, waiting for it at most so many seconds."""
    return bool(select.select([pidfd], [], [], patience)[0])


def inside_mpi_job() -> bool:
    """Say whether some MPI launcher started this process.

    Returns
    -------
    bool
        True if the environment has a rank.

    Examples
    --------
    >>> inside_mpi_job(), own_rank(), local_rank()
    (False, None, None)
    """
    # A batch script has SLURM_PROCID as well, so it proves nothing.
    return any(name in os.environ for name in MPI_RANK_VARIABLES)


def own_rank() -> int | None:
    """Give the rank of this process before MPI itself is asked.

    Returns
    -------
    int or None
        What the environment says; None if it doesn't say.

    See Also
    --------
    inside_mpi_job
    """
    return _proc.rank_of(os.environ)


def own_manager() -> int:
    """Give the process that started this rank, though that may have ended: hydra's made its PMI socket.

    Outside an MPI job it is this process: what started it may have started other jobs as well.
    """
    if not inside_mpi_job():
        return os.getpid()
    import socket  # Not every rank needs it.

    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(proxy_descriptor())) as pmi:
        return peer(pmi)[0] or os.getppid()
    return os.getppid()


def peer(connection: socket.socket) -> tuple[int, int]:
    """Give the process, and the user, at the other end of a local socket."""
    import socket

    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    pid, user, _ = _UCRED.unpack(credentials)
    return pid, user


def proxy_descriptor() -> int:
    """Give the descriptor by which hydra takes PMI-1 commands from this rank; -1 under another launcher."""
    value = os.environ.get("PMI_FD", "") if any(map(os.environ.get, HYDRA_VARIABLES)) else ""
    return int(value) if value.isdecimal() else -1


def kept_proxy_descriptor() -> int:
    """Give another descriptor of the one by which hydra takes commands, above those that modules open.

    Hydra kills all ranks at once when the last one is closed, before the module that did it could be named.
    """
    proxy = proxy_descriptor()
    if proxy < 0:
        return proxy
    import fcntl

    try:
        return fcntl.fcntl(proxy, fcntl.F_DUPFD_CLOEXEC, max(_kept_end() - _KEPT_ROOM, 0))
    except OSError:
        return proxy


def hold_pipe() -> None:
    """Keep a pipe in this rank by which others see at once that it dies: `PipeHangup.open` of `held_pipe`."""
    import fcntl

    reading, writing = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, held_pipe())
    os.close(reading)
    os.close(writing)


def held_pipe() -> int:
    """Give the descriptor of the pipe that ranks hold, above that of mpiexec."""
    return max(_kept_end() - _KEPT_ROOM // 2, 0)


def _kept_end() -> int:
    import resource

    return min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], _KEPT_BELOW)


def local_rank() -> int | None:
    """Give this process's place among the ranks of its node.

    Returns
    -------
    int or None
        What the environment says, counted from 0; None if it doesn't say.

    See Also
    --------
    inside_mpi_job
    """
    values = (os.environ.get(name, "") for name in LOCAL_RANK_VARIABLES)
    return next((int(value) for value in values if value.isdecimal()), None)


def local_ranks() -> int:
    """Count the ranks of this node.

    Returns
    -------
    int
        What the environment says; 0 if it doesn't.

    See Also
    --------
    inside_mpi_job
    """
    return len(node_ranks())


def node_ranks() -> list[int]:
    """Give the ranks of this node: Slurm lists them, of others those beside this one are taken for them."""
    first = (own_rank() or 0) - (local_rank() or 0)
    for value in map(os.environ.get, LOCAL_SIZE_VARIABLES):
        if value and value.isdecimal():
            return list(range(first, first + int(value)))
    return [int(rank) for rank in os.environ.get(NODE_RANKS_VARIABLE, "").split(",") if rank.isdecimal()]


def first_rank_lives(manager: int) -> bool:
    """Say whether the first rank of this node is among the living ranks that a process started."""
    first = min(node_ranks(), default=None)
    return first in _proc.ranks_below(manager)


def outlive_first_rank() -> None:
    """Wait for the end of this node's first rank, which says for all what is wrong with the command line.

    Open MPI's launcher ends it, and loses its words, as soon as another rank has failed.

    See Also
    --------
    own_rank

    Examples
    --------
    >>> outlive_first_rank()  # Outside an MPI job there is none.
    """
    begun = "mpi4py.MPI" in sys.modules  # Ranks end together then.
    if not begun and own_rank() not in (None, min(node_ranks(), default=None)):
        manager = own_manager()
        Backoff(shortest=1e-3).sleep_until(lambda: not first_rank_lives(manager), _SPEECH_PATIENCE)


def slurm_step() -> str:
    """Name the job step of Slurm that this process belongs to, as scancel takes it; empty without Slurm."""
    names = [os.environ.get(name, "") for name in ("SLURM_JOB_ID", "SLURM_STEP_ID")]
    return ".".join(names) if all(names) else ""


def mpiexec_above(start: int) -> int | None:
    """Find mpiexec among a process and its ancestors; None if it isn't on this machine.

    It may have a second name after its own: mpiexec.hydra, or mpiexec.openmpi as Debian has it.
    """
    pid: int | None = start
    for _ in range(_ANCESTORS):
        if pid is None or _is_mpiexec(pid):
            return pid
        pid = _proc.parent(pid)
    return None


def hold_mpiexec() -> tuple[int, int] | None:
    """Give mpiexec's process number and a pidfd of it; None if it isn't on this machine."""
    pid = mpiexec_above(own_manager())
    try:
        return None if pid is None else (pid, os.pidfd_open(pid))
    except OSError:
        return None


def open_job_stderr() -> int:
    """Open mpiexec's own standard error; a rank's is a pipe whose content a dying job may lose.

    Returns
    -------
    int
        A descriptor of its own; this process's standard error where mpiexec isn't on this machine.
    """
    return open_job_stream(2)


def open_job_stream(stream: int) -> int:
    """Open mpiexec's own standard output (1) or error (2); this process's where it can't be had."""
    mpiexec = hold_mpiexec()
    if mpiexec is not None:
        try:
            return _open_stream_of(*mpiexec, stream)
        except OSError:
            pass  # What this process writes goes through pipes to mpiexec.
        finally:
            os.close(mpiexec[1])
    return os.dup(stream)


def _open_stream_of(pid: int, pidfd: int, stream: int) -> int:
    with contextlib.suppress(OSError):  # A socket can't be opened anew, nor a file that is another user's.
        if not _writes_at_an_offset(pid, stream):
            return os.open(f"/proc/{pid}/fd/{stream}", os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
    return _duplicate_of(pidfd, stream)


def _writes_at_an_offset(pid: int, stream: int) -> bool:
    """Say whether a process's stream is a file that it does not append to, as a shell's ``>`` makes it.

    Where such a file is opened anew, the process goes on to write at its own offset, over what was appended.
    """
    if not stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{stream}").st_mode):
        return False
    with open(f"/proc/{pid}/fdinfo/{stream}", encoding="ascii") as file:
        flags = next(line for line in file if line.startswith("flags:"))
    return not int(flags.split()[1], 8) & os.O_APPEND


def _duplicate_of(pidfd: int, descriptor: int) -> int:
    """Duplicate a descriptor of another process, as `os.dup` does with one of this process.

    Raises
    ------
    OSError
        If the kernel is older than 5.6, or lets only ancestors do so (kernel.yama.ptrace_scope).
    """
    library = ctypes.CDLL(None, use_errno=True)
    found: int = library.syscall(_PIDFD_GETFD, pidfd, descriptor, 0)
    if found < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return found


def find_ranks(root: int, mark: str | None = None) -> list[RankProcess]:
    """Find the ranks among the descendants of a process.

    Parameters
    ----------
    root : int
        Process number of mpiexec, or of its helper on this node.
    mark : str, optional
        An environment entry ``NAME=value`` that all of the job's processes have.

    Returns
    -------
    list of RankProcess
        One for each rank.
    """
    found: list[RankProcess] = []
    for rank, pid in _proc.ranks_below(root, mark).items():
        with contextlib.suppress(OSError):
            found.append(RankProcess(rank, pid, os.pidfd_open(pid)))
    return found


def read_forked(descriptor: int) -> Iterator[RankProcess]:
    """Give the ranks that a fork server has forked since the last look; also those that are dead."""
    with contextlib.suppress(BlockingIOError):
        while entry := os.read(descriptor, FORKED.size):
            rank, pid = FORKED.unpack(entry)
            with contextlib.suppress(OSError):
                yield RankProcess(rank, pid, os.pidfd_open(pid))


def find_managers(root: int) -> list[int]:
    """Find the children of mpiexec that are not ranks: they start the ranks.

    Open MPI's mpiexec starts ranks itself: one that it has forked is like mpiexec until it executes, and
    then has no environment for a moment.
    """
    children = [pid for pid in _proc.descendants(root) if _proc.parent(pid) == root]
    executed = [pid for pid in children if _proc.command_line(pid) != _proc.command_line(root)]
    known = {pid: variables for pid in executed if (variables := _proc.environment(pid))}
    return [pid for pid, variables in known.items() if _proc.rank_of(variables) is None]


def adopted_a_rank(mark: str) -> bool:
    """Say whether a rank whose parent has ended is this process's child now (see `adopt_orphans`)."""
    own = os.getpid()
    ranks = _proc.ranks_below(own, mark).values()
    stand_ins = (pid for pid in _proc.descendants(own) if _proc.name(pid) == _proc.STAND_IN)
    return any(_proc.parent(pid) == own for pid in (*ranks, *stand_ins))


def kill_job(root: int, mark: str) -> None:
    """Kill every descendant of a process that has a mark in its environment; reap adopted ones."""
    killed: set[int] = set()

    def none_lives() -> bool:
        living = {pid for pid in _proc.descendants(root) if _proc.has(_proc.environment(pid), mark)}
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed.update(living)
        return not living

    Backoff(shortest=2e-3).sleep_until(none_lives, _KILL_PATIENCE)
    for pid in killed:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def adopt_orphans(on: bool) -> None:
    """Become the parent of descendants whose own parent dies, so that none of them gets out of sight."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent dies; a program that it executes keeps that.

    Parameters
    ----------
    number : int, optional
        The signal.

    Examples
    --------
    >>> import subprocess
    >>> process = subprocess.Popen(["sleep", "60"], preexec_fn=die_with_parent)  # doctest: +SKIP
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def die_with_mpiexec() -> None:
    """Have the kernel kill this rank when mpiexec dies, if mpiexec has started it, as Open MPI's does.

    Ranks of Open MPI that are past MPI_Init outlive it.  Those of MPICH are ended by their process manager.

    Examples
    --------
    >>> from pse.runtime.supervise import die_with_mpiexec
    >>> die_with_mpiexec()  # Nothing changes: mpiexec has not started this process.
    """
    above = os.getppid()
    if _is_mpiexec(above):
        die_with_parent()
        if os.getppid() != above:
            os.kill(os.getpid(), signal.SIGKILL)


def _is_mpiexec(pid: int) -> bool:
    return _proc.name(pid).partition(".")[0] in LAUNCHERS
