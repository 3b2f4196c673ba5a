"""mpi4py's own test suite passes under each tool, and under all of them, wherever it passes without tools.

Each of the suite's files is a job of its own, so that one that hangs is told apart from the others.
"""

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

from pse.toolstack import environment, find_mpi

pytestmark = [pytest.mark.nightly, pytest.mark.mpi, pytest.mark.timeout(4 * 3600)]
TOOLS = ("coopwait", "count", "delay", "trace", "check", "record", "replay", "profile", "piggyback")
ORDER = ("count", "check", "profile", "trace", "record", "piggyback", "delay", "coopwait")
"""All that can be together: there is nothing to replay while a run is recorded."""
SECONDS = 240
"""The longest that a file may take; without tools the slowest takes a quarter of it."""
FAILED = re.compile(r"^(?:FAIL|ERROR): (.+)$", re.MULTILINE)
DONE = re.compile(r"Ran [1-9]\d* tests? in", re.MULTILINE)
DOWNLOAD = (
    "-m",
    "pip",
    "download",
    "-q",
    "--no-deps",
    "--no-binary",
    "mpi4py",
    "--disable-pip-version-check",
)


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    """Give the source distribution of the mpi4py that is installed."""
    place = tmp_path_factory.mktemp("mpi4py")
    wanted = f"mpi4py=={version('mpi4py')}"
    line = [sys.executable, *DOWNLOAD, "-d", str(place), wanted]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or "no reason given").splitlines()[-1]
        pytest.skip(f"the sources of {wanted} can't be downloaded: {last}")
    (archive,) = place.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(place, filter="data")
    (top,) = place.glob("mpi4py-*/test")
    return top.parent


def run_file(suite: Path, file: str, ranks: int, variables: dict[str, str]) -> set[str]:
    """Run a file of the suite as a job; give the tests that fail, or the file if it hangs or ends early."""
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    command = [mpiexec, "-n", str(ranks), sys.executable, "test/main.py", "-q", "-i", f"^{file}[.]py$"]
    process = subprocess.Popen(
        command,
        cwd=suite,
        env=os.environ | variables,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        output, _ = process.communicate()
        return {f"{file}: does not end within {SECONDS} s"}
    failed = {f"{file}: {name}" for name in FAILED.findall(output)}
    if not failed and (process.returncode != 0 or len(DONE.findall(output)) < ranks):
        failed.add(f"{file}: ends early with code {process.returncode}: {output[-600:]}")
    return failed


@pytest.fixture(scope="module")
def bare(suite):
    """Give what fails without tools, of one file at a number of ranks."""

    @functools.cache
    def run(file: str, ranks: int) -> frozenset[str]:
        return frozenset(run_file(suite, file, ranks, {}))

    return run


def stack(names: tuple[str, ...], place: Path) -> dict[str, str]:
    """Give the environment of a stack whose tools write into a directory."""
    made = str(place / "made")
    arguments = {"delay": "microseconds 1"} | dict.fromkeys(
        ("trace", "record", "replay"), f"directory {made}"
    )
    lines = [
        f"module {name}\n" + (f"  argument {arguments[name]}\n" if name in arguments else "")
        for name in names
    ]
    configuration = place / "tools.conf"
    configuration.write_text("".join(lines))
    return environment(str(configuration), find_mpi())


@pytest.mark.parametrize("ranks", [1, 3, 5])
@pytest.mark.parametrize("tools", [*[(tool,) for tool in TOOLS], ORDER], ids="+".join)
def test_what_passes_without_tools_passes_with_them(suite, bare, tools, ranks, tmp_path):
    wrong = []
    files = sorted(path.stem for path in (suite / "test").glob("test_*.py"))
    for file in files:
        place = tmp_path / file
        place.mkdir()
        if tools == ("replay",):
            run_file(suite, file, ranks, stack(("record",), place))
        failed = run_file(suite, file, ranks, stack(tools, place))
        wrong += sorted(failed - bare(file, ranks)) if failed else []
    assert not wrong, "\n".join(wrong)
