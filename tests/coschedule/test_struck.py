"""Whatever ranks are doing when one of them is killed, all others are told which one it was."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pse_testing.jobs import PATIENCE, beside_python, unseen_until

from pse.runtime.supervise import Backoff

pytestmark = [pytest.mark.mpi, pytest.mark.nightly]
PROGRAM = Path(__file__).parent / "programs" / "struck.py"
LAUNCHES = 30


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("mode", ["early", "strict"])
def test_the_others_are_told_which_rank_was_killed_at_any_moment(tmp_path, mode):
    chance = random.Random(mode)
    for launch in range(LAUNCHES):
        folder, ranks = tmp_path / str(launch), chance.randint(2, 5)
        victim = chance.randrange(ranks)
        folder.mkdir()
        command = [beside_python("mpiexec"), "-n", str(ranks), *unseen_until(folder / "over"), sys.executable]
        with subprocess.Popen(
            [*command, str(PROGRAM), mode, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as job:
            Backoff(0.05).sleep_until(lambda: len([*folder.glob("pid-*")]) == ranks, PATIENCE)  # noqa: B023
            time.sleep(chance.uniform(0, 0.2))
            os.kill(int((folder / f"pid-{victim}").read_text()), signal.SIGKILL)
            Backoff(0.05).sleep_until(lambda: len([*folder.glob("said-*")]) == ranks - 1, PATIENCE)  # noqa: B023
            (folder / "over").touch()
            job.wait(PATIENCE)
        said = {path.name: path.read_text() for path in folder.glob("said-*")}
        who = f"rank {victim} of the coscheduled communicator ended and did not free it"
        assert len(said) == ranks - 1, (launch, ranks, victim)
        assert all(text.startswith(who) for text in said.values()), (launch, ranks, victim, said)
