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


def first_of(job, below):
    """Wait for the first process whose parent has a name that begins so."""
    while job.process.poll() is None:
        for pid in _proc.descendants(job.process.pid):
            parent = _proc.parent(pid)
            if parent is not None and _proc.name(parent).startswith(below):
                return pid
    raise AssertionError(f"{below} has started nothing")


@pytest.mark.parametrize("attempt", [1, 2, *nightly(*range(3, 20))])
def test_a_process_manager_killed_as_it_appears_ends_the_job(attempt):
    """Before it has said a word to mpiexec, which then waits for it for ever; or just after."""
    job = Job(launched(*LONG))
    job.hit(first_of(job, below="mpiexec"), signal.SIGKILL)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    assert "MPI's process manager" in job.err or "mpiexec" in job.err


@pytest.mark.parametrize("attempt", [1, 2, *nightly(*range(3, 20))])
def test_what_a_process_manager_starts_killed_as_it_appears_ends_the_job(attempt):
    """Before it is a rank, or stands for one: MPICH's process manager then waits for ever, at full speed."""
    job = Job(launched(*LONG))
    job.hit(first_of(job, below="hydra_pmi_proxy"), signal.SIGKILL)
    assert job.wait() == 3
    assert job.seconds < LIMIT
    assert re.search(r"error: (.* killed|MPI's process manager|mpiexec ended)", job.err), job.err
