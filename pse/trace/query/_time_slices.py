"""Time slices of the coscheduled layer, and the operations that were matched in them."""

from __future__ import annotations

import numpy as np

from pse.trace.format._events import EventType
from pse.trace.format._field_values import Array
from pse.trace.query._column_extraction import Extraction
from pse.trace.store._trace_files import TraceFiles

TIME_SLICE_DTYPE = np.dtype(
    [
        ("rank", "<u4"),  # whose process ran it
        ("communicator", "<u4"),  # this rank's number for it
        ("slice", "<u4"),
        ("timed", "?"),  # False: it began because a rank blocked
        ("begin", "<i8"),  # ns
        ("end", "<i8"),  # ns
        ("exchange", "<u4"),  # ns from its begin until descriptors were exchanged; the rest was scheduling
        ("operations", "<u4"),  # that it scheduled
    ]
)
SLICE_MATCH_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("communicator", "<u4"),  # this rank's number for it
        ("slice", "<u4"),
        ("peer", "<u4"),  # the other rank in the communicator, or the root
        ("collective", "?"),
        ("send", "?"),
        ("request", "<u4"),  # 0: a blocking call
        ("begin", "<i8"),  # ns: it was matched
        ("end", "<i8"),  # ns: the rank saw it complete; sends: that it was matched
    ]
)


def time_slices(trace: TraceFiles) -> Array:
    """See `Trace.time_slices`."""
    return _SLICES.rows(trace, EventType.TIME_SLICE)


def slice_matches(trace: TraceFiles) -> Array:
    """See `Trace.slice_matches`."""
    return _MATCHES.rows(trace, EventType.SLICE_MATCH)


_SLICES = Extraction(
    TIME_SLICE_DTYPE, communicator="a.high", slice="a.low", timed="flags&1", begin="time(b)",
    end="time(time)", exchange="c.low", operations="c.high",
)  # fmt: skip
_MATCHES = Extraction(
    SLICE_MATCH_DTYPE, communicator="c.low", slice="a.low", peer="a.high", collective="flags&1",
    send="flags&2", request="c.high", begin="time(b)", end="time(time)",
)  # fmt: skip
