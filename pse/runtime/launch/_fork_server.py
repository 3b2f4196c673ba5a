"""Ranks that are forked instead of started: Python, NumPy, MPI and this package are loaded only once.

The fork server is a child of the launcher, and loads what ranks need while the launcher starts mpiexec.
Under mpiexec stands, for each rank, a small program (cext/launch/forked_rank.c) that asks the server for a
process, which gets the streams, the PMI socket and the environment that the small program had.  That is
what mpiexec knows of the rank: it passes signals on, and ends as the rank does.

The server does not reap ranks: who looks at one that has ended finds a zombie that tells its exit status.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import socket
import struct
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn, Self

from pse import _proc
from pse.records import dataclass
from pse.runtime.request._prepared import Prepared
from pse.runtime.supervise._processes import FORKED, die_with_parent, peer
from pse.runtime.supervise._rank_setup import prepare_rank_process, share_cores
from pse.runtime.supervise._stdio import open_closed_streams

_STREAMS = 3
_ENVIRONMENT_ROOM = 512
"""Bytes that the first environment of a process must have, for the variables by which ranks are found."""

_NUMBER = struct.Struct("i")
_ENVIRONMENT_START = 47
"""Place of ``env_start`` among the fields of /proc/PID/stat after the process's name; ``env_end`` is next."""


class ForkServer:
    """The launcher's end of a fork server.

    Parameters
    ----------
    prepared : Prepared
        What ranks are to run.
    arguments : sequence of str
        The words after ``python -m pse`` of a rank that starts by itself.
    environment : mapping of str to str
        What ranks find in their environment; libraries read it as they are loaded.

    Attributes
    ----------
    pid : int
        The server's process number.
    address : str
        By what name it is found.
    ranks : int
        A descriptor that tells which process each rank is, as `read_forked` reads it.
    stand_in : str
        The program that stands for a rank under mpiexec.
    """

    stand_in = str(Path(__file__).with_name(_proc.STAND_IN))

    def __init__(self, prepared: Prepared, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.address = f"pse-fork-{os.urandom(8).hex()}"
        self.ranks, into = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(f"\0{self.address}")
            listener.listen(prepared.ranks)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            launcher, self.pid = os.getpid(), os.fork()
            if not self.pid:
                _Server(listener, into, prepared, arguments).serve(launcher, environment)
        os.close(into)
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server, and with it the ranks that are left."""
        if self._open:
            self._open = False
            os.close(self.ranks)
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)


def can_fork(environment: Mapping[str, str]) -> bool:
    """Say whether ranks can be forked of this process instead of started in an environment.

    What is preloaded, other libraries have to be loaded after; a process with threads can't be copied.
    """
    room = len(Path("/proc/self/environ").read_bytes())
    return (
        not environment.get("LD_PRELOAD")
        and threading.active_count() == 1
        and room >= _ENVIRONMENT_ROOM
        and os.access(ForkServer.stand_in, os.X_OK)
    )


class _Server:
    """The server itself: a rank for each connection, until all ranks have ended."""

    def __init__(
        self, listener: socket.socket, ranks: int, prepared: Prepared, arguments: Sequence[str]
    ) -> None:
        self._ranks = ranks
        self._listener, self._prepared, self._arguments = listener, prepared, arguments
        self._awaited = prepared.ranks
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, socket.socket] = {}
        """That of each rank, by the rank's pidfd."""

    def serve(self, launcher: int, environment: Mapping[str, str]) -> NoReturn:
        """Load, fork, wait; what fails here fails again, and is told, in ranks that start by themselves."""
        code = 1
        try:
            die_with_parent()
            if os.getppid() == launcher:
                os.setsid()  # A terminal's Ctrl-C is for the launcher alone.
                _heed_signals()
                os.environ.update(environment)
                share_cores(self._awaited)
                _load()
                self._run()
                code = 0
        finally:
            os._exit(code)

    def _run(self) -> None:
        self._selector.register(self._listener, selectors.EVENT_READ)
        while self._awaited or self._connections:
            key, _ = self._selector.select()[0]  # What follows may be about descriptors that this one closes.
            if key.fileobj is self._listener:
                self._fork(self._listener.accept()[0])
            elif key.fd in self._connections:
                self._tell_end(key.fd)
            else:
                self._end(key.data)

    def _fork(self, connection: socket.socket) -> None:
        place = _Place.asked_for(connection, self._ranks)
        if place is None:
            connection.close()
            return
        self._awaited -= 1
        rank = os.fork()
        if not rank:
            self._close()
            connection.close()
            _become_rank(self._prepared, self._arguments, place)
        for descriptor in place.descriptors:
            os.close(descriptor)
        pidfd = os.pidfd_open(rank)
        self._connections[pidfd] = connection
        self._selector.register(pidfd, selectors.EVENT_READ)
        self._selector.register(connection, selectors.EVENT_READ, pidfd)
        self._send(connection, rank)

    def _tell_end(self, pidfd: int) -> None:
        """Have who stands for a rank end as the rank did."""
        ended = os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        exited = ended.si_code == os.CLD_EXITED
        connection = self._connections.pop(pidfd)
        self._send(connection, ended.si_status << 8 if exited else ended.si_status)
        self._selector.unregister(pidfd)
        with contextlib.suppress(KeyError):
            self._selector.unregister(connection)
        connection.close()
        os.close(pidfd)

    @staticmethod
    def _send(connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            connection.send(_NUMBER.pack(number))

    def _end(self, pidfd: int) -> None:
        """Kill the rank of a process that mpiexec has killed."""
        self._selector.unregister(self._connections[pidfd])
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def _close(self) -> None:
        """Give back what a rank has nothing to do with."""
        self._selector.close()
        self._listener.close()
        for pidfd, connection in self._connections.items():
            connection.close()
            os.close(pidfd)


def _heed_signals() -> None:
    """End by signals as a program in C does, so that what ended the server can be told."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # Ignored, it would let nobody wait for ranks.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _load() -> None:
    """Load what every rank needs, but start nothing: MPI and threads begin in ranks."""
    from pse.runtime.faults import name_aborts

    name_aborts()
    import mpi4py

    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    from pse.runtime.rank import run_rank  # noqa: F401


@dataclass(frozen=True)
class _Place:
    """What mpiexec gave the process that asks for a rank, and by which descriptor the launcher is told."""

    environment: bytes
    descriptors: list[int]
    cores: set[int]
    ranks: int

    @classmethod
    def asked_for(cls, connection: socket.socket, ranks: int) -> Self | None:
        """Take it from who asks; None if that is somebody else's process, or dead already."""
        asker, user = peer(connection)
        if user != os.getuid():
            return None
        message, descriptors, _, _ = socket.recv_fds(connection, 1, _STREAMS + 1)
        with contextlib.suppress(OSError):
            environment = Path(f"/proc/{asker}/environ").read_bytes()
            if message and environment:
                return cls(environment, descriptors, os.sched_getaffinity(asker), ranks)
        return None


def _become_rank(prepared: Prepared, arguments: Sequence[str], place: _Place) -> NoReturn:
    """Take the place of the process that asked, and be a rank to the end."""
    code = 1
    try:
        from pse.runtime.faults import ending_the_job

        with ending_the_job():
            _take_place(place)
            sys.argv[1:] = arguments
            code = _run(prepared)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        # As Python ends a program; the frames of the launcher, of which this is a copy, are not gone back to.
        ctypes.pythonapi.Py_Exit(code)
        os._exit(code)


def _run(prepared: Prepared) -> int:
    from mpi4py import MPI

    from pse.runtime.rank import run_rank
    from pse.runtime.request import read_rank_arguments

    MPI.Init_thread()
    request = read_rank_arguments(sys.argv[1:])
    # What to resume, each rank reads itself.
    return run_rank(request, checked=None if request.resume else prepared)


def _take_place(place: _Place) -> None:
    server = os.getppid()
    die_with_parent()
    if os.getppid() != server:
        os._exit(1)
    os.setpgid(0, 0)
    _restore_signals()
    _take_environment(place.environment)
    _take_streams(place.descriptors, place.ranks)
    os.sched_setaffinity(0, place.cores)
    open_closed_streams()
    _take_path()
    _draw_anew()
    prepare_rank_process()


def _restore_signals() -> None:
    """Heed signals as Python does when it starts, but not what hydra sends when another rank has died."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _take_streams(descriptors: list[int], ranks: int) -> None:
    """Take the streams; then tell the launcher of this rank, as it will look at these."""
    for stream, descriptor in enumerate(descriptors[:_STREAMS]):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.write(ranks, FORKED.pack(int(os.environ["PMI_RANK"]), os.getpid()))
    os.close(ranks)
    pmi = int(os.environ["PMI_FD"])
    if descriptors[_STREAMS] != pmi:
        os.dup2(descriptors[_STREAMS], pmi)
        os.close(descriptors[_STREAMS])


def _take_environment(entries: bytes) -> None:
    """Have an environment, also in /proc, where this process has the launcher's; that may be shorter.

    Who looks for ranks there looks for the variables of PMI, and for the mark of the job.
    """
    words = sorted(entries.split(b"\0"), key=lambda word: not word.startswith((b"PMI_", b"PSE_")))
    os.environ.clear()
    pairs = (word.partition(b"=") for word in words)
    os.environb.update((name, value) for name, equals, value in pairs if equals)
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = map(int, fields[_ENVIRONMENT_START : _ENVIRONMENT_START + 2])
    ctypes.memset(start, 0, end - start)
    text = b"\0".join(words)[: end - start]
    ctypes.memmove(start, text, len(text))


def _take_path() -> None:
    """Look for modules where `python -P -m pse` does."""
    if not sys.flags.safe_path and sys.path[-1] != "":
        sys.path[:] = [*sys.path[1:], ""]


def _draw_anew() -> None:
    """Have random numbers of its own; Python's generator sees to that itself."""
    if "numpy.random" in sys.modules:
        import numpy as np

        np.random.seed()
