"""``pse bcs step``: slices begin one by one, ranks and messages are shown between them."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.jobs import THREE_NODES, TWO_NODES, beside_python, needs_cliques

from pse.runtime.supervise import Backoff

pytestmark = pytest.mark.mpi
PROGRAM = Path(__file__).parent / "programs/stepped.py"
PATIENCE = ("--patience", "60")
"""Ranks are blocked then, however slow the machine is."""
NODES = pytest.mark.parametrize(
    ("ranks", "env"),
    [pytest.param(3, TWO_NODES, marks=needs_cliques()), pytest.param(5, THREE_NODES, marks=needs_cliques())],
    ids=["2+1", "2+2+1"],
)

SENDS = "    comm.Sendrecv(np.ones(1), (rank + 1) % ranks, 4, came, (rank - 1) % ranks, 4)"
SUMS = "    comm.Allreduce(came, np.zeros(1))"


def lines(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def stepped(pse, commands, *case, ranks=3, env=None):
    command = ["bcs", "step", "-n", str(ranks), *PATIENCE, "--commands", commands]
    return pse(*command, sys.executable, PROGRAM, *case, timeout=100, env=env or {})


def line_of(text):
    """Give the place in the program as a user sees it."""
    return f"{PROGRAM.relative_to(Path.cwd())}:{PROGRAM.read_text().splitlines().index(text) + 1}"


def test_slices_begin_one_by_one(pse):
    ended = stepped(pse, "ranks; pending; step; ranks; s; moved; continue", "ring", ranks=2)
    sends, sums = line_of(SENDS), line_of(SUMS)
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


@NODES
def test_slices_of_several_nodes_begin_one_by_one(pse, ranks, env):
    ended = stepped(pse, "ranks; pending; step; ranks; c", "ring", ranks=ranks, env=env)
    nodes = [rank % int(env["MPIR_CVAR_NUM_CLIQUES"]) for rank in range(ranks)]
    found, place = lines(ended.out), line_of(SENDS)
    assert found[:2] == ["stopped after slice 0", "rank node state call place"], ended.err
    assert found[2 : 2 + ranks] == [
        f"{rank} {node} blocked Recv from rank {(rank - 1) % ranks} with tag 4, 8 B {place}"
        for rank, node in enumerate(nodes)
    ]
    assert sum("goes into the next slice" in line for line in found) == 2 * ranks
    assert f"slice 1: {ranks} messages, 0 collective operations" in found
    assert f"{ranks - 1} {nodes[-1]} blocked Allreduce, 8 B {line_of(SUMS)}" in found
    assert found[-1] == "the job has ended with code 0"


@NODES
def test_strict_slices_of_several_nodes_begin_one_by_one(pse, ranks, env):
    ended = stepped(pse, "step; step; pending; c", "ring:strict", ranks=ranks, env=env)
    found = lines(ended.out)
    assert f"slice 1: {ranks} messages, 0 collective operations" in found, ended.err
    assert found.count("slice 2: 0 messages, 0 collective operations") == 1
    assert found[-1] == "the job has ended with code 0"


@NODES
def test_what_has_been_received_on_another_node_is_not_pending(pse, ranks, env):
    ended = stepped(pse, "break match rank=0 peer=1; c; pending; delete 1; c", "farm", ranks=ranks, env=env)
    found = lines(ended.out)
    assert "break at match rank=0 peer=1: rank 1 -> rank 0, tag 1, 16 B" in found, ended.err
    waiting = [line for line in found if line.endswith("not received yet")]
    assert waiting == [
        f"rank {rank}: Send to rank 0 with tag {rank}, 16 B: not received yet" for rank in range(2, ranks)
    ]
    assert found[-1] == "the job has ended with code 0"


@pytest.mark.parametrize(
    ("victim", "env"),
    [(1, {}), *(pytest.param(rank, TWO_NODES, marks=needs_cliques()) for rank in (0, 1, 2))],
    ids=["one node", "sender", "leader", "other"],
)
def test_a_killed_rank_is_named(pse, victim, env):
    ended = stepped(pse, "step; step; step", "killed", victim, env=env)
    assert "ended and did not leave, in slice 1\n" in ended.out
    assert "the job has ended with code" in ended.out
    assert ended.code != 0


@pytest.mark.parametrize(
    ("env", "slice"), [({}, 1), pytest.param(TWO_NODES, 3, marks=needs_cliques())], ids=["1", "1+1"]
)
def test_a_deadlock_is_told(pse, env, slice):
    ended = stepped(pse, "continue", "deadlock", ranks=2, env=env)
    assert f"the ranks have failed in slice {slice}: deadlock" in ended.out
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


@pytest.mark.parametrize(
    "env", [{}, pytest.param(TWO_NODES, marks=needs_cliques())], ids=["one node", "two nodes"]
)
def test_a_running_job_is_stepped_and_goes_on(pse, tmp_path, env):
    job = subprocess.Popen(
        [beside_python("mpiexec"), "-n", "3", sys.executable, PROGRAM, "endless", tmp_path / "end"],
        stdout=subprocess.PIPE,
        env=os.environ | env,
    )
    try:
        ended = None
        while ended is None or "has no coscheduled ranks" in ended.err:
            ended = pse("bcs", "step", "--attach", job.pid, *PATIENCE, "--commands", "step 4; ranks; quit")
        assert "Bcast of all ranks, 8 B" in ended.out, ended.err
        assert line_of("        comm.Bcast(ends)") in ended.out
    finally:
        (tmp_path / "end").touch()
    assert (job.communicate(timeout=60)[0], job.returncode) == (b"done\n", 0)


@pytest.mark.parametrize(
    "env", [{}, pytest.param(TWO_NODES, marks=needs_cliques())], ids=["one node", "two nodes"]
)
def test_a_job_goes_on_when_its_stepper_is_killed(env):
    command = [beside_python("pse"), "bcs", "step", "-n", "3", sys.executable, PROGRAM, "ring"]
    stepper = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | env
    )
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
        (["no-such-program"], "error: no-such-program can't be started: there is no such program, here or"),
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
