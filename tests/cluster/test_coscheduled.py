"""Coscheduled ranks of nodes that are apart: each has its own network."""

import sys
from pathlib import Path

import pytest
from pse_testing.jobs import unseen_until

pytestmark = pytest.mark.mpi

PROGRAMS = Path(__file__).parents[1] / "coschedule" / "programs"


def run(cluster, program, *words):
    """Run a program of the coscheduled layer's tests on the cluster's nodes."""
    command = [sys.executable, str(PROGRAMS / program), *words]
    return cluster.run(command, ranks=3, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("mode", ["early", "strict"])
def test_operations_give_what_mpi_gives(cluster, mode):
    done = run(cluster, "same_as_mpi.py", mode)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_random_programs_have_the_same_schedule_each_time(cluster):
    done = run(cluster, "same_schedule.py", "1")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_deadlock_over_nodes_is_told(cluster):
    done = run(cluster, "wrong.py", "deadlock", "0")
    assert "rank 0 in Recv from rank 1 with tag 0, rank 1 in Recv from rank 2 with tag 1" in done.stdout


@pytest.mark.usefixtures("nothing_left_behind")
def test_a_killed_rank_of_another_node_is_named(cluster, tmp_path):
    words = str(PROGRAMS / "wrong.py"), "killed", "0", str(tmp_path / "said")
    command = [*unseen_until(tmp_path / "said"), sys.executable, *words]
    cluster.run(command, ranks=3, capture_output=True, timeout=100)
    said = "RankDiedError: rank 1 of the coscheduled communicator ended and did not free it"
    assert (tmp_path / "said").read_text().startswith(said)
