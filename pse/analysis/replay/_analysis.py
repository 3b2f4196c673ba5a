"""The analysis of a trace in one process: all ranks' events in, a cube out.

Each rank's events are read once (`_rank_calls`).  What its partners need of them are rows of arrays
(`_operation_rows`), which are put together with theirs (`_message_matching`, `_collective_waits`);
`pse.analysis.patterns` has the formulas.  Rejected: sending each message of the trace again, with times in
it, as SCALASCA does: arrays of all messages are matched at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np

from pse._abi.replay import MessageOrder
from pse.analysis.clocks._clock_condition import ClockCondition
from pse.analysis.cube._cube import Cube, Location
from pse.analysis.patterns import _point_to_point as point_to_point
from pse.analysis.patterns._grid import between_metahosts, spans_metahosts
from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._clocks import check_collectives, check_messages, clock_problems, repaired
from pse.analysis.replay._collective_waits import collective_waits, complete_operations, operation_starts
from pse.analysis.replay._locations import MetahostNumbers, placed
from pse.analysis.replay._message_matching import match_ends
from pse.analysis.replay._operation_rows import (
    END_DTYPE,
    PART_DTYPE,
    collective_parts,
    message_ends,
    moved_bytes,
)
from pse.analysis.replay._rank_calls import RankCalls, read_rank
from pse.analysis.replay._severities import Severities
from pse.analysis.replay._sources import opened
from pse.text import count_text
from pse.trace import NONE
from pse.trace.format import Array
from pse.trace.query import Communicators, Trace


def analyze(
    source: str | os.PathLike[str] | Trace,
    *,
    metahosts: str | os.PathLike[str] | None = None,
    repair: bool = True,
) -> Cube:
    """Find out where the time of all ranks went, and how long they waited in MPI for each other.

    Parameters
    ----------
    source : Trace or path
        A trace, its directory, or an OTF2 archive: its anchor file ``traces.otf2`` or the directory of that.
    metahosts : path, optional
        A file that says on which metahosts ranks ran, instead of what the trace says.
    repair : bool, default True
        Whether times are repaired by which messages were received before they were sent (the controlled
        logical clock).

    Returns
    -------
    Cube
        Times, wait states and counts for each call path and location.

    Raises
    ------
    TraceError
        There is no such trace, or nothing of it can be read.
    UsageError
        The file of metahosts can't be read, or contradicts itself.

    Examples
    --------
    >>> cube = pse.analysis.analyze("run1")  # doctest: +SKIP
    >>> cube.by_region("mpi_latesender")  # doctest: +SKIP
    {'MPI_Recv': [0.0, 3000.0]}
    """
    with opened(source) as (trace, notes):
        title = str(trace.path if isinstance(source, Trace) else source)
        places, unplaced = placed(trace, metahosts)
        analysis = _Analysis(trace, title, [*notes, *unplaced], places)
        before, after = analysis.check_clocks(), None
        if before.violations and repair:
            trace = analysis.repaired_trace()
            analysis = _Analysis(trace, title, [*notes, *unplaced], places)
            after = analysis.check_clocks()
        return analysis.cube(clock_problems(trace, before, after))


class _Analysis:
    def __init__(self, trace: Trace, title: str, notes: Sequence[str], places: Sequence[Location]) -> None:
        self._title, self._locations = title, tuple(places)
        self._metahosts = MetahostNumbers(trace.ranks, places)
        self._trace, self._known, self._tree = trace, Communicators(trace), CallTree(trace)
        self._severities = Severities()
        self._places = {rank: place for place, rank in enumerate(trace.ranks)}
        self._problems = [*notes, *trace.problems]
        for rank in sorted(self._known.ranks - set(trace.ranks)):
            self._problems.append(f"rank {rank}: the trace has none of its events")
        self._sends: list[Array] = [np.empty(0, END_DTYPE)]
        self._receives: list[Array] = [np.empty(0, END_DTYPE)]
        self._parts: list[Array] = [np.empty(0, PART_DTYPE)]

        for rank in trace.ranks:
            self._read(self._places[rank], rank)
        self._match_messages()
        self._collectives, others = complete_operations(np.concatenate(self._parts), self._known)
        self._say(others, "collective operation", "that the trace does not have of all ranks: left out")

    def check_clocks(self) -> ClockCondition:
        """Check whether all that was received was sent before."""
        return check_messages(self._received) + check_collectives(self._collectives)

    def repaired_trace(self) -> Trace:
        """The trace with times of which the clock condition is true."""
        sent, received = self._matched
        return repaired(self._trace, self._sent[sent], self._received[received], self._collectives)

    def cube(self, problems: Iterable[str]) -> Cube:
        """Search the patterns."""
        self._search_messages()
        self._search_collectives()
        values = self._severities.finish(len(self._tree.paths), len(self._trace.ranks))
        told = (*self._problems, *problems)
        return Cube(tuple(self._tree.paths), self._locations, values, self._title, told)

    def _read(self, place: int, rank: int) -> None:
        calls = read_rank(self._trace, rank)
        found = self._tree.add_rank(calls)
        paths = found[calls.node]
        self._add_times(place, calls, found)
        for metric, at, moved in moved_bytes(calls, paths):
            self._severities.add(metric, place, at, moved)
        sends, receives = message_ends(calls, paths, self._known)
        parts, unended = collective_parts(self._trace, calls, paths, self._known)
        self._sends.append(sends)
        self._receives.append(receives)
        self._parts.append(parts)
        self._say(calls.open_calls, "call", "whose end is not in the trace", rank)
        self._say(calls.lost_ends, "call", "whose begin is not in the trace", rank)
        self._say(calls.outside, "operation of MPI", "outside of all calls", rank)
        self._say(unended, "collective operation", "whose end is not in the trace", rank)

    def _say(self, count: int, noun: str, rest: str, rank: int | None = None) -> None:
        if count:
            where = "" if rank is None else f"rank {rank}: "
            plural = noun.replace("operation", "operations") if "operation" in noun else None
            self._problems.append(f"{where}{count_text(count, noun, plural)} {rest}")

    def _add_times(self, place: int, calls: RankCalls, found: Array) -> None:
        metrics = np.array([self._tree.metrics[path] for path in found.tolist()])
        for metric in np.unique(metrics):
            of_metric = metrics == metric
            self._severities.add(str(metric), place, found[of_metric], calls.nodes["time"][of_metric])
        self._severities.add("visits", place, found, calls.nodes["visits"].astype("<f8"))

    def _match_messages(self) -> None:
        """Tell each end of a message when the other one was started."""
        sends, receives = np.concatenate(self._sends), np.concatenate(self._receives)
        sent, received = match_ends(sends, receives)
        self._sent, self._received, self._matched = sends, receives, (sent, received)
        sends["partner"][sent] = receives["start_enter"][received]
        receives["partner"][received] = sends["start_enter"][sent]
        self._say(len(sends) - len(sent), "send", "without a receive in the trace")
        self._say(len(receives) - len(received), "receive", "without a send in the trace")

    def _search_messages(self) -> None:
        """Search the patterns of messages."""
        names = [path.name for path in self._tree.paths]
        self._tests = point_to_point.is_test(names)
        self._waiters = point_to_point.waits_for_receiver(names)
        self._wait_alls = np.array([name in ("MPI_Waitall", "MPI_Waitall_c") for name in names], bool)
        borders = [np.cumsum([len(ends) for ends in kept[1:-1]]) for kept in (self._sends, self._receives)]
        own = [np.split(ends, at) for ends, at in zip((self._sent, self._received), borders, strict=True)]
        for place, (own_sends, own_receives) in enumerate(zip(*own, strict=True)):
            late = self._search_late_senders(place, own_receives)
            self._search_late_receivers(place, own_sends, late)

    def _search_late_senders(self, place: int, ends: Array) -> Array:
        """Search late senders and wrong order among the receives of a rank; give the calls that waited."""
        waits = point_to_point.late_sender(ends["partner"], ends["enter"], ends["leave"])
        waits[np.isnan(waits) | self._tests[ends["path"]]] = 0
        waits = point_to_point.longest_of_calls(ends["call"], waits)
        orders = point_to_point.messages_in_wrong_order(ends["partner"], waits, ends["sender"], ends["call"])
        for metric, kind in (
            ("mpi_latesender", MessageOrder.RIGHT),
            ("mpi_lswo_same", MessageOrder.SAME_SOURCE),
            ("mpi_lswo_different", MessageOrder.OTHER_SOURCE),
        ):
            self._add_waits(metric, place, ends["path"], np.where(orders == kind, waits, 0), self._far(ends))
        late: Array = ends["call"][waits > 0]
        return late

    def _search_late_receivers(self, place: int, ends: Array, late: Array) -> None:
        """Search late receivers among the sends of a rank; calls in `late` waited for senders."""
        waits = point_to_point.late_receiver(ends["partner"], ends["enter"], ends["leave"])
        waits[np.isnan(waits) | ~self._waiters[ends["path"]] | (ends["call"] == NONE)] = 0
        waits[self._wait_alls[ends["path"]] & np.isin(ends["call"], late)] = 0
        waits = point_to_point.longest_of_calls(ends["call"], waits)
        self._add_waits("mpi_latereceiver", place, ends["path"], waits, self._far(ends))

    def _search_collectives(self) -> None:
        """Search the patterns of collective operations."""
        whole = self._collectives
        spanning = spans_metahosts(self._metahosts.of(whole["rank"]), operation_starts(whole))
        for metric, rows, waits, far in collective_waits(whole, spanning):
            waited = np.flatnonzero(waits > 0)
            waited = waited[np.argsort(rows["rank"][waited], kind="stable")]
            _, first = np.unique(rows["rank"][waited], return_index=True)
            for own in np.split(waited, first)[1:]:
                place = self._places[int(rows["rank"][own[0]])]
                self._add_waits(metric, place, rows["path"][own], waits[own], far[own])

    def _far(self, ends: Array) -> Array:
        """Whether sender and receiver are on different metahosts."""
        if not self._metahosts.are_several:
            return np.zeros(len(ends), bool)
        return between_metahosts(*(self._metahosts.of(ends[end]) for end in ("sender", "receiver")))

    def _add_waits(self, metric: str, place: int, paths: Array, waits: Array, far: Array) -> None:
        """Add waiting times to a metric, those of different metahosts to its grid version."""
        if not self._metahosts.are_several:
            self._severities.add(metric, place, paths, waits)
            return
        self._severities.add(metric, place, paths, np.where(far, 0, waits))
        self._severities.add(f"{metric}_grid", place, paths, np.where(far, waits, 0))
