"""Whether this machine can run programs: MPI, compilers, limits, memory, what is optional; and what to mend.

Reads /proc and /sys, and starts compilers and two ranks for a moment.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pse import __version__, _cache
from pse.bench._machine import BUSY_SHARE, share_in_use
from pse.cluster import unmet_prerequisite
from pse.errors import NO_MPI_HELP, PseError
from pse.modules.build import find_compiler
from pse.runtime.launch import Mpiexec, find_mpiexec, rank_environment
from pse.runtime.rank import cpu_model, mpi_library
from pse.runtime.supervise import ranks_within
from pse.text import count_text, list_text, share_text, size_text
from pse.toolstack import find_mpi

GOOD = "good"
NOTE = "note"
BAD = "bad"
"""Grades of findings: it works; it could be better, or is optional; it has to be mended first."""

_SECONDS = 60
_HELLO = "import sys; from mpi4py import MPI; sys.stdout.write(f'{MPI.COMM_WORLD.size}\\n')"
_ALLOW_ROOT = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
_ONE_LINE = {
    "c": ("int line(void) { return 0; }\n", ".c"),
    "c++": ("#include <vector>\nint line() { return int(std::vector<int>().size()); }\n", ".cpp"),
    "fortran": ("subroutine line()\nend subroutine\n", ".f90"),
}
_ENOUGH_FILES = 1024
_LEAST_SHARED = 64 << 20
_EXTRAS = {
    "pyfftw": ("fft", "FFT modules"),
    "scipy": ("fft", "the check of programs/fft2d.coven"),
    "matplotlib": ("views", "pictures"),
    "pillow": ("views", "sample images"),
    "cython": ("cython", "modules in Cython"),
    "pybind11": ("cpp", "modules in C++ with pybind11"),
    "h5py": ("hdf5", "HDF5 files"),
    "zarr": ("zarr", "zarr stores"),
    "rasterio": ("scenes", "GeoTIFF files"),
    "netCDF4": ("scenes", "NetCDF files"),
    "pyproj": ("scenes", "programs/scenes"),
    "otf2": ("otf2", "OTF2 traces"),
    "pandas": ("notebook", "data frames in notebooks"),
}
"""Optional packages: the extra of pse that has each, and what it is for."""


@dataclass(frozen=True)
class Finding:
    """What was found of one subject.

    Attributes
    ----------
    subject : str
        What was looked at, in a word or two.
    grade : str
        `GOOD`, `NOTE` or `BAD`.
    text : str
        What there is, or what is wrong.
    help : str or None
        How to mend it.

    See Also
    --------
    findings_text, examine_machine

    Examples
    --------
    >>> finding = Finding("MPI", BAD, "there is no mpiexec", "pip install 'pse[mpich]'")
    >>> finding.grade
    'bad'
    """

    subject: str
    grade: str
    text: str
    help: str | None = None


def examine_machine() -> Iterator[Finding]:
    """Look at all that running programs needs, one after the other.

    Yields
    ------
    Finding
        What was found, as soon as it is known.

    Examples
    --------
    >>> next(examine_machine()).subject
    'versions'
    """
    for examine in _EXAMINATIONS:
        yield from examine()


def _versions() -> Iterator[Finding]:
    known = (f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "mpi4py"))
    text = f"pse {__version__}, Python {platform.python_version()}, {', '.join(known)}"
    yield Finding("versions", GOOD, text)


def _mpi() -> Iterator[Finding]:
    library = mpi_library()
    if library.startswith("none"):
        message = f"mpi4py can't load an MPI library ({library.removeprefix('none: ')})"
        yield Finding("MPI", BAD, message, NO_MPI_HELP)
        return
    yield Finding("MPI", GOOD, library)
    try:
        yield _ranks(find_mpiexec())
    except PseError as error:
        yield Finding("mpiexec", BAD, error.message, error.help)


def _ranks(found: Mpiexec) -> Finding:
    """Start two ranks: an mpiexec of another MPI than mpi4py's starts two worlds of one rank each."""
    mpiexec = found.path
    command = [mpiexec, "-n", "2", sys.executable, "-P", "-c", _HELLO]
    environment = rank_environment(os.environ, found)
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": _SECONDS}
    try:
        done = subprocess.run(command, env=environment, **options)  # type: ignore[call-overload]
    except subprocess.TimeoutExpired:
        return Finding("mpiexec", BAD, f"{mpiexec} -n 2 did not end in {_SECONDS} s", _help_ranks(command))
    if done.stdout.split() == ["2", "2"]:
        return Finding("mpiexec", GOOD, f"{mpiexec} starts ranks that see each other")
    if done.stdout.split() == ["1", "1"]:
        text = f"{mpiexec} belongs to another MPI than mpi4py uses: each of two ranks is alone"
        help = "have the mpiexec of mpi4py's MPI first on PATH, or build mpi4py with this one's: "
        return Finding("mpiexec", BAD, text, f"{help}pip install --no-binary mpi4py mpi4py")
    if "attempt to run as root" in done.stderr:
        text = f"{mpiexec} refuses to start ranks for root"
        return Finding("mpiexec", BAD, text, f"be another user, or allow it:  {_ALLOW_ROOT}")
    return Finding(
        "mpiexec", BAD, f"{mpiexec} can't start two ranks (code {done.returncode})", _help_ranks(command)
    )


def _help_ranks(command: list[str]) -> str:
    return f"see what it says: {shlex.join(command)}"


def _compilers() -> Iterator[Finding]:
    for language, grade, use in (
        ("c", BAD, "modules in C, and Cython"),
        ("c++", NOTE, "modules in C++"),
        ("fortran", NOTE, "modules in Fortran"),
    ):
        subject = f"{language} compiler"
        try:
            command = find_compiler(language, use).command
        except PseError as error:
            yield Finding(subject, grade, f"none: {use} can't be built", error.help)
            continue
        wrong = _fails_to_compile(language, command)
        if wrong is None:
            yield Finding(subject, GOOD, shlex.join(command))
        else:
            text = f"{shlex.join(command)} can't compile one line ({wrong}): {use} can't be built"
            help = "install it anew, or correct the variables that name compilers (CC, CXX, FC)"
            yield Finding(subject, grade, text, help)


def _fails_to_compile(language: str, command: Sequence[str]) -> str | None:
    """Say why a compiler makes no shared library of one line, as modules are; None if it does."""
    source, suffix = _ONE_LINE[language]
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "made.so")
        written = Path(place, f"line{suffix}")
        try:
            written.write_text(source)
            line = [*command, "-shared", "-fPIC", str(written), "-o", str(made)]
            done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        said = done.stderr.strip().splitlines()
        return None if made.exists() else (said[0] if said else f"code {done.returncode}")


def _header() -> Iterator[Finding]:
    try:
        include = find_mpi().include
    except PseError:
        return  # The library is missing, which has been said.
    if include is not None:
        yield Finding("mpi.h", GOOD, str(include))
    else:
        text = "none: modules with communicators and MPI tools of your own can't be built"
        yield Finding(
            "mpi.h", NOTE, text, "install your MPI's development package, or pip install 'pse[mpich]'"
        )


def _packages() -> Iterator[Finding]:
    missing = [name for name in _EXTRAS if not _installed(name)]
    if not missing:
        yield Finding("packages", GOOD, "all that are optional are installed")
    for name in missing:
        extra, use = _EXTRAS[name]
        yield Finding("packages", NOTE, f"{name} is missing, for {use}", f"pip install 'pse[{extra}]'")


def _installed(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def _cores() -> Iterator[Finding]:
    cores, there = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    text = f"{cores} of {there}, {cpu_model()}"
    used = share_in_use()
    if used >= BUSY_SHARE:
        yield Finding(
            "cores", NOTE, f"{text}; {share_text(used)} in use", "figures need a machine that is idle"
        )
    else:
        yield Finding("cores", GOOD, text)


def _memory() -> Iterator[Finding]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Finding("memory", GOOD, size_text(memory))
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit not in (resource.RLIM_INFINITY, -1) and limit < memory:
        text = (
            f"a process may have {size_text(limit)} of addresses, and a run maps as much as there is memory"
        )
        yield Finding("memory", NOTE, text, "lift the limit (ulimit -v unlimited), or run with -o arena=1GiB")


def _shared_memory() -> Iterator[Finding]:
    try:
        state = os.statvfs("/dev/shm")
    except OSError as error:
        yield Finding(
            "/dev/shm", BAD, f"can't be used: {error.strerror}", "mount it: MPI connects ranks by it"
        )
        return
    free = state.f_bavail * state.f_frsize
    if state.f_blocks and free < _LEAST_SHARED:
        help = "free some, or in a container start it with more: docker run --shm-size=1g"
        yield Finding("/dev/shm", NOTE, f"{size_text(free)} free: enough for few ranks", help)
    else:
        yield Finding("/dev/shm", GOOD, f"{size_text(free)} free")


def _open_files() -> Iterator[Finding]:
    """`pse run` raises the soft limit as it needs; a bare mpiexec does not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _ENOUGH_FILES:
        yield Finding("open files", GOOD, "no limit" if soft < 0 else f"{soft:,} for each process")
        return
    ranks = ranks_within(soft)
    text = f"a process may have {soft} open: enough for {count_text(ranks, 'rank')} on this machine"
    yield Finding("open files", NOTE if ranks > 1 else BAD, text, _help_open_files(hard))


def _help_open_files(hard: int) -> str:
    if hard == resource.RLIM_INFINITY or hard >= _ENOUGH_FILES:
        return f"ulimit -n {_ENOUGH_FILES}"
    return (
        f"the hard limit is {hard}, too, which only root can raise: in a new shell or container, or by nofile"
        " in /etc/security/limits.conf"
    )


def _huge_pages() -> Iterator[Finding]:
    path = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    try:
        chosen = path.read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return
    if chosen in ("never", "deny"):
        text = "shared memory has small pages only: its first use takes longer"
        yield Finding("huge pages", NOTE, text, f"as root: echo advise > {path}")
    else:
        yield Finding("huge pages", GOOD, f"shared memory: {chosen}")


def _cache_directory() -> Iterator[Finding]:
    place = _cache.directory()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        help = "set PSE_CACHE to a directory that you may write to"
        yield Finding("cache", BAD, f"{place} can't be written to: {error.strerror}", help)
        return
    if stranger := _cache.distrust(place):
        help = "set PSE_CACHE to a directory of your own that only you may write to"
        yield Finding("cache", BAD, f"{stranger}, so that nothing in it is loaded", help)
        return
    free = shutil.disk_usage(place).free
    held = sum(entry.size for entry in _cache.contents())
    yield Finding("cache", GOOD, f"{place}: {size_text(held)}, {size_text(free)} free")


def _clusters() -> Iterator[Finding]:
    reason = unmet_prerequisite()
    yield Finding("emulated clusters", NOTE if reason else GOOD, reason or "can be made: pse cluster up")


_EXAMINATIONS: tuple[Callable[[], Iterator[Finding]], ...] = (
    *(_versions, _mpi, _compilers, _header, _packages, _cores, _memory, _shared_memory),
    *(_open_files, _huge_pages, _cache_directory, _clusters),
)


def findings_text(findings: list[Finding]) -> str:
    """Say in one line how a machine is.

    Parameters
    ----------
    findings : list of Finding
        What `examine_machine` found.

    Returns
    -------
    str
        For example ``programs can run here``, or what to mend first.

    Examples
    --------
    >>> findings_text([Finding("MPI", BAD, "none")])
    'mend this first: MPI'
    """
    bad = [finding.subject for finding in findings if finding.grade == BAD]
    if bad:
        return f"mend this first: {list_text(bad)}"
    return "programs can run here"
