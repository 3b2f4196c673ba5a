"""``pse bcs step``: slices begin one by one, ranks and messages are shown between them."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

from pse.runtime.supervise import Backoff

pytestmark = pytest.mark.mpi
PROGRAM = Path(__file__).parent / "programs/stepped.py"
PATIENCE = ("--patience", "60")
"""Ranks are blocked then, however slow the machine is."""


def lines(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def stepped(pse, commands, *case, ranks=3):
    command = ["bcs", "step", "-n", str(ranks), *PATIENCE, "--commands", commands]
    return pse(*command, sys.executable, PROGRAM, *case, timeout=100)


def line_of(text):
    """Give the place in the program as a user sees it."""
    return f"{PROGRAM.relative_to(Path.cwd())}:{PROGRAM.read_text().splitlines().index(text) + 1}"


def test_slices_begin_one_by_one(pse):
    ended = stepped(pse, "ranks; pending; step; ranks; s; moved; continue", "ring", ranks=2)
    sends, sums = (
        line_of("    comm.Sendrecv(np.ones(1), (rank + 1) % ranks, 4, came, (rank - 1) % ranks, 4)"),
        line_of("    comm.Allreduce(came, np.zeros(1))"),
    )
    summed = ["slice 2: 0 messages, 1 collective operation", "Allreduce of all ranks, 8 B"]
    assert (ended.code, [line for line in lines(ended.out) if line != "done"]) == (
        0,
        [
            "stopped after slice 0",
            "rank state call place",
            f"0 blocked Recv from rank 1 with tag 4, 8 B {sends}",
            f"1 blocked Recv from rank 0 with tag 4, 8 B {sends}",
            "rank 0: Recv from rank 1 with tag 4, 8 B: goes into the next slice",
            "rank 0: Send to rank 1 with tag 4, 8 B: goes into the next slice",
            "rank 1: Recv from rank 0 with tag 4, 8 B: goes into the next slice",
            "rank 1: Send to rank 0 with tag 4, 8 B: goes into the next slice",
            "slice 1: 2 messages, 0 collective operations",
            "rank 1 -> rank 0, tag 4, 8 B",
            "rank 0 -> rank 1, tag 4, 8 B",
            "rank state call place",
            f"0 blocked Allreduce, 8 B {sums}",
            f"1 blocked Allreduce, 8 B {sums}",
            *summed,
            *summed,
            "the job has ended with code 0",
        ],
    ), ended.err


def test_a_break_stops_at_what_is_posted_or_matched(pse):
    ended = stepped(pse, "break match rank=0 peer=2; break recv tag=9; c; pending; delete 1; c", "farm")
    assert lines(ended.out)[1:8] == [
        "1: match rank=0 peer=2",
        "1: match rank=0 peer=2",
        "2: recv tag=9",
        "break at match rank=0 peer=2: rank 2 -> rank 0, tag 2, 16 B",
        "slice 2: 1 message, 0 collective operations",
        "rank 2 -> rank 0, tag 2, 16 B",
        "Barrier: all ranks have called it",
    ], ended.err
    assert lines(ended.out)[-1] == "the job has ended with code 0"


def test_a_killed_rank_is_named(pse):
    ended = stepped(pse, "step; step; step", "killed")
    assert "ended and did not leave, in slice 1\n" in ended.out
    assert "the job has ended with code" in ended.out
    assert ended.code != 0


def test_a_deadlock_is_told(pse):
    ended = stepped(pse, "continue", "deadlock", ranks=2)
    assert "the ranks have failed in slice 1: deadlock" in ended.out
    assert "rank 0 in Recv from rank 1 and rank 1 in Recv from rank 0" in ended.err


def test_quit_ends_the_job(pse, tmp_path):
    ended = stepped(pse, "until 5; quit", "endless", tmp_path / "never")
    assert ended.code == 0
    assert "slice 5: 0 messages, 1 collective operation" in ended.out
    assert Backoff().sleep_until(lambda: not processes_with(tmp_path), 60)


def processes_with(word):
    """Find the command lines of running processes that name something."""
    lines = []
    for process in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            lines.append(Path("/proc", process, "cmdline").read_bytes())
    return [line for line in lines if os.fsencode(word) in line]


def test_a_running_job_is_stepped_and_goes_on(pse, tmp_path):
    job = subprocess.Popen(
        [beside_python("mpiexec"), "-n", "2", sys.executable, PROGRAM, "endless", tmp_path / "end"],
        stdout=subprocess.PIPE,
    )
    try:
        ended = None
        while ended is None or "has no coscheduled ranks" in ended.err:
            ended = pse("bcs", "step", "--attach", job.pid, *PATIENCE, "--commands", "step; ranks; quit")
        assert "Bcast of all ranks, 8 B" in ended.out, ended.err
        assert line_of("        comm.Bcast(ends)") in ended.out
    finally:
        (tmp_path / "end").touch()
    assert (job.communicate(timeout=60)[0], job.returncode) == (b"done\n", 0)


def test_a_job_goes_on_when_its_stepper_is_killed(tmp_path):
    command = [beside_python("pse"), "bcs", "step", "-n", "2", sys.executable, PROGRAM, "ring"]
    stepper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert stepper.stdout.readline() == "stopped after slice 0\n"
    stepper.kill()
    assert stepper.communicate(timeout=60)[0] == "done\n"


def test_a_second_stepper_is_told_that_there_is_one(pse):
    command = [beside_python("pse"), "bcs", "step", "-n", "2", sys.executable, PROGRAM, "ring"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "stopped after slice 0\n"
        second = pse("bcs", "step", "--attach", first.pid)
        assert "the job has ended with code 0" in first.communicate("continue\n", timeout=60)[0]
    assert (second.code, second.out) == (2, "")
    assert second.err == (
        f"error: the ranks of process {first.pid} can't be stepped: Device or resource busy\n"
        "help: another pse bcs step may have them, or the process is another user's\n"
    )


def test_what_a_tool_takes_over_is_stepped(pse):
    program = "from mpi4py import MPI; MPI.COMM_WORLD.barrier()"
    command = ["pse", "tools", "run", "--tools", "bcs", "-n", "2", sys.executable, "-c", program]
    command[0] = beside_python("pse")
    ended = pse("bcs", "step", *PATIENCE, "--commands", "step; continue", "--", *command, timeout=100)
    assert (ended.code, lines(ended.out)[1][:8]) == (0, "slice 1:"), ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "error: a command or the process of a running job is needed\nhelp: for example"),
        (["--attach", "1", "program"], "error: both are given, a command and the process of a running job"),
        (["no-such-program"], "error: no-such-program can't be started: No such file"),
        (["--attach", "999999999"], "error: process 999999999 has no coscheduled ranks\nhelp: give the"),
    ],
)
def test_what_can_not_be_stepped_is_told(pse, arguments, words):
    ended = pse("bcs", "step", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(words)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("stepp", "error: there is no command stepp\nhelp: did you mean `step`?"),
        ("step x", "error: x is not a number of slices\nhelp: for example: step 10"),
        ("break foo", "error: break foo: expected one of send, recv, match, collective\nhelp: for example"),
        ("break send to=1", "error: to=1 does not say where to stop\nhelp: expected rank=N, peer=N, tag=N"),
        ("delete 1", "error: there is no break 1\nhelp: break lists them"),
    ],
)
def test_wrong_commands_are_told(pse, command, words):
    ended = pse("bcs", "step", "--commands", command, sys.executable, "-c", "")
    assert ended.code == 2
    assert words in ended.err
