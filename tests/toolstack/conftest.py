"""Fixtures of the tool stack: an MPI, the object to preload, tools compiled for it, runs in a stack."""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pse_testing.jobs import rank_variable
from pse_testing.sharing import made_once

from pse.errors import UsageError
from pse.toolstack import Mpi, _elf as elf, _library as library, _stack as stack, find_mpi

SOURCES = Path(__file__).parent / "sources"
TOOLS = ("plain.c", "old.c", "looking.c", "others.c", "classy.cpp")


MAPPED_SECONDS = 1
"""After so long whoever has made shared memory has mapped it."""


@pytest.fixture(scope="session", autouse=True)
def aborted_jobs_leave_nothing() -> Iterator[None]:
    """Remove what MPICH leaves in /dev/shm of jobs that end early, as some of these tests want them to."""
    before = set(Path("/dev/shm").glob("mpich_shm_*"))
    yield
    left = [path for path in set(Path("/dev/shm").glob("mpich_shm_*")) - before if _is_ours_and_old(path)]
    for maps in Path("/proc").glob("[0-9]*/maps") if left else ():
        with contextlib.suppress(OSError):
            text = maps.read_text(errors="replace")
            left = [path for path in left if str(path) not in text]
    for path in left:
        path.unlink(missing_ok=True)


def _is_ours_and_old(path: Path) -> bool:
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_uid == os.getuid() and time.time() - found.st_mtime > MAPPED_SECONDS
    return False


@pytest.fixture(scope="session")
def mpi() -> Mpi:
    """Give the MPI library that mpi4py uses here, with its header."""
    try:
        found = find_mpi()
    except UsageError as error:
        pytest.skip(str(error))
    if found.include is None:
        pytest.skip(f"there is no mpi.h for {found.path}")
    return found


@pytest.fixture(scope="session")
def large(mpi) -> str:
    """Give what the names of routines end with that mpi4py calls: it has large counts where MPI has."""
    return "_c" if "MPI_Send_c" in elf.read(mpi.path).functions else ""


@pytest.fixture
def needs_large_counts(large: str) -> None:
    """Skip the test if this MPI has no routines with large counts."""
    if not large:
        pytest.skip("this MPI has no routines with large counts")


@pytest.fixture(scope="session")
def is_intels_or_mpich_4_0(mpi: Mpi) -> bool:
    """Whether the MPI is one of two that have faults in common."""
    header = (mpi.include / "mpi.h").read_text(errors="replace")
    return "I_MPI_VERSION" in header or "MPICH_NUMVERSION 400" in header


@pytest.fixture(scope="session")
def is_mpich_4_0(mpi: Mpi) -> bool:
    """Whether the MPI is MPICH 4.0, whose header Intel's is made of."""
    header = (mpi.include / "mpi.h").read_text(errors="replace")
    return "I_MPI_VERSION" not in header and "MPICH_NUMVERSION 400" in header


def compile_for(mpi: Mpi, line: list[str]) -> None:
    """Compile; skip the test if it has names that this MPI, older than MPI 4, does not know."""
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    unknown = re.search(
        r"unknown type name ‘(MPI_\w+)’|(?:implicit declaration of function|use of) ‘(P?MPI_\w+)’|"
        r"‘(P?MPI_\w+)’ (?:undeclared|was not declared)",
        done.stderr,
    )
    version = re.search(
        r"#\s*define\s+MPI_VERSION\s+(\d+)", (mpi.include / "mpi.h").read_text(errors="replace")
    )
    if unknown and version and int(version[1]) < 4:
        pytest.skip(f"MPI {version[1]} has no {next(filter(None, unknown.groups()))}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def preload(mpi, shared_cache) -> Path:
    """Give the object that is preloaded, made in the tests' own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PSE_CACHE", str(shared_cache))
        return library.library(mpi)


@pytest.fixture(scope="session")
def tool(mpi, tmp_path_factory) -> Callable[..., Path]:
    """Compile a tool from its text, once a session: ``tool("name", text, "-lm", suffix=".cpp")``."""
    place = tmp_path_factory.mktemp("tools")
    made: dict[tuple[str, str], Path] = {}

    def compile_tool(name: str, text: str, *flags: str, suffix: str = ".c") -> Path:
        if (name, text) not in made:
            source, product = place / f"{len(made)}-{name}{suffix}", place / f"{len(made)}-{name}.so"
            source.write_text(text)
            compiler = "c++" if suffix == ".cpp" else "cc"
            line = [
                compiler,
                "-shared",
                "-fPIC",
                "-O1",
                "-Wall",
                "-Wno-deprecated-declarations",
                "-DOMPI_SKIP_MPICXX",
                f"-I{mpi.include}",
                f'-DRANK_VARIABLE="{rank_variable()}"',
            ]
            line += [f"-I{library.INCLUDE}", str(source), "-o", str(product), *flags]
            compile_for(mpi, line)
            made[name, text] = product
        return made[name, text]

    return compile_tool


@pytest.fixture(scope="session")
def program(mpi, tmp_path_factory) -> Callable[..., Path]:
    """Compile a program that is linked with MPI, once a session: ``program("name", text, "-pthread")``."""
    place = tmp_path_factory.mktemp("programs")

    def compile_program(name: str, text: str, *flags: str, suffix: str = ".c") -> Path:
        product = place / name
        if not product.exists():
            product.with_suffix(suffix).write_text(text)
            line = ["c++" if suffix == ".cpp" else "cc", "-O1", "-Wall", "-DOMPI_SKIP_MPICXX"]
            line += [f"-I{mpi.include}"]
            line += [f"{product}{suffix}", "-o", str(product), *flags]
            compile_for(mpi, [*line, str(mpi.path), f"-Wl,-rpath,{mpi.path.parent}"])
        return product

    return compile_program


@pytest.fixture
def stacked(mpi, preload, tmp_path, mpiexec):
    """Run Python in a stack under mpiexec: ``stacked(3, "module /a/tool.so", "-c", "…", env={…})``.

    Where an MPI may fail at something without tools, the test is skipped if it does.
    """

    def run(ranks, configuration, *arguments, env=None, timeout=60, bare_may_fail=False):
        conf = tmp_path / "tools.conf"
        conf.write_text(configuration)
        variables = {"LD_PRELOAD": str(preload), "PSE_TOOLS": str(conf)} | stack._mpi4py_variables(mpi)
        variables |= env or {}
        done = mpiexec(ranks, *arguments, env=variables, timeout=timeout)
        if bare_may_fail and done.code != 0 and mpiexec(ranks, *arguments, timeout=timeout).code != 0:
            pytest.skip("this MPI fails at it without tools, too")
        return done

    return run


@pytest.fixture
def stacked_program(stacked):
    """Run any program in a stack under mpiexec: ``stacked_program(3, "module /a/tool.so", path)``."""
    become = "-I", "-S", "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"

    def run(ranks, configuration, *command, **options):
        return stacked(ranks, configuration, *become, *command, **options)

    return run


@pytest.fixture(scope="session")
def calls(program) -> Path:
    """Compile the program that calls every blocking routine: ``calls SEED ROUNDS``."""
    return program("calls", (Path(__file__).parent / "tools" / "programs" / "calls.c").read_text())


@pytest.fixture
def called_without_tools(stacked_program, calls) -> Callable[..., str]:
    """Give what it prints without tools, where ranks that wait spin: once for all that compare with it."""

    def printed(ranks: int, *words: str) -> str:
        return made_once(f"calls-{ranks}-{'-'.join(words)}", lambda: run(ranks, words))

    def run(ranks: int, words: tuple[str, ...]) -> str:
        plain = stacked_program(ranks, "", calls, *words)
        assert (plain.code, len(plain.out.splitlines())) == (0, ranks), plain.err
        return plain.out

    return printed


@pytest.fixture(scope="session")
def tools(tool) -> dict[str, Path]:
    """Compile the tools, each by itself."""
    return {
        Path(name).stem: tool(
            Path(name).stem, (SOURCES / name).read_text(), f"-I{SOURCES}", "-ldl", suffix=Path(name).suffix
        )
        for name in TOOLS
    }


@pytest.fixture(scope="session")
def ring(program) -> Path:
    return program("ring", (SOURCES / "ring.c").read_text())


@pytest.fixture
def tally(tmp_path, monkeypatch):
    """Give a function that reads and removes what the tools have written."""
    monkeypatch.setenv("TALLY_DIRECTORY", str(tmp_path))

    def read() -> dict[str, str]:
        files = list(tmp_path.glob("*-[0-9]"))
        found = {path.name: path.read_text() for path in files}
        for path in files:
            path.unlink()
        return found

    return read
