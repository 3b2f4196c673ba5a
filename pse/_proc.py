"""Processes and processors of this machine as /proc shows them, beside errors and texts under all rooms.

A process may end at any moment: one that is gone has no status, no descendants, no files, and no texts.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from pse._abi.environment import MPI_RANK_VARIABLES
from pse.records import dataclass

RANK_VARIABLES = (*MPI_RANK_VARIABLES, "SLURM_PROCID")
"""How MPI launchers tell a process its rank, in the order in which they are believed."""

STAND_IN = "_forked_rank"
"""The program that stands for a rank under mpiexec, where another process forks the rank."""

_LINE = 60
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Status:
    """What is known of a living process.

    Attributes
    ----------
    parent : int
        The process number of its parent.
    cpu_seconds : float
        CPU time of all its threads so far.
    started : int
        Clock ticks since the machine's start; tells it from a later process of its number.
    """

    parent: int
    cpu_seconds: float
    started: int


def unconnected_tasks() -> int:
    """Say how many tasks srun has started with this process, if no MPI launcher has given it a rank."""
    if any(name in os.environ for name in MPI_RANK_VARIABLES):
        return 1
    return int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))


def status(pid: int) -> Status | None:
    """Give the status of a living process; None for zombies and for those that are gone."""
    # Its name comes first, and may have blanks and parentheses.
    fields = _read(f"{pid}/stat").rpartition(b")")[2].split()
    if not fields or fields[0] in b"ZX":
        return None
    return Status(int(fields[1]), (int(fields[11]) + int(fields[12])) * _TICK, int(fields[19]))


def is_stopped(pid: int) -> bool:
    """Say whether a process was stopped by a signal, SIGSTOP for example, and may be continued."""
    return _read(f"{pid}/stat").rpartition(b")")[2].split()[:1] == [b"T"]


def parent(pid: int) -> int | None:
    """Give the parent of a living process."""
    found = status(pid)
    return found.parent if found else None


def processes() -> Iterator[int]:
    """Give the numbers of all processes."""
    return map(int, filter(str.isdecimal, os.listdir("/proc")))


def descendants(root: int) -> Iterator[int]:
    """Give every living descendant of a process, parents first."""
    children = _listed_children if os.path.exists(f"/proc/{root}/task/{root}/children") else _scan_children()
    waiting = list(children(root))
    while waiting:
        pid = waiting.pop(0)
        yield pid
        waiting += children(pid)


def has_lost_children(pid: int) -> bool:
    """Say whether a living process has had children, of which none lives."""
    if status(pid) is None or any(descendants(pid)):
        return False
    faults_of_children = _read(f"{pid}/stat").rpartition(b")")[2].split()[8:9]  # Those that it waited for.
    return faults_of_children != [b"0"] or bool(_read(f"{pid}/task/{pid}/children").split())


def has_killed_child(root: int) -> bool:
    """Say whether a signal has ended a child of a process or of its descendants, and nobody waited for it."""
    parents = {root, *descendants(root)}
    ends = (_read(f"{pid}/stat").rpartition(b")")[2].split() for pid in processes())
    return any(end[:1] == [b"Z"] and int(end[1]) in parents and int(end[-1]) & 0x7F for end in ends)


def ranks_below(root: int, mark: str | None = None) -> dict[int, int]:
    """Find the ranks among the descendants of a process.

    Parameters
    ----------
    root : int
        Process number of mpiexec, or of its helper on this node.
    mark : str, optional
        An environment entry ``NAME=value`` that all of the job's processes have.

    Returns
    -------
    dict of int to int
        The process of each rank: what a rank itself starts has the same environment, but comes after it.
    """
    found: dict[int, int] = {}
    for pid in descendants(root):
        variables = environment(pid)
        rank = rank_of(variables) if mark is None or has(variables, mark) else None
        if rank is not None and name(pid) != STAND_IN:
            found.setdefault(rank, pid)
    return found


def rank_of(variables: Mapping[str, str]) -> int | None:
    """Give the rank that an environment tells; None if it tells none."""
    values = (variables.get(name, "") for name in RANK_VARIABLES)
    return next((int(value) for value in values if value.isdecimal()), None)


def has(variables: Mapping[str, str], mark: str) -> bool:
    """Say whether an environment has an entry ``NAME=value``."""
    name, _, value = mark.partition("=")
    return variables.get(name) == value


def environment(pid: int) -> dict[str, str]:
    """Give the environment with which a process was started."""
    entries = _read(f"{pid}/environ").decode(errors="replace").split("\0")
    return dict(entry.partition("=")[::2] for entry in entries if entry)


def name(pid: int) -> str:
    """Give the name of a process's program, of which the kernel keeps 15 bytes."""
    return _read(f"{pid}/comm").decode(errors="replace").strip()


def command_line(pid: int) -> str:
    """Give what a process was started with, shortened; its name if it doesn't say."""
    words = _read(f"{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    line = words.decode(errors="backslashreplace") or name(pid)
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def open_files(pid: int) -> Iterator[tuple[int, str]]:
    """Give the descriptors of a process, and what they lead to, as the kernel names it."""
    directory = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for descriptor in os.listdir(directory):
            with contextlib.suppress(OSError):
                yield int(descriptor), os.readlink(f"{directory}/{descriptor}")


def mapped_files(pid: int | None = None) -> list[str]:
    """Give the files that a process has mapped, this one's by default, in the order of their addresses."""
    lines = os.fsdecode(_read(f"{pid or 'self'}/maps")).splitlines()
    return [fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6]


def connecting_users(client_port: int, server_port: int) -> set[int]:
    """Give whose sockets of this machine connect from one port of TCP to another; root's may be another's."""
    wanted = (f"{client_port:04X}", f"{server_port:04X}")
    lines = (_read("net/tcp") + _read("net/tcp6")).decode().splitlines()
    sockets = (line.split() for line in lines if ":" in line.split()[1])  # Others are headings.
    return {int(one[7]) for one in sockets if (one[1].split(":")[1], one[2].split(":")[1]) == wanted}


def _listed_children(pid: int) -> list[int]:
    """Read the living children of a process where the kernel lists them, which not every kernel does."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, _read(f"{pid}/task/{thread}/children").split())
    return [child for child in found if status(child)]


def _scan_children() -> Callable[[int], list[int]]:
    """Look at all processes, and give a function that knows the living children of each."""
    children: dict[int, list[int]] = {}
    for pid in processes():
        above = parent(pid)
        if above is not None:
            children.setdefault(above, []).append(pid)
    return lambda pid: children.get(pid, [])


def _read(path: str) -> bytes:
    """Read a file of /proc; nothing where it can't be read."""
    try:
        with open(f"/proc/{path}", "rb") as file:
            return file.read()
    except OSError:
        return b""


@cache
def processor_identity() -> str:
    """Describe the processor, on which `-march=native` depends: nodes that share a cache may differ."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return os.uname().machine
    first = text.split("\n\n")[0]
    telling = re.findall(
        r"^(?:model name|flags|Features|CPU part|CPU implementer)\s*:.*$", first, re.MULTILINE
    )
    return "\n".join([os.uname().machine, *telling])
