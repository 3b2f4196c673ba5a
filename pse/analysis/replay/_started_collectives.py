"""Calls that wait for requests of collective operations, or test them: they are not for messages."""

from __future__ import annotations

import numpy as np

from pse.analysis.cube._metrics import metric_of_routine
from pse.analysis.replay._rank_calls import RankCalls
from pse.trace import Collective, EventType
from pse.trace.format import Array, high32

MESSAGES, COLLECTIVES = "mpi_point2point", "mpi_collective"
_METRICS = {
    Collective.BARRIER: metric_of_routine("MPI_Barrier"),
    Collective.CREATE_COMMUNICATOR: metric_of_routine("MPI_Comm_dup"),
}
_OF_COLLECTIVES = (EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END)


def calls_for_collectives(calls: RankCalls, is_for_messages: Array) -> dict[str, Array]:
    """Find calls that have to do with requests of collective operations only.

    Parameters
    ----------
    calls : RankCalls
        The calls of a rank.
    is_for_messages : array of bool, shape (calls,)
        Whether the routine's time counts as that of messages.

    Returns
    -------
    dict of str to array of int64
        By the metric that the time of these calls belongs to, the calls.
    """
    kind = _kinds(calls)
    if not kind.any():
        return {}
    call = calls.operations["call"].astype("<i8")
    inside = call < len(is_for_messages)
    left = is_for_messages.copy()
    left[call[inside & (kind == 0)]] = False
    found = {}
    for metric, codes in _by_metric(kind).items():
        chosen = np.unique(call[inside & np.isin(kind, codes)])
        found[metric] = chosen[left[chosen]]
        left[chosen] = False
    return found


def _kinds(calls: RankCalls) -> Array:
    """For each operation of a rank the kind of the collective one that has its request, 0 for none."""
    types, request = np.ascontiguousarray(calls.operations["type"]), high32(calls.operations["c"])
    begins = np.flatnonzero((types == EventType.MPI_COLLECTIVE_BEGIN) & (request > 0))
    kind = np.zeros(len(types), "u1")
    if len(begins):
        of_request = np.isin(types, (*_OF_COLLECTIVES, EventType.MPI_REQUEST_TEST)) & (request > 0)
        rows = np.flatnonzero(of_request)
        numbers, first = np.unique(request[begins], return_index=True)
        place = np.minimum(np.searchsorted(numbers, request[rows]), len(numbers) - 1)
        flags = calls.operations["flags"][begins[first[place]]]
        kind[rows] = np.where(numbers[place] == request[rows], flags, 0)
    return kind


def _by_metric(kind: Array) -> dict[str, list[int]]:
    """The kinds that are there, by metric; what exchanges data comes first: a call for it counts there."""
    found: dict[str, list[int]] = {COLLECTIVES: []}
    for code in np.unique(kind[kind > 0]).tolist():
        metric = next((_METRICS[known] for known in _METRICS if known == code), COLLECTIVES)
        found.setdefault(metric, []).append(code)
    return found
