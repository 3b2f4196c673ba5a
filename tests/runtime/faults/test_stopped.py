"""Processes of a run that are stopped from outside: what they ran is told, and the run ends."""

import re
import signal

import pytest
from pse_testing.jobs import LONG, Job, beside_python, has_mpich, has_open_mpi, launched

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]

NAPS = (*LONG[:2], "-D", "milliseconds=300", "-D", "python=8", "-D", "round=4")
"""Parameters of faulty.coven: when it says that it is well on the way, its threads B have begun to nap."""


@pytest.mark.parametrize(
    ("rank", "parameters", "running"),
    [
        (0, ["-D", "python=16"], r"\n  running: module misbehave, faulty\.coven:15:5"),
        (
            1,
            NAPS,
            r"\n  running: module c\.nap, faulty\.coven:18:7",
        ),
        (2, [*LONG, "-D", "python=8"], ""),
    ],
)
def test_a_single_rank_stopped_from_outside_is_named_with_what_it_runs(rank, parameters, running, tmp_path):
    job = Job(launched(*parameters), {"GO_ON": str(tmp_path / "never")})
    job.wait_for_words("well on the way", "out")
    ranks = job.wait_for_ranks(5)
    job.hit(ranks[rank], signal.SIGTERM)
    assert job.wait() == 3
    named = rf"error: rank {rank} \(.*pid {ranks[rank]}\) was stopped by SIGTERM{running}"
    assert re.search(named, job.err), job.err


@pytest.mark.skipif(has_open_mpi(), reason="mpiexec of Open MPI ends ranks before they have said anything")
def test_all_ranks_stopped_from_outside_are_told_with_what_some_of_them_ran():
    job = Job(launched(*NAPS))
    job.wait_for_words("well on the way", "out")
    job.hit(job.mpiexec(job.wait_for_ranks(5)[0]), signal.SIGTERM)
    assert job.wait() == 3
    ran = r"was stopped by SIGTERM\n  (running|meanwhile, on \d ranks?): module c\.nap, faulty\.coven:18:7"
    assert re.search(ran, job.err), job.err


NAPPING = """import time
#@ coven module nap()
def nap():
    print("it naps", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("body", "running"),
    [
        ("nap()", r"running: module nap, slow\.coven:4:16"),
        ("PARALLEL over P { nap() }", r"meanwhile, on \d ranks?: module nap, slow\.coven:4:34"),
    ],
)
def test_a_run_that_is_stopped_says_what_it_ran(body, running, number, tmp_path):
    (tmp_path / "slow.py").write_text(NAPPING)
    (tmp_path / "slow.coven").write_text(
        f'coven 1\nimport "slow.py" {{ nap }}\npartition P = procs\nprogram slow {{ {body} }}\n'
    )
    processors = "2" if "PARALLEL" in body else "1"
    job = Job([beside_python("pse"), "run", "slow.coven", "-p", processors], directory=tmp_path)
    job.wait_for_words("it naps", "out")
    job.hit(job.process.pid, number)
    assert job.wait() == 128 + number
    assert re.search(rf"stopped by {number.name}\n  {running}\n\Z", job.err), job.err


@pytest.mark.skipif(not has_mpich(), reason="ranks are forked under MPICH's mpiexec alone")
def test_a_fork_server_that_somebody_stopped_is_continued_when_all_ranks_have_ended(tmp_path):
    job = Job(launched("-D", "rounds=4", "-D", "python=16"), {"GO_ON": str(tmp_path / "now")})
    job.wait_for_words("well on the way", "out")
    server = job.parent(job.wait_for_ranks(5)[0])
    job.wait_until_monitored(server)
    job.hit(server, signal.SIGSTOP)
    (tmp_path / "now").touch()
    assert job.wait() == 0, job.err
    assert f"warning: the process that forks ranks (pid {server}) was stopped; pse continued it" in job.err
    assert "a module started" not in job.err
