"""What this machine and its software are."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpi4py
import numpy as np

from pse import __version__

_ASK_MPI = """\
import mpi4py, sys
mpi4py.rc.initialize = False
try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:
    sys.exit(str(error))
print(MPI.Get_library_version())
"""


def describe_host() -> dict[str, Any]:
    """Describe this machine and its software, as JSON values."""
    return {
        "pse": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi4py": mpi4py.__version__,
        "mpi": mpi_library(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "root_host": socket.gethostname(),
    }


def cpu_model() -> str:
    """Name the processor, as far as the kernel knows.

    Returns
    -------
    str
        For example ``AMD EPYC 7B13``; the architecture if nothing better is known.

    Examples
    --------
    >>> print("measured on", cpu_model())
    measured on ...
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "CPU part"):
                return value.strip()
    return platform.processor() or platform.machine()


def mpi_library() -> str:
    """Name the MPI library that mpi4py loads, without starting MPI in this process.

    Returns
    -------
    str
        The first line of what the library says of itself; ``none: …`` with the reason, where it can't be
        loaded.

    Examples
    --------
    >>> print("with", mpi_library())
    with ...
    """
    if "mpi4py.MPI" in sys.modules:
        from mpi4py import MPI

        version = MPI.Get_library_version()
    else:  # Who imports MPI here later expects that this starts it, so another process is asked.
        asked = subprocess.run([sys.executable, "-P", "-c", _ASK_MPI], capture_output=True, text=True)
        if asked.returncode:
            return f"none: {' '.join(asked.stderr.split()) or 'it ends the process'}"
        version = asked.stdout
    return " ".join(version.strip("\0 \n").splitlines()[0].split())
