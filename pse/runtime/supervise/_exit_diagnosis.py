"""What the end of a rank's process means: in order, explained by the rank itself, or a death to be named.

Used by all who watch ranks: the launcher (`watch`) and the warden of a node without one (`warden`).
Light, for the warden's sake: imports no room.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from pse._abi.waiting import RankState
from pse.runtime import _faults
from pse.runtime._channel import Board

RANK_FAILED = 3
"""Exit code of a run in which a module or rank failed."""

_EXIT = "help: a module, or a library that it uses, ends the process while Python is ending (os._exit)?\n"


@dataclass(frozen=True)
class Verdict:
    """Why a run failed, as the user is to read it (empty if it has been said), and the exit code."""

    text: str
    exit_code: int = RANK_FAILED


@dataclass(frozen=True)
class Suspect:
    """A rank's process: its process number, a pidfd, and what to call it."""

    rank: int
    pid: int
    pidfd: int
    who: str

    def status(self) -> int | None:
        """Give its wait status once it has ended, None where the kernel doesn't tell."""
        return _faults.exit_status(self.pidfd, self.pid)


def judge(board: Board, suspect: Suspect, sites: Sequence[str]) -> Verdict | None:
    """Judge a rank that has ended, from what the board says it was doing.

    Parameters
    ----------
    board : Board
        The node's board.
    suspect : Suspect
        The rank.
    sites : sequence of str
        The name of every call site.

    Returns
    -------
    Verdict or None
        None if all is in order.
    """
    slot, status = board.slot(suspect.rank), suspect.status()
    if slot["state"] == RankState.LEFT:
        return None
    if slot["state"] == RankState.DONE and (status is None or os.WIFEXITED(status)):
        return Verdict(f"error: {suspect.who} ended before it had left MPI, so that others wait\n{_EXIT}")
    if slot["state"] == RankState.FAILED:
        return Verdict("")
    site = None if slot["site"] is None else sites[slot["site"]]
    return Verdict(_faults.describe_death(board, suspect.rank, suspect.who, status, site))
