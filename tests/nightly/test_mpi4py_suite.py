"""mpi4py's own test suite passes under each tool, and under all of them, wherever it passes without tools.

A job runs several files of the suite. Where it crashes or hangs, the tests that its ranks were in have
failed, and another job runs the rest of its files without them. First the suite runs without tools: how long
its slowest test takes there decides how long one may take with tools. A table at the end has one row for each
run. What `trace` recorded is analyzed: nothing is said of it that is not true. `pytest -m nightly
tests/nightly/test_mpi4py_suite.py -k 3-coopwait` is 3 ranks under one tool, `-k 3-all` 3 ranks under all.

With `PSE_TEST_KEPT=DIRECTORY` the outcome of each job is kept there, and files that have one are not run
again: a run that was stopped goes on, and what there is without tools serves later runs. It is for one state
of the sources.
"""

import contextlib
import ctypes
import functools
import itertools
import json
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest
from pse_testing.jobs import beside_python

from pse.analysis import analyze
from pse.toolstack import environment, find_mpi

pytestmark = [pytest.mark.nightly, pytest.mark.mpi, pytest.mark.timeout(4 * 3600)]
TOOLS = ("coopwait", "count", "delay", "trace", "check", "record", "replay", "profile", "piggyback", "bcs")
ORDER = ("count", "check", "profile", "trace", "record", "piggyback", "delay", "coopwait")
"""All that can be together: there is nothing to replay while a run is recorded."""
KEPT = "PSE_TEST_KEPT"
AT_ONCE = 12
"""Files that one job runs: a launch takes seconds, and a job that is stopped loses what it has found."""
ONE_KIND = "\nArrayBackends[:] = [ArrayNumPy]\n"
"""Tests repeat their calls with arrays of six kinds, which are one to MPI: NumPy's has all types."""
LOCAL = ("test_datatype", "test_util_dtlib")
"""Files whose tests only make datatypes, which takes half of the time: one rank is enough for them."""
SLICE = 100_000
"""Nanoseconds that a rank computes at once: one that waits in MPI, and yields, soon makes room for another.

MPICH's own way to more ranks than cores, MPIR_CVAR_ENABLE_HEAVY_YIELD, sleeps in each look: with tools five
times slower.
"""
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""The number of the system call that sets it (from Linux 6.12 on; earlier ones ignore the slice)."""
PASSES, FAILS = "passes", "fails"
LONGEST = 900
"""What a test may take without tools, in seconds."""
SPARE, FACTOR = 120, 4
"""With tools a test may take SPARE seconds, and FACTOR times as long as the slowest one without."""
LEFT_OUT = (
    # MPICH 5.0 cancels a send within a node as if it were one of UCX: it crashes, also without tools, unless
    # the memory of the request was used before in a way that prevents it.
    "testProbeCancel",
    # Where MPI has no MPI_Comm_iagree, mpi4py calls MPI_Iallreduce, on one rank before a barrier and on the
    # others after it: `check` rightly ends the job.
    "testIAgree",
)
TRUE_OF_TRACES = (
    # The budget of functions, and tests that spawn, connect, or leave receives without their sends.
    re.compile(r"rank \d+: .* is recorded for its first \d+ calls only: .*"),
    re.compile(
        r"[\d,]+ (sends? and|send or|parts? of) .* with processes of another job, such as spawned ones: .*"
    ),
)
"""What may be said of the suite's traces."""
STARTED = re.compile(r"^(?:test|setUp|tearDown)\w* \(([\w.]+)\)", re.MULTILINE)
FAILED = re.compile(r"(?:FAIL|ERROR)$", re.MULTILINE)
DONE = re.compile(r"^Ran \d+ tests? in", re.MULTILINE)
DOWNLOAD = ("-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary=mpi4py")


def download(place: Path) -> Path:
    """Bring the source distribution of the mpi4py that is installed to a place, if it is not there."""
    name, wanted = f"mpi4py-{version('mpi4py')}.tar.gz", f"mpi4py=={version('mpi4py')}"
    if not (place / name).exists():
        line = [sys.executable, *DOWNLOAD, "-d", str(place), wanted]
        done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip() or "no reason given").splitlines()[-1]
            pytest.skip(f"the sources of {wanted} can't be downloaded: {last}")
    return place / name


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    """Give the sources of the mpi4py that is installed, whose tests take one kind of arrays."""
    place = tmp_path_factory.mktemp("mpi4py")
    archive = download(Path(os.environ.get(KEPT, place)))
    with tarfile.open(archive) as file:
        file.extractall(place, filter="data")
    (top,) = place.glob("mpi4py-*/test")
    with (top / "arrayimpl.py").open("a") as arrays:
        arrays.write(ONE_KIND)
    return top.parent


@dataclass
class Outcome:
    """How each test ended, or its job where that crashed or hung; the time; what was said of traces."""

    tests: dict[str, str] = field(default_factory=dict)
    seconds: float = 0
    slowest: float = 0
    said: list[str] = field(default_factory=list)

    @property
    def failed(self) -> dict[str, str]:
        """Give the tests that did not pass."""
        return {test: how for test, how in self.tests.items() if how != PASSES}

    @property
    def stuck(self) -> list[str]:
        """Give the tests that ended their job."""
        return [test for test, how in self.failed.items() if how != FAILS]

    def read(self, log: str, how: str) -> None:
        """Add what a rank wrote; where it did not come to its end, its last test failed as the job ended."""
        starts = list(STARTED.finditer(log))
        for start, after in itertools.pairwise([*starts, None]):
            self.tests.setdefault(start[1], PASSES)
            if FAILED.search(log, start.end(), after.start() if after else log.find("\n=====")):
                self.tests[start[1]] = FAILS
        if not DONE.search(log):
            self.tests[starts[-1][1] if starts else "before the first test"] = how

    def add(self, other: "Outcome") -> None:
        """Add the outcome of other files."""
        self.tests |= other.tests
        self.said += other.said
        self.seconds += other.seconds
        self.slowest = max(self.slowest, other.slowest)


def run_job(suite: Path, names: list[str], ranks: int, variables: dict[str, str], left_out, logs: Path):
    """Start files of the suite as a job, each rank of which writes its tests into a file of its own."""
    written = [word for way in ("out", "err") for word in (f"-{way}file-pattern", str(logs / f"%r.{way}"))]
    command = [beside_python("mpiexec"), *written, "-n", str(ranks), sys.executable, "test/main.py", "-v"]
    command += ["-i", f"^({'|'.join(names)})[.]py$", *(word for test in left_out for word in ("-x", test))]
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    variables = os.environ | variables
    options = {"cwd": suite, "env": variables, "start_new_session": True, "preexec_fn": take_short_slices}
    return subprocess.Popen(command, **options, **quiet)


def take_short_slices() -> None:
    """Give this process and its children short slices: less for each turn, not less of the machine."""
    attributes = struct.pack("IIQiIQQQ", 48, os.SCHED_OTHER, 0, os.nice(0), 0, SLICE, 0, 0)
    if platform.machine() in SCHED_SETATTR:
        ctypes.CDLL(None).syscall(SCHED_SETATTR[platform.machine()], 0, attributes, 0)


def wait(job: subprocess.Popen, logs: Path, limit: float) -> tuple[str, float]:
    """Wait until a job ends, or writes nothing for too long; give how it ended, and its longest silence."""
    size, longest, since = -1, 0.0, time.monotonic()
    while job.poll() is None and longest <= limit:
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(1)
        before, size = size, sum(path.stat().st_size for path in logs.glob("*.err"))
        longest = max(longest, time.monotonic() - since)
        since = since if size == before else time.monotonic()
    if job.poll() is not None:
        return f"ends with code {job.returncode}", longest
    os.killpg(job.pid, signal.SIGTERM)
    job.wait()
    return f"does not end within {limit:.0f} s", longest


def name_of(tools: tuple[str, ...]) -> str:
    """Give what a stack is called in ids and in the table."""
    return "all" if tools == ORDER else "+".join(tools) or "none"


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


def run_files(suite, names, ranks, tools, place, limit, left_out) -> Outcome:
    """Run files of the suite, in as many jobs as it takes; what replays needs a run that was recorded."""
    end, begin = Outcome(), time.monotonic()
    while names:
        known = end.stuck
        part, excluded = place / f"without-{len(known)}", (*LEFT_OUT, *left_out, *known)
        for stage in [("record",), tools] if tools == ("replay",) else [tools]:
            logs = part / name_of(stage)
            logs.mkdir(parents=True)
            how, longest = wait(run_job(suite, names, ranks, stack(stage, part), excluded, logs), logs, limit)
        end.slowest = max(end.slowest, longest)
        for rank in range(ranks):
            log = logs / f"{rank}.err"
            end.read(log.read_text(errors="replace") if log.exists() else "", how)
        left = [test.partition(".")[0] for test in end.stuck if test not in known]
        names = names[min(map(names.index, left)) :] if left and set(left) <= set(names) else []
    end.seconds = time.monotonic() - begin
    return end


def run_suite(suite, ranks, tools, place, limit, left_out=()) -> Outcome:
    """Run the suite, but for files whose outcome is kept already."""
    end, files = Outcome(), sorted(path.stem for path in (suite / "test").glob("test_*.py"))
    kept = Path(os.environ.get(KEPT, place)) / f"{name_of(tools)}-{ranks}"
    kept.mkdir(parents=True, exist_ok=True)
    for names in (files[at : at + AT_ONCE] for at in range(0, len(files), AT_ONCE)):
        outcome, logs = kept / f"{names[0]}.json", place / names[0]
        if not outcome.exists():
            chosen = [name for name in names if ranks == 1 or name not in LOCAL]
            part = run_files(suite, chosen, ranks, tools, logs, limit, left_out)
            part.said = complaints(logs) if "trace" in tools else []
            for traces in logs.glob("*/made"):  # Some GB.
                shutil.rmtree(traces)
            outcome.write_text(json.dumps(asdict(part)))
        end.add(Outcome(**json.loads(outcome.read_text())))
    return end


@pytest.fixture(scope="module")
def bare(suite, tmp_path_factory):
    """Give how the suite ends without tools at a number of ranks."""
    return functools.cache(
        lambda ranks: run_suite(suite, ranks, (), tmp_path_factory.mktemp("bare"), LONGEST)
    )


@pytest.fixture(scope="module")
def table(request):
    """Collect a row for each run, and print them at the end."""
    rows = {}
    yield rows
    writer = request.config.get_terminal_writer()
    writer.line("\ntools     ranks  tests  fail  seconds")
    for (tools, ranks), end in rows.items():
        counts = f"{len(end.tests):5}  {len(end.failed):4}  {end.seconds:7.0f}"
        writer.line(f"{name_of(tools):9} {ranks:5}  {counts}")


def complaints(place: Path) -> list[str]:
    """Give what the analysis says of traces, those of spawned processes too, that can't be true."""
    return [
        f"{run}: {problem}"
        for run in sorted({file.parent for file in place.rglob("*.events")})
        for problem in analyze(run).problems
        if not any(known.fullmatch(problem) for known in TRUE_OF_TRACES)
    ]


@pytest.mark.parametrize("tools", [ORDER, *[(tool,) for tool in TOOLS]], ids=name_of)
@pytest.mark.parametrize("ranks", [1, 3, 5])
def test_what_passes_without_tools_passes_with_them(suite, bare, table, tools, ranks, tmp_path):
    alone = table[(), ranks] = bare(ranks)
    end = run_suite(suite, ranks, tools, tmp_path, SPARE + FACTOR * alone.slowest, alone.stuck)
    table[tools, ranks] = end
    assert {test: how for test, how in end.failed.items() if test not in alone.failed} == {}
    assert alone.tests.keys() - {*alone.stuck} <= end.tests.keys()
    assert not end.said, "\n".join(end.said)
