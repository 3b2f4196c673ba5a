"""The analysis of a trace by one or several processes: events in, a cube out.

Each process reads the streams of some ranks, each once (`_rank_calls`).  What partners need of them are rows
of arrays (`_operation_rows`).  They travel to the process that has the partner, all in one exchange, and what
that process knows travels back (`_message_matching`, `_collective_waits`); `pse.analysis.patterns` has the
formulas.  No event leaves its process, and none holds more than its own streams and their partners' times.
Rejected: sending each message of the trace again, with times in it, as SCALASCA does: its order has to be
legal then, a damaged trace would hang, and a message costs 1 us instead of 30 ns.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pse._abi.replay import MessageOrder
from pse.analysis.clocks._clock_condition import ClockCondition
from pse.analysis.cube._cube import CAUSE_OF_WAIT_DTYPE, Cube
from pse.analysis.cube._metrics import WAIT_OF_DELAY
from pse.analysis.patterns import _point_to_point as point_to_point
from pse.analysis.patterns._grid import between_metahosts
from pse.analysis.patterns._rings import SHIFT_DTYPE, ring_shifts, shifts_of
from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._clocks import (
    acknowledgements,
    check_clocks,
    clock_problems,
    event_messages,
    longest_run,
    messages_of,
    neighbour_messages,
    repaired,
)
from pse.analysis.replay._collective_parts import (
    EDGE_DTYPE,
    MESSAGES,
    PART_DTYPE,
    RankParts,
    calls_for_collectives,
    collective_parts,
)
from pse.analysis.replay._collective_waits import CollectiveOperations, joint_parts, metrics_of
from pse.analysis.replay._columns import Columns, columns_of, joined
from pse.analysis.replay._communicators import Communicators
from pse.analysis.replay._locations import Places, share_metahosts
from pse.analysis.replay._message_matching import exchange_ends
from pse.analysis.replay._operation_rows import END_DTYPE, message_ends, move_to_probes, open_receives
from pse.analysis.replay._peers import Alone, Peers, Traffic
from pse.analysis.replay._problems import Problems
from pse.analysis.replay._rank_calls import OPERATIONS, RankCalls, read_rank
from pse.analysis.replay._rank_threads import find_threads
from pse.analysis.replay._root_causes import RootCauses, mpi_stays
from pse.analysis.replay._severities import (
    AllWaits,
    Calls,
    Severities,
    longest_of_all,
    tables,
    with_imbalance,
)
from pse.analysis.replay._synchronizations import JOINT_DTYPE, WAITING_DTYPE
from pse.analysis.replay._trace_input import Source, opened
from pse.analysis.waits._backward_walk import STAY_DTYPE
from pse.analysis.waits._unended_calls import unended_routines
from pse.text import printable_text
from pse.trace import NONE, EventType, TextKind, Trace
from pse.trace.format import Array, distinct, low32

if TYPE_CHECKING:
    from mpi4py import MPI


def analyze(
    source: str | os.PathLike[str] | Trace,
    *,
    metahosts: str | os.PathLike[str] | None = None,
    repair: bool = True,
    root_causes: bool | None = None,
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
    root_causes : bool, optional
        Whether delay costs and the critical path are searched too, which takes about as long again; by
        default in traces of up to two million events.

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
    >>> cube = pse.analysis.analyze("mpi1")
    >>> cube.by_region("mpi_latesender")
    {'MPI_Recv': [0.0, 3000.0]}
    """
    cube = analyze_with(source, Alone(), metahosts, repair=repair, root_causes=root_causes)
    assert cube is not None
    return cube


def analyze_parallel(
    source: str | os.PathLike[str],
    comm: MPI.Intracomm,
    *,
    metahosts: str | os.PathLike[str] | None = None,
    repair: bool = True,
    root_causes: bool | None = None,
) -> Cube | None:
    """Analyze a trace by several processes; collective over them.

    Each reads the streams that lie on its node, so every node may have a directory of its own by that name.
    There may be fewer processes than streams, and more: then some have nothing to do.

    Parameters
    ----------
    source : path
        As for `analyze`, on each node.
    comm : mpi4py.MPI.Intracomm
        The processes.
    metahosts : path, optional
        As for `analyze`, on rank 0's node.
    repair : bool, default True
        As for `analyze`.
    root_causes : bool, optional
        As for `analyze`.

    Returns
    -------
    Cube or None
        What `analyze` gives, on rank 0 of the communicator; None elsewhere.

    Raises
    ------
    TraceError
        There is no such trace, or nothing of it can be read; on all processes.
    UsageError
        The file of metahosts can't be read, or contradicts itself; on all processes.

    Examples
    --------
    >>> cube = pse.analysis.analyze_parallel("run1", MPI.COMM_WORLD)  # doctest: +SKIP
    """
    from pse.analysis.replay._mpi_peers import MpiPeers  # Importing it starts MPI.

    return analyze_with(source, MpiPeers(comm), metahosts, repair=repair, root_causes=root_causes)


def analysis_traffic(source: str | os.PathLike[str], comm: MPI.Intracomm) -> Traffic:
    """Analyze a trace as `analyze_parallel` does, and count what a process sends and computes; collective.

    Root causes are not searched: what process 0 gets for them grows as the waits of all ranks.

    Parameters
    ----------
    source : path
        As for `analyze`, on each node.
    comm : mpi4py.MPI.Intracomm
        The processes.

    Returns
    -------
    Traffic
        What this process sent to others, or received from them if that is more, and its CPU time.

    Raises
    ------
    TraceError
        There is no such trace, or nothing of it can be read; on all processes.

    Examples
    --------
    >>> pse.analysis.analysis_traffic("run1", MPI.COMM_WORLD).messages  # doctest: +SKIP
    31
    """
    from pse.analysis.replay._mpi_peers import MpiPeers, polled  # Importing it starts MPI.

    begin = time.thread_time() - polled()
    peers = MpiPeers(comm)
    analyze_with(source, peers, root_causes=False)
    work = time.thread_time() - polled() - begin
    return Traffic(**peers.traffic, work=work)


def analyze_with(
    source: str | os.PathLike[str] | Trace,
    peers: Peers,
    metahosts: str | os.PathLike[str] | None = None,
    *,
    repair: bool = True,
    root_causes: bool | None = None,
) -> Cube | None:
    """Analyze a trace by some processes; the cube is on process 0."""
    title = printable_text(str(source.path if isinstance(source, Trace) else source))
    with opened(source, peers) as found:
        places = share_metahosts(found.streams, found.trace.definitions, metahosts, peers)
        analysis, problems = _with_right_clocks(found, peers, places, repair=repair)
        if root_causes is None:
            root_causes = _count_events(found.trace, peers) <= _FEW_EVENTS
        return analysis.cube(title, problems, root_causes=root_causes)


def _count_events(trace: Trace, peers: Peers) -> int:
    """How many events the streams of all processes have; collective."""
    own = sum(len(file.types) for file in trace.files.values())
    total: int = peers.combined(own, lambda one, other: one + other)
    return total


def wait_states(source: str | os.PathLike[str] | Trace) -> Array:
    """Find every wait in MPI.

    Parameters
    ----------
    source : Trace or path
        As for `analyze`.

    Returns
    -------
    structured array, shape (waits,)
        ``rank``, ``metric`` (place in `METRICS`), ``begin`` and ``end`` of the wait (float64, ns since the
        run's begin).

    Raises
    ------
    TraceError
        There is no such trace, or nothing of it can be read.

    Examples
    --------
    >>> waits = pse.analysis.wait_states("mpi1")
    >>> pse.analysis.METRICS[waits["metric"][0]].title
    'Late sender'
    """
    peers, severities = Alone(), AllWaits()
    with opened(source, peers) as found:
        places = share_metahosts(found.streams, found.trace.definitions, None, peers)
        analysis, _ = _with_right_clocks(found, peers, places, severities)
        analysis.search_mpi()
    return severities.waits(np.array([location.rank for location in places.locations]))


def late_stays(trace: Trace) -> Array:
    """Waits in MPI for ranks that came late, and for threads, by the trace's times: array of STAY_DTYPE."""
    if not any(trace.files[rank].counts[kind] for rank in trace.ranks for kind in OPERATIONS):
        return np.empty(0, STAY_DTYPE)
    peers = Alone()
    with opened(trace, peers) as found:
        places = share_metahosts(found.streams, trace.definitions, None, peers)
        waits = _Analysis(found, peers, places).late_waits()
    return mpi_stays(waits)


@contextlib.contextmanager
def open_repaired(source: str | os.PathLike[str] | Trace, *, repair: bool = True) -> Iterator[Trace]:
    """Open a trace or an OTF2 archive with the times that `analyze` works with.

    Parameters
    ----------
    source : Trace or path
        As for `analyze`.
    repair : bool, default True
        As for `analyze`.

    Yields
    ------
    Trace
        The trace; its problems say what was wrong with clocks.  That of an archive is in a temporary
        directory until the end of the context.

    Raises
    ------
    TraceError
        There is no such trace, or nothing of it can be read.

    Examples
    --------
    >>> with pse.analysis.open_repaired("mpi1") as repaired:
    ...     print(pse.analysis.message_statistics(repaired, "rank").names)
    ('rank 0', 'rank 1')
    """
    peers = Alone()
    with opened(source, peers) as found:
        places = share_metahosts(found.streams, found.trace.definitions, None, peers)
        analysis, problems = _with_right_clocks(found, peers, places, repair=repair, of_events=True)
        yield replace(analysis.trace, problems=(*found.problems, *problems))


def _with_right_clocks(
    found: Source,
    peers: Peers,
    places: Places,
    severities: Severities | None = None,
    *,
    repair: bool = True,
    of_events: bool = False,
) -> tuple[_Analysis, list[str]]:
    """Read all streams, again if their clocks have to be repaired; say what is wrong with clocks.

    `of_events`: a message lasts from event to event, not from call to call; for a process alone.
    """
    analysis = _Analysis(found, peers, places, severities)
    before, after, bounds = analysis.check_clocks(), None, dict[str, float]()
    if before.violations and repair:
        trace, bounds = analysis.repaired_trace(of_events=of_events)
        analysis = _Analysis(replace(found, trace=trace), peers, places, severities)
        after = analysis.check_clocks()
    return analysis, [*clock_problems(before, after, bounds, longest_run(found.trace, peers))]


_FEW_EVENTS = 2_000_000


class _Analysis:
    """The streams of this process, read, with what their partners know of them; collective."""

    def __init__(
        self, source: Source, peers: Peers, places: Places, severities: Severities | None = None
    ) -> None:
        self.trace, self._streams, self._peers = source.trace, source.streams, peers
        self._known, self._tree = Communicators(source.trace, peers), CallTree(source.trace, peers)
        self._where, self._metahosts = places.locations, places.metahosts
        self._severities = severities or Severities()
        self._problems = Problems([*source.problems, *places.problems])
        self._places = np.searchsorted(self._streams.ranks, source.trace.ranks).tolist()
        self._sends, self._send_borders = self._room(EventType.MPI_SEND)
        self._receives, self._receive_borders = self._room(EventType.MPI_RECEIVE)
        self._parts: list[RankParts] = []
        self._for_messages: list[Array] = []
        self._waits: list[Array] | None = None  # Those of which root causes are searched.
        self._joint = [np.empty(0, JOINT_DTYPE)]
        self._problems.say_missing(self._known.mentioned, self._streams.ranks)
        for number in range(len(self._places)):
            self._read(number)
        self._match_messages()
        self._collectives = CollectiveOperations(
            joined(PART_DTYPE, [parts.rows for parts in self._parts]),
            columns_of(np.concatenate([np.empty(0, EDGE_DTYPE), *(parts.edges for parts in self._parts)])),
            peers,
        )
        self._problems.count("collectives", self._collectives.left_out)

    def check_clocks(self) -> ClockCondition:
        """Check whether all that was received was sent before."""
        return check_clocks(self._receives, self._collectives.parts, self._peers)

    def repaired_trace(self, *, of_events: bool) -> tuple[Trace, dict[str, float]]:
        """The trace with times of which the clock condition is true, and how far hosts may still be off."""
        if of_events:
            messages = event_messages(self.trace)
        else:
            messages = messages_of(self._matched.sends, self._receives.take(self._matched.received))
            messages = np.append(messages, acknowledgements(self._sends))
        messages = np.append(messages, neighbour_messages(self._collectives.parts, self._collectives.edges))
        return repaired(self.trace, self._streams, messages, self._collectives.parts, self._peers)

    def cube(self, title: str, problems: Iterable[str], *, root_causes: bool) -> Cube | None:
        """Search the patterns and root causes, and collect what all processes found."""
        self._waits = [np.empty(0, WAITING_DTYPE)] if root_causes else None
        self.search_mpi()
        self._search_waits_between_calls()
        paths, numbers = self._tree.unified(self._peers)
        causes = np.empty(0, CAUSE_OF_WAIT_DTYPE)
        if self._waits is not None:
            causes = self._peers.gathered(self._search_root_causes(self._waits, numbers))
        rows = self._peers.gathered(self._severities.rows(numbers))
        longest = self._peers.gathered(self._severities.kept(numbers))
        shifts = self._peers.gathered(self._shifts(numbers))
        said = (*self._problems.collected(self._peers), *problems)
        if self._peers.rank:
            return None
        values = with_imbalance(tables(rows, len(paths), len(self._where)))
        parents = np.array([path.parent for path in paths])
        rings = ring_shifts(shifts, parents, values["visits"], self._streams.ranks) if len(shifts) else None
        values |= {} if rings is None else {"ring_shifts": rings}
        return Cube(
            tuple(paths), tuple(self._where), values, title, said, longest_of_all(longest), np.sort(causes)
        )

    def late_waits(self) -> Array:
        """The waits in MPI for ranks that came late, and of threads for others: array of WAITING_DTYPE."""
        self._waits = [np.empty(0, WAITING_DTYPE)]
        self.search_mpi()
        waits = np.concatenate(self._waits)
        joins, starts = find_threads(waits, self.trace, self._tree, self._streams, self._peers)
        return np.concatenate([waits, joins, starts])

    def _shifts(self, numbers: Array) -> Array:
        """Receives of one sender only in a call path; `numbers` are those of call paths in all processes."""
        found = [np.empty(0, SHIFT_DTYPE)]
        for rank, borders in zip(self.trace.ranks, self._receive_borders, strict=True):
            ends = self._receives.part(*borders)
            inside = ends["call"] != NONE
            found.append(shifts_of(rank, ends["path"][inside], ends["sender"][inside]))
        rows = np.concatenate(found)
        rows["path"] = numbers[rows["path"]]
        return rows

    def search_mpi(self) -> None:
        """Search the patterns of messages and collective operations."""
        self._search_messages()
        self._search_collectives()

    def _room(self, kind: EventType) -> tuple[Columns, list[tuple[int, int]]]:
        """Room for the ends of messages of all ranks here, and where each rank's begin and end."""
        counts = [self.trace.files[rank].counts[kind] for rank in self.trace.ranks]
        borders = np.cumsum([0, *counts]).tolist()
        return Columns.empty(END_DTYPE, borders[-1]), list(itertools.pairwise(borders))

    def _read(self, number: int) -> None:
        """Read the stream of one of the ranks here."""
        place, rank = self._places[number], self.trace.ranks[number]
        calls = read_rank(self.trace, rank)
        found = self._tree.add_rank(calls)
        paths = found[np.append(calls.node, 0)]
        self._add_times(place, calls, found)
        ends = (
            self._sends.part(*self._send_borders[number]),
            self._receives.part(*self._receive_borders[number]),
        )
        self._problems.count("sends", -message_ends(calls, paths, self._known, *ends))
        self._problems.count("open_receives", open_receives(calls))
        move_to_probes(calls, paths, ends[1])
        parts = collective_parts(self.trace, calls, paths, self._known)
        self._parts.append(parts)
        routines = unended_routines(self.trace, rank) if calls.open_calls else ()
        self._problems.count_open_calls(rank, calls.open_calls, routines)
        self._problems.count_of_rank(rank, calls.lost_ends, "call", "whose begin is not in the trace")
        self._problems.count_of_rank(rank, calls.outside, "operation of MPI", "outside of all calls")
        operation = "collective operation"
        self._problems.count_of_rank(rank, parts.unended, operation, "whose end is not in the trace")
        self._problems.count("collective_parts", parts.unknown)
        self._problems.count("outer_parts", parts.outer)
        self._count_outer_messages(calls)
        for (kind, _), text in self.trace.texts(rank).items():
            if kind == TextKind.NOTE:
                self._problems.say_of_rank(rank, text)

    def _count_outer_messages(self, calls: RankCalls) -> None:
        """Count messages with processes of other jobs, which are not among those without a partner."""
        if not self._known.has_other_jobs(calls.rank):
            return
        for kind, name in ((EventType.MPI_SEND, "sends"), (EventType.MPI_RECEIVE, "receives")):
            on = low32(calls.on[calls.types == kind])
            outer = int(self._known.of_other_jobs(calls.rank, on).sum())
            self._problems.count(name, -outer)
            self._problems.count("outer_messages", outer)

    def _add_times(self, place: int, calls: RankCalls, found: Array) -> None:
        metrics, times = np.array([self._tree.metrics[path] for path in found.tolist()]), calls.nodes["time"]
        is_for_messages = (metrics == MESSAGES)[calls.node]
        for metric, moved in calls_for_collectives(calls, is_for_messages).items():
            is_for_messages[moved] = False
            node, lasted = calls.node[moved], calls.leave[moved] - calls.enter[moved]
            times = times - np.bincount(node, lasted, len(times))
            self._severities.add(metric, place, found[node], lasted)
        self._for_messages.append(is_for_messages)
        for metric in distinct(metrics):
            of_metric = metrics == metric
            self._severities.add(str(metric), place, found[of_metric], times[of_metric])
        for metric, field in (("visits", "visits"), ("bytes_sent", "sent"), ("bytes_received", "received")):
            self._severities.add(metric, place, found, calls.nodes[field].astype("<f8"))

    def _match_messages(self) -> None:
        """Tell each end of a message when the other one was started."""
        sends, receives = self._sends, self._receives
        others = [(sends["communicator"], sends["receiver"]), (receives["communicator"], receives["sender"])]
        sends["receiver"], receives["sender"] = self._known.job_ranks(others)
        self._matched = exchange_ends(sends, receives, self._known, self._streams, self._peers)
        self._problems.count("sends", self._matched.unmatched)
        self._problems.count("receives", len(receives) - len(self._matched.received))

    def _search_messages(self) -> None:
        """Search the patterns of messages."""
        names = [path.name for path in self._tree.paths]
        self._tests = point_to_point.is_test(names)
        self._waiters = point_to_point.waits_for_receiver(names)
        for place, out, back in zip(self._places, self._send_borders, self._receive_borders, strict=True):
            late = self._search_late_senders(place, self._receives.part(*back))
            self._search_late_receivers(place, self._sends.part(*out), late)

    def _search_late_senders(self, place: int, ends: Columns) -> Array:
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
            of_kind = np.where(orders == kind, waits, 0)
            self._add_waits(metric, place, _completing(ends), of_kind, self._far(ends))
        self._keep("mpi_latesender", place, _completing(ends), waits, (ends["sender"], ends["partner"]))
        late: Array = ends["call"][waits > 0]
        return late

    def _search_late_receivers(self, place: int, ends: Columns, late: Array) -> None:
        """Search late receivers among the sends of a rank; calls in `late` waited for senders."""
        waits = point_to_point.late_receiver(ends["partner"], ends["enter"], ends["leave"])
        waits[np.isnan(waits) | ~self._waiters[ends["path"]] | (ends["call"] == NONE)] = 0
        waits[np.isin(ends["call"], late)] = 0
        waits = point_to_point.longest_of_calls(ends["call"], waits)
        self._add_waits("mpi_latereceiver", place, _completing(ends), waits, self._far(ends))
        self._keep("mpi_latereceiver", place, _completing(ends), waits, (ends["receiver"], ends["partner"]))

    def _search_collectives(self) -> None:
        """Search the patterns of collective operations."""
        borders = np.cumsum([len(parts.rows) for parts in self._parts])
        waits = np.split(self._collectives.waits(self._metahosts), borders)
        late = None if self._waits is None else np.split(self._collectives.late_ranks(), borders)
        for number, (place, parts) in enumerate(zip(self._places, self._parts, strict=True)):
            self._leave_out_waits(parts, self._for_messages[number], waits[number])
            for metric, name, chosen in metrics_of(parts.rows):
                calls = Calls(parts.paths, parts.rows["enter"], parts.rows["end"]).of(chosen)
                own = waits[number][chosen]
                self._add_waits(metric, place, calls, own[name], own["far"])
                if late is not None and metric in WAIT_OF_DELAY.values():
                    ended = late[number][chosen]
                    self._keep(metric, place, calls, own[name], (ended["late"], ended["time"]))
            if late is not None:
                self._joint.append(joint_parts(parts.rows, late[number]["time"]))

    def _leave_out_waits(self, parts: RankParts, for_messages: Array, waits: Array) -> None:
        """Of operations that don't block count one of each call; none if it tests or is for messages."""
        started = np.flatnonzero(parts.rows["is_started"])
        found = np.where(for_messages[parts.calls[started]], 0, waits["wait"][started])
        found[self._tests[parts.paths[started]]] = 0
        waits["wait"][started] = point_to_point.longest_of_calls(parts.calls[started], found)

    def _search_root_causes(self, waits: list[Array], numbers: Array) -> Array:
        """Search for what late ranks did instead, and the critical path; collective."""
        causes = RootCauses(self.trace, self._streams, self._peers, self._tree, numbers, self._metahosts)
        return causes.search(np.concatenate(waits), np.concatenate(self._joint), self._severities)

    def _keep(self, metric: str, place: int, calls: Calls, waits: Array, late: tuple[Array, Array]) -> None:
        """Keep waits for the search of root causes; `late` are the ranks that came late, and when."""
        if self._waits is None:
            return
        chosen = np.flatnonzero(waits > 0)
        rows = np.zeros(len(chosen), WAITING_DTYPE)
        rows["rank"], rows["state"] = self._streams.ranks[place], list(WAIT_OF_DELAY.values()).index(metric)
        rows["path"], rows["begin"], _ = calls.of(chosen)
        rows["wait"], rows["late"], rows["time"] = waits[chosen], late[0][chosen], late[1][chosen]
        self._waits.append(rows)

    def _search_waits_between_calls(self) -> None:
        """Find the longest waits of the runtime; how long all of them are is known."""
        waits = self.trace.waits()
        for place, rank in zip(self._places, self.trace.ranks, strict=True):
            own = waits[waits["rank"] == rank]
            if not len(own):
                continue
            for reason, site in np.unique(own[["reason", "site"]]).tolist():
                of_kind = own[(own["reason"] == reason) & (own["site"] == site)]
                path = self._tree.wait_path(rank, reason, site)
                if path < 0:
                    continue
                begin, end = (of_kind[name].astype("<f8") for name in ("begin", "end"))
                calls = Calls(np.full(len(of_kind), path), begin, end)
                self._severities.keep_longest(self._tree.metrics[path], place, calls, end - begin)

    def _far(self, ends: Columns) -> Array:
        """Whether sender and receiver are on different metahosts."""
        if not self._metahosts.several:
            return np.zeros(len(ends), bool)
        return between_metahosts(*(self._metahosts.of(ends[end]) for end in ("sender", "receiver")))

    def _add_waits(self, metric: str, place: int, calls: Calls, waits: Array, far: Array) -> None:
        """Add waiting times to a metric, those of different metahosts to its grid version."""
        if self._metahosts.several:
            self._severities.add_waits(f"{metric}_grid", place, calls, np.where(far, waits, 0))
            waits = np.where(far, 0, waits)
        self._severities.add_waits(metric, place, calls, waits)


def _completing(ends: Columns) -> Calls:
    """The calls that complete the ends of messages."""
    return Calls(ends["path"], ends["enter"], ends["leave"])
