"""Real jobs for the tests of launching and of faults: started, looked at from outside, hit, waited for."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pse import _proc
from pse.errors import PseError, RunError
from pse.runtime.launch import find_mpiexec
from pse.runtime.supervise._processes import mpiexec_above
from pse.toolstack import find_mpi, library
from pse_testing.sharing import made_once

PROGRAMS = Path(__file__).parents[1] / "runtime" / "programs"
LONG = ("-D", "rounds=1000000", "-D", "milliseconds=1")
"""Parameters of faulty.coven with which it runs until it is stopped."""

TWO_NODES = {"MPIR_CVAR_ODD_EVEN_CLIQUES": "1", "MPIR_CVAR_NUM_CLIQUES": "2"}
"""With these, MPICH takes odd ranks for those of another node; under another MPI, such tests are skipped."""

THREE_NODES = TWO_NODES | {"MPIR_CVAR_NUM_CLIQUES": "3"}

PATIENCE = 30.0
"""Seconds for what is quick on a machine that has nothing else to do."""


def unseen_until(made: Path) -> tuple[str, ...]:
    """Give what, before a rank's command, hides from the process manager that it was killed.

    The process manager may end the others, whatever it is told.  The file is waited for.
    """
    return "sh", "-c", '"$@" || until test -e "$0"; do sleep 0.1; done', str(made)


def beside_python(name: str) -> str:
    """Path of a program that this environment provides; of the one on PATH if it provides none."""
    own = Path(sys.executable).parent / name
    return str(own) if own.exists() else shutil.which(name) or str(own)


@functools.cache
def has_mpich() -> bool:
    """Say whether ranks are started by MPICH, which knows variables of its own."""
    mpiexec = find_mpiexec()
    return mpiexec.hydra and not mpiexec.intel


def needs_cliques() -> pytest.MarkDecorator:
    """Give the mark of tests that take one machine for several."""
    return pytest.mark.skipif(not has_mpich(), reason="only MPICH takes one machine for several")


def skip_two_nodes_elsewhere(environment: Mapping[str, str]) -> None:
    """Skip the test if this environment asks for two nodes of an MPI that can't take one machine for two."""
    if "MPIR_CVAR_NUM_CLIQUES" in environment and not has_mpich():
        pytest.skip("only MPICH takes one machine for two")


def compile_mpi_tools() -> None:
    """Compile the MPI tools where they did not come with pse, before the time limit of a test begins."""
    made_once("mpi-tools", _mpi_tools)


def _mpi_tools() -> None:
    with contextlib.suppress(PseError):
        library(find_mpi())


@functools.cache
def rank_variable() -> str:
    """Name the variable by which this environment's launcher tells a process its rank."""
    with contextlib.suppress(RunError):
        return "PMI_RANK" if find_mpiexec().hydra else "OMPI_COMM_WORLD_RANK"
    return "PMI_RANK"


def has_open_mpi() -> bool:
    """Say whether ranks are started by Open MPI, whose mpiexec has ways of its own."""
    return rank_variable() != "PMI_RANK"


def without_late_slices(said: str) -> str:
    """Drop what is said of time slices where other programs have the cores: it is true, and no mistake."""
    return re.sub(r"warning: more than 1 % of the time slices of \S+ µs came late, so .*\n", "", said)


def has_open_mpi_4() -> bool:
    """Say whether ranks are started by Open MPI of before 5, which had a runtime system of its own."""
    return Path(find_mpiexec().path).resolve().name == "orterun"


def skip_where_lines_mix() -> None:
    """Skip the test if what ranks print at once doesn't come in whole lines."""
    if has_open_mpi_4():
        pytest.skip("mpiexec of Open MPI 4 mixes what ranks print at once within lines")


def launched(*arguments: str) -> list[str]:
    """The command that runs faulty.coven by the launcher, with five ranks."""
    return [beside_python("pse"), "run", "faulty.coven", "-p", "2", *arguments]


def bare(*arguments: str, ranks: int = 5) -> list[str]:
    """The command that runs it under a bare mpiexec."""
    return [
        beside_python("mpiexec"),
        "-n",
        str(ranks),
        sys.executable,
        "-m",
        "pse",
        "faulty.coven",
        *arguments,
    ]


@dataclass
class Job:
    """A job that runs.  `seconds` is how long it took to end after it was last hit."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    directory: Path = PROGRAMS
    mark: str = field(default_factory=lambda: f"PSE_TEST_JOB={secrets.token_hex(8)}")
    seconds: float = 0.0
    out: str = ""
    err: str = ""

    def __post_init__(self) -> None:
        skip_two_nodes_elsewhere(self.environment)
        compile_mpi_tools()
        name, _, value = self.mark.partition("=")
        self.process = subprocess.Popen(
            self.command,
            cwd=self.directory,
            env={**os.environ, **self.environment, name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def processes(self) -> dict[int, dict[str, str]]:
        """Every living process of the job, with its environment as it was at its start."""
        found = {pid: _proc.environment(pid) for pid in sorted(_proc.processes())}
        return {pid: variables for pid, variables in found.items() if _proc.has(variables, self.mark)}

    def ranks(self) -> dict[int, int]:
        """Process numbers of the living ranks; what ranks started themselves comes after them."""
        found: dict[int, int] = {}
        for pid, environment in self.processes().items():
            rank = _proc.rank_of(environment)
            stands_for_one = _proc.name(pid) == _proc.STAND_IN
            if rank is not None and not stands_for_one and b"_node_monitor" not in _command_line(pid):
                found.setdefault(rank, pid)
        return found

    def command_line(self, pid: int) -> str:
        """Give what a process was started with."""
        return _command_line(pid).decode(errors="replace")

    def parent(self, pid: int) -> int:
        """Process number of a process's parent."""
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    def manager(self, rank: int) -> int:
        """Process number of who started a rank for mpiexec, or what stands for a rank that was forked."""
        stand_ins = (pid for pid in _proc.descendants(self.process.pid) if _proc.name(pid) == _proc.STAND_IN)
        return self.parent(next(stand_ins, rank))

    def mpiexec(self, rank: int) -> int:
        """Process number of mpiexec, which started a rank, by itself or through a process manager."""
        found = mpiexec_above(self.manager(rank))
        assert found is not None, f"no mpiexec started {self.command_line(rank)}"
        return found

    def wait_for_ranks(self, count: int) -> dict[int, int]:
        """Wait until so many ranks live."""
        deadline = time.monotonic() + PATIENCE
        while len(ranks := self.ranks()) < count:
            assert time.monotonic() < deadline, f"only {sorted(ranks)} of {count} ranks came up"
            assert self.process.poll() is None, f"over before it began:\n{self.process.communicate()}"
            time.sleep(0.005)  # Whoever looks all the time takes a core from those that start.
        return ranks

    def wait_for_monitor(self) -> int:
        """Wait until a node's monitor has been started; gives its process number."""
        found: list[int] = []

        def started() -> bool:
            found[:] = [pid for pid in self.processes() if b"_node_monitor" in _command_line(pid)]
            return bool(found)

        self._wait_until(started, "a node has a monitor")
        return found[0]

    def wait_until_monitored(self, pid: int, *, by_node: bool = False) -> None:
        """Wait until the launcher, or the monitor of a node, holds a pidfd of a process of the job."""

        def held() -> bool:
            monitors = [self.process.pid]
            if by_node:
                monitors = [found for found in self.processes() if b"_node_monitor" in _command_line(found)]
            return any(_holds(monitor, pid) for monitor in monitors)

        self._wait_until(held, f"process {pid} is monitored")

    def wait_until_named(self, names: Mapping[int, str]) -> None:
        """Wait until processes of the job have names of their own; takes process numbers with the names."""
        self._wait_until(
            lambda: all(_proc.name(pid) == name for pid, name in names.items()), f"there are {names}"
        )

    def wait_until_stopped(self, pid: int) -> None:
        """Wait until SIGSTOP has stopped a process of the job."""
        stat = Path(f"/proc/{pid}/stat")
        self._wait_until(
            lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", f"process {pid} is stopped"
        )

    def wait_until_gone(self) -> None:
        """Wait until no process of the job lives."""
        self._wait_until(lambda: not self.processes(), "the job's processes are gone")

    def _wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"it never came to be that {what}"
            time.sleep(0.005)  # Whoever looks all the time takes a core from those that start.

    def wait_for_words(self, words: str, stream: str = "err") -> None:
        """Wait until the job has said something on standard error, or on standard output ("out")."""
        pipe = self.process.stderr if stream == "err" else self.process.stdout
        assert pipe is not None
        for line in pipe:
            setattr(self, stream, getattr(self, stream) + line)
            if words in line:
                return
        raise AssertionError(f"never said {words!r}:\n{self.out}\n{self.err}")

    def go_on_for(self, seconds: float) -> None:
        """Let it run for a while; it must not end meanwhile."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self.process.wait(seconds)
            raise AssertionError(f"ended with {code}:\n{self.process.communicate()}")

    def hit(self, pid: int, number: signal.Signals) -> None:
        """Send a signal; the clock for `seconds` starts anew."""
        os.kill(pid, number)
        self._hit_at = time.monotonic()

    def wait(self) -> int:
        """Wait for the end; gives the exit code."""
        self._hit_at = getattr(self, "_hit_at", time.monotonic())
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)
            out, err = self.process.communicate()
            raise AssertionError(f"did not end\n--- out\n{out}\n--- err\n{self.err}{err}") from None
        self.seconds = time.monotonic() - self._hit_at
        self.out += out
        self.err += err
        return self.process.returncode


def _holds(holder: int, pid: int) -> bool:
    """Say whether a process holds a pidfd of another."""
    with contextlib.suppress(OSError):
        entries = Path(f"/proc/{holder}/fdinfo").iterdir()
        return any(f"Pid:\t{pid}\n".encode() in _content(entry) for entry in entries)
    return False


def _command_line(pid: int) -> bytes:
    return _content(Path(f"/proc/{pid}/cmdline"))


def _content(file: Path) -> bytes:
    """Read what may go away meanwhile; nothing if it has."""
    try:
        return file.read_bytes()
    except OSError:
        return b""
