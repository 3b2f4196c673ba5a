"""The fixtures of tests/conftest.py themselves: a net that never catches anything is worse than none."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.jobs import has_open_mpi_4

pytest_plugins = ["pytester"]
CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def inner(pytester):
    """Run a test file with the fixtures under test; return the result of that pytest run."""
    pytester.makeconftest(CONFTEST.read_text().replace("SETTLE_SECONDS = 5.0", "SETTLE_SECONDS = 0.3"))

    def run(text, *options):
        pytester.makepyfile("import os, subprocess, sys, tempfile\n" + text)
        path = f"pythonpath={CONFTEST.parent}"
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", path, *options)

    return run


@pytest.mark.mpi
def test_mpiexec_runs_the_ranks(mpiexec):
    program = "import os; from mpi4py.MPI import COMM_WORLD as c; os.write(1, b'%d %d\\n' % (c.rank, c.size))"
    finished = mpiexec(3, "-c", program)
    assert (finished.code, sorted(finished.out.splitlines())) == (0, ["0 3", "1 3", "2 3"])


@pytest.mark.mpi
def test_mpiexec_past_its_time_is_killed_with_its_ranks(inner):
    result = inner(
        "def test_hang(mpiexec, nothing_left_behind):\n"
        "    mpiexec(2, '-c', 'print(\"up\", flush=True); import signal; signal.pause()', timeout=3)\n"
    )
    result.stdout.fnmatch_lines(["*not done after 3 s: *mpiexec -n 2*"])
    if has_open_mpi_4():
        pytest.skip("Open MPI 4's mpiexec leaves its session directory where it is killed")
    result.assert_outcomes(failed=1)
    assert "left behind" not in result.stdout.str()


def test_process_left_behind_is_reported(inner):
    result = inner(
        "def test_leak(nothing_left_behind):\n"
        "    process = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
        "    print('pid', process.pid, flush=True)\n"
        "    process.returncode = 0\n"
    )
    [line] = [line for line in result.outlines if line.startswith("pid ")]
    os.kill(int(line.split()[1]), signal.SIGKILL)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*left behind:", "*process*signal.pause()*"])


def test_temporary_file_left_behind_is_reported(inner):
    result = inner(
        "def test_leak(nothing_left_behind):\n"
        "    subprocess.run([sys.executable, '-c', 'import tempfile; tempfile.mkstemp(\"-left\")'])\n"
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*left behind:", "*-left"])


@pytest.mark.alone  # Whoever looks for what is left behind would find it too.
def test_shared_memory_left_behind_is_reported(inner):
    name = f"pse-test-{os.getpid()}"
    try:
        result = inner(f"def test_leak(nothing_left_behind):\n    open('/dev/shm/{name}', 'w').close()\n")
    finally:
        Path("/dev/shm", name).unlink(missing_ok=True)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*left behind:", f"*/dev/shm/{name}"])


HOLD = """
import mmap, time
with open('/dev/shm/{name}', 'w+b') as file:
    file.truncate(4096)
    memory = mmap.mmap(file.fileno(), 4096)
    time.sleep(1.0)
"""


@pytest.mark.alone
def test_beside_other_tests_shared_memory_counts_that_the_tests_own_processes_had(inner):
    own, strange = f"pse-test-own-{os.getpid()}", f"pse-test-strange-{os.getpid()}"
    try:
        result = inner(
            "def test_leak(nothing_left_behind):\n"
            f"    subprocess.run([sys.executable, '-c', {HOLD.format(name=own)!r}], check=True)\n"
            f"    open('/dev/shm/{strange}', 'w').close()\n",
            *("-n", "1"),
        )
    finally:
        for name in (own, strange):
            Path("/dev/shm", name).unlink(missing_ok=True)
    result.assert_outcomes(passed=1, errors=1)
    assert f"/dev/shm/{own}" in result.stdout.str()
    assert strange not in result.stdout.str()


def test_a_child_left_behind_does_not_hold_up_a_test_that_is_to_run_alone(inner):
    result = inner(
        "import pytest, signal\n"
        "def test_leak():\n"
        "    if pid := os.fork():\n"
        "        print('pid', pid, flush=True)\n"
        "    else:\n"
        "        os.closerange(0, 3)\n"
        "        signal.pause()\n"
        "@pytest.mark.alone\n"
        "def test_alone():\n"
        "    pass\n",
        *("-s", "-o", "markers=alone"),
    )
    [pid] = [int(line.split()[-1]) for line in result.outlines if "pid " in line]
    os.kill(pid, signal.SIGKILL)
    result.assert_outcomes(passed=2)


def test_clean_test_passes(nothing_left_behind):
    program = "import tempfile; file = tempfile.NamedTemporaryFile(); print(file.name)"
    made = subprocess.run([sys.executable, "-c", program], text=True, stdout=subprocess.PIPE, check=True)
    assert made.stdout.startswith("/")
