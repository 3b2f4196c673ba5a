"""Which MPI library a command will use, or this process uses.

The library is told by its file; its header is looked for where builds of MPI put it.  Runs ``ldd``, reads
/proc.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pse import _proc
from pse._abi.environment import LAUNCHERS
from pse.errors import UsageError
from pse.records import dataclass

_NAMES = ("libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi.so", "libmpi_abi.so")
_STEMS = ("libmpi.so", "libmpich.so", "libmpi_abi.so")
_OPEN_MPI = ("orterun", "prterun")  # What its mpiexec and mpirun are links to.
# Libraries of Fortran routines that stand beside some MPI libraries, which are told by how their names begin.
_FORTRAN = {
    "libmpi.so.12": ("libmpifort.so.12",),
    "libmpich.so.12": ("libmpichfort.so.12",),
    "libmpi.so.40": ("libmpi_mpifh.so.40", "libmpi_usempif08.so.40"),
}
# What Debian calls the directories of those that may be installed beside each other.
_KINDS = {"libmpich.so.12": "mpich", "libmpi.so.40": "openmpi"}


@dataclass(frozen=True)
class Mpi:
    """An MPI library and its header.

    Parameters
    ----------
    path : path
        The library's file.
    include : path, optional
        The directory of its ``mpi.h``; None if it was not found.

    See Also
    --------
    find_mpi
    """

    path: Path
    include: Path | None = None

    @classmethod
    def at(cls, path: Path) -> Mpi:
        """Take a library and look for its header.

        Parameters
        ----------
        path : path
            The library's file.

        Returns
        -------
        Mpi
            With ``include`` None if no ``mpi.h`` is near the library.
        """
        return cls(path, next(_headers(path), None))

    @property
    def fortran(self) -> list[Path]:
        """The libraries beside it that have Fortran's routines, if they are not in itself."""
        file = self.path.resolve().name
        names = [name for start, names in _FORTRAN.items() if file.startswith(start) for name in names]
        beside = [self.path.absolute().with_name(name) for name in names]
        return [path for path in beside if path.exists()]


def find_mpi(command: Sequence[str] = ()) -> Mpi:
    """Find the MPI library that a command will use.

    A program that is linked with MPI says it itself; otherwise it is the library beside the command's
    mpiexec, beside this Python's, or beside the one on PATH.

    Parameters
    ----------
    command : sequence of str
        The words of the command line.

    Returns
    -------
    Mpi
        The library, with its header if there is one.

    Raises
    ------
    UsageError
        If there is none.

    Examples
    --------
    >>> mpi = find_mpi()
    >>> "libmpi" in mpi.path.name
    True
    """
    own = str(Path(sys.executable).parent / "mpiexec")
    named = [word for word in command if Path(word).name.startswith(LAUNCHERS)]
    for path in (*_linked(command), *_beside([*named, own, "mpiexec", "mpirun"])):
        return Mpi.at(path.resolve())  # As programs that have loaded it say, so both find one object.
    help = "name it: --mpi /path/to/libmpi.so; or install the embedded one (pip install 'pse[mpich]')"
    raise UsageError("no MPI library was found", help=help)


def loaded_mpi() -> Mpi:
    """Find the MPI library that this process has loaded.

    Raises
    ------
    UsageError
        If it has none.
    """
    for path in _libraries(_proc.mapped_files()):
        return Mpi.at(path)
    help = "import mpi4py.MPI first; or start with LD_PRELOAD (pse tools run)"
    raise UsageError(
        "this process has no MPI library loaded that a tool stack could be attached to", help=help
    )


def _libraries(paths: Iterable[str]) -> list[Path]:
    found = [Path(path) for path in paths if path.startswith("/")]
    return [path for path in found if path.name.startswith(_STEMS)]


def _linked(command: Sequence[str]) -> list[Path]:
    """Give the MPI libraries that programs of a command line are linked with."""
    programs = [found for word in command if (found := shutil.which(word))]
    listed = [subprocess.run(["ldd", path], capture_output=True, text=True, check=False) for path in programs]
    return _libraries(
        line.split()[2] for done in listed for line in done.stdout.splitlines() if "=> /" in line
    )


def _beside(launchers: Iterable[str]) -> list[Path]:
    """Give the first MPI library in the directories that belong to a launcher."""
    machine = os.uname().machine
    for launcher in filter(None, map(shutil.which, launchers)):
        for prefix in (Path(launcher).absolute().parent.parent, Path(launcher).resolve().parent.parent):
            folders = [prefix / lib for lib in ("lib", "lib64", f"lib/{machine}-linux-gnu")]
            names = _names(Path(launcher).resolve().name)
            if found := [folder / name for folder in folders for name in names if (folder / name).exists()]:
                return found[:1]
    return []


def _names(launcher: str) -> list[str]:
    """Order the names of MPI libraries: of those beside each other, a launcher's own is the first."""
    return sorted(_NAMES, key=lambda name: launcher in _OPEN_MPI and not name.endswith(".40"))


def _headers(library: Path) -> Iterator[Path]:
    """Yield the directories near a library that have an mpi.h."""
    debian = next((kind for start, kind in _KINDS.items() if library.resolve().name.startswith(start)), None)
    for folder in (library.parent, library.resolve().parent):
        own = (
            (folder / debian / "include", folder.parent.parent / "include" / folder.name / debian)
            if debian
            else ()
        )
        for include in (
            *own,
            folder.parent / "include",
            folder.parent.parent / "include",
            folder / "include",
        ):
            if (include / "mpi.h").exists():
                yield include
