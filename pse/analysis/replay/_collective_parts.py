"""A rank's parts in collective operations, as rows that the others need, and the calls that wait for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pse.analysis.cube._metrics import metric_of_routine
from pse.analysis.patterns._collective import AMONG_NEIGHBORS, MEETINGS
from pse.analysis.replay._columns import Columns
from pse.analysis.replay._communicators import Communicators
from pse.analysis.replay._operation_rows import calls_of
from pse.analysis.replay._rank_calls import RankCalls
from pse.trace import NONE, Collective, EventType
from pse.trace.format import Array, distinct, low32
from pse.trace.query import Trace

MESSAGES, COLLECTIVES = "mpi_point2point", "mpi_collective"
_METRICS = {
    Collective.BARRIER: metric_of_routine("MPI_Barrier"),
    **dict.fromkeys(MEETINGS, metric_of_routine("MPI_Comm_dup")),
}
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""By which windows and files of a communicator get identities that no communicator has."""
_OF_COLLECTIVES = (EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END)

PART_DTYPE = np.dtype(
    [
        ("identity", "<u8"),  # of the communicator, or of a window or file that was made with it
        ("size", "<u4"),  # how many ranks it has
        ("ordinal", "<u4"),  # of the operation among the rank's on its communicator
        ("place", "<u4"),  # rank in the communicator
        ("side", "u1"),  # group in it, 1 or 2; 0: it has one
        ("root", "<u4"),  # rank in the communicator
        ("rank", "<u4"),  # rank of the job
        ("operation", "u1"),  # Collective
        ("sends", "?"),  # more than 0 bytes
        ("receives", "?"),  # more than 0 bytes
        (
            "source",
            "<u4",
        ),  # of the neighbours that send data the last to come: rank in the communicator, or NONE
        ("is_started", "?"),  # it is not blocking
        ("begin", "<f8"),  # ns: when it began, or was started
        ("enter", "<f8"),  # ns: when the call was entered that completes it; of a blocking one its begin
        ("end", "<f8"),  # ns
    ]
)
"""A rank's part in a collective operation."""
EDGE_DTYPE = np.dtype(
    [
        ("identity", "<u8"),  # as in PART_DTYPE
        ("ordinal", "<u4"),  # as in PART_DTYPE
        ("place", "<u4"),  # as in PART_DTYPE
        ("target", "<u4"),  # the neighbour: rank in the communicator
    ]
)
"""A neighbour that a rank sends to in a collective operation."""


@dataclass(frozen=True)
class RankParts:
    """What a rank did in collective operations.

    Parameters
    ----------
    rows : Columns of PART_DTYPE
        Its parts in those that ended, in the order of their begins.
    edges : array of EDGE_DTYPE
        The neighbours that it sends to in each of them.
    paths, calls : arrays, shape (parts,)
        Their call paths, and the calls that completed them.
    unended, unknown, outer : int
        How many did not end, how many are on communicators that the rank did not describe, and how many on
        those with processes of another job.
    """

    rows: Columns
    edges: Array
    paths: Array
    calls: Array
    unended: int
    unknown: int
    outer: int


def collective_parts(trace: Trace, calls: RankCalls, paths: Array, known: Communicators) -> RankParts:
    """Find the parts of a rank in collective operations.

    `paths` has the call path of each call, and one behind.
    """
    begins = np.flatnonzero(calls.types == EventType.MPI_COLLECTIVE_BEGIN)
    ends = _ends(calls.types, calls.on, begins)
    have_failed = _have_failed(trace, calls, begins, ends)
    if have_failed.any():
        begins, ends = begins[~have_failed], ends[~have_failed]
    own = low32(calls.on[begins])
    number, is_outer = known.number(calls.rank, own), known.of_other_jobs(calls.rank, own)
    shared = low32(calls.operations["b"][begins])
    ordinals = _ordinals(number.astype("<u8") << np.uint64(32) | shared)
    chosen = np.flatnonzero((ends >= 0) & (number != NONE))
    rows = _rows(trace, calls, begins[chosen], ends[chosen])
    _tell_place(rows, calls.rank, number[chosen], own[chosen], known)
    rows["identity"] ^= shared[chosen] * _MIX
    rows["ordinal"] = ordinals[chosen]
    call = calls_of(calls, ends[chosen])
    unknown = int((number == NONE).sum() - is_outer.sum())
    edges = _edges(rows, calls.rank, own[chosen], known)
    unended, outer = int((ends < 0).sum()), int(is_outer.sum())
    return RankParts(rows, edges, paths[call], call, unended, unknown, outer)


def _rows(trace: Trace, calls: RankCalls, begins: Array, ends: Array) -> Columns:
    rows, operations = Columns.empty(PART_DTYPE, len(ends)), calls.operations
    rows["rank"], rows["operation"] = calls.rank, operations["flags"][ends]
    rows["root"] = low32(operations["a"][begins])
    rows["sends"], rows["receives"] = operations["a"][ends] > 0, operations["b"][ends] > 0
    rows["is_started"], rows["source"] = calls.requests[ends] != 0, NONE
    rows["begin"], rows["end"] = calls.times(trace, begins), calls.times(trace, ends)
    if not rows["is_started"].any():
        rows["enter"] = rows["begin"]
        return rows
    entered = calls.ends[0][calls_of(calls, ends)]
    rows["enter"] = np.where(rows["is_started"], entered, rows["begin"])
    return rows


def _tell_place(rows: Columns, rank: int, number: Array, own: Array, known: Communicators) -> None:
    """Say which communicators operations are on, and where the rank is in them."""
    rows["identity"], rows["size"] = known.identities[number], known.sizes[number]
    rows["place"], rows["side"] = known.place(rank, own), known.side(rank, own)


def _edges(rows: Columns, rank: int, own: Array, known: Communicators) -> Array:
    """Whom the rank sends to in operations among neighbours."""
    chosen = np.flatnonzero(np.isin(rows["operation"], AMONG_NEIGHBORS))
    part, target = known.neighbours(rank, own[chosen])
    edges = np.empty(len(part), EDGE_DTYPE)
    for name in ("identity", "ordinal", "place"):
        edges[name] = rows[name][chosen[part]]
    edges["target"] = target
    return edges


def _ends(types: Array, on: Array, begins: Array) -> Array:
    """The ends of operations that begin; -1: not in the trace.  `on` has communicators and requests.

    A request, and 0 on a communicator, has one operation at a time; threads may have several.
    """
    ends = np.flatnonzero(types == EventType.MPI_COLLECTIVE_END)
    if len(ends) == len(begins) and (on[begins] == on[ends]).all() and _take_turns(begins, ends):
        return ends
    rows = np.concatenate([begins, ends])
    order = np.lexsort((rows, on[rows]))
    is_end = order >= len(begins)
    found = np.full(len(begins), -1)
    pairs = np.flatnonzero(is_end[1:] & ~is_end[:-1] & (on[rows[order[1:]]] == on[rows[order[:-1]]]))
    found[order[pairs]] = rows[order[pairs + 1]]
    return found


def _take_turns(begins: Array, ends: Array) -> bool:
    """Whether each begin is followed by its end, and that by the next begin."""
    return bool((begins < ends).all() and (ends[:-1] < begins[1:]).all())


def _have_failed(trace: Trace, calls: RankCalls, begins: Array, ends: Array) -> Array:
    """Which blocking operations have no end though the rank left their call: MPI returned an error."""
    found: Array = (ends < 0) & (calls.requests[begins] == 0)
    if found.any():
        last = trace.run_times(calls.rank, np.array([trace.files[calls.rank].times[1]], "<u8"))[0]
        found &= calls.ends[1][calls_of(calls, begins)] < last
    return found


def _ordinals(groups: Array) -> Array:
    """The position of each row among those of its group."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    found = np.empty(len(groups), "<i8")
    found[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
    return found


# Calls that wait for requests of collective operations, or test them: they are not for messages.


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
        chosen = distinct(call[inside & np.isin(kind, codes)])
        found[metric] = chosen[left[chosen]]
        left[chosen] = False
    return found


def _kinds(calls: RankCalls) -> Array:
    """For each operation of a rank the kind of the collective one that has its request, 0 for none."""
    types, request = calls.types, calls.requests
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
    for code in distinct(kind[kind > 0]).tolist():
        metric = next((_METRICS[known] for known in _METRICS if known == code), COLLECTIVES)
        found.setdefault(metric, []).append(code)
    return found
