"""Where figures were measured: the machine, the software, and whether anybody else was using it.

Reads /proc; changes nothing.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from typing import Any

import numpy as np

from pse import __version__
from pse.runtime.rank import cpu_model, mpi_library

BUSY_SHARE = 0.1
"""Share of the cores in use before a bench starts from which on its figures deserve a warning."""

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
    idle_before, all_before = _ticks()
    time.sleep(_LOOK_SECONDS)
    idle, everything = _ticks()
    passed = everything - all_before
    return 1.0 - (idle - idle_before) / passed if passed else 0.0


def _ticks() -> tuple[int, int]:
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)
