"""`--gdb`: a rank waits for gdb, in a pane of tmux or in a terminal if one can be opened."""

from __future__ import annotations

import os
import shlex
import shutil

from pse.runtime import _faults


def attach_debugger(asked: str, rank: int, name: str) -> None:
    """Wait for gdb if this rank is asked for; with `crash`, prepare to wait for it later."""
    if asked not in ("crash", str(rank)):
        return
    gdb = ["gdb", "-q", "-p", str(os.getpid()), "-ex", "set breakpoint pending on"]
    command = _window(gdb)
    next_word = "backtrace" if asked == "crash" else "continue"
    opened = f"is opened in gdb: begin with `{next_word}`"
    done = opened if command else f"waits for gdb: {shlex.join(gdb[:4])}"
    environment = [f"{variable}={value}" for variable, value in os.environ.items()]
    _faults.prepare_debugger(command, environment, f"{name} {done}\n")
    if asked == "crash":
        _faults.debug_crashes()
    else:
        _faults.wait_for_debugger()


def _window(gdb: list[str]) -> list[str]:
    """Give the command that opens gdb where it can be seen; nothing if there is no such place."""
    tmux, xterm = shutil.which("tmux"), shutil.which("xterm")
    if "TMUX" in os.environ and tmux:
        return [tmux, "split-window", shlex.join(gdb)]
    return [xterm, "-e", *gdb] if "DISPLAY" in os.environ and xterm else []
