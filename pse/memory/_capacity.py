"""How large an arena should be where the program doesn't say (`arena = auto`).

Touches /proc/meminfo and the cgroup's files, read-only.
"""

from __future__ import annotations

from pse.memory import _arena
from pse.memory._records import MemoryFigures

_MIB = 1 << 20


def memory_figures(root: str = "") -> MemoryFigures:
    """Total and available memory of this process, in bytes.

    Parameters
    ----------
    root : str, optional
        Directory below which `proc` and `sys` lie; the real ones by default.

    Returns
    -------
    MemoryFigures
        Bytes; a cgroup's limit counts.

    Raises
    ------
    ArenaSystemError
        If `proc/meminfo` can't be read.

    Examples
    --------
    >>> figures = memory_figures()
    >>> figures.total >= figures.available
    True
    """
    return MemoryFigures(*_arena.read_memory(root))


def default_capacity(root: str = "") -> int:
    """Bytes for an arena that leaves others room: four fifths of the available memory, in whole MiB.

    Nothing is reserved by it: the arena takes memory only as blocks need it.

    Parameters
    ----------
    root : str, optional
        Directory before ``/proc`` and ``/sys``; for tests.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> default_capacity() % (1 << 20)
    0
    """
    return max(memory_figures(root).available * 4 // 5 // _MIB, 1) * _MIB
