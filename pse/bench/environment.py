"""Where figures were measured: the machine, the software, and whether anybody else was using it.

Reads /proc; changes nothing.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from pse import __version__

BUSY_SHARE = 0.1
"""Share of the cores in use before a bench starts from which on its figures deserve a warning."""

_LOOK_SECONDS = 0.3


def describe() -> dict[str, Any]:
    """Describe machine, software and load; takes 0.3 s, for the load of this moment."""
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


def cpu_model() -> str:
    """Name the processor, as far as the kernel knows."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "CPU part"):
                return value.strip()
    return platform.processor() or platform.machine()


def mpi_library() -> str:
    """First line of what the MPI library says of itself; why not, where it can't be loaded."""
    import mpi4py

    mpi4py.rc.initialize = False  # Asking for a version must not make this process a rank.
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        return f"none: {error}"
    return " ".join(MPI.Get_library_version().strip("\0 \n").splitlines()[0].split())


def share_in_use(seconds: float = _LOOK_SECONDS) -> float:
    """Share of this machine's cores that somebody computes on, over a moment, in 0 … 1."""
    idle_before, all_before = _ticks()
    time.sleep(seconds)
    idle, everything = _ticks()
    passed = everything - all_before
    return 1.0 - (idle - idle_before) / passed if passed else 0.0


def _ticks() -> tuple[int, int]:
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)
