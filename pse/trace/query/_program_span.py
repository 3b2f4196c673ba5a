"""Where the program's own part of a rank's life begins and ends: before it is start-up, after it the end."""

from __future__ import annotations

import numpy as np

from pse.trace.format import Array, EventType, Phase
from pse.trace.query._trace import Trace

ENDS = (EventType.PHASE, EventType.TEXT, EventType.COUNTER, EventType.CLOCK_SYNC)
"""Events that belong to the start and the end of a rank."""


def program_span(trace: Trace, rank: int, kind: Array) -> tuple[int, int | None] | None:
    """Find the events of a rank with which its part of the program begins and ends.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    rank : int
        Rank of the job.
    kind : array of uint16, shape (events,)
        The types of its events.

    Returns
    -------
    tuple of int and (int or None), or None
        Index of the event from which on the program runs, and of the last one of the program: afterwards the
        rank only waits for the others to be done.  None where the trace doesn't say.

    Examples
    --------
    >>> program_span(trace, 0, trace.events(0)["type"])
    (1, 21)
    """
    phases, numbers = np.flatnonzero(kind == EventType.PHASE), trace.select(rank, EventType.PHASE)["a"]
    ready, done = phases[numbers == Phase.READY], phases[numbers == Phase.DONE]
    if not len(ready):
        return None
    if not len(done):
        return int(ready[0]), None
    own = np.flatnonzero((kind[: done[0]] < EventType.REGION_ENTER) & ~np.isin(kind[: done[0]], ENDS))
    return int(ready[0]), int(own[-1] if len(own) else ready[0])


def outside_of_program(trace: Trace, rank: int) -> list[tuple[int, int]]:
    """Give the times in which a rank starts and ends, of those that are known.

    Parameters
    ----------
    trace : Trace
        From `pse.trace.open`.
    rank : int
        Rank of the job.

    Returns
    -------
    list of (int, int)
        Begins and ends, ns since the run's origin.

    Examples
    --------
    >>> outside_of_program(trace, 0)
    [(0, 1000000), (29000000, 30000000)]
    """
    events = trace.files[rank].events
    span = program_span(trace, rank, trace.files[rank].types)
    if span is None:
        return []
    first, last = span
    places = [0, first] + ([] if last is None else [last, len(events) - 1])
    times = trace.run_times(rank, events["time"][places]).tolist()
    return [(begin, end) for begin, end in zip(times[::2], times[1::2], strict=True) if end > begin]
