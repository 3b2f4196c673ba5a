"""`--prefix`: every line that a module writes names its processor, thread, partition and loop counters."""

import re
import signal
import sys
import threading

import pytest
from pse_testing.jobs import Job, beside_python, has_open_mpi, skip_where_lines_mix

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]

COMMANDS = {
    "pse run": (2, 60_000, [beside_python("pse"), "run", "-p", "2"]),
    "python -m pse": (1, 4_000, [beside_python("mpiexec"), "-n", "3", sys.executable, "-m", "pse"]),
}
"""For each its processors and the longest line: a bare mpiexec may cut what does not fit a pipe at once."""


def expected(processors, long):
    """Give all lines of standard output, and of standard error."""
    out, err = ["[root thread_A] done [1. 1. 1. 1. 1. 1.]"], []
    for partition in range(3):
        processor = partition * processors // 3
        for k in range(2):
            where = f"partition={partition} k={k}"
            loop, rest = f"[p{processor} thread_B {where} j=4] ", f"[p{processor} thread_C {where}] "
            err.append(f"{loop}C complains")
            out += [f"{loop}C has 1 line", f"{loop}and a part"]
            written = ["Python prints", "a child, too", "x" * long * k, "Fortran writes", "and waits"]
            out += [rest + line for line in written]
    return out, err


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_lines_say_which_call_wrote_them(command, unbuffered):
    skip_where_lines_mix()
    processors, long, words = COMMANDS[command]
    job = Job([*words, "speak.coven", "--prefix", "-q"], {"LONG": str(long), "PYTHONUNBUFFERED": unbuffered})
    assert job.wait() == 0, job.err
    out, err = expected(processors, long)
    assert sorted(job.out.splitlines()) == sorted(out)
    assert sorted(job.err.splitlines()) == sorted(err)
    of_one_thread = [line for line in job.out.splitlines() if line.startswith("[p0 thread_C partition=0 ")]
    assert of_one_thread == [line for line in out if line.startswith("[p0 thread_C partition=0 ")]


LONG_LINES = """
import os, time
#@ coven module talk(in i64 who)
def talk(who):
    print("ready")
    while not os.path.exists("go"):
        time.sleep(0.01)
    for _ in range(4):
        print("abc"[who % 3] * 40000)
    print("said")
"""


@pytest.mark.skipif(has_open_mpi(), reason="mpiexec of Open MPI starts ranks without a process manager")
def test_long_lines_of_ranks_do_not_mix_though_what_mpiexec_reads_of_them_does(tmp_path):
    (tmp_path / "talk.py").write_text(LONG_LINES)
    (tmp_path / "p.coven").write_text(
        'coven 1\nimport "talk.py" { talk }\nprogram p {\n'
        "  thread_A talk(0)\n  thread_B talk(1)\n  thread_C talk(2)\n}\n"
    )
    job = Job([*COMMANDS["pse run"][2][:2], "p.coven", "--prefix", "-q"], directory=tmp_path)
    manager = job.manager(job.wait_for_ranks(3)[0])
    for _ in range(3):
        job.wait_for_words("ready", "out")
    job.hit(manager, signal.SIGSTOP)
    goes_on = threading.Timer(15.0, job.hit, (manager, signal.SIGCONT))
    goes_on.start()
    (tmp_path / "go").touch()
    for _ in range(3):
        job.wait_for_words("said", "out")
    goes_on.cancel()
    job.hit(manager, signal.SIGCONT)
    assert job.wait() == 0, job.err
    texts = [re.sub(r"^\[root thread_[ABC]\] ", "", line) for line in job.out.splitlines()]
    assert sorted(texts) == sorted(["ready", "said"] * 3 + [letter * 40000 for letter in "abc" * 4])


UNROLLED = """coven 1
import "talk.py" { talk }
program p {
  var f64[4] u[l in 0 .. 2]
  for l in 0 .. 2 {
    zero() -> u[l]
    for k in 0 .. 2 { talk(inout u[l]) }
  }
}
"""


def test_lines_from_loops_in_unrolled_loops_say_in_which_iteration(tmp_path):
    (tmp_path / "talk.py").write_text(
        '#@ coven module talk(inout f64 u[n])\ndef talk(u):\n    print("said")\n'
    )
    (tmp_path / "p.coven").write_text(UNROLLED)
    job = Job([*COMMANDS["pse run"][2][:2], "p.coven", "--prefix", "-q"], directory=tmp_path)
    assert job.wait() == 0, job.err
    assert job.out.splitlines() == [
        f"[root thread_A k [l = {level}]={k}] said" for level in range(2) for k in range(2)
    ]
