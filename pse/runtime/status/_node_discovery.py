"""What of a running job can be seen from this machine: the boards, arenas and processes of its nodes.

Whoever watches reads what ranks keep anyway; nothing is sent, no rank does anything for it.  The board that
the watcher holds is its own node's.  Where ranks of other nodes are processes of this machine (emulated
nodes), their boards and arenas are found among the open files of these processes; ranks of other machines
stay out of sight.  It reads /proc.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pse import _proc
from pse._abi.waiting import RankState
from pse.runtime._channel import Board
from pse.runtime.supervise._processes import mpiexec_above

if TYPE_CHECKING:
    from pse.memory import Arena, ArenaStatistics

LOOK_INTERVAL = 1.0
"""Seconds between two looks through the open files of processes."""

_BOARD, _ARENA = "/memfd:pse-board", "/memfd:pse-arena"


class VisibleNode:
    """A node: its board, the ranks that write on it, and its arena once that is found."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.ranks: tuple[int, ...] = ()
        self._arena: Arena | None = None

    def update(self) -> None:
        """Find out which ranks the node has."""
        slots = ((rank, self.board.slot(rank)) for rank in range(self.board.ranks))
        self.ranks = tuple(rank for rank, slot in slots if slot.state != RankState.ABSENT and slot.pid)

    def find_arena(self) -> None:
        """Map the arena, where a rank has one open."""
        if self._arena is not None:
            return
        from pse.memory import Arena, ArenaError  # It loads NumPy, which ranks shouldn't have to wait for.

        for slot in map(self.board.slot, self.ranks):
            for descriptor in _memory_files(slot.pid, _ARENA) if slot.state < RankState.DONE else ():
                with contextlib.suppress(ArenaError, OSError):
                    self._arena = Arena.attach(slot.pid, descriptor)
                    return

    def memory(self) -> ArenaStatistics | None:
        """Count what the arena holds; None if there is none in sight."""
        return self._arena.glance() if self._arena else None


class NodeDiscovery:
    """All nodes that can be seen.

    Parameters
    ----------
    board : Board
        The board that the watcher holds.
    arenas : bool, optional
        Whether to look for arenas, too.
    """

    def __init__(self, board: Board, *, arenas: bool = True) -> None:
        self.ranks, self._arenas = board.ranks, arenas
        self.nodes = [VisibleNode(board)]
        self._known = {_identity(os.getpid(), board.fd)}
        self._looked = float("-inf")

    def look(self) -> None:
        """See who is there now; open files are looked through only now and then."""
        for node in self.nodes:
            node.update()
        if time.monotonic() - self._looked < LOOK_INTERVAL:
            return
        self._looked = time.monotonic()
        if self.hidden():
            self._find_boards()
        for node in self.nodes if self._arenas else ():
            node.find_arena()

    def hidden(self) -> tuple[int, ...]:
        """Give the ranks that nothing is known of."""
        seen = {rank for node in self.nodes for rank in node.ranks}
        return tuple(rank for rank in range(self.ranks) if rank not in seen)

    def board_of(self, rank: int) -> Board:
        """Give the board on which a rank writes; the watcher's own if the rank is nowhere to be seen."""
        return next((node.board for node in self.nodes if rank in node.ranks), self.nodes[0].board)

    def _find_boards(self) -> None:
        for pid in _proc.descendants(mpiexec_above(os.getppid()) or os.getpid()):
            for descriptor in _memory_files(pid, _BOARD):
                with contextlib.suppress(OSError):
                    self._add_board(pid, descriptor)

    def _add_board(self, pid: int, descriptor: int) -> None:
        identity = _identity(pid, descriptor)
        if identity in self._known:
            return
        self._known.add(identity)
        node = VisibleNode(Board.attach(pid, descriptor))
        if node.board.size == self.nodes[0].board.size:
            node.update()
            self.nodes.append(node)


def cpu_seconds(pid: int) -> float:
    """Give the CPU time of a process and all its threads so far; 0 if it is gone."""
    status = _proc.status(pid)
    return status.cpu_seconds if status else 0.0


def _memory_files(pid: int, name: str) -> Iterator[int]:
    """Give a process's descriptors of memory files of a name."""
    return (descriptor for descriptor, path in _proc.open_files(pid) if path.startswith(name))


def _identity(pid: int, descriptor: int) -> tuple[int, int]:
    status = os.stat(f"/proc/{pid}/fd/{descriptor}")
    return status.st_dev, status.st_ino
