"""Who stands still is named after ten seconds, whichever rank of whichever node."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from pse_testing.jobs import PATIENCE, TWO_NODES, beside_python, needs_cliques, unseen_until

from pse.runtime.supervise import Backoff

pytestmark = [pytest.mark.mpi, pytest.mark.slow, needs_cliques()]
PROGRAM = Path(__file__).parent / "programs" / "standstill.py"
STOPPED = "rank {} of the coscheduled communicator has stood still for 10 s, in slice "
SILENT = "the node of rank {} has not answered for 10 s, in slice "
LOCKED = "error: rank {} stands still for 10 s, and has what coscheduled ranks share\n"
BUSY = "has not come to the coscheduled layer for 10 s, and others wait there"


@dataclass(frozen=True)
class Case:
    """Ranks of a job, on two nodes or one, and what is told of which of them."""

    what: str
    ranks: int
    victim: int
    said: str
    nodes: bool = False


CASES = {
    "the first rank": Case("stopped", 2, 0, STOPPED),
    "no leader": Case("stopped", 4, 3, STOPPED, nodes=True),
    "a node's only rank": Case("stopped", 3, 1, SILENT, nodes=True),
    "with the lock": Case("locked", 2, 1, LOCKED),
    "busy": Case("busy", 2, 1, BUSY),
    "busy elsewhere": Case("busy", 2, 1, BUSY, nodes=True),
}


@pytest.fixture
def jobs(tmp_path):
    """All cases at once: each takes its ten seconds."""
    started = {}
    for name, case in CASES.items():
        file = tmp_path / name
        command = [beside_python("mpiexec"), "-n", str(case.ranks), *unseen_until(file), sys.executable]
        with file.with_suffix(".err").open("w") as err:
            started[name] = subprocess.Popen(
                [*command, str(PROGRAM), case.what, str(case.victim), str(file)],
                env=os.environ | (TWO_NODES if case.nodes else {}),
                stdin=subprocess.DEVNULL,
                stderr=err,
            )
    yield started
    for job in started.values():
        job.terminate()
        job.wait(PATIENCE)


def told(file, case):
    """Give what has been said so far."""
    if case.what != "stopped":
        return file.with_suffix(".err").read_text()
    return file.read_text() if file.exists() else ""


@pytest.mark.usefixtures("nothing_left_behind")
def test_who_stands_still_is_named(tmp_path, jobs):
    for name, case in CASES.items():
        said = case.said.format(case.victim)
        Backoff(0.1).sleep_until(lambda: said in told(tmp_path / name, case), PATIENCE)  # noqa: B023
        assert said in told(tmp_path / name, case), name
        if case.what == "busy":
            assert f"warning: rank {case.victim} (process " in told(tmp_path / name, case)
            (tmp_path / name).touch()
            assert jobs[name].wait(PATIENCE) == 0
