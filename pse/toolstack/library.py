"""The object that is preloaded: for one MPI library its stubs, the stack, and shims for large counts, linked once.

It is kept in the cache under a key that says everything that goes into it; of the MPI library these are its path and
the names that it exports.  Shims need the library's ``mpi.h``; without one, tools that know no large
counts don't see the large-count calls.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pse._cache import directory
from pse.language.errors import RunError, UsageError
from pse.modules.compilers import find_compiler
from pse.toolstack import elf, shims, stubs

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
SHIPPED = HERE / "tools"
ARCHIVE = HERE / "lib" / "libpse_toolstack.a"

_PRODUCT = "libpse_tools.so"
_NAMES = ("libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi.so", "libmpi_abi.so")


@dataclass(frozen=True)
class Mpi:
    """An MPI library, and the directory of its ``mpi.h`` (None: not found)."""

    path: Path
    include: Path | None = None

    @classmethod
    def at(cls, path: Path) -> Mpi:
        """Take a library and look for its header beside it."""
        return cls(path, _header_directory(path))


def find_mpi(command: Sequence[str] = ()) -> Mpi:
    """Find the MPI library that a command will use.

    A program that is linked with MPI says it itself; otherwise it is the library beside the mpiexec of the command,
    beside this Python's, or on PATH.

    Raises
    ------
    UsageError
        If there is none.
    """
    for path in (*_linked(command), *_beside_mpiexec(command)):
        return Mpi.at(path)
    raise UsageError(
        "no MPI library was found", help="name it: --mpi /path/to/libmpi.so; or install pse[mpich]"
    )


def _linked(command: Sequence[str]) -> list[Path]:
    """Give the MPI library that some program of a command line is linked with."""
    for word in command:
        found = shutil.which(word)
        if found and not _is_launcher(found):
            listed = subprocess.run(["ldd", found], capture_output=True, text=True, check=False).stdout
            paths = [Path(line.split()[2]) for line in listed.splitlines() if "=> /" in line]
            if libraries := [
                path for path in paths if path.name.startswith(("libmpi.so", "libmpich.so", "libmpi_abi.so"))
            ]:
                return libraries[:1]
    return []


def _is_launcher(path: str) -> bool:
    return Path(path).name.startswith(("mpiexec", "mpirun", "srun", "prterun", "python"))


def _beside_mpiexec(command: Sequence[str]) -> list[Path]:
    own = Path(sys.executable).parent / "mpiexec"
    named = [
        found
        for word in command
        if _is_launcher(word) and "python" not in word and (found := shutil.which(word))
    ]
    for mpiexec in (*named, own, *filter(None, [shutil.which("mpiexec")])):
        prefixes = [Path(mpiexec).absolute().parent.parent, Path(mpiexec).resolve().parent.parent]
        for folder in (prefix / lib for prefix in prefixes for lib in _library_directories()):
            if found := [folder / name for name in _NAMES if (folder / name).exists()]:
                return found[:1]
    return []


def _library_directories() -> tuple[str, ...]:
    machine = os.uname().machine
    return ("lib", "lib64", f"lib/{machine}-linux-gnu")


def _header_directory(path: Path) -> Path | None:
    """Look for mpi.h where builds of MPI put it, seen from the library."""
    real = path.resolve()
    for folder in (path.parent, real.parent):
        kind = "mpich" if "mpich" in real.name or (folder / "libmpich.so.12").exists() else ""
        candidates = [folder.parent / "include", folder.parent.parent / "include", folder / "include"]
        if kind:
            candidates.insert(0, Path("/usr/include") / folder.name / kind)
        for include in candidates:
            if (include / "mpi.h").exists():
                return include
    return None


@functools.cache
def library(mpi: Mpi) -> Path:
    """Give the object that is preloaded for an MPI library; link it if it isn't in the cache.

    Raises
    ------
    RunError
        If the compiler is missing or refuses.
    UsageError
        If the library isn't one that can be served.
    """
    shared = elf.read(mpi.path)
    names = stubs.routines(shared)
    if "MPI_Init" not in names:
        raise UsageError(f"{mpi.path} is not an MPI library: it has no MPI_Init and PMPI_Init")
    if not ARCHIVE.exists():
        raise RunError(
            f"the tool stack is not built: there is no {ARCHIVE}", help="in a source tree run `make ext`"
        )
    soname = shared.soname or mpi.path.name
    text = stubs.assembly(names, shared.machine, soname, str(mpi.path.absolute()), str(SHIPPED))
    sources = {"stubs.s": text}
    if mpi.include is not None:
        sources["shims.c"] = shims.source(mpi.include / "mpi.h", names)
    return _linked_object(sources, mpi)


def _linked_object(sources: dict[str, str], mpi: Mpi) -> Path:
    compiler = find_compiler("c", "the tool stack")
    parts = [*sources.values(), compiler.identity, hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()]
    parts += [header.read_text() for header in sorted(INCLUDE.glob("*.h"))]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    product = directory() / "toolstack" / key / _PRODUCT
    if not product.exists():
        _link(sources, list(compiler.command), mpi, product)
    return product


def _link(sources: dict[str, str], compiler: list[str], mpi: Mpi, product: Path) -> None:
    """Compile beside the final place and move the result there: several may do this at once."""
    try:
        product.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="tmp-", dir=product.parent) as work:
            for name, text in sources.items():
                Path(work, name).write_text(text)
            made = Path(work, _PRODUCT)
            line = [*compiler, "-std=gnu11", "-O2", "-fPIC", "-shared", "-Wno-deprecated-declarations"]
            line += [f"-I{INCLUDE}", *([f"-I{mpi.include}"] if mpi.include else [])]
            line += [str(Path(work, name)) for name in sources]
            line += ["-Wl,--whole-archive", str(ARCHIVE), "-Wl,--no-whole-archive", "-ldl", "-lpthread"]
            line += ["-Wl,-z,nodelete", f"-Wl,-soname,{_PRODUCT}", "-o", str(made)]
            _compile(line)
            made.rename(product)
    except OSError as error:
        raise RunError(
            f"the cache of the tool stack can't be used: {error.strerror}: {error.filename}",
            help="free some space, or set PSE_CACHE to a directory that you may write to",
        ) from None


def _compile(line: list[str]) -> None:
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(
            f"the tool stack can't be linked:\n{done.stderr.strip()}",
            help=f"the command was {' '.join(line)}",
        )
