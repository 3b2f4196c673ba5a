"""Runs that Slurm's srun starts on two nodes: deaths and signals; srun alone ends no other ranks."""

import os
import re
import signal
import subprocess
import sys

import pytest
from pse_testing import slurm as two_nodes
from pse_testing.jobs import LONG, Job, has_open_mpi

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(bool(two_nodes.why_not()), reason=two_nodes.why_not()),
    pytest.mark.skipif(has_open_mpi(), reason="ranks of Open MPI don't meet by PMI-2"),
    pytest.mark.usefixtures("nothing_left_behind"),
]

SRUN = ["srun", "--mpi=pmi2", "-N2", "-n5", "--overcommit", sys.executable, "-m", "pse", "faulty.coven"]
"""Three ranks on one node, two on the other."""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Start Slurm; gives the environment for its commands."""
    folder = tmp_path_factory.mktemp("slurm")
    with two_nodes.slurm(folder) as environment:
        yield environment


def test_a_program_runs_on_two_nodes(slurm):
    job = Job(SRUN, slurm)
    assert job.wait() == 0, job.err
    assert "waiting for" not in job.err
    assert "on 2 processors (5 ranks)" in job.out
    assert "sent between nodes         0 B" not in job.out


def test_tasks_that_are_no_ranks_of_one_job_are_told_how_to_be(slurm):
    job = Job([word for word in SRUN if word != "--mpi=pmi2"], slurm)
    assert job.wait() != 0
    assert "help: each of srun's 5 tasks is an MPI job of its own here: connect them" in job.err
    assert "was killed" not in job.err


@pytest.mark.parametrize("victim", [1, 4])
def test_a_killed_rank_is_named_and_ends_the_ranks_of_all_nodes(slurm, victim):
    job = Job([*SRUN, *LONG], slurm)
    job.wait_for_words("running faulty.coven")
    ranks = job.wait_for_ranks(5)
    job.hit(ranks[victim], signal.SIGKILL)
    assert job.wait() != 0
    assert job.seconds < 10.0
    killed = (
        rf"error: rank {victim} \(thread_. of .*, pid {ranks[victim]}\) was killed by signal 9 \(SIGKILL\)"
    )
    assert re.search(killed, job.err), job.err
    assert job.err.count("\nerror: ") == 1


def test_a_monitor_that_is_killed_ends_the_ranks_of_its_node_too(slurm):
    job = Job([*SRUN, *LONG], slurm)
    job.wait_for_words("running faulty.coven")
    job.wait_for_ranks(5)
    (monitor,) = (
        pid
        for pid, environment in job.processes().items()
        if environment.get("SLURM_NODEID") == "1" and "_node_monitor" in job.command_line(pid)
    )
    job.hit(monitor, signal.SIGKILL)
    assert job.wait() != 0
    assert job.seconds < 10.0  # Without a word from Slurm, which waits for the ranks.
    assert f"error: the process that monitors the ranks of this host (pid {monitor}) was killed" in job.err
    assert re.search(r"error: the monitor of host \S+ is gone", job.err), job.err


# By night: on a loaded machine Slurm itself, two daemons on one machine, sometimes does not end such a step.
@pytest.mark.nightly
@pytest.mark.parametrize("victim", [3, 4])
def test_a_rank_that_is_killed_as_it_starts_ends_the_ranks_of_all_nodes(slurm, victim):
    job = Job([*SRUN, *LONG], slurm)
    ranks = job.wait_for_ranks(5)
    job.wait_until_monitored(ranks[victim], by_node=True)
    job.hit(ranks[victim], signal.SIGKILL)
    assert job.wait() != 0
    assert job.seconds < 10.0
    assert re.search(rf"error: rank {victim} \(.*pid {ranks[victim]}\).* was killed", job.err), job.err
    assert "was stopped by" not in job.err


KILLED_AS_PYTHON_STARTS = """
import os, signal

if os.environ.get("SLURM_PROCID") == "{victim}":
    os.kill(os.getpid(), signal.SIGKILL)
"""
"""A sitecustomize.py."""


@pytest.mark.nightly
@pytest.mark.parametrize("victim", [0, 1, 4])
def test_a_rank_that_is_killed_before_anything_of_pse_runs_in_it_is_named(slurm, victim, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(KILLED_AS_PYTHON_STARTS.format(victim=victim))
    job = Job([*SRUN, *LONG], {**slurm, "PYTHONPATH": str(tmp_path)})
    assert job.wait() != 0
    assert f" was killed as it started; rank {victim} was never seen alive\n" in job.err
    assert job.err.count("\nerror: ") == 1


def test_a_node_that_is_lost_ends_the_ranks_of_the_others(slurm):
    job = Job([*SRUN, *LONG], slurm)
    job.wait_for_words("fill:14")  # The monitors are connected before the first call.
    lost = [pid for pid, environment in job.processes().items() if environment.get("SLURM_NODEID") == "1"]
    assert len(lost) == 3  # Two ranks and their monitor, which goes first.
    for pid in sorted(lost, key=lambda pid: "_node_monitor" not in job.command_line(pid)):
        job.hit(pid, signal.SIGKILL)
    assert job.wait() != 0
    assert job.seconds < 10.0
    assert "error: the monitor of host" in job.err


@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_run_that_the_batch_system_ends_blames_no_rank_and_says_how_to_go_on(slurm, tmp_path, checkpoints):
    kept = ["--checkpoint", str(tmp_path), "--every", "1"] if checkpoints else []
    job = Job([SRUN[0], "--job-name=stopped", *SRUN[1:], *LONG, *kept], slurm)
    job.wait_for_words("fill:14")
    subprocess.run(["scancel", "--name=stopped"], env={**os.environ, **slurm}, check=True)
    assert job.wait() == 143
    assert "was stopped by SIGTERM\n" in job.err
    assert ("continues at faulty.coven:13" in job.err) == checkpoints
    assert "error: rank" not in job.err
    assert "Traceback" not in job.err
