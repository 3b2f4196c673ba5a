"""What imported times lack because a trace has whole nanoseconds.

A clock that is finer than 1 ns, as those of processors are, puts events between two ns.  An import writes how
far from its ns each event is to a file beside the events: ``rank-RRRRR.residuals``, one signed 16-bit number
(little-endian, 65,536ths of a ns) for each event.  Recorded traces have none.

Whoever sums up many short waits adds them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pse.trace.format._field_values import Array
from pse.trace.store._directory import RESIDUALS
from pse.trace.store._trace_files import TraceFiles

RESIDUAL_DTYPE = np.dtype("<i2")
PARTS = 65536


def residuals(trace: TraceFiles, rank: int) -> Array | None:
    """Parts of a ns to add to the times of a rank's events.

    Parameters
    ----------
    trace : TraceFiles
        The trace.
    rank : int
        The rank.

    Returns
    -------
    array of float64, shape (events,), or None
        From -0.5 to 0.5 ns, in the order of `Trace.events`; None if the times are exact.

    Examples
    --------
    >>> residuals(trace, 0) is None  # Only imported traces have any.
    True
    """
    path = residuals_path(trace.files[rank].path)
    if not path.exists() or path.stat().st_size != RESIDUAL_DTYPE.itemsize * len(trace.events(rank)):
        return None
    found: Array = np.fromfile(path, RESIDUAL_DTYPE) / PARTS
    return found


def residuals_path(events: Path) -> Path:
    """The file beside a file of events."""
    return events.with_name(events.name.split(".")[0] + RESIDUALS)
