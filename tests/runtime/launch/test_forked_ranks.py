"""Ranks of a run on this machine: forked by one process that has loaded all, or started one by one."""

import os
import re
import signal
import subprocess
import sys

import pytest
from pse_testing.jobs import Job, beside_python, has_open_mpi

from pse import _proc
from pse.runtime.launch import find_mpiexec

pytestmark = [
    pytest.mark.usefixtures("nothing_left_behind"),
    pytest.mark.mpi,
    pytest.mark.skipif(
        has_open_mpi() or find_mpiexec().intel, reason="ranks are forked under MPICH's mpiexec alone"
    ),
]

MODULE = """import os
import time

import numpy as np


#@ coven module talk(in i64 who, out f64 drawn)
def talk(who):
    print("ready")
    while not os.path.exists("go"):
        time.sleep(0.01)
    return np.random.rand()
"""
PROGRAM = """coven 1
import "talk.py" { talk }
program p {
  thread_A talk(0) -> a
  thread_B talk(1) -> b
  thread_C talk(2) -> c
  thread_A print(a, b, c)
}
"""
LOADS_ONLY_IN_RANKS = """import os
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "mpi4py":
            raise ImportError("there is none here")

if "PMI_RANK" not in os.environ:
    sys.meta_path.insert(0, Missing())
"""
"""A sitecustomize.py: who forks ranks could not load what they need."""


@pytest.fixture
def run(tmp_path):
    """Start the program, and return when all of its ranks are in their modules."""
    (tmp_path / "talk.py").write_text(MODULE)
    (tmp_path / "p.coven").write_text(PROGRAM)

    def start(**environment):
        job = Job([beside_python("pse"), "run", "p.coven", "-q"], environment, directory=tmp_path)
        for _ in range(3):
            job.wait_for_words("ready", "out")
        return job, job.wait_for_ranks(3)

    return start


def finish(job, tmp_path):
    """Let the modules go on; gives the numbers that they drew."""
    (tmp_path / "go").touch()
    assert job.wait() == 0, job.err
    return [float(word) for word in job.out.splitlines()[-1].split()]


def test_ranks_have_one_parent_their_own_groups_and_numbers_and_the_environment_of_ranks(run, tmp_path):
    job, ranks = run(OF_THE_USER="a=b")
    assert len({job.parent(pid) for pid in ranks.values()} - {job.process.pid, job.manager(ranks[0])}) == 1
    assert len({os.getpgid(pid) for pid in [job.process.pid, *ranks.values()]}) == 4
    assert sorted(_proc.environment(pid)["PMI_RANK"] for pid in ranks.values()) == ["0", "1", "2"]
    drawn = finish(job, tmp_path)
    assert len(set(drawn)) == 3, "ranks share the state of a generator"


@pytest.mark.parametrize("how", ["preloaded", "not to be loaded"])
def test_ranks_are_started_one_by_one_where_they_cannot_be_forked(how, run, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(LOADS_ONLY_IN_RANKS)
    given = {"LD_PRELOAD": "libc.so.6"} if how == "preloaded" else {"PYTHONPATH": str(tmp_path)}
    job, ranks = run(**given)
    assert {job.parent(pid) for pid in ranks.values()} == {job.manager(ranks[0])}
    assert len(finish(job, tmp_path)) == 3


def test_a_rank_whose_place_under_mpiexec_is_killed_is_killed_and_named(run):
    job, ranks = run()
    stand_ins = [pid for pid in _proc.descendants(job.process.pid) if _proc.name(pid) == _proc.STAND_IN]
    assert len(stand_ins) == 3
    os.kill(stand_ins[1], signal.SIGKILL)
    assert job.wait() == 3
    (killed,) = re.findall(r"error: rank (\d) \(.*, pid (\d+)\) was killed by signal 9", job.err)
    assert ranks[int(killed[0])] == int(killed[1])


def test_a_signal_that_mpiexec_passes_on_stops_the_ranks(run):
    job, _ = run()
    job.process.send_signal(signal.SIGTERM)
    assert job.wait() == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in job.err


def test_a_stop_has_its_exit_code_also_where_nobody_takes_its_words(tmp_path):
    (tmp_path / "talk.py").write_text(MODULE)
    (tmp_path / "p.coven").write_text(PROGRAM)
    unheard = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh", beside_python("pse"), "run", "p.coven", "-q"]
    job = Job(unheard, directory=tmp_path)
    for _ in range(3):
        job.wait_for_words("ready", "out")
    job.process.send_signal(signal.SIGHUP)
    assert job.wait() == 128 + signal.SIGHUP


ALONE = """
import sys
from mpi4py import MPI
from pse.runtime.rank._rank_main import run_rank
from pse.runtime.request._request import Request, prepare
request = Request(sys.argv[1], {}, processors=1)
sys.exit(run_rank(request, checked=prepare(request)))
"""


def test_a_forked_rank_that_sees_fewer_than_were_started_ends(tmp_path):
    """As where mpiexec is of another MPI than mpi4py's: each rank is a world of its own."""
    path = tmp_path / "p.coven"
    path.write_text("coven 1\nprogram p { thread_A print(0)  thread_B print(1)  thread_C print(2) }\n")
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PMI_")}
    command = [sys.executable, "-c", ALONE, str(path)]
    done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert re.search(r"error: mpiexec belongs to another MPI .*: of 3 ranks each sees 1\nhelp: ", done.stderr)
