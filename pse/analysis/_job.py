"""The analysis by the processes of an MPI job, or by this process alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pse.analysis.cube._cube import Cube
from pse.analysis.replay._analysis import analyze, analyze_parallel
from pse.runtime.faults import failing_together
from pse.runtime.supervise import Backoff, inside_mpi_job


@contextlib.contextmanager
def analyze_in_job(
    source: Path, *, metahosts: Path | None = None, repair: bool = True, root_causes: bool | None = None
) -> Iterator[tuple[Cube | None, int]]:
    """Analyze a trace, together with the other processes of the job if this one is in an MPI job.

    Parameters
    ----------
    source, metahosts, repair, root_causes
        As `analyze` takes them.

    Yields
    ------
    Cube or None
        The cube; None on other ranks than 0, which sleep until rank 0 is done with it.
    int
        How many processes had nothing to read.

    Raises
    ------
    UsageError
        The trace can't be analyzed; in a job on rank 0, while the others leave with the same exit code.

    Examples
    --------
    >>> with analyze_in_job(Path("mpi1")) as (cube, idle):
    ...     len(cube.locations), idle
    (2, 0)

    See Also
    --------
    analyze_parallel
    """
    if not inside_mpi_job():
        yield analyze(source, metahosts=metahosts, repair=repair, root_causes=root_causes), 0
        return
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with contextlib.ExitStack() as kept:
        kept.callback(lambda: Backoff().sleep_until(comm.Ibarrier().Test))
        with failing_together():
            cube = analyze_parallel(source, comm, metahosts=metahosts, repair=repair, root_causes=root_causes)
        yield cube, 0 if cube is None else max(0, comm.size - len(cube.locations))
