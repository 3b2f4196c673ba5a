"""`--gdb`: a rank waits for gdb where it starts or crashes, and goes on when gdb has left."""

import re
import shutil
import subprocess

import pytest
from pse_testing.jobs import PROGRAMS, Job, beside_python

from pse.errors import UsageError
from pse.runtime.rank import _debugger as debugger
from pse.runtime.request import Request, prepare

PROGRAM = str(PROGRAMS / "overrun.coven")


@pytest.mark.mpi
@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("asked", ["1", "crash"])
def test_a_rank_waits_for_gdb(asked, monkeypatch):
    for name in ("TMUX", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    how = "1" if asked == "crash" else "0"
    command = [beside_python("pse"), "run", "-q", "overrun.coven", "--debug", "--gdb", asked]
    job = Job([*command, "-D", "n=10", "-D", f"how={how}"])
    job.wait_for_words("waits for gdb: ")
    waits = re.search(r"rank 1 \(thread_\w of processor 0, .*\) waits for gdb: gdb -q -p (\d+)\n", job.err)
    assert waits, job.err
    attach = ["gdb", "-q", "-batch", "-p", waits[1], "-ex", "backtrace"]
    seen = subprocess.run(attach, capture_output=True, text=True, check=True).stdout
    assert "pse_faults_wait_for_debugger" in seen
    assert ("overrun.c:" in seen) == (asked == "crash")
    assert job.wait() == (3 if asked == "crash" else 0)
    assert ("error: segmentation fault in module overrun" in job.err) == (asked == "crash"), job.err


def test_gdb_opens_in_tmux_else_in_an_xterm_else_nowhere(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    for name in ("TMUX", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert debugger._window(["gdb", "-p", "7"]) == []
    monkeypatch.setenv("DISPLAY", ":0")
    assert debugger._window(["gdb", "-p", "7"]) == ["/bin/xterm", "-e", "gdb", "-p", "7"]
    monkeypatch.setenv("TMUX", "socket")
    assert debugger._window(["gdb", "-p", "7"]) == ["/bin/tmux", "split-window", "gdb -p 7"]


def test_other_ranks_and_a_missing_gdb_are_refused(monkeypatch):
    with pytest.raises(UsageError, match="--gdb 9: expected the number of a rank or `crash`"):
        prepare(Request(PROGRAM, {}, gdb="9"))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="there is no gdb on PATH for --gdb"):
        prepare(Request(PROGRAM, {}, gdb="crash"))
