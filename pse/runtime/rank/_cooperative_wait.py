"""How modules' own calls of MPI wait: by a tool that lets the rank sleep, under all ranks or under none.

Ranks with and without it don't understand each other's collective calls.  So every rank prepares the tool,
which changes nothing yet; all say whether they could; and then it works everywhere, or nowhere and one rank
says why.  Only the first rank of a node looks for the tool's object, which may have to be built there: nodes
need not share files, nor have the same MPI.  The tool is handed in from above (`pse.__main__`).
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import Protocol

import numpy as np
from mpi4py import MPI

from pse.errors import PseError, UsageError
from pse.runtime.rank._node import Node
from pse.runtime.supervise._backoff import Backoff
from pse.runtime.supervise._error_format import exit_code_of, print_error
from pse.text import count_text

_READY, _FOLLOWS, _KNOWS_WHY, _HAS_OTHERS = range(4)
"""What a rank says: it could; its node's first rank couldn't; it couldn't, and knows why; it has others."""

_PATH_ROOM = 4096


class WaitTool(Protocol):
    """A tool that is put under MPI; what is raised in a rank is a reason to go on without."""

    def make(self) -> None:
        """Have its object made where ranks are started, if it can be; nodes that share files then find it."""

    def find(self) -> str:
        """Give the path of its object on this node."""

    def prepare(self, path: str, transport: str) -> None:
        """Do all that may fail."""

    def engage(self) -> None:
        """Let it work from now on."""


def engage_on_all(node: Node, tool: WaitTool | None) -> None:
    """Put the tool under all ranks, or under none, with a warning; collective over all of them."""
    states, why = _engaged(node, tool, "auto")
    if _KNOWS_WHY in states and node.rank == states.index(_KNOWS_WHY):
        without = {node.nodes[rank] for rank, state in enumerate(states) if state != _READY}
        sys.stderr.write(_warning(why, len(without) - 1))


def coschedule_all(node: Node, tool: WaitTool | None) -> int:
    """Put the coscheduled layer under all ranks; gives 0, or all ranks' exit code where that can't be."""
    states, why = _engaged(node, tool, "bcs")
    if not any(states):
        return 0
    first = next(rank for rank, state in enumerate(states) if state)
    return _refused(node.rank == first, why or "--tools is given, and loads all tools of the run")


def _refused(tells: bool, why: str) -> int:
    error = UsageError(
        f"the option transport = bcs can't be used: {why}",
        help="leave the option out (-o transport=auto), or start the run as it asks for",
    )
    if tells:
        print_error(error, sys.stderr)
    return exit_code_of(error)


def _engaged(node: Node, tool: WaitTool | None, transport: str) -> tuple[list[int], str]:
    """Put the tool under all ranks if all can; gives what ranks said, and why this one couldn't."""
    path, why = _attempt(tool.find) if node.first and tool else ("", "")
    path = _told_to_all(node.local, path)
    if path and tool:
        _, why = _attempt(lambda: tool.prepare(path, transport))
    mine = _KNOWS_WHY if why else _READY if path else _FOLLOWS
    states = _exchanged(node.comm, mine if tool else _HAS_OTHERS)
    if tool and not any(states):
        tool.engage()
    return states, why


def _attempt(step: Callable[[], str | None]) -> tuple[str, str]:
    """Take a step; gives what it gives, and why it couldn't be taken."""
    try:
        return step() or "", ""
    except PseError as error:
        return "", str(error).splitlines()[0]
    except Exception as error:
        return "", repr(error)


def _told_to_all(local: MPI.Comm, text: str) -> str:
    """Tell all ranks of a node what the first one knows."""
    room = np.zeros(_PATH_ROOM, np.uint8)
    told = os.fsencode(text)[:_PATH_ROOM]
    room[: len(told)] = np.frombuffer(told, np.uint8)
    Backoff().sleep_until(local.Ibcast(room).Test)  # Cores are for whoever has to build the object first.
    return os.fsdecode(room.tobytes().rstrip(b"\0"))


def _exchanged(comm: MPI.Intracomm, mine: int) -> list[int]:
    states = np.zeros(comm.Get_size(), np.int8)
    Backoff().sleep_until(comm.Iallgather(np.array([mine], np.int8), states).Test)
    return [int(state) for state in states]


def _warning(why: str, others: int) -> str:
    more = f" and {count_text(others, 'other host')}" if others else ""
    return (
        "warning: modules that wait in MPI keep a core busy, since the tool coopwait is missing "
        f"on host {socket.gethostname()}{more}: {why}\n"
    )
