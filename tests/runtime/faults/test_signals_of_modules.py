"""Signals that a module has sent to its own rank: they are told by their names, and stop nothing else."""

import pytest
from pse_testing.jobs import Job, beside_python

pytestmark = [pytest.mark.mpi, pytest.mark.usefixtures("nothing_left_behind")]

ALARM = """import signal
import time

#@ coven module nap()
def nap():
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    time.sleep(60)
"""


def test_a_modules_own_alarm_is_not_told_as_a_stop_from_outside(tmp_path):
    (tmp_path / "alarm.py").write_text(ALARM)
    (tmp_path / "alarm.coven").write_text('coven 1\nimport "alarm.py" { nap }\nprogram alarm { nap() }\n')
    job = Job([beside_python("pse"), "run", "-q", "alarm.coven"], directory=tmp_path)
    assert job.wait() == 3
    assert "was killed by signal 14 (SIGALRM)\n  running: module nap, alarm.coven:3:17" in job.err, job.err
