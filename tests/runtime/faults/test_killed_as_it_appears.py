"""Who starts ranks, and what becomes one, killed as it appears: the job ends, and says why."""

import re
import signal

import pytest
from pse_testing.example_counts import nightly
from pse_testing.jobs import LONG, Job, has_open_mpi, launched

from pse import _proc

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.alone,
    pytest.mark.usefixtures("nothing_left_behind"),
    pytest.mark.skipif(has_open_mpi(), reason="mpiexec of Open MPI starts ranks without a process manager"),
]
LIMIT = 5.0
"""Seconds between the kill and the end of the job."""


def first_of(job, below, name):
    """Wait for the first process whose parent's name, and its own, begin so."""
    while job.process.poll() is None:
        for pid in _proc.descendants(job.process.pid):
            parent = _proc.name(_proc.parent(pid) or 0)
            if parent.startswith(below) and _proc.name(pid).startswith(name):
                return pid
    raise AssertionError(f"{below} has started nothing")


def kill_first(below, name=""):
    """Kill the first of such processes; gives what the job says as it ends."""
    job = Job(launched(*LONG))
    job.hit(first_of(job, below, name), signal.SIGKILL)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    return job.err


@pytest.mark.parametrize("attempt", [1, 2, *nightly(*range(3, 20))])
def test_a_process_manager_killed_as_it_appears_ends_the_job(attempt):
    """Before it has said a word to mpiexec, which then waits for it for ever; or just after."""
    said = kill_first(("mpiexec", "hydra_bstrap"), "hydra_pmi_proxy")  # Intel's has one between.
    assert "MPI's process manager" in said or "mpiexec" in said


@pytest.mark.parametrize("attempt", [1, 2, *nightly(*range(3, 20))])
def test_what_a_process_manager_starts_killed_as_it_appears_ends_the_job(attempt):
    """Before it is a rank, or stands for one: MPICH's process manager then waits for ever, at full speed."""
    said = kill_first("hydra_pmi_proxy")
    assert re.search(r"error: (.* killed|MPI's process manager|mpiexec ended)", said), said
