"""What a module or a kill can do to a run: the job ends, the culprit is named, nothing is left behind."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from pse_testing.example_counts import nightly
from pse_testing.jobs import (
    LONG,
    PROGRAMS,
    Job,
    bare,
    beside_python,
    has_mpich,
    has_open_mpi,
    has_open_mpi_4,
    launched,
    rank_variable,
    skip_where_lines_mix,
)

from pse.runtime.launch import find_mpiexec
from pse.runtime.supervise._cleanup import remove_leaked, remove_session
from pse.runtime.supervise._processes import is_dead

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]

LIMIT = 5.0
"""Seconds in which a job must end after a rank was killed."""

SITE = r"module c\.misbehave, faulty\.coven:19:7"
TPH = r"TPH \d+ \(iteration 1\)"
RANK_OF_B = r"rank [13] \(thread_B of processor [01], host \S+, pid \d+\)"
LINES = {
    number: text.split("//")[1].strip()
    for number, text in enumerate((PROGRAMS / "faulty.c").read_text().splitlines(), 1)
    if "// line of " in text
}
"""What faulty.c does at the lines that a report must show."""
OF_MODULE = {
    how.removeprefix("line of "): rf"in misbehave, \S*faulty\.c:{number}\n" for number, how in LINES.items()
}
FOLDED = r"  … and \d+ frames of the engine and of libraries\n"
FAULTS = {
    1: rf"error: segmentation fault in {SITE}\n  where: {RANK_OF_B}, {TPH}\n"
    rf"  {OF_MODULE['1']}{FOLDED}help: .*arrays\n",
    2: rf"error: arithmetic fault in {SITE}\n  where: {RANK_OF_B}, {TPH}\n"
    rf"  in misbehave.*\n{FOLDED}help: .*zero\n",
    3: rf"error: abort in {SITE}\n  where: {RANK_OF_B}, {TPH}\n  in abort, libc\S*\n"
    rf"  {OF_MODULE['3']}{FOLDED}help: .*abort\(\).*\n",
    4: rf"error: stack overflow in {SITE}\n  where: {RANK_OF_B}, {TPH}\n"
    rf"(  in recurse, \S*faulty\.c:\d+( \(\d+ frames\))?\n)+help: ",
    5: r"error: faulty\.coven:19:7: module c\.misbehave .*returned 7: it was told to fail\n",
    6: rf"error: {SITE} called exit\(\)\n  where: {RANK_OF_B}, {TPH}\n"
    rf"  in exit, libc\S*\n  {OF_MODULE['6']}{FOLDED}",
    7: rf"error: {SITE} called exit\(\)\n  where: {RANK_OF_B}",
    8: rf"error: {RANK_OF_B} ended with exit code 5 before the program was done\n  running: {SITE}",
    10: rf"error: {RANK_OF_B} was killed by signal 9 \(SIGKILL\)\n  running: {SITE}, {TPH}\n",
    11: rf"error: bus error in {SITE}\n  where: {RANK_OF_B}",
    13: rf"error: {SITE} called pthread_exit\(\)\n  where: {RANK_OF_B}, {TPH}\nhelp: a module must return",
    14: r"error: faulty\.coven:19:7: module c\.misbehave .*rank \d.* closed file descriptors that",
}
"""What faulty.c does by its `how`, and how it must be reported."""

IN_PYTHON = r"(\n  in string_at, .*)?\n  in misbehave, \S*faulty\.py:\d+\n  … and"

PYTHON_FAULTS = {
    1: r"raised ValueError: told to raise.*\n  File .*faulty\.py\", line \d+, in misbehave\n    raise Value",
    2: r"called sys\.exit\(\): 4",
    3: r"error: rank 0 \(root thread_A, .*ended with exit code 0 before the program was done\n"
    r"  running: module misbehave, faulty\.coven:15:5",
    18: r"error: faulty\.coven:15:5: module misbehave .*rank 0.* closed file descriptors that are not its",
    6: r"raised LinAlgError: Singular matrix",
    9: r"raised Wordless: \(its text can't be made\)",
    10: r"raised ValueError: caf\\udce9",
    11: r"error: module misbehave, faulty\.coven:15:5 called MPI_Finalize\(\)\n  where: rank 0 .*TPH.*"
    + IN_PYTHON,
    14: r"error: module misbehave, faulty\.coven:15:5 called MPI_Abort\(\)\n  where: rank 0 .*TPH.*"
    + IN_PYTHON,
    15: rf"error: segmentation fault in module misbehave, faulty\.coven:15:5\n  where: .*{IN_PYTHON}",
}

BROKEN_IN_RANK_2 = """
import os, sys

class Broken:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "{module}":
            raise ImportError("no {module} here")

if os.environ.get("{rank}") == "2":
    sys.meta_path.insert(0, Broken)
"""
"""A sitecustomize.py: the installation that rank 2 finds lacks a module."""


def named_once(job, pattern):
    """Say whether the pattern, and no other error, was reported."""
    return re.search(pattern, job.err) is not None and job.err.count("error: ") == 1


@pytest.mark.skipif(not has_mpich(), reason="other process managers don't end ranks by a descriptor")
@pytest.mark.parametrize("parameter", ["how=15", "python=18"])
def test_who_closes_descriptors_of_mpi_is_named_under_a_bare_mpiexec(parameter):
    job = Job(bare("-D", parameter))
    assert job.wait() == 3
    found = PYTHON_FAULTS[18] if parameter == "python=18" else FAULTS[14]
    assert named_once(job, found), job.err


@pytest.mark.parametrize("how", FAULTS)
def test_a_fault_in_a_compiled_module_is_named_with_its_program_line(how):
    job = Job(launched("-p", "1", "-D", f"how={how}"))
    assert job.wait() == 3
    assert named_once(job, FAULTS[how]), job.err
    assert "Traceback" not in job.err
    assert "APPLICATION" not in job.out  # as in what mpiexec says of it


LATE = """#include <signal.h>
#include <stdint.h>
#include <unistd.h>
static void crash(int number) { raise(number == SIGALRM ? SIGSEGV : SIGABRT); }
//@ coven module arm()
int arm(void) { signal(SIGALRM, crash); return (int)ualarm(300000, 0); }
//@ coven module hold(out i64 x)
int hold(int64_t *x) { *x = 1; return pause() + 1; }
"""
"""A module's mistake that shows after it has returned."""


def test_a_crash_between_two_calls_names_the_last_call(tmp_path):
    (tmp_path / "late.c").write_text(LATE)
    program = tmp_path / "late.coven"
    program.write_text(
        'coven 1\nimport "late.c" as late\n'
        "program p { thread_A late.arm()\n  thread_B late.hold() -> x\n  thread_A print(x) }\n"
    )
    job = Job([sys.executable, "-m", "pse", "run", "-q", str(program)])
    assert job.wait() == 3
    last = r"help: the last call was module late\.arm, \S*late\.coven:3:13: .* --debug stops where"
    assert named_once(job, rf"segmentation fault in the engine, between two calls\n(.*\n)+?{last}"), job.err


@pytest.mark.parametrize("how", [1, 5, 6, *nightly(2, 3, 4, 7, 11)])
def test_a_fault_under_a_bare_mpiexec_is_named_and_gives_the_same_exit_code(how):
    job = Job(bare("-D", f"how={how}"))
    assert job.wait() == 3
    assert named_once(job, FAULTS[how]), job.err


@pytest.mark.parametrize("how", PYTHON_FAULTS)
def test_a_fault_in_a_python_module_is_named_with_its_own_frames(how):
    job = Job(launched("-p", "1", "-D", f"python={how}"))
    assert job.wait() == 3
    assert named_once(job, PYTHON_FAULTS[how]), job.err
    assert "site-packages/pse" not in job.err
    assert "pycalls.py" not in job.err


def test_a_module_that_calls_mpi_abort_is_named_under_a_bare_mpiexec():
    job = Job(bare("-D", "python=14"))
    assert job.wait() == 3
    assert named_once(job, PYTHON_FAULTS[14]), job.err


def test_processes_that_a_module_forks_do_not_fail_the_run():
    job = Job(launched("-D", "python=12"))
    assert job.wait() == 0, job.err
    ends = [0, 1 << 8, signal.SIGABRT, signal.SIGTERM, 0]
    assert [int(n) for n in re.findall(r"a child ended with (\d+)", job.out)] == ends
    assert "ZeroDivisionError" in job.err


@pytest.mark.parametrize("start", [launched, bare])
def test_processes_that_a_compiled_module_forks_end_where_it_returns(start):
    skip_where_lines_mix()
    job = Job(start("-D", "how=12"))
    assert job.wait() == 0, job.err
    ends = sorted([0, 0, signal.SIGABRT, 3 << 8] * 2)
    assert sorted(int(n) for n in re.findall(r"a child ended with (\d+)", job.out)) == ends


@pytest.mark.slow
@pytest.mark.parametrize("start", [launched, *nightly(bare)])
def test_a_child_and_a_thread_that_a_module_leaves_do_not_hold_up_the_end(start):
    job = Job(start("-D", "python=13"))
    assert job.wait() == 0, job.err
    for notice in (
        r"waiting for thread `uploader` of rank 0 \(.*\), which a module started\n",
        r"warning: rank 0 \(.*\) ends 5 s after the program and without thread `uploader`",
        r"waiting for process \d+ \(sleep 600\), which a module started",
        r"warning: pse ended process \d+ \(sleep 600\), which a module started, 5 s after the program\n",
    ):
        assert len(re.findall(notice, job.err)) == 1, job.err
    assert "wall time" in job.out
    assert "Traceback" not in job.err


AT_THE_END = """
import atexit, multiprocessing, time
def upload():
    time.sleep(600)
#@ coven module registers()
def registers():
    atexit.register(upload)
#@ coven module starts()
def starts():
    multiprocessing.Process(target=time.sleep, args=(600,), name="feeder").start()
"""


@pytest.mark.slow
def test_what_python_itself_waits_for_at_its_end_does_not_hold_up_the_run(tmp_path):
    (tmp_path / "end.py").write_text(AT_THE_END)
    (tmp_path / "p.coven").write_text(
        'coven 1\nimport "end.py" { registers, starts }\n'
        "program p {\n  thread_A registers()\n  thread_B starts()\n}\n"
    )
    job = Job([*launched()[:2], "p.coven"], directory=tmp_path)
    assert job.wait() == 0, job.err
    for rank, what, origin in (
        (0, r"`upload` \(.*end\.py:3\)", "a module registered with atexit"),
        (1, r"process \d+ \(`feeder`\)", "a module started"),
    ):
        for notice in (
            rf"waiting for {what} of rank {rank} \(.*\), which {origin}\n",
            rf"warning: rank {rank} \(.*\) ends 5 s after the program and without {what}, which {origin}\n",
        ):
            assert len(re.findall(notice, job.err)) == 1, job.err
    assert "Traceback" not in job.err


LEAVING = """
import atexit, os
#@ coven module last(in i64 who)
def last(who):
    if who == 1:
        atexit.register(os._exit, 0)
"""


def test_a_rank_that_leaves_without_mpi_after_the_program_is_done_is_named(tmp_path):
    (tmp_path / "leaving.py").write_text(LEAVING)
    (tmp_path / "p.coven").write_text(
        'coven 1\nimport "leaving.py" { last }\nprogram p {\n'
        "  thread_A last(0)\n  thread_B last(1)\n  thread_C last(2)\n}\n"
    )
    job = Job([*launched()[:2], "p.coven"], directory=tmp_path)
    assert job.wait() == 3
    assert named_once(job, r"error: rank 1 \(root thread_B, .*\) ended before it had left MPI"), job.err


def test_what_a_module_printed_before_it_crashed_is_not_lost():
    job = Job(launched("-D", "how=11"))
    job.wait()
    assert "the module's last words\n" in job.out


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_signal_that_another_process_has_sent_is_no_fault_of_a_module(number, tmp_path):
    (tmp_path / "nap.py").write_text(
        "import time\n#@ coven module nap()\ndef nap():\n    print('asleep')\n    time.sleep(600)\n"
    )
    (tmp_path / "p.coven").write_text('coven 1\nimport "nap.py" { nap }\nprogram p { nap() }\n')
    job = Job([*launched()[:2], "p.coven"], directory=tmp_path)
    job.wait_for_words("asleep", "out")
    (rank,) = job.ranks().values()
    job.hit(rank, number)
    assert job.wait() == 3
    killed = rf"error: rank 0 \(.*, pid {rank}\) was killed by signal {int(number)} \({number.name}\)"
    sent = rf"\n  running: module nap, .*\nhelp: process {os.getpid()} has sent it this signal\n"
    assert named_once(job, killed + sent), job.err


def test_one_fault_on_all_processors_at_once_is_reported_once():
    job = Job(launched("-D", "how=1", "-D", "round=0"))
    assert job.wait() == 3
    assert job.err.count("segmentation fault") == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(3), *nightly(*range(3, 40))])
def test_sigkill_of_any_rank_at_any_moment_ends_the_job_and_names_the_rank(seed):
    chance = random.Random(seed)
    job = Job(launched(*LONG))
    ranks = job.wait_for_ranks(5)
    # From the moment when Python starts to well into the run: whatever the rank is doing then.
    job.go_on_for(chance.uniform(0.0, 2.5))
    victim = chance.randrange(5)
    job.hit(ranks[victim], signal.SIGKILL)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    killed = (
        rf"error: rank {victim} \(.*, host \S+, pid {ranks[victim]}\) was killed by signal 9 \(SIGKILL\)\n"
    )
    assert named_once(job, killed), f"rank {victim}, pid {ranks[victim]}:\n{job.err}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(2), *nightly(*range(2, 12))])
def test_the_node_monitor_names_a_killed_rank_under_a_bare_mpiexec(seed):
    chance = random.Random(seed)
    job = Job(bare(*LONG))
    job.wait_for_words("running faulty.coven")
    ranks = job.ranks()
    victim = chance.randrange(5)
    job.hit(ranks[victim], signal.SIGKILL)
    assert job.wait() != 0
    assert job.seconds < LIMIT
    killed = (
        rf"error: rank {victim} \(.*, pid {ranks[victim]}\) was killed by signal 9 \(SIGKILL\)\n  running: "
    )
    assert named_once(job, killed), job.err


NO_PIDFD_GETFD = """import pse.runtime.supervise._processes as processes
processes._PIDFD_GETFD = -1  # As where the kernel is older, or lets only ancestors do so.
"""


@pytest.mark.parametrize("sitecustomize", ["", *nightly(NO_PIDFD_GETFD)])
def test_a_killed_rank_is_named_in_a_file_that_gets_both_streams(sitecustomize, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(sitecustomize)
    log = tmp_path / "log"
    redirected = ["sh", "-c", 'exec "$@" >"$0" 2>&1', str(log)]
    job = Job([*redirected, *bare("-D", "how=10")], {"PYTHONPATH": str(tmp_path)})
    assert job.wait() != 0
    job.wait_until_gone()
    job.err = log.read_text()
    assert named_once(job, FAULTS[10]), job.err


@pytest.mark.parametrize("start", [launched, bare])
@pytest.mark.parametrize("module", ["mpi4py.MPI", "pse.runtime.status._report"])
def test_a_rank_that_cannot_load_pse_before_or_after_mpi_has_started_ends_the_job(start, module, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BROKEN_IN_RANK_2.format(module=module, rank=rank_variable()))
    # Ranks that have preloaded something load all by themselves.
    job = Job(start(*LONG), {"PYTHONPATH": str(tmp_path), "LD_PRELOAD": "libc.so.6"})
    assert job.wait() == 3
    assert job.seconds < LIMIT + 5.0  # Five interpreters start first.
    assert named_once(
        job, rf"error: rank 2 \(host \S+, pid \d+\) can't load what pse needs: no {module} here"
    ), job.err


def test_a_rank_killed_as_it_comes_up_ends_the_job():
    job = Job(launched(*LONG))
    ranks = job.wait_for_ranks(1)
    job.hit(next(iter(ranks.values())), signal.SIGKILL)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    assert re.search(r"error: (a )?rank .* killed", job.err), job.err


STOPPED_MONITOR = """
import os, signal, sys

if "pse.runtime.supervise._node_monitor" in sys.orig_argv:
    os.kill(os.getpid(), signal.SIGSTOP)
"""
"""A sitecustomize.py: the node's monitor stops as Python starts in it."""


def test_a_rank_killed_before_the_nodes_monitor_runs_is_named_though_all_are_dead_by_then(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(STOPPED_MONITOR)
    job = Job(bare(*LONG), {"PYTHONPATH": str(tmp_path)})
    ranks = job.wait_for_ranks(5)
    others = [os.pidfd_open(ranks[rank]) for rank in (0, 1, 2, 4)]
    monitor = job.wait_for_monitor()
    job.wait_until_stopped(monitor)
    job.hit(ranks[3], signal.SIGKILL)
    for pidfd in others:
        # MPI's launcher has killed them; Intel's leaves them alone until the rank that died is in MPI.
        assert find_mpiexec().intel or is_dead(pidfd, LIMIT)
        os.close(pidfd)
    job.hit(monitor, signal.SIGCONT)
    assert job.wait() != 0
    assert named_once(job, rf"error: rank 3 \(host \S+, pid {ranks[3]}\) was killed by signal 9"), job.err


RANK_OF_A_LAX_LAUNCHER = """
import signal
from pse.runtime.supervise import MonitorHandle, local_rank

monitor = MonitorHandle() if local_rank() == 0 else MonitorHandle.start_if_first_rank_is_dead()
signal.pause()
"""
LAX_LAUNCHER = """
import os, subprocess, sys

ranks = []
for place, rank in enumerate(["3", "4", "6"]):
    variables = {{"PMI_RANK": rank, "SLURM_LOCALID": str(place), "SLURM_GTIDS": "3,4,6"}}
    if rank != "{missing}":
        ranks.append(subprocess.Popen([sys.executable, "rank.py"], env=os.environ | variables))
print([rank.wait() for rank in ranks])
"""
"""It starts ranks as Slurm does, and lets them wait for one that is missing."""


@pytest.mark.parametrize("missing", [3, 6])
def test_a_rank_that_died_before_any_other_looked_is_named_and_the_others_end(missing, tmp_path):
    (tmp_path / "rank.py").write_text(RANK_OF_A_LAX_LAUNCHER)
    job = Job([sys.executable, "-c", LAX_LAUNCHER.format(missing=missing)], directory=tmp_path)
    assert job.wait() == 0
    assert job.out == "[-9, -9]\n"
    assert named_once(
        job, rf"error: a rank .* was killed as it started; rank {missing} was never seen alive\n"
    )


def test_mpiexec_killed_ends_the_job_and_is_named():
    job = Job(launched(*LONG))
    ranks = job.wait_for_ranks(5)
    job.hit(job.mpiexec(ranks[0]), signal.SIGKILL)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    assert "error: mpiexec was killed by SIGKILL" in job.err


needs_process_manager = pytest.mark.skipif(
    has_open_mpi(), reason="mpiexec of Open MPI starts ranks without a process manager"
)
MANAGER_KILLED = r"error: MPI's process manager \(host \S+, pid {pid}\), .* was killed by SIGKILL\n"


@needs_process_manager
@pytest.mark.parametrize("start", [launched, bare])
def test_a_process_manager_killed_in_mid_run_ends_the_job_and_is_named(start):
    job = Job(start(*LONG))
    job.wait_for_words("running faulty.coven")
    proxy = job.manager(job.wait_for_ranks(5)[0])
    if start is launched:
        job.wait_until_monitored(proxy)
    job.hit(proxy, signal.SIGKILL)
    assert job.wait() != 0
    assert job.seconds < LIMIT
    assert named_once(job, MANAGER_KILLED.format(pid=proxy)), job.err


@needs_process_manager
def test_a_process_manager_killed_while_ranks_start_is_named_and_no_rank():
    job = Job(launched(*LONG))
    proxy = job.manager(next(iter(job.wait_for_ranks(1).values())))
    job.wait_until_monitored(proxy)
    job.hit(proxy, signal.SIGKILL)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    assert named_once(job, MANAGER_KILLED.format(pid=proxy)), job.err


@pytest.mark.skipif(not has_mpich(), reason="ranks are forked under MPICH's mpiexec alone")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_fork_server_killed_ends_the_job_and_is_named(number):
    job = Job(launched(*LONG))
    server = job.parent(job.wait_for_ranks(5)[0])
    assert server not in (job.process.pid, job.manager(server))
    job.wait_until_monitored(server)
    job.hit(server, number)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    killed = (
        rf"error: the process that forks ranks \(host \S+, pid {server}\), .* was killed by {number.name}\n"
    )
    assert named_once(job, killed), job.err


STOPPED_BEHIND_MPIEXEC = """
import os, signal, subprocess

class Popen(subprocess.Popen):
    def __init__(self, command, *arguments, **options):
        super().__init__(command, *arguments, **options)
        if os.path.basename(command[0]) == "mpiexec":
            os.kill(os.getpid(), signal.SIGSTOP)

if "{rank}" not in os.environ:
    subprocess.Popen = Popen
"""
"""A sitecustomize.py: the launcher stops as soon as it has started mpiexec."""


def kill_and_see_it_dead(job, pid):
    """Kill a process of a job, and return when it is dead to everybody."""
    pidfd = os.pidfd_open(pid)
    job.hit(pid, signal.SIGKILL)
    assert is_dead(pidfd, LIMIT)
    os.close(pidfd)


@needs_process_manager
def test_a_process_manager_killed_before_the_launcher_saw_it_is_named_and_no_rank(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(STOPPED_BEHIND_MPIEXEC.format(rank=rank_variable()))
    job = Job(launched(*LONG), {"PYTHONPATH": str(tmp_path)})
    os.waitid(os.P_PID, job.process.pid, os.WSTOPPED)
    kill_and_see_it_dead(job, job.manager(next(iter(job.wait_for_ranks(1).values()))))
    job.hit(job.process.pid, signal.SIGCONT)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    manager = r"error: MPI's process manager \(host [^,\s]+\), which started the ranks there,"
    assert named_once(job, rf"{manager} ended as they started\n"), job.err


STOPPED_RANK = """
import os, signal, sys

if os.environ.get("{rank}") == "0" and "pse.runtime.supervise._node_monitor" not in sys.orig_argv:
    os.kill(os.getpid(), signal.SIGSTOP)
"""
"""A sitecustomize.py: rank 0 stops before it has started the node's monitor."""


@needs_process_manager
def test_a_process_manager_killed_before_a_rank_looked_leaves_other_jobs_alone(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(STOPPED_RANK.format(rank=rank_variable()))
    job = Job(bare(*LONG), {"PYTHONPATH": str(tmp_path)})
    rank = job.wait_for_ranks(5)[0]
    job.wait_until_stopped(rank)
    with subprocess.Popen(["cat"], env={rank_variable(): "1"}, stdin=subprocess.PIPE) as of_another_job:
        kill_and_see_it_dead(job, job.parent(rank))
        job.hit(rank, signal.SIGCONT)
        assert job.wait() != 0
        job.wait_until_gone()
        assert of_another_job.poll() is None
        of_another_job.stdin.close()
    assert of_another_job.returncode == 0


def test_a_monitor_killed_while_ranks_start_ends_the_job_and_is_named():
    job = Job(bare(*LONG))
    monitor = job.wait_for_monitor()
    job.hit(monitor, signal.SIGKILL)
    assert job.wait() == 3
    named = rf"error: the process that was to monitor the ranks of this host \(pid {monitor}\) ended as"
    assert named_once(job, named), job.err


def test_a_monitor_killed_in_mid_run_is_told_and_the_run_goes_on():
    job = Job(bare("-D", "rounds=100", "-D", "milliseconds=40"))
    job.wait_for_words("running faulty.coven")
    job.wait_for_ranks(5)
    (monitor,) = [pid for pid in job.processes() if "_node_monitor" in job.command_line(pid)]
    job.hit(monitor, signal.SIGKILL)
    assert job.wait() == 0, job.err
    warning = rf"warning: the process that monitors the ranks of this host \(pid {monitor}\) was killed\n"
    assert len(re.findall(warning, job.err)) == 1, job.err


WITHOUT_NETWORK = """
import os

if os.environ.get("{rank}") == "1":
    os.environ["UCX_TLS"] = "none_of_that_name"
"""
"""A sitecustomize.py: MPI can't start in rank 1."""


def test_mpi_that_cannot_start_is_no_fault_of_a_module(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_NETWORK.format(rank=rank_variable()))
    # Ranks that have preloaded something are not forked: each has an environment of its own from the start.
    job = Job(launched(), {"PYTHONPATH": str(tmp_path), "LD_PRELOAD": "libc.so.6"})
    if job.wait() == 0:
        pytest.skip("this MPI has no UCX")
    assert "No such device" in job.err
    assert re.search(r"error: rank 1 .*\n  running: its start-up\nhelp: MPI could not start", job.err), (
        job.err
    )


@pytest.mark.skipif(find_mpiexec().intel or has_open_mpi(), reason="this MPI has no UCX")
def test_mpi_that_cannot_start_in_any_rank_is_named_though_some_are_not_there_yet():
    job = Job(launched(), {"UCX_TLS": "none_of_that_name"})
    assert job.wait() == 3
    assert named_once(job, r"error: rank \d .*\n  running: its start-up\nhelp: MPI could not start"), job.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (launched(), "to start 5 ranks takes up to 72"),
        ([*launched(), "--serial"], "to start 1 rank takes up to 40"),
        pytest.param(
            bare(ranks=1),
            "to start 1 rank takes up to 40",
            marks=pytest.mark.skipif(has_open_mpi_4(), reason="mpiexec of Open MPI 4 hangs without pipes"),
        ),
    ],
    ids=["launched", "serial", "bare"],
)
def test_too_few_open_files_are_said_before_mpi_fails_for_it(command, said):
    job = Job(["bash", "-c", 'ulimit -n 24 && exec "$@"', "bash", *command])
    assert job.wait() == 3
    assert job.err.count("\n") <= 3
    assert f"error: a process may have 24 files open here, and {said}\nhelp: raise the limit" in job.err


def test_a_program_whose_name_is_not_text_runs(tmp_path):
    for name in ("faulty.coven", "faulty.py", "faulty.c"):
        shutil.copy(PROGRAMS / name, tmp_path)
    (tmp_path / "faulty.coven").rename(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.coven"))
    strict = {"PYTHONIOENCODING": "utf-8:strict"}  # As in most locales.
    job = Job([*launched()[:2], "caf\udce9.coven"], strict, directory=tmp_path)
    assert job.wait() == 0, job.err
    assert "caf\\udce9.coven: " in job.out


@pytest.mark.parametrize("moment", ["in mid-run", *nightly("while ranks start")])
def test_the_launcher_killed_takes_everything_along(moment):
    job = Job(launched(*LONG, "-D", "python=8"))
    job.wait_for_ranks(5)
    if moment == "in mid-run":
        job.wait_for_words("well on the way", "out")
    job.hit(job.process.pid, signal.SIGKILL)
    job.wait()
    assert job.seconds < LIMIT


@pytest.mark.skipif(not has_open_mpi(), reason="a process manager ends the ranks of other MPIs")
def test_ranks_do_not_outlive_the_launcher_and_mpiexec_killed_together(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", os.environ["TMPDIR"])
    began = time.time()
    job = Job(launched(*LONG, "-D", "python=8"))
    job.wait_for_words("well on the way", "out")
    mpiexec = job.mpiexec(job.wait_for_ranks(5)[0])
    os.kill(mpiexec, signal.SIGSTOP)  # So it can't end them when the launcher is gone.
    os.kill(job.process.pid, signal.SIGKILL)
    os.kill(mpiexec, signal.SIGKILL)
    killed = time.monotonic()
    job.wait()
    while job.processes():
        assert time.monotonic() - killed < LIMIT
    remove_session(mpiexec)  # Nobody lived to do it.
    remove_leaked(began)


@pytest.mark.alone
@pytest.mark.parametrize("start", [launched, bare])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_all_ranks_within_two_seconds(start, number, code):
    job = Job(start(*LONG))
    job.wait_for_words("running faulty.coven")
    job.wait_for_ranks(5)
    job.hit(job.process.pid, number)
    if start is bare and has_open_mpi():  # Its mpiexec may pass on SIGTERM, and end with 1.
        assert job.wait() in (1, code)
        job.err = job.err.replace("stopped by SIGTERM", f"stopped by {number.name}")
    else:
        assert job.wait() == code
    assert job.seconds < 2.0
    assert "Traceback" not in job.err
    assert f"stopped by {number.name}" in job.err


@pytest.mark.parametrize("command", [["-c", "from pse._entry import main; main()"], ["-m", "pse"]])
def test_ctrl_c_while_pse_still_loads_is_one_line(command, tmp_path):
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    job = Job([sys.executable, *command, "check", "faulty.coven"], {"PYTHONPATH": str(tmp_path)})
    assert job.wait() == 130
    assert job.err == "stopped by SIGINT\n"


# As Python looks for the module `{name}`, a Ctrl-C comes.
WHILE_IT_IS_FOUND = """import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{name}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("name", ["pse._unbuilt", "pse._loading"])
@pytest.mark.parametrize("command", [[beside_python("pse")], [sys.executable, "-m", "pse"]])
def test_ctrl_c_while_pse_loads_its_first_modules_ends_it_at_once(command, name, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WHILE_IT_IS_FOUND.format(name=name))
    job = Job([*command, "check", "faulty.coven"], {"PYTHONPATH": str(tmp_path)})
    assert job.wait() == -signal.SIGINT
    assert job.err == ""


# What a shell starts in the background of a script ignores Ctrl-C, and SIGHUP after `nohup`.
IGNORING = ["sh", "-c", 'trap "" INT HUP; exec "$@"', "sh"]


@pytest.mark.parametrize("name", ["pse._unbuilt", "pse._loading", "click", "pse.cli.check"])
@pytest.mark.parametrize("command", [[beside_python("pse")], [sys.executable, "-m", "pse"]])
def test_an_ignored_ctrl_c_stays_ignored_while_a_command_loads(command, name, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WHILE_IT_IS_FOUND.format(name=name))
    job = Job([*IGNORING, *command, "check", "faulty.coven"], {"PYTHONPATH": str(tmp_path)})
    assert job.wait() == 0
    assert job.err == ""


def test_ignored_signals_stay_ignored_while_a_program_runs(tmp_path):
    job = Job([*IGNORING, *launched("-D", "python=16")], {"GO_ON": str(tmp_path / "go")})
    job.wait_for_words("well on the way", "out")
    job.hit(job.process.pid, signal.SIGINT)
    job.hit(job.process.pid, signal.SIGHUP)
    (tmp_path / "go").touch()
    assert job.wait() == 0
    assert "stopped by" not in job.err


def test_an_only_rank_ignores_what_it_was_started_to_ignore():
    job = Job([*IGNORING, sys.executable, "-m", "pse", "--serial", "faulty.coven", "-D", "python=17"])
    assert job.wait() == 0
    assert "stopped by" not in job.err


# A second Ctrl-C comes as the word about the first one is written.
WHILE_IT_IS_SAID = """import os, signal
def twice(write):
    def writing(*arguments, **named):
        write(*arguments, **named)
        os.kill(os.getpid(), signal.SIGINT)
    return writing
"""


@pytest.mark.parametrize(
    ("module", "writes"),
    [("click", "os.write = twice(os.write)"), ("lark", "import click; click.echo = twice(click.echo)")],
)
def test_two_ctrl_c_at_once_are_one_line(module, writes, tmp_path):
    hits = "os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / f"{module}.py").write_text(f"{WHILE_IT_IS_SAID}{writes}\n{hits}\n")
    job = Job([sys.executable, "-m", "pse", "fmt", "faulty.coven"], {"PYTHONPATH": str(tmp_path)})
    assert job.wait() == 130
    assert job.err == "stopped by SIGINT\n"


# Python 3.11 makes another error of what is raised in such a method, as C code does of what it didn't expect.
WHILE_A_CLASS_IS_MADE = """import os, signal
class Named:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
class Owner:
    name = Named()
"""


def test_ctrl_c_that_becomes_another_error_while_a_command_loads_is_one_line(tmp_path):
    (tmp_path / "lark.py").write_text(WHILE_A_CLASS_IS_MADE)
    job = Job([sys.executable, "-m", "pse", "fmt", "faulty.coven"], {"PYTHONPATH": str(tmp_path)})
    assert job.wait() == 130
    assert job.err == "stopped by SIGINT\n"


@pytest.mark.alone
@pytest.mark.parametrize("start", [launched, *nightly(bare)])
@pytest.mark.parametrize("parameter", ["how=9", "python=4", "python=5"])
def test_modules_that_never_return_do_not_hold_up_ctrl_c(start, parameter):
    job = Job(start("-D", parameter, "-D", "round=0"))
    job.wait_for_words("running faulty.coven")
    job.wait_for_ranks(5)
    job.hit(job.process.pid, signal.SIGINT)
    assert job.wait() == 130
    assert job.seconds < 2.0


def test_a_failure_on_another_node_ends_the_job():
    job = Job(launched("--hosts", "localhost,127.0.0.1", "-D", "how=5"))
    assert job.wait() == 3
    assert "returned 7: it was told to fail" in job.err


def test_the_sample_program_of_these_tests_is_fine_if_told_nothing():
    job = Job(launched())
    assert job.wait() == 0
    assert (PROGRAMS / "faulty.coven").exists()
