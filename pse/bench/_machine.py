"""Where figures were measured: the machine, the software, and whether anybody else was using it.

Reads /proc; changes nothing.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pse import __version__
from pse.runtime.rank import cpu_model, mpi_library

BUSY_SHARE = 0.1
"""Share of the cores in use before a bench starts from which on its figures deserve a warning."""

STOLEN_SHARE = 0.02
"""Share of the cores' time that the hypervisor gave to others during a bench from which on it is marked."""

_LOOK_SECONDS = 0.3


def describe_machine() -> dict[str, Any]:
    """Describe machine, software and load; takes 0.3 s, for the load of this moment.

    Returns
    -------
    dict of str to value
        JSON values by name: CPU, memory, system, versions and load.

    Examples
    --------
    >>> machine = describe_machine()
    >>> machine["cores"] > 0, sorted(machine)[:4]
    (True, ['cores', 'cpu', 'in_use', 'kernel'])
    """
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi4py": importlib.metadata.version("mpi4py"),
        "mpi": mpi_library(),
        "pse": __version__,
        "load": round(os.getloadavg()[0], 2),
        "in_use": round(share_in_use(), 3),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def share_in_use() -> float:
    """Share of this machine's cores that somebody computes on, over a moment, in 0 … 1."""
    before = _ticks()
    time.sleep(_LOOK_SECONDS)
    idle = _share(before, *_IDLE)
    return 0.0 if idle is None else 1.0 - idle


def stolen_share() -> Callable[[], float]:
    """Begin to watch how much of the cores' time the hypervisor gives to other machines.

    Returns
    -------
    callable
        Gives the share, in 0 … 1, since it was made.

    See Also
    --------
    share_in_use
    """
    before = _ticks()
    return lambda: _share(before, _STOLEN) or 0.0


_IDLE, _STOLEN = (3, 4), 7  # Columns of /proc/stat: idle and waiting for a disk; stolen.


def _share(before: list[int], *columns: int) -> float | None:
    passed = [now - then for now, then in zip(_ticks(), before, strict=True)]
    return sum(passed[column] for column in columns) / sum(passed) if any(passed) else None


def _ticks() -> list[int]:
    with open("/proc/stat", encoding="ascii") as file:
        return [int(word) for word in file.readline().split()[1:9]]
