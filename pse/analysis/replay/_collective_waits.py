"""Waiting in collective operations: the parts of all ranks put together, and the formulas of their kinds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from pse.analysis.clocks._clock_condition import likely_bounds
from pse.analysis.patterns import _collective as collective
from pse.analysis.patterns._collective import Operations
from pse.analysis.patterns._grid import spans_metahosts
from pse.analysis.replay._collective_parts import EDGE_DTYPE, PART_DTYPE
from pse.analysis.replay._columns import Columns
from pse.analysis.replay._communicators import spread
from pse.analysis.replay._locations import Metahosts
from pse.analysis.replay._peers import Peers
from pse.analysis.replay._synchronizations import JOINT_DTYPE
from pse.trace import NONE, Collective
from pse.trace.format import Array

_Formula = Callable[[Operations], Array]
_PATTERNS: tuple[tuple[tuple[int, ...], _Formula, tuple[tuple[str, _Formula], ...]], ...] = (
    (
        collective.BARRIERS,
        collective.last_of_all,
        (
            ("mpi_barrier_wait", collective.wait_at_barrier),
            ("mpi_barrier_completion", collective.barrier_completion),
        ),
    ),
    (
        collective.N_TO_N,
        collective.last_sender,
        (
            ("mpi_wait_nxn", collective.wait_at_n_to_n),
            ("mpi_nxn_completion", collective.n_to_n_completion),
        ),
    ),
    (collective.ONE_TO_N, collective.the_root, (("mpi_latebroadcast", collective.late_broadcast),)),
    (collective.N_TO_ONE, collective.first_sender, (("mpi_earlyreduce", collective.early_reduce),)),
    (
        collective.AMONG_NEIGHBORS,
        collective.last_neighbour,
        (("mpi_neighbor_wait", collective.wait_for_neighbours),),
    ),
    (collective.SCANS, collective.last_sender_before, (("mpi_earlyscan", collective.early_scan),)),
    (collective.MEETINGS, collective.last_of_all, (("mpi_other_wait", collective.wait_at_meeting),)),
)
"""Kinds of operations, for whom ranks wait, and the metrics and formulas of each."""


_STARTED: dict[str, tuple[int, ...]] = {
    "mpi_nonblocking_wait": tuple(
        kind for kind in Collective if kind not in (*collective.BARRIERS, *collective.MEETINGS)
    ),
    "mpi_nonblocking_barrier_wait": collective.BARRIERS,
    "mpi_other_wait": collective.MEETINGS,
}
"""Metrics of operations that are not blocking, and of which operations they are."""
_OF_STARTED: dict[_Formula, _Formula] = {collective.first_sender: collective.last_sender_to_root}
"""For whom ranks wait in these instead: what completes one waits for the last whose data it needs."""
_FIELDS = ("wait", "completion")
WAIT_DTYPE = np.dtype([*((name, "<f8") for name in _FIELDS), ("far", "?")])
"""Waiting times of a part in the patterns of its kind, in their order, ns; whether several metahosts wait."""
LATE_DTYPE = np.dtype([("late", "<u4"), ("time", "<f8")])
"""For which rank of the job others wait in an operation, and when it comes, ns; nan: the part is left out."""
SYNCHRONIZING = (*collective.BARRIERS, *collective.N_TO_N)
"""Operations that no rank leaves before the last one has come."""


class CollectiveOperations:
    """The collective operations whose parts meet in this process; collective.

    Parameters
    ----------
    parts : Columns of PART_DTYPE
        Those of this process's streams.
    edges : Columns of EDGE_DTYPE
        The neighbours in them.
    peers : Peers
        All processes.

    Attributes
    ----------
    parts : Columns of PART_DTYPE
        All parts of the operations that met here and are complete, by operation, then by place.
    edges : array of int64, shape (2, edges)
        Among neighbours that need data, whose part sends to whose, as rows of `parts`.
    left_out : int
        How many operations met here of which the trace does not have all parts.
    """

    def __init__(self, parts: Columns, edges: Columns, peers: Peers) -> None:
        to, edges_to = (spread(rows["identity"], rows["ordinal"], peers.size) for rows in (parts, edges))
        self._delivery = peers.deliver(parts, PART_DTYPE, np.where(parts["size"] == 1, peers.rank, to))
        self._rows, self.left_out = _complete_operations(self._delivery.rows)
        self.parts = self._delivery.rows.take(self._rows)
        self.edges = _edges(self.parts, peers.deliver(edges, EDGE_DTYPE, edges_to).rows)
        self.parts["source"] = _last_sources(self.parts, self.edges)

    def waits(self, metahosts: Metahosts) -> Array:
        """How long the ranks of this process waited in their parts, as WAIT_DTYPE; collective."""
        waits = np.zeros(len(self._delivery.rows), WAIT_DTYPE)
        for chosen, name, found in _waits(self.parts):
            waits[name][self._rows[chosen]] = found
        if metahosts.several:
            starts = operation_starts(self.parts)
            waits["far"][self._rows] = spans_metahosts(metahosts.of(self.parts["rank"]), starts)
        return self._delivery.reply(waits)

    def late_ranks(self) -> Array:
        """For whom the ranks of this process waited in their parts, as LATE_DTYPE; collective."""
        found = np.zeros(len(self._delivery.rows), LATE_DTYPE)
        found["time"] = np.nan
        for (kinds, for_whom, _), is_started in itertools.product(_PATTERNS, (False, True)):
            of_kind = np.isin(self.parts["operation"], kinds) & (self.parts["is_started"] == is_started)
            if len(chosen := np.flatnonzero(of_kind)):
                parts, to = self.parts.take(chosen), self._rows[chosen]
                rows = (_OF_STARTED.get(for_whom, for_whom) if is_started else for_whom)(operations_of(parts))
                found["late"][to] = parts["rank"][rows]
                found["time"][to] = np.where(rows >= 0, parts["begin"][rows], np.nan)
        return self._delivery.reply(found)


def joint_parts(parts: Columns, times: Array) -> Array:
    """Of a rank's parts those in operations that nobody leaves before the last one comes, as JOINT_DTYPE.

    `times` says when the last one came, ns; nan: the part is left out.
    """
    is_joint = np.isin(parts["operation"], SYNCHRONIZING) | (
        np.isin(parts["operation"], collective.MEETINGS) & (times <= parts["end"])
    )
    chosen = np.flatnonzero(is_joint & ~parts["is_started"] & (parts["side"] == 0) & np.isfinite(times))
    found = np.empty(len(chosen), JOINT_DTYPE)
    found["rank"], found["identity"] = parts["rank"][chosen], parts["identity"][chosen]
    found["time"] = times[chosen]
    return found


def metrics_of(parts: Columns) -> Iterator[tuple[str, str, Array]]:
    """The metrics, the field of their waiting times, and which of the parts are of their kinds."""
    operations, is_started = parts["operation"], parts["is_started"]
    for metric, kinds in _STARTED.items():
        yield metric, "wait", np.flatnonzero(np.isin(operations, kinds) & is_started)
    for kinds, _, patterns in _PATTERNS:
        chosen = np.flatnonzero(np.isin(operations, kinds) & ~is_started)
        for (metric, _), name in zip(patterns, _FIELDS, strict=False):
            yield metric, name, chosen


def operations_of(parts: Columns) -> Operations:
    """The parts of operations as formulas take them; they come by operation, then by place."""
    begin, end, sends, receives = (parts[name] for name in ("begin", "end", "sends", "receives"))
    is_root = parts["root"] == parts["place"]
    starts = operation_starts(parts)
    return Operations(starts, parts["side"], begin, end, sends, receives, is_root, parts["source"])


def _waits(parts: Columns) -> Iterator[tuple[Array, str, Array]]:
    """Rows, the field of the waiting time, and the waiting times."""
    started = np.flatnonzero(parts["is_started"])
    if len(started):
        yield started, "wait", _waits_of_started(parts.take(started))
    for kinds, _, patterns in _PATTERNS:
        chosen = np.flatnonzero(np.isin(parts["operation"], kinds) & ~parts["is_started"])
        if len(chosen):
            operations = operations_of(parts.take(chosen))
            for (_, formula), name in zip(patterns, _FIELDS, strict=False):
                yield chosen, name, formula(operations)


def _waits_of_started(parts: Columns) -> Array:
    """How long the calls that complete operations wait until those have started it whose data is needed."""
    possible = likely_bounds(parts["operation"], operations_of(parts))
    waits: Array = np.maximum(np.minimum(possible, parts["end"]) - parts["enter"], 0.0)
    return np.nan_to_num(waits)


def _edges(parts: Columns, edges: Columns) -> Array:
    """The two ends of edges as rows of parts; those of operations that are not complete are left out."""
    starts = operation_starts(parts)
    if not len(starts):
        return np.empty((2, 0), "<i8")
    known, identity = np.unique(parts["identity"][starts], return_inverse=True)
    key = (identity.astype("<u8") << np.uint64(32)) | parts["ordinal"][starts]
    place = np.minimum(np.searchsorted(known, edges["identity"]), len(known) - 1)
    wanted = (place.astype("<u8") << np.uint64(32)) | edges["ordinal"]
    operation = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    start = starts[operation]
    found = np.stack([start + edges["place"], start + edges["target"]])
    is_there = (known[place] == edges["identity"]) & (key[operation] == wanted)
    is_there &= (edges["target"] < parts["size"][start]) & (edges["target"] != edges["place"])
    found = found[:, is_there]
    return found[:, parts["sends"][found[0]] & parts["receives"][found[1]]]


def _last_sources(parts: Columns, edges: Array) -> Array:
    """For each part the place of the neighbour that sends it data and comes last; NONE: there is none."""
    source, target = edges
    order = np.lexsort((-source, parts["begin"][source], target))  # Of several the first.
    found = np.full(len(parts), NONE, "<u4")
    found[target[order]] = parts["place"][source[order]]
    return found


def _complete_operations(parts: Columns) -> tuple[Array, int]:
    """Rows of operations with all ranks of their communicators, and the number of other operations.

    They come by operation, then by place.  Where ranks differ in what an operation is, it is not complete.
    """
    order = np.lexsort((parts["place"], parts["ordinal"], parts["identity"]))
    parts = parts.take(order)
    starts = operation_starts(parts)
    if not len(starts):
        return order, 0
    counts = np.diff(np.append(starts, len(parts)))
    is_whole = counts == parts["size"][starts]
    others = (parts[name] for name in ("operation", "size", "is_started"))
    for values in (_roots(parts, starts, counts), *others):
        if (values != values[0]).any():
            is_whole &= np.maximum.reduceat(values, starts) == np.minimum.reduceat(values, starts)
    if parts["side"].any():
        first, last = parts["side"][starts], parts["side"][starts + counts - 1]
        least = np.minimum.reduceat(parts["side"], starts)
        is_whole &= (first == least) & (last == np.array([0, 2, 3])[least])
    return order[np.repeat(is_whole, counts)], int((~is_whole).sum())


def _roots(parts: Columns, starts: Array, counts: Array) -> Array:
    """The root that each rank names; where one of two groups names none, that of the other counts."""
    if not parts["side"].any():
        return parts["root"]
    root = np.repeat(np.minimum.reduceat(parts["root"], starts), counts)
    return np.where((parts["side"] > 0) & (parts["root"] == NONE), root, parts["root"])


def operation_starts(parts: Columns) -> Array:
    """The first row of each operation; parts come by operation."""
    is_first = np.ones(len(parts), bool)
    is_first[1:] = (parts["ordinal"][1:] != parts["ordinal"][:-1]) | (
        parts["identity"][1:] != parts["identity"][:-1]
    )
    return np.flatnonzero(is_first)
