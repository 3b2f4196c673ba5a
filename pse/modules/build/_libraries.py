"""What `coven link NAME` means on this machine: the linker's words for a library.

In order: pkg-config, the compiler's own search path, a library that a Python package brings along (FFTW comes
with pyfftw, so that a fresh machine needs no root).  MPI is found by its own compiler.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pse.modules._errors import BuildError
from pse.modules.build._compilers import Compiler, file_identity
from pse.records import dataclass


@dataclass(frozen=True)
class Library:
    """A library to link: compiler flags, linker words, and what tells it from another build of it."""

    name: str
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    identity: str


_BUNDLED: Final = {
    "fftw3": ("pyfftw", "pyfftw.libs", "libfftw3-*.so*"),
    "fftw3f": ("pyfftw", "pyfftw.libs", "libfftw3f-*.so*"),
}
"""Libraries inside wheels: the package, the folder beside it, and the file's pattern."""

_EXTRAS: Final = {"fftw3": "pse[fft]", "fftw3f": "pse[fft]"}


def find_library(name: str, compiler: Compiler, shown: str) -> Library:
    """Find a library by the name after `-l`.

    Raises
    ------
    BuildError
        If it is nowhere; says where was looked and what to install.
    """
    found = _by_pkg_config(name) or _by_compiler(name, compiler) or _by_wheel(name)
    if found is not None:
        return found
    extra = f", or: pip install '{_EXTRAS[name]}'" if name in _EXTRAS else ""
    raise BuildError(
        f"{shown} links `{name}`, and there is no such library here (asked pkg-config and the compiler)",
        help=f"install its development package (lib{name}-dev on Debian and Ubuntu){extra}",
    )


_WRAPPERS: Final = {"fortran": ("mpifort", "mpif90", "mpicc"), "c++": ("mpicxx", "mpic++", "mpicc")}
"""MPI's compilers for a language; C's links what any language needs where the ranks' MPI has no other."""


def find_mpi_compiler(shown: str, language: str) -> Library:
    """Find the MPI that modules are built with: its compiler beside this Python, else on PATH.

    That is where the ranks' mpiexec is looked for too, so both belong together.

    Raises
    ------
    BuildError
        If there is no compiler of MPI's.
    """
    for name in _WRAPPERS.get(language, ("mpicc",)):
        beside = os.path.join(os.path.dirname(sys.executable), name)
        path = beside if os.access(beside, os.X_OK) else shutil.which(name)
        words = _wrapper_words(path) if path else []
        if path and words:
            compile_flags = tuple(word for word in words if word.startswith(("-I", "-D", "-isystem", "-J")))
            link_flags = tuple(w for w in words if w.startswith(("-L", "-l", "-Wl,")))
            return Library("mpi", compile_flags, link_flags, f"{file_identity(path)} {' '.join(words)}")
    raise BuildError(
        f"{shown} needs MPI's headers to be built, and there is no mpicc beside this Python or on PATH",
        help="install the MPI that mpi4py uses with its headers (pip install 'pse[mpich]' brings both)",
    )


def _wrapper_words(path: str) -> list[str]:
    """List the options that a compiler of MPI gives; Intel's from a wheel does not know where it is."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    words = iter(shlex.split(_output([path, "-show"], {"I_MPI_ROOT": root}) or "")[1:])
    return [f"-Wl,{next(words, '')}" if word == "-Xlinker" else word for word in words]


def _by_pkg_config(name: str) -> Library | None:
    tool = shutil.which("pkg-config") or shutil.which("pkgconf")
    if tool is None:
        return None
    version = _output([tool, "--modversion", name])
    if version is None:
        return None
    compile_flags, link_flags = (
        (_output([tool, word, name]) or "").split() for word in ("--cflags", "--libs")
    )
    return Library(name, tuple(compile_flags), tuple(link_flags), f"pkg-config {name} {version.strip()}")


def _by_compiler(name: str, compiler: Compiler) -> Library | None:
    answer = _output([*compiler.command, f"-print-file-name=lib{name}.so"])
    # The name comes back as it was where the search path doesn't have the library.
    if answer is None or not os.path.isabs(answer.strip()):
        return None
    return Library(name, (), (f"-l{name}",), file_identity(answer.strip()))


def _by_wheel(name: str) -> Library | None:
    package, folder, pattern = _BUNDLED.get(name, ("", "", ""))
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return None
    beside = Path(spec.origin).parent.parent / folder
    files = sorted(beside.glob(pattern))
    if not files:
        return None
    words = (str(files[0]), f"-Wl,-rpath,{beside}")
    return Library(name, (), words, file_identity(str(files[0])))


def _output(command: list[str], defaults: Mapping[str, str] = {}) -> str | None:
    """Give what a command prints; None if it fails or isn't there."""
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "env": {**defaults, **os.environ}}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
