"""How a rank's process is set up before it loads anything: its streams, and the threads of libraries."""

from __future__ import annotations

import io
import os
import sys

from pse.runtime.supervise._processes import local_ranks, own_rank
from pse.runtime.supervise._stdio import redirect_to_null

_PR_SET_NAME = 15
_LINE_BUFFERED = 1  # _IOLBF of the C library


def prepare_rank_process(*, serial: bool = False) -> None:
    """Set up the streams that modules find, and leave other ranks their cores.

    Parameters
    ----------
    serial : bool, default False
        Whether this is the only rank, which keeps its standard input.

    Examples
    --------
    >>> prepare_rank_process(serial=True)
    """
    if not serial:
        # One rank would get mpiexec's, the others would wait for ever.
        redirect_to_null(0)
    # What modules print goes to a pipe and should be seen while the program runs, not at its end; and in
    # whole lines, also where PYTHONUNBUFFERED is set: all ranks share that pipe.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, write_through=False)
    import ctypes

    library = ctypes.CDLL(None)
    rank = own_rank()
    if rank is not None:  # Forked ranks have the launcher's command line; Slurm can't read blanks.
        library.prctl(_PR_SET_NAME, f"pse-rank-{rank}".encode())
    library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, _LINE_BUFFERED, 0)
    share_cores(local_ranks())


def share_cores(ranks: int) -> None:
    """Let libraries that start threads (BLAS, OpenMP) leave the other ranks of this node their cores.

    OpenBLAS starts its threads as NumPy is imported, and all of them look for work until they fall asleep.

    Parameters
    ----------
    ranks : int
        How many ranks this node has, as far as that is known.
    """
    if ranks > 1:
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // ranks)))
