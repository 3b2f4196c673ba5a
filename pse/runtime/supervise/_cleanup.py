"""What MPI leaves in the file system, and how it goes away whatever happens.

MPICH keeps ``/dev/shm/mpich_shm_<hex>_<node>`` for as long as a job runs and leaves it when a rank is
killed.  `unlink_mpi_files` takes the name away as soon as every rank of the node has the memory, so that no
kill can leak it; `remove_leaked` is the launcher's, for a job that was killed before that, and for Open MPI
and Intel's MPI, whose ranks may open a name later.  Removes files of this user from /dev/shm, hydra's
and Open MPI's from /tmp; reads /proc.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable

from pse import _proc
from pse.errors import RunError
from pse.text import count_text, size_text

SHARED = "/dev/shm"
TEMPORARY = "/tmp"
ROOM_PER_RANK = 1_100_000
"""Bytes of /dev/shm that MPICH takes for each rank of a node."""

_TOPOLOGY = re.compile(r"hydra_hwloc_xmlfile_\w{6}")
_MPICHS = re.compile(r"mpich_(?:shm|vci)_[0-9a-f]+_\d+|ucx_shm_posix_[0-9a-f]+")
_MPIS = re.compile(rf"{_MPICHS.pattern}|(?:vader|sm)_segment\.[\w.-]+|Intel_MPI_\w{{6}}")
_SEGMENT = re.compile(r"sm_segment\.([\w.-]+)\.([0-9a-f]+)\.0")


def unlink_mpi_files() -> None:
    """Unlink MPI's files that nobody opens by name any more: every rank of the node must be in MPI by now.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> from pse.runtime.supervise import unlink_mpi_files
    >>> MPI.COMM_WORLD.Barrier()
    >>> unlink_mpi_files()
    """
    names = filter(_MPICHS.fullmatch, _shared_names(_proc.mapped_files()))
    for path in [*(os.path.join(SHARED, name) for name in names), *_topologies_of(os.getppid())]:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _topologies_of(parent: int) -> list[str]:
    """Find the topology files that a hydra proxy wrote since it began: ranks read them while MPI starts."""
    if _proc.name(parent) != "hydra_pmi_proxy":
        return []
    began = started(parent)
    found = [os.path.join(TEMPORARY, name) for name in os.listdir(TEMPORARY) if _TOPOLOGY.fullmatch(name)]
    return [path for path in found if _is_recent(path, began)]


def started(pid: int) -> float:
    """When a process started, in seconds since the epoch; now if it is gone."""
    status = _proc.status(pid)
    if status is None:
        return time.time()
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted + status.started / os.sysconf("SC_CLK_TCK")


def remove_leaked(since: float) -> None:
    """Unlink MPI's shared files of this user that came after `since` and that no living process uses.

    Parameters
    ----------
    since : float
        Seconds since the epoch when the job started.
    """
    names = (name for name in os.listdir(SHARED) if _MPIS.fullmatch(name))
    found = {name for name in names if _is_recent(os.path.join(SHARED, name), since)}
    if not found:
        return
    for name in found - _names_in_use():
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(SHARED, name))
            _remove_own_session(name)


def _remove_own_session(name: str) -> None:
    """Remove the empty directories that a rank without a launcher made beside its segment.

    Parameters
    ----------
    name : str
        The segment's, sm_segment.HOST.USER.JOB.0 of Open MPI 5: they are ompi.HOST.USER/jf.0/JOB.
    """
    if found := _SEGMENT.fullmatch(name):
        family = os.path.join(_temporary(), f"ompi.{found[1]}", "jf.0")
        for empty in (os.path.join(family, str(int(found[2], 16))), family, os.path.dirname(family)):
            os.rmdir(empty)


def _temporary() -> str:
    """Name the directory of temporary files; `tempfile` tries it, and leaves a file if it is killed then."""
    return os.environ.get("TMPDIR") or "/tmp"


def remove_session(mpiexec: int) -> None:
    """Remove the directories of Open MPI's launcher, which was killed before it could.

    Parameters
    ----------
    mpiexec : int
        The launcher's process number, by which they are named: ompi.HOST.UID/pid.PID, ompi.PID of Open MPI 5.
    """
    import shutil  # Most runs leave nothing.
    from pathlib import Path

    user, top = os.getuid(), Path(_temporary())
    for folder in (*top.glob(f"ompi.*.{user}/pid.{mpiexec}"), *top.glob(f"ompi.{mpiexec}")):
        if not folder.is_symlink() and folder.stat().st_uid == user:
            shutil.rmtree(folder, ignore_errors=True)
            if folder.parent != top:
                with contextlib.suppress(OSError):  # It has other launchers' directories as well.
                    folder.parent.rmdir()


def check_shared_memory(ranks: int) -> None:
    """Make sure that MPI finds room in /dev/shm; without it ranks die of a bus error and never say why.

    Raises
    ------
    RunError
        If there is too little room, or no /dev/shm at all.
    """
    needed = ROOM_PER_RANK * ranks + (1 << 20)
    try:
        state = os.statvfs(SHARED)
    except OSError as error:
        raise RunError(
            f"{SHARED} can't be used: {error.strerror}", help="mount it: MPI needs it to connect ranks"
        ) from None
    if state.f_flag & os.ST_RDONLY or not os.access(SHARED, os.W_OK):
        raise RunError(
            f"{SHARED} can't be written to", help="make it writable: MPI needs it to connect ranks"
        )
    free = state.f_bavail * state.f_frsize
    if state.f_blocks and free < needed:
        raise RunError(
            f"{SHARED} is full: MPI needs {size_text(needed)} there for {count_text(ranks, 'rank')}, "
            f"{size_text(free)} are free",
            help=f"remove files from {SHARED}, or give it more room "
            "(mount -o remount,size=…; docker run --shm-size=…)",
        )


def _is_recent(path: str, since: float) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    # The clock of file times is coarser than time.time().
    return status.st_uid == os.getuid() and status.st_ctime >= since - 0.1


def _names_in_use() -> set[str]:
    used: set[str] = set()
    for pid in _proc.processes():
        used |= _shared_names(_proc.mapped_files(pid))
        used |= _shared_names(path for _, path in _proc.open_files(pid))
    return used


def _shared_names(paths: Iterable[str]) -> set[str]:
    ends = map(os.path.split, paths)
    return {name for directory, name in ends if directory == SHARED and _MPIS.fullmatch(name)}
