"""`--prefix`: every line that a module writes names its processor, thread, partition and loop counters."""

import sys

import pytest
from pse_testing.jobs import Job, beside_python, skip_where_lines_mix

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
