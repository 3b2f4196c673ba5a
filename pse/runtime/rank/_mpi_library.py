"""The MPI library, loaded by a thread while Python loads what a rank needs.

Loading it takes a while in which little is computed: UCX, which MPICH uses, measures the processor's clock,
and yields meanwhile.  The thread does without Python; when mpi4py loads the library, it is there.
"""

from __future__ import annotations

import _thread
import ctypes
import importlib.util
import os
import sys

_CHOICES = ("LD_PRELOAD", "MPI4PY_LIBMPI", "MPI4PY_MPIABI")
"""Variables by which mpi4py may load another library."""


def load_mpi_meanwhile() -> None:
    """Begin to load MPI, where it is known which library mpi4py will load.

    No process may be forked while the thread runs: it would lack the dynamic linker's lock.  Who loads
    another library meanwhile waits for that lock: those that are needed before NumPy are loaded first.

    Examples
    --------
    >>> load_mpi_meanwhile()  # doctest: +SKIP
    """
    if (path := _library()) is not None:
        # MPI's libraries read the environment as they are loaded, and NumPy changes it if this is not set.
        os.environ.setdefault("OPENBLAS_MAIN_FREE", "1")
        import resource  # noqa: F401
        import zlib  # noqa: F401

        mode = os.RTLD_LAZY | os.RTLD_LOCAL
        _thread.start_new_thread(ctypes.CDLL(None).dlopen, (os.fsencode(path), mode))


def _library() -> str | None:
    """Give the file that mpi4py of PyPI tries first in a virtual environment; None if it may be another."""
    path = os.path.join(sys.exec_prefix, "lib", "libmpi.so.12")
    found = importlib.util.find_spec("mpi4py")
    if found is None or found.origin is None or any(name in os.environ for name in _CHOICES):
        return None
    chooses = os.path.exists(os.path.join(os.path.dirname(found.origin), "_mpiabi.py"))
    return path if chooses and sys.exec_prefix != sys.base_exec_prefix and os.path.exists(path) else None
