"""mpi4py's own test suite passes under each tool, and under all of them, wherever it passes without tools.

Each of the suite's files is a job of its own, so that one that hangs is told apart from the others. First it
runs without tools; how long that takes decides how long it may take with them. A table at the end has one row
for each test. What `trace` recorded is analyzed: nothing is said of it that is not true. `pytest -m nightly
tests/nightly/test_mpi4py_suite.py -k 3-coopwait` is 3 ranks under one tool, `-k 3-all` 3 ranks under all.
"""

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

from pse.analysis import analyze
from pse.toolstack import environment, find_mpi

pytestmark = [pytest.mark.nightly, pytest.mark.mpi, pytest.mark.timeout(4 * 3600)]
TOOLS = ("coopwait", "count", "delay", "trace", "check", "record", "replay", "profile", "piggyback")
ORDER = ("count", "check", "profile", "trace", "record", "piggyback", "delay", "coopwait")
"""All that can be together: there is nothing to replay while a run is recorded."""
LONGEST = 900
"""What a file may take without tools, in seconds; one that takes longer is compared with nothing."""
SPARE, FACTOR = 120, 4
"""With tools a file may take SPARE seconds, and FACTOR times as long as without."""
LEFT_OUT = {
    # MPICH 5.0 cancels a send within a node as if it were one of UCX: it crashes, also without tools, unless
    # the memory of the request was used before in a way that prevents it.
    "test_p2p_buf": ("testProbeCancel",),
    # Where MPI has no MPI_Comm_iagree, mpi4py calls MPI_Iallreduce, on one rank before a barrier and on the
    # others after it: `check` rightly ends the job.
    "test_ulfm": ("testIAgree",),
}
TRUE_OF_TRACES = (
    # The budget of functions, and tests that spawn, connect, or leave receives without their sends.
    re.compile(r"rank \d+: .* is recorded for its first \d+ calls only: .*"),
    re.compile(
        r"[\d,]+ (sends? and|send or|parts? of) .* with processes of another job, such as spawned ones: .*"
    ),
)
"""What may be said of the suite's traces."""
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


@dataclass(frozen=True)
class Outcome:
    """How a file ended: what failed, and after how many seconds."""

    failed: frozenset[str]
    seconds: float
    hangs: bool = False


def run_file(suite: Path, file: str, ranks: int, variables: dict[str, str], limit: float) -> Outcome:
    """Run a file of the suite as a job; what fails are its tests, or the file if it hangs or ends early."""
    mpiexec = beside_python("mpiexec")
    command = [mpiexec, "-n", str(ranks), sys.executable, "test/main.py", "-q", "-i", f"^{file}[.]py$"]
    command += [word for test in LEFT_OUT.get(file, ()) for word in ("-x", test)]
    begin = time.monotonic()
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
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        return Outcome(frozenset({f"{file}: does not end within {limit:.0f} s"}), limit, hangs=True)
    failed = {f"{file}: {name}" for name in FAILED.findall(output)}
    if not failed and (process.returncode != 0 or len(DONE.findall(output)) < ranks):
        failed.add(f"{file}: ends early with code {process.returncode}: {output[-600:]}")
    return Outcome(frozenset(failed), time.monotonic() - begin)


@pytest.fixture(scope="module")
def bare(suite):
    """Give how a file ends without tools at a number of ranks."""

    @functools.cache
    def run(file: str, ranks: int) -> Outcome:
        return run_file(suite, file, ranks, {}, LONGEST)

    return run


@pytest.fixture(scope="module")
def table(request):
    """Collect a row for each test, and print them at the end."""
    rows = []
    yield rows
    writer = request.config.get_terminal_writer()
    writer.line()
    writer.line(f"{'tools':9} ranks  files  fail  fail without  seconds  without")
    for tools, ranks, ends, without in rows:
        counts = [sum(bool(end.failed) for end in each) for each in (ends, without)]
        seconds = [sum(end.seconds for end in each) for each in (ends, without)]
        cells = f"{len(ends):5}  {counts[0]:4}  {counts[1]:12}  {seconds[0]:7.0f}  {seconds[1]:7.0f}"
        writer.line(f"{name_of(tools):9} {ranks:5}  {cells}")


def name_of(tools: tuple[str, ...]) -> str:
    """Give what a stack is called in ids and in the table."""
    return "all" if tools == ORDER else "+".join(tools)


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


def run_with_tools(suite, file, ranks, tools, place, without: Outcome) -> Outcome:
    """Run a file under a stack; what replays needs a run that was recorded."""
    limit = SPARE + FACTOR * without.seconds
    place.mkdir()
    if tools == ("replay",):
        run_file(suite, file, ranks, stack(("record",), place), limit)
    return run_file(suite, file, ranks, stack(tools, place), limit)


def complaints(directory: Path) -> list[str]:
    """Give what the analysis says of a trace, and of those of spawned processes, that can't be true."""
    runs = [directory, *sorted(directory.glob("spawned-*"))] if directory.exists() else []
    return [
        f"{run.parent.name}: {problem}"
        for run in runs
        if any(run.glob("*.events"))
        for problem in analyze(run).problems
        if not any(known.fullmatch(problem) for known in TRUE_OF_TRACES)
    ]


@pytest.mark.parametrize("tools", [ORDER, *[(tool,) for tool in TOOLS]], ids=name_of)
@pytest.mark.parametrize("ranks", [1, 3, 5])
def test_what_passes_without_tools_passes_with_them(suite, bare, table, tools, ranks, tmp_path):
    ends, without, wrong = [], [], []
    table.append((tools, ranks, ends, without))
    for file in sorted(path.stem for path in (suite / "test").glob("test_*.py")):
        alone = bare(file, ranks)
        if alone.hangs:
            continue
        end = run_with_tools(suite, file, ranks, tools, tmp_path / file, alone)
        ends.append(end)
        without.append(alone)
        wrong += sorted(end.failed - alone.failed)
        if tools == ("trace",) and not end.hangs:
            wrong += complaints(tmp_path / file / "made")
    assert ends, "no file ends without tools"
    assert not wrong, "\n".join(wrong)
