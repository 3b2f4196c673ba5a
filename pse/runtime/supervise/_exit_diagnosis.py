"""What the end of a rank's process means: in order, explained by the rank itself, or a death to be named.

Both monitors use it.  It imports no other room, so that the node monitor starts fast.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from pse._abi.channel import NO_SITE
from pse._abi.waiting import KILLED_HELP, ExitCode, RankState
from pse.records import dataclass
from pse.runtime import _faults
from pse.runtime._channel import Board
from pse.runtime.supervise._processes import ProcessManager, RankProcess

EXPLAINED = (0, *ExitCode)
"""Exit codes of a rank that has said all there is to say before it ended itself."""

MANAGER_PATIENCE = 0.2
"""Seconds by which a process manager may be seen to end later than ranks that can't start without it."""

START_PATIENCE = 2.5
"""Seconds after which a rank that was never seen, though others were, counts as dead."""

_NAMED = 8
"""How many ranks one message names."""

_EXIT = (
    "help: look for a module, or a library that it uses, that ends the process while Python ends (os._exit)\n"
)


@dataclass(frozen=True)
class Diagnosis:
    """Why a run failed, as the user is to read it (empty if it has been said), and the exit code."""

    text: str
    exit_code: int = ExitCode.FAILED


def exit_status(process: RankProcess | ProcessManager) -> int | None:
    """Give the wait status of a process that has ended, None where the kernel doesn't tell."""
    return _faults.exit_status(process.pidfd, process.pid)


def explained_code(status: int | None) -> int | None:
    """Give the exit code of a process that ended itself and has said why; None for any other end."""
    code = os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None
    return code if code in EXPLAINED else None


def diagnose_manager(manager: ProcessManager, host: str, *, orphans: bool) -> Diagnosis | None:
    """Diagnose the end of a process manager: one that was killed leaves its ranks without MPI's launcher.

    Parameters
    ----------
    manager : ProcessManager
        One that has ended.
    host : str
        The name of this machine.
    orphans : bool
        Whether ranks that it started still live.

    Returns
    -------
    Diagnosis or None
        None if it ended itself, as it does after its ranks and when the job is ended.
    """
    status = _faults.exit_status(manager.pidfd, manager.pid)
    if status is None and orphans:
        return lost_manager(manager.pid, host, "ended before them", manager.name)
    if status is None or not os.WIFSIGNALED(status):
        return None
    how = f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return lost_manager(manager.pid, host, how, manager.name)


def lost_manager(pid: int | None, host: str, how: str, name: str = ProcessManager.name) -> Diagnosis:
    """Say that the process that started the ranks of this machine is gone; None: before anybody saw it."""
    number = "" if pid is None else f", pid {pid}"
    who = f"{name} (host {host}{number}), which started the ranks there,"
    return Diagnosis(f"error: {who} {how}\nhelp: {KILLED_HELP}\n")


def never_seen(names: Sequence[str], host: str) -> Diagnosis:
    """Say that a rank was killed as it started, by the names of those that nobody ever saw alive."""
    text = f"error: a rank of host {host} was killed as it started"
    if names:
        verb = "was" if len(names) == 1 else "were"
        text += f"; {', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)} {verb} never seen alive"
    return Diagnosis(f"{text}\nhelp: {KILLED_HELP}\n")


def diagnose_exit(
    board: Board | None, process: RankProcess, name: str, sites: Sequence[str] = ()
) -> Diagnosis | None:
    """Diagnose a rank that has ended, from its exit status and from what the board says it was doing.

    Parameters
    ----------
    board : Board or None
        The node's board; None if there is none yet.
    process : RankProcess
        The rank.
    name : str
        What to call the rank in a message.
    sites : sequence of str, optional
        The name of every call site.

    Returns
    -------
    Diagnosis or None
        None if all is in order.
    """
    status = exit_status(process)
    slot = board.slot(process.rank) if board else None
    if slot is None or slot.state == RankState.ABSENT:
        code = explained_code(status)
        if code is not None:
            return Diagnosis("", code) if code else None
        return Diagnosis(_faults.describe_death(board, process.rank, name, status, None))
    if slot.state == RankState.LEFT:
        return None
    if slot.state == RankState.DONE and (status is None or os.WIFEXITED(status)):
        return Diagnosis(f"error: {name} ended before it had left MPI, so that the other ranks wait\n{_EXIT}")
    if slot.state == RankState.FAILED:
        return Diagnosis("")
    site = None if slot.site == NO_SITE else sites[slot.site]
    return Diagnosis(_faults.describe_death(board, process.rank, name, status, site))
