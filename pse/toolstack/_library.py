"""The object that is preloaded: one MPI library's stubs, the stack, and shims for large counts, linked once.

It is kept in the cache under a key that says everything that goes into it; of the MPI library these are its
path and the names that it exports.  Shims need the library's ``mpi.h``; without one, tools that know no large
counts don't see the large-count calls.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

from pse._abi.environment import TOOLS_OBJECT
from pse._cache import code_directory, distrust, locked, refuse
from pse.errors import RunError, UsageError
from pse.files import replace_file
from pse.modules.build import find_compiler
from pse.toolstack import _elf as elf, _shims as shims, _shipped as shipped, _stubs as stubs
from pse.toolstack._mpi import Mpi
from pse.toolstack._mpi_header import HeaderError, abi_options, read

_HERE = Path(__file__).parent
INCLUDE = _HERE / "include"
"""Where ``pse_tools.h`` is."""
SHIPPED = shipped.BUILT
"""Where the tools are that were built with pse."""

_SHIMS = _HERE / "shims"
_ARCHIVE = _HERE / "lib" / "libpse_toolstack.a"
_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-Wno-deprecated-declarations")


@functools.cache
def library(mpi: Mpi) -> Path:
    """Give the object that is preloaded for an MPI library; link it if it isn't in the cache.

    Parameters
    ----------
    mpi : Mpi
        The library that the program will load.

    Returns
    -------
    path
        The object, for ``LD_PRELOAD``.

    Raises
    ------
    RunError
        If the compiler is missing or refuses.
    UsageError
        If the library isn't one that can be served.

    See Also
    --------
    environment
    """
    note = code_directory() / "toolstack" / f"known-{_stamp(mpi)}"
    with contextlib.suppress(OSError):
        known = Path(note.read_text())
        if known.name == TOOLS_OBJECT and not distrust(known) and elf.is_whole(known):
            return known
    made = _library(mpi)
    with contextlib.suppress(OSError):
        replace_file(note, os.fsencode(made))
    return made


def _stamp(mpi: Mpi) -> str:
    """Tell all that the object is made of by times and sizes: to read it takes a part of a run's start.

    Not the compiler: it makes no difference, and nodes that share a cache may have none.
    """
    headers = [] if mpi.include is None else [mpi.include / "mpi.h"]
    ours = [*INCLUDE.glob("*.h"), *_SHIMS.iterdir(), *SHIPPED.glob("*.so"), *_HERE.glob("*.py"), _ARCHIVE]
    parts = [str(mpi)]
    for path in (mpi.path, *mpi.fortran, *headers, *sorted(ours)):
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            parts.append(f"{path.resolve()} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _library(mpi: Mpi) -> Path:
    shared = elf.read(mpi.path)
    names = stubs.routines(shared)
    if "MPI_Init" not in names:
        raise UsageError(
            f"{mpi.path} is not an MPI library: it has no MPI_Init and PMPI_Init",
            help="`pse doctor` says which library the programs use as MPI, and why",
        )
    soname = shared.soname or mpi.path.name
    tools, missing = _find_shipped(mpi)
    if missing and mpi.include is not None:
        _warn_of_missing(missing)
    all_names = sorted({*names, *(name for path in mpi.fortran for name in stubs.routines(elf.read(path)))})
    libraries = [mpi.path.absolute(), *mpi.fortran]
    text = stubs.assembly(all_names, shared.machine, soname, libraries, str(tools), missing)
    sources = {"stubs.s": text}
    if mpi.include is not None:
        try:
            compiler = find_compiler("c", "the tool stack")
            options = abi_options(soname)
            written = shims.text(read(mpi.include / "mpi.h", compiler.command, options), names)
            return _linked(sources | {"shims.c": written}, mpi, [*options, str(_SHIMS / "shims_mpi.c")])
        except (HeaderError, _NotLinkedError) as error:
            warnings.warn(
                f"tools that wrap MPI_Send, but not MPI_Send_c, will not see calls of MPI_Send_c: {error}",
                stacklevel=3,
            )
    return _linked(sources, mpi)


def shipped_tools(mpi: Mpi) -> Path:
    """Give the directory of the tools that come with pse, for an MPI library.

    If they can't be had for it, a warning says why, and the directory does not exist.
    """
    tools, missing = _find_shipped(mpi)
    if missing:
        _warn_of_missing(missing)
    return tools


def _find_shipped(mpi: Mpi) -> tuple[Path, str]:
    """Give the directory of the tools that come with pse, or one that isn't there, and why and what to do."""
    try:
        return shipped.tools_for(mpi, elf.read(mpi.path)), ""
    except RunError as error:
        return SHIPPED / "none", f"{error}; {error.help}" if error.help else str(error)


def _warn_of_missing(why: str) -> None:
    warnings.warn(f"the tools that come with pse are missing: {why}", stacklevel=3)


class _NotLinkedError(RunError):
    """The compiler refuses; if that is for the shims, the stack works without, but tools see less."""


def _linked(sources: dict[str, str], mpi: Mpi, more: Sequence[str] = ()) -> Path:
    if not _ARCHIVE.exists():
        help = "in a source tree run `make ext`"
        raise RunError(f"the tool stack is not built: there is no {_ARCHIVE}", help=help)
    compiler = find_compiler("c", "the tool stack")
    parts = [*sources.values(), *more, compiler.identity, hashlib.sha256(_ARCHIVE.read_bytes()).hexdigest()]
    parts += [path.read_text() for path in sorted([*INCLUDE.glob("*.h"), *_SHIMS.glob("*.[ch]")])]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    product = code_directory() / "toolstack" / key / TOOLS_OBJECT
    refuse(product)
    if elf.is_whole(product):
        return product
    with shipped.cache_errors():
        product.parent.mkdir(parents=True, exist_ok=True)
        with locked(product.parent):  # All ranks of a job may want it at once: one makes it.
            if not elf.is_whole(product):
                _make(sources, [*compiler.command, *more], mpi, product)
    return product


def _make(sources: dict[str, str], compiler: list[str], mpi: Mpi, product: Path) -> None:
    """Compile beside the final place and move the result there."""
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=product.parent) as work:
        for name, text in sources.items():
            Path(work, name).write_text(text)
        includes = [f"-I{INCLUDE}", f"-I{_SHIMS}", *([f"-I{mpi.include}"] if mpi.include else [])]
        files = [str(Path(work, name)) for name in sources]
        archive = ["-Wl,--whole-archive", str(_ARCHIVE), "-Wl,--no-whole-archive", "-ldl", "-lpthread"]
        last = ["-Wl,-z,nodelete", f"-Wl,-soname,{TOOLS_OBJECT}", "-o", str(Path(work, TOOLS_OBJECT))]
        _compile([*compiler, *_FLAGS, *includes, *files, *archive, *last])
        Path(work, TOOLS_OBJECT).rename(product)


def _compile(line: list[str]) -> None:
    done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise _NotLinkedError(
            f"the tool stack can't be linked:\n{done.stderr.strip()}", help="run it: " + " ".join(line)
        )
