"""`--serial`: one rank executes all calls in the order of the program, with the terminal as its input.

That it computes the same bits is tested with random programs (test_random_programs.py).
"""

import contextlib
import os
import re
import subprocess
from types import SimpleNamespace

import pytest
from pse_testing.harness import compile_program, make_job
from pse_testing.jobs import PATIENCE, PROGRAMS, Job, beside_python, rank_variable

from pse.errors import ProgramError, UsageError
from pse.program import place_threads
from pse.runtime.plan._communicators import members
from pse.runtime.request import Request, prepare
from pse.runtime.request._resume import check_pending

PROGRAM = str(PROGRAMS / "stepped.coven")


@pytest.mark.mpi
def test_calls_follow_each_other_in_order_breakpoints_stop_them_and_other_jobs_are_left_alone():
    reading, writing = os.pipe()
    # A rank of another job of this process, which even has the same output.
    other = subprocess.Popen(["cat"], env={rank_variable(): "0"}, stdin=subprocess.PIPE, stdout=writing)
    ran = subprocess.Popen(
        [beside_python("pse"), "run", "--serial", "-q", "-p", "2", "stepped.coven"],
        cwd=PROGRAMS,
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,  # Its end is the monitor's.
        text=True,
    )
    os.close(writing)
    assert ran.communicate("p x\nc\n", PATIENCE)[1] == ""
    assert ran.returncode == 0
    other.communicate()
    assert other.returncode == 0
    with open(reading, encoding="utf-8") as file:
        said = file.read()
    assert said.splitlines() == [
        "work 0 [0. 1. 2.]",
        "work 0 [3. 4. 5.]",
        "tell 0 30.0",
        "work 1 [0. 1. 2.]",
        "work 1 [3. 4. 5.]",
        f"> {PROGRAMS / 'stepped.py'}(16)work()",
        "-> return 2 * x",
        "(Pdb) array([3., 4., 5.])",
        "(Pdb) tell 1 30.0",
    ]


@pytest.mark.mpi
def test_quitting_pdb_ends_the_run():
    job = Job([beside_python("pse"), "run", "--serial", "-q", "-p", "2", "stepped.coven"])  # No input.
    assert job.wait() == 3
    assert "Traceback" not in job.err
    assert re.search(
        r"^error: stepped\.coven:\d+:\d+: module `work` \(stepped\.py:\d+\) was ended in pdb \(.*\)\n"
        r"help: breakpoint\(\) needs a terminal:  pse run --serial PROGRAM\n",
        job.err,
        re.MULTILINE,
    ), job.err


@pytest.mark.mpi
def test_a_prompt_is_seen_with_prefixes():
    master, terminal = os.openpty()
    command = [beside_python("pse"), "run", "--serial", "--prefix", "-q", "-p", "2", "stepped.coven"]
    ran = subprocess.Popen(command, cwd=PROGRAMS, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    seen = b""
    while not seen.endswith(b"(Pdb) "):
        seen += os.read(master, 1 << 16)
    os.write(master, b"q\n")
    with contextlib.suppress(OSError):  # The terminal is closed.
        while data := os.read(master, 1 << 16):
            seen += data
    assert ran.wait() == 3
    os.close(master)
    assert re.search(rb"\n\[thread_\w .*\] \(Pdb\) q\r\n", seen), seen
    assert re.search(rb": module `work` .* was ended in pdb \(.*\)\r\n$", seen), seen


def test_a_serial_run_refuses_more_ranks():
    assert prepare(Request(PROGRAM, {}, processors=3, serial=True), 1).environment["procs"] == 3
    with pytest.raises(UsageError, match="--serial runs one rank; MPI started 2"):
        prepare(Request(PROGRAM, {}, serial=True), 2)


def test_options_that_need_a_launcher_are_refused():
    job = Job([beside_python("pse"), "run", "--serial", "--live", "stepped.coven"])
    assert job.wait() == 2
    assert "error: --live and --serial exclude each other\n" in job.err


def test_a_communicator_of_several_partitions_is_refused(tmp_path):
    (tmp_path / "m.py").write_text("#@ coven module meet(in comm c, out i64 n)\ndef meet(c):\n    return 1\n")
    text = (
        'coven 1\nimport "m.py" { meet }\nprogram p {\n  var i64 n = 0\n'
        "  PARALLEL { thread_B meet() -> one reduce n(sum) }\n}\n"
    )
    program = compile_program(text, tmp_path / "p.coven")
    for processors in (1, 2):
        job = make_job(program, processors, serial=True)
        site = job.liveness.walk.sites[0]
        if processors == 1:
            assert members(job, site) == [0]
            continue
        with pytest.raises(ProgramError, match="procs has 2 partitions on 1 processor") as refused:
            members(job, site)
        assert refused.value.help == "leave out -p: with --serial there is one rank"


def test_messages_of_another_kind_of_run_are_refused():
    program = prepare(Request(PROGRAM, {})).program
    sent = SimpleNamespace(files=[SimpleNamespace(members=["x@0", "%mail.thread_B.procs@1"])])
    check_pending(place_threads(program), sent)
    with pytest.raises(UsageError, match="resumed with --serial: messages among partitions of thread_B"):
        check_pending(place_threads(program, serial=True), sent)
