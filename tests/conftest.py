"""Fixtures for every room's tests: the command line, ranks under mpiexec, proof that nothing is left behind.

All of them start real processes of this interpreter's environment, never read the terminal, and have a time
limit after which everything they started is killed and the test fails with what was printed so far.
"""

import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import itertools
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pse_testing.commands import WITHOUT_RANKS, run_here
from pse_testing.example_counts import register_profiles
from pse_testing.jobs import beside_python, compile_mpi_tools, skip_two_nodes_elsewhere
from pse_testing.sharing import SHARED

sys.path.append(str(Path(__file__).parents[1] / "cext" / "abi"))  # The package `abigen`.

# Tests send Ctrl-C to what they start, which ignores it where the tests run in the background of a script.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

RESIDENT = pytest.StashKey[int]()
LOOKS = 20
"""How often a test looks who has mapped a new entry of /dev/shm."""

TURN_SECONDS = 400
"""How long a test may wait for its turn: longer than the time limit of an ordinary one."""

GARBAGE_PAGES = (256 << 20) // os.sysconf("SC_PAGE_SIZE")
"""Memory pages by which a worker may grow before it looks what of them nobody uses any more."""

SETTLE_SECONDS = 5.0
"""How long after a test processes may take to be gone: what the product promises for a killed job."""


@dataclass(frozen=True)
class Finished:
    """What a process that has ended printed and returned."""

    command: tuple[str, ...]
    code: int
    out: str
    err: str


Runner = Callable[..., Finished]


def pytest_configure(config: pytest.Config) -> None:
    """Prepare what all workers share."""
    register_profiles()
    # To compile all of `pse` would cost each process that tests start 0.1 s.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # OpenBLAS' threads look for work for 0.1 s in each process that imports NumPy.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # MPICH looks at every network interface as it starts, and fails if one goes meanwhile: those of emulated
    # clusters do, in the tests beside.
    os.environ.setdefault("UCX_NET_DEVICES", "lo")
    # Open MPI starts no more ranks than cores, and none for root, unless it is told to.
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
        os.environ |= {name: "1", f"{name}_CONFIRM": "1"}
    # It complains where UCX finds no network for windows.
    os.environ |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_osc": "^ucx"}
    # Over libfabric MPI_Mrecv of Open MPI 4.1 fails.
    os.environ.setdefault("OMPI_MCA_mtl", "^ofi")
    os.environ |= {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    if not hasattr(config, "workerinput"):
        shared = tempfile.TemporaryDirectory(prefix="pse-tests-")
        os.environ |= {SHARED: shared.name, "PSE_CACHE": str(Path(shared.name) / "cache")}
        config.add_cleanup(shared.cleanup)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that need the machine for themselves at the end, where few others have to wait for them."""
    items.sort(key=needs_quiet)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # Outside of the test's own time limit.
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let no test run beside one that is marked `alone`."""
    with ending_worker(item), turn(Path(os.environ[SHARED]), needs_quiet(item)):
        result = yield
    collect_garbage(item.config.stash)
    forget_own_rank()
    return result


def forget_own_rank() -> None:
    """Take out of C's environment what MPI has put there without a launcher, as Open MPI 4 does.

    What tests start without an environment of its own would take itself for a rank.
    """
    if "mpi4py.MPI" in sys.modules:
        entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        names = {entry.partition(b"=")[0] for entry in itertools.takewhile(bool, entries)}
        for name in names - set(os.environb):
            os.unsetenv(name)


def collect_garbage(stash: pytest.Stash) -> None:
    """Free figures: the collector waits for many objects, and all pixels of a figure are one.

    With gigabytes of them, each process that a test starts takes longer to start.
    """
    if resident_pages() > stash.get(RESIDENT, 0) + GARBAGE_PAGES:
        gc.collect()
        stash[RESIDENT] = resident_pages()


def resident_pages() -> int:
    """Give how many pages of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1])


@contextlib.contextmanager
def ending_worker(item: pytest.Item) -> Iterator[None]:
    """End a worker, and so name its test, where the time limit's exception stops nothing, as in C."""
    if hasattr(item.config, "workerinput"):
        marker = item.get_closest_marker("timeout")
        limit = float(marker.args[0] if marker else item.config.getini("timeout") or 0)
        faulthandler.dump_traceback_later(TURN_SECONDS + limit, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def needs_quiet(item: pytest.Item) -> bool:
    """Say whether a test measures time, so that another one beside it would be in its way."""
    return item.get_closest_marker("alone") is not None


@contextlib.contextmanager
def turn(locks: Path, alone: bool) -> Iterator[None]:
    """Hold the room together with others, or alone; everybody comes through the gate, so nobody starves.

    The locks are this process's own: a child that a test has left behind doesn't hold them.
    """
    with open(locks / "gate", "w") as gate, open(locks / "room", "w+") as room:
        fcntl.lockf(gate, fcntl.LOCK_EX)
        fcntl.lockf(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.lockf(gate, fcntl.LOCK_UN)
        yield


@pytest.fixture(scope="session")
def shared_cache() -> Path:
    """One cache of built modules for all tests that don't care what is in it: builds are dear."""
    return Path(os.environ[SHARED]) / "cache"


def run(
    command: list[str], *, timeout: float, env: Mapping[str, str], cwd: Path | None, stdin: str = ""
) -> Finished:
    """Run a command; past `timeout` seconds kill it with all that it started, and fail the test.

    A mark in the environment finds what it started: MPI's proxies and ranks leave the process group.
    """
    skip_two_nodes_elsewhere(env)
    compile_mpi_tools()
    mark = {"PSE_TEST_RUN": secrets.token_hex(8)}
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=os.environ | dict(env) | mark,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        for pid, _ in marked_processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"not done after {timeout} s: {' '.join(command)}\n--- out\n{out}\n--- err\n{err}")
    return Finished(tuple(command), process.returncode, out, err)


@pytest.fixture(scope="session")
def mpiexec() -> Runner:
    """Run Python under mpiexec: ``mpiexec(3, "-m", "pse", "p.coven", timeout=60, env={…}, cwd=…)``."""

    def start(
        ranks: int,
        *arguments: str | Path,
        timeout: float = 60,
        env: Mapping[str, str] = {},
        cwd: Path | None = None,
    ) -> Finished:
        command = [beside_python("mpiexec"), "-n", str(ranks), sys.executable, *map(str, arguments)]
        return run(command, timeout=timeout, env=env, cwd=cwd)

    return start


@pytest.fixture(scope="session")
def pse() -> Runner:
    """Run the command line: ``pse("run", "p.coven", timeout=60, env={…}, cwd=…, stdin="…")``."""

    def start(
        *arguments: str | Path,
        timeout: float = 60,
        env: Mapping[str, str] = {},
        cwd: Path | None = None,
        stdin: str = "",
        own_process: bool = False,
    ) -> Finished:
        command = [beside_python("pse"), *map(str, arguments)]
        if str(arguments[0]) in WITHOUT_RANKS and not own_process:
            return Finished(tuple(command), *run_here(*arguments, cwd=cwd, env=env, stdin=stdin))
        return run(command, timeout=timeout, env=env, cwd=cwd, stdin=stdin)

    return start


@pytest.fixture
def nothing_left_behind(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Iterator[None]:
    """Fail the test if its processes, shared memory or temporary files outlive it by five seconds.

    Processes are recognised by a mark in their environment, so only those count that this test started.
    Shared memory has none: where tests run beside this one, that counts which its processes were seen with.
    """
    mark = {"PSE_TEST_MARK": secrets.token_hex(8)}
    beside = hasattr(pytestconfig, "workerinput")
    with tempfile.TemporaryDirectory(prefix="pse-test-") as temporary, watching(mark) as (ours, others):
        for name, value in mark.items() | {("TMPDIR", temporary)}:
            monkeypatch.setenv(name, value)
        yield
        suspects = (lambda: ours) if beside else (lambda: shared_memory() - others)
        left = settle(lambda: left_behind(mark, suspects(), Path(temporary)))
    assert not left, "left behind:\n" + "\n".join(left)


def settle(look: Callable[[], list[str]]) -> list[str]:
    """Look again until there is nothing to see or the time is up; return what was last seen."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (seen := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return seen


def left_behind(mark: Mapping[str, str], suspects: set[str], temporary: Path) -> list[str]:
    """Describe marked processes, orphans among entries of /dev/shm, and files under `temporary`."""
    processes = [f"process {pid}: {command}" for pid, command in marked_processes(mark)]
    orphans = [f"/dev/shm/{name}" for name in sorted(orphaned_shared_memory(suspects))]
    return processes + orphans + [str(path) for path in sorted(temporary.rglob("*"))]


def marked_processes(mark: Mapping[str, str]) -> list[tuple[int, str]]:
    """Find the living processes that were started with every variable of `mark` in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended, or is another user's.
            if has_mark(entry, mark):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(entry.name), command))
    return found


def has_mark(process: Path, mark: Mapping[str, str]) -> bool:
    """Say whether a living process, by its folder in /proc, was started with these variables."""
    environment = (process / "environ").read_bytes()
    if not environment:
        raise ProcessLookupError(process)
    return {f"{name}={value}".encode() for name, value in mark.items()} <= set(environment.split(b"\0"))


def shared_memory() -> set[str]:
    """Name the entries of /dev/shm."""
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


@contextlib.contextmanager
def watching(mark: Mapping[str, str]) -> Iterator[tuple[set[str], set[str]]]:
    """Collect the entries of /dev/shm that processes with the mark make, and all others."""
    ours, others, looks, over = set[str](), shared_memory(), Counter[str](), threading.Event()

    def watch() -> None:
        while not over.wait(0.01):
            # Whoever has made one may not have mapped it yet.
            new = {name for name in shared_memory() - ours - others if looks[name] < LOOKS}
            looks.update(new)
            for name, process in users(new):
                with contextlib.suppress(OSError):
                    (ours if has_mark(process, mark) else others).add(name)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield ours, others
    finally:
        over.set()
        watcher.join()


def orphaned_shared_memory(suspects: set[str]) -> set[str]:
    """Name the entries of /dev/shm that are still there, and that no living process has mapped."""
    there = shared_memory() & suspects
    return there - {name for name, _ in users(there)}


def users(names: set[str]) -> Iterator[tuple[str, Path]]:
    """Give every process, as its folder in /proc, that has one of these entries of /dev/shm mapped."""
    for maps in Path("/proc").glob("[0-9]*/maps") if names else ():
        try:
            text = maps.read_text(errors="replace")
        except OSError:
            continue
        yield from ((name, maps.parent) for name in names if f"/dev/shm/{name}" in text)


@pytest.fixture
def another_user() -> Callable[[str], contextlib.AbstractContextManager[None]]:
    """Be another user than root, who owns a folder and for whom permissions count: `another_user(folder)`."""

    @contextlib.contextmanager
    def become(folder: str) -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    return become
