"""Messages that a blocking probe has waited for: the wait for a late sender is in the probe.

A probe finds the first message of its kind that no receive takes that was posted before; so that one is
received by the next receive of this kind that is posted.
"""

from __future__ import annotations

import numpy as np

from pse.analysis.replay._columns import Columns
from pse.analysis.replay._operation_rows import calls_of
from pse.analysis.replay._rank_calls import RankCalls
from pse.trace import EventType
from pse.trace.format import Array, low32


def move_to_probes(calls: RankCalls, paths: Array, receives: Columns) -> None:
    """Let receives of a rank that have a probe be completed by the first one that found their message."""
    types = np.ascontiguousarray(calls.operations["type"])
    probes = np.flatnonzero(types == EventType.MPI_PROBE)
    if not len(probes):
        return
    rows = np.concatenate([probes, np.flatnonzero(types == EventType.MPI_RECEIVE)])
    position = np.concatenate([probes, receives["order"]])
    communicator, kind = low32(calls.operations["c"][rows]), calls.operations["b"][rows]
    order = np.lexsort((position, kind, communicator))
    is_probe = order < len(probes)
    is_new = np.ones(len(order), bool)  # The first of its kind, or after a receive.
    is_new[1:] = ~is_probe[:-1] | (communicator[order[1:]] != communicator[order[:-1]])
    is_new[1:] |= kind[order[1:]] != kind[order[:-1]]
    first = order[np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))]
    found = np.flatnonzero(~is_probe & (first < len(probes)))
    chosen, call = order[found] - len(probes), calls_of(calls, probes[first[found]])
    inside = call >= 0
    chosen, call = chosen[inside], call[inside]
    receives["call"][chosen], receives["path"][chosen] = call, paths[call]
    receives["enter"][chosen], receives["leave"][chosen] = calls.enter[call], calls.leave[call]
