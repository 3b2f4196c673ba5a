"""What /proc tells of processes: of living ones, and of those that have ended."""

import os
import select
import shutil
import subprocess
import sys
import time

import pytest

from pse import _proc

WAITS = "import sys; print(flush=True); sys.stdin.read()"


@pytest.fixture
def child(tmp_path):
    """Start a Python whose name has a blank and a parenthesis, as rank 7 by its environment."""
    os.symlink(sys.executable, tmp_path / "a) R 1 (b")
    environment = {"PMI_RANK": "7", "MARK": "a=b", "PYTHONHOME": sys.base_prefix}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([tmp_path / "a) R 1 (b", "-c", WAITS], env=environment, **pipes) as started:
        started.stdout.read(1)
        yield started
        started.stdin.close()


def test_a_name_with_parentheses_hides_nothing(child):
    status = _proc.status(child.pid)
    assert (_proc.name(child.pid), status.parent) == ("a) R 1 (b", os.getpid())
    began = time.clock_gettime(time.CLOCK_BOOTTIME) - status.started / os.sysconf("SC_CLK_TCK")
    assert 0 <= began < 60
    assert 0 <= status.cpu_seconds < 60


def test_ranks_are_found_by_their_environment_and_mark(child):
    assert _proc.ranks_below(os.getpid(), "MARK=a=b") == {7: child.pid}
    assert _proc.ranks_below(os.getpid(), "MARK=a") == {}
    assert child.pid in _proc.descendants(os.getpid())


KEEPS = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
for line in sys.stdin:
    exec(line)
    print(flush=True)
"""


def test_a_process_has_lost_its_children_when_none_lives():
    with subprocess.Popen(
        [sys.executable, "-c", KEEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as started:

        def told(line):
            started.stdin.write(line + b"\n")
            started.stdin.flush()
            started.stdout.readline()
            return _proc.has_lost_children(started.pid)

        assert not told(b"pass")
        assert told(b"child.kill(); import os; os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)")
        assert told(b"child.wait()")
        started.stdin.close()
    assert not _proc.has_lost_children(started.pid)


def test_what_a_process_has_open_and_mapped_is_listed(tmp_path):
    library = shutil.copy(sys.executable, tmp_path / "a b.so")
    with open(library, "rb") as file:
        assert (file.fileno(), str(library)) in _proc.open_files(os.getpid())
    assert any("libc.so" in path for path in _proc.mapped_files())


def test_a_process_that_has_ended_has_nothing(child):
    descriptor = os.pidfd_open(child.pid)
    child.kill()
    assert select.select([descriptor], [], [], 30)[0]
    for _ in ("a zombie", "gone"):
        assert _proc.status(child.pid) is None
        assert child.pid not in _proc.descendants(os.getpid())
        assert (_proc.environment(child.pid).get("PMI_RANK"), [*_proc.open_files(child.pid)]) == (None, [])
        child.wait()
    os.close(descriptor)
    assert (_proc.name(child.pid), _proc.command_line(child.pid), _proc.mapped_files(child.pid)) == (
        "",
        "",
        [],
    )
