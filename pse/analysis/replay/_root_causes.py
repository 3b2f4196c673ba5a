"""Root causes of waits: delay costs, and the critical path; `pse.analysis.patterns` has the formulas.

For each wait, the time of both ranks by call path since they last synchronized meets in the process that has
the late rank.  What of a wait is due to the late rank's own waits goes back to these.  Process 0 does that
for all waits, and finds the critical path: both go from the end of the run to its begin, wait by wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pse.analysis._activity import rank_activity
from pse.analysis._replay import propagate_waits
from pse.analysis.cube._cube import CAUSE_OF_WAIT_DTYPE
from pse.analysis.cube._metrics import BY_NAME, GRID, GRID_STATES, METRICS, WAIT_OF_DELAY
from pse.analysis.patterns import _delay as delay
from pse.analysis.patterns._grid import between_metahosts
from pse.analysis.replay._call_tree import CallTree
from pse.analysis.replay._columns import Columns, columns_of
from pse.analysis.replay._locations import Metahosts
from pse.analysis.replay._peers import Peers
from pse.analysis.replay._rank_threads import find_threads
from pse.analysis.replay._severities import Calls, Severities, rounded_costs
from pse.analysis.replay._stream_placement import Streams
from pse.analysis.replay._synchronizations import JOIN, WAITING_DTYPE, last_synchronizations, numbered
from pse.analysis.replay._timelines import Timeline
from pse.analysis.replay._trace_input import runtime_trace
from pse.analysis.waits._backward_walk import (
    RUN_DTYPE,
    SPAN_DTYPE,
    STAY_DTYPE,
    path_runs,
    runtime_stays,
    stays_in_mpi,
    work_span,
)
from pse.analysis.waits._ended_waits import ENDED_WAIT_DTYPE, ended_waits
from pse.analysis.waits._wake_candidates import CauseKind
from pse.trace import NONE
from pse.trace.format import Array
from pse.trace.query import Trace

STATES = tuple(WAIT_OF_DELAY)
_TIME_DTYPE = np.dtype(
    [("rank", "<u4"), ("number", "<u4"), ("late", "<u4"), ("path", "<u4"), ("time", "<f8")]
)
_LINK_DTYPE = np.dtype(
    [
        *((name, WAITING_DTYPE[name]) for name in ("rank", "number", "state", "late", "wait", "time")),
        ("first", "<u4"),  # the late rank's own waits since both synchronized: numbers of it
        ("last", "<u4"),
        ("before", "<f8"),  # ns of the first of these before both synchronized
        ("cause", "<f8"),  # ns: the sum of these waits and of all delays
        ("path", "<u4"),  # of the wait: number among all call paths
    ]
)
_NAMED = 8
"""Of so many kinds of waits, a wait state in a call path each, causes are known: of the longest ones."""
_INDIRECT_DTYPE = np.dtype([*((name, "<f8") for name in STATES), ("of_kinds", "<f8", _NAMED)])
_KIND_DTYPE = np.dtype([("state", "u1"), ("path", "<u4")])


@dataclass(frozen=True)
class _Come:
    """Waits for ranks of this process, by the late rank, the one that waits and number."""

    rows: Columns
    order: Array  # by which they are so
    since: Array


class RootCauses:
    """The search for root causes of the waits of all ranks; collective.

    Parameters
    ----------
    trace : Trace
        With the events of this process's ranks.
    streams : Streams
        Who has which ranks.
    peers : Peers
        All processes.
    tree : CallTree
        The call paths of this process.
    numbers : array of uint32
        Their numbers among those of all processes.
    metahosts : Metahosts
        Where ranks ran.
    """

    def __init__(
        self,
        trace: Trace,
        streams: Streams,
        peers: Peers,
        tree: CallTree,
        numbers: Array,
        metahosts: Metahosts,
    ) -> None:
        self._trace, self._streams, self._peers, self._tree = trace, streams, peers, tree
        self._metahosts = metahosts
        whole = runtime_trace(trace, streams, peers)
        self._did = None if whole is None else rank_activity(whole)
        self._origin = 0 if whole is None else whole.origin
        self._numbers = numbers
        self._own_number = np.zeros(int(numbers.max(initial=0)) + 1, "<u4")
        self._own_number[numbers] = np.arange(len(numbers))

    def search(self, waits: Array, joint: Array, severities: Severities) -> Array:
        """Add delay costs and the critical path to severities.

        Parameters
        ----------
        waits : array of WAITING_DTYPE
            Wait states of this process's ranks.
        joint : array of JOINT_DTYPE
            The parts of its ranks in operations that synchronize all.
        severities : Severities
            Gets the values.

        Returns
        -------
        array of CAUSE_OF_WAIT_DTYPE
            Where this process's ranks were late for the longest waits.
        """
        joins, starts = find_threads(waits, self._trace, self._tree, self._streams, self._peers)
        runs = self._critical_runs(np.concatenate([waits, joins, starts]))
        waits = numbered(np.concatenate([waits, joins, self._waits_between_calls(severities)]))
        peers, streams = self._peers, self._streams
        sent = waits.copy()
        sent["path"] = self._numbers[waits["path"]]
        delivery = peers.deliver(columns_of(sent), WAITING_DTYPE, streams.owners(waits["late"], peers.rank))
        since, since_come = last_synchronizations(waits, delivery.rows, delivery, joint, streams, peers)
        for found, rows in ((since, waits), (since_come, delivery.rows)):
            found[rows["state"] == JOIN] = rows["begin"][rows["state"] == JOIN]
        order = np.lexsort([delivery.rows[name] for name in ("number", "rank", "late")])
        come = _Come(delivery.rows.take(order), order, since_come[order])
        late, waiting = self._profiles(waits, since, come, runs, severities)
        return self._add_costs(waits, come, self._delays(come, late, waiting), severities)

    def _waits_between_calls(self, severities: Severities) -> Array:
        """The waits between calls of this process's ranks that other ranks ended; add their grid versions."""
        ended = np.empty(0, ENDED_WAIT_DTYPE) if self._did is None else ended_waits(self._did)
        ended = ended[np.isin(ended["late"], self._streams.ranks)]  # What others did is not known.
        for name in ("begin", "end", "time"):
            ended[name] += self._origin
        to = self._streams.owners(ended["rank"], self._peers.rank)
        rows = self._peers.deliver(columns_of(ended), ENDED_WAIT_DTYPE, to).rows
        path = self._wait_paths(rows)
        rows, path = rows.take(np.flatnonzero(path >= 0)), path[path >= 0]
        found = np.zeros(len(rows), WAITING_DTYPE)
        for name in ("rank", "late", "begin", "time"):
            found[name] = rows[name]
        found["wait"] = found["time"] - found["begin"]
        found["path"] = path
        self._add_grid_versions(found, rows["end"] - rows["begin"], severities)
        states = {metric: number for number, metric in enumerate(WAIT_OF_DELAY.values())}
        of_path = np.array([states.get(metric, JOIN) for metric in self._tree.metrics])
        found["state"] = of_path[found["path"]]
        known: Array = found[found["state"] != JOIN]
        return known

    def _wait_paths(self, rows: Columns) -> Array:
        """The call paths of waits between calls; -1: no begin of such a wait is in the trace."""
        columns = zip(*(rows[name].tolist() for name in ("rank", "reason", "site")), strict=True)
        return np.array([self._tree.wait_path(*column) for column in columns], "<i8")

    def _add_grid_versions(self, waits: Array, times: Array, severities: Severities) -> None:
        """Add the times of waits between calls that a rank on another metahost ended."""
        if not self._metahosts.several:
            return
        far = between_metahosts(self._metahosts.of(waits["rank"]), self._metahosts.of(waits["late"]))
        metrics = np.array(self._tree.metrics)[waits["path"]]
        for rank in np.unique(waits["rank"][far]).tolist():
            for metric in np.unique(metrics[far]).tolist():
                own = far & (waits["rank"] == rank) & (metrics == metric)
                if metric + GRID in GRID_STATES:
                    begin = waits["begin"][own]
                    calls = Calls(waits["path"][own], begin, begin + times[own])
                    severities.add_waits(metric + GRID, self._place(rank), calls, times[own].astype("<f8"))

    def _critical_runs(self, waits: Array) -> Array:
        """The runs of the critical path on this process's ranks, in the order of time, latest first."""
        spans = [(rank, *work_span(self._trace, rank)) for rank in self._trace.ranks]
        all_spans, all_waits = self._peers.gathered(np.array(spans, SPAN_DTYPE)), self._peers.gathered(waits)
        runs = np.empty(0, RUN_DTYPE)
        if self._peers.rank == 0:
            runs = path_runs(all_spans, np.concatenate([self._runtime_stays(), mpi_stays(all_waits)]))
        to = self._streams.owners(runs["rank"], self._peers.rank)
        return self._peers.deliver(columns_of(runs), RUN_DTYPE, to).rows.packed(RUN_DTYPE)

    def _runtime_stays(self) -> Array:
        """Module calls and waits between them, on process 0."""
        if self._did is None:
            return np.empty(0, STAY_DTYPE)
        stays = runtime_stays(self._did)
        for name in ("begin", "time"):
            stays[name] += self._origin
        return stays

    def _profiles(
        self, waits: Array, since: Array, come: _Come, runs: Array, severities: Severities
    ) -> tuple[Array, Array]:
        """The times of late ranks and of waiting ranks in intervals, _TIME_DTYPE; add the critical path."""
        late, waiting = [np.empty(0, _TIME_DTYPE)], [np.empty(0, _TIME_DTYPE)]
        for rank in self._trace.ranks:
            own, others = waits["rank"] == rank, np.flatnonzero(come.rows["late"] == rank)
            line = Timeline(self._trace, rank, self._tree)
            line.leave_out(waits[own])
            for found, start, stop, by, thread in (
                (waiting, since[own], waits["begin"][own], columns_of(waits[own]), "thread"),
                (late, come.since[others], come.rows["time"][others], come.rows.take(others), "late_thread"),
            ):
                rows = line.profiles(np.maximum(start, line.started), stop, by[thread])
                found.append(self._named(rows, by))
            path = runs[runs["rank"] == rank]
            rows = line.profiles(path["begin"], path["end"], path["thread"], with_waits=True)
            severities.add("critical_path", self._place(rank), rows["path"], rows["time"])
        return np.concatenate(late), np.concatenate(waiting)

    def _named(self, rows: Array, by: Columns) -> Array:
        """Rows of profiles with the waits that they are for, and the numbers of all call paths."""
        made = np.empty(len(rows), _TIME_DTYPE)
        for name in ("rank", "number", "late"):
            made[name] = by[name][rows["interval"]]
        made["path"], made["time"] = self._numbers[rows["path"]], rows["time"]
        return made

    def _place(self, rank: int) -> int:
        """The index of a rank's location."""
        return int(np.searchsorted(self._streams.ranks, rank))

    def _delays(self, come: _Come, late: Array, waiting: Array) -> _Delays:
        """What the late ranks did longer; `late` is of waits that came, `waiting` of this process's."""
        rows = self._peers.deliver(
            columns_of(waiting), _TIME_DTYPE, self._streams.owners(waiting["late"], self._peers.rank)
        ).rows
        key, other = (_key(_index(come, times), times["path"]) for times in (late, rows))
        order = np.argsort(key, kind="stable")
        key, times = key[order], late["time"][order]
        longer = delay.delays(key, times, other, rows["time"])
        return _Delays(
            (key >> np.uint64(32)).astype("<i8"), (key & np.uint64(NONE)).astype("<u4"), longer, times
        )

    def _add_costs(self, waits: Array, come: _Come, found: _Delays, severities: Severities) -> Array:
        """Add the costs of delays of this process's ranks, and say which waits they are of; collective."""
        links = _links(waits, come, found)
        found = found.explaining(links["cause"] <= 0, int(self._numbers[0]))
        links["cause"] = np.where(links["cause"] <= 0, found.sums(len(links)), links["cause"])
        delivery = self._peers.deliver(columns_of(links), _LINK_DTYPE, np.zeros(len(links), "<i8"))
        kinds = self._longest_kinds(delivery.rows)
        indirect = delivery.reply(indirect_costs(delivery.rows, kinds))
        paths, cause = self._own_number[found.path], links["cause"][found.wait]
        late, state = (links[name][found.wait] for name in ("late", "state"))
        direct = delay.delay_costs(links["wait"][found.wait], found.longer, cause)
        for rank in np.unique(late).tolist():
            own = late == rank
            for number, name in enumerate(STATES):
                of_state = own & (state == number)
                severities.add(f"delay_{name}", self._place(rank), paths[of_state], direct[of_state])
                costs = delay.delay_costs(indirect[name][found.wait[own]], found.longer[own], cause[own])
                severities.add(f"delay_{name}_longterm", self._place(rank), paths[own], costs)
        rows = [np.empty(0, CAUSE_OF_WAIT_DTYPE)]
        for number, kind in enumerate(kinds):
            is_kind = (links["state"] == kind["state"]) & (links["path"] == kind["path"])
            costs = delay.delay_costs(indirect["of_kinds"][found.wait, number], found.longer, cause)
            costs += np.where(is_kind[found.wait], direct, 0.0)
            rows.append(self._causes(kind, found.path, late, costs))
        return np.concatenate(rows)

    def _longest_kinds(self, links: Columns) -> Array:
        """Wait states in call paths of all ranks that last the longest; collective."""
        kinds = np.empty(0, _KIND_DTYPE)
        if self._peers.rank == 0:
            chosen = links["state"] != JOIN
            keys, index = np.unique(_key(links["state"][chosen], links["path"][chosen]), return_inverse=True)
            longest = np.bincount(index, links["wait"][chosen], len(keys))
            longest = np.argsort(-longest, kind="stable")[:_NAMED]
            kinds = np.zeros(len(longest), _KIND_DTYPE)
            kinds["state"], kinds["path"] = keys[longest] >> np.uint64(32), keys[longest] & np.uint64(NONE)
        told: list[Any] = self._peers.combined(kinds.tolist(), lambda one, other: one or other)
        return np.array([tuple(kind) for kind in told], _KIND_DTYPE)

    def _causes(self, kind: Array, paths: Array, late: Array, costs: Array) -> Array:
        """What waits of a kind are due to: costs by call path and late rank."""
        chosen = np.flatnonzero(costs > 0)
        keys, index = np.unique(_key(late[chosen], paths[chosen]), return_inverse=True)
        rows = np.zeros(len(keys), CAUSE_OF_WAIT_DTYPE)
        metric = WAIT_OF_DELAY[STATES[int(kind["state"])]]
        rows["metric"], rows["path"] = METRICS.index(BY_NAME[metric]), kind["path"]
        rows["cause"] = keys & np.uint64(NONE)
        rows["location"] = np.searchsorted(self._streams.ranks, keys >> np.uint64(32))
        rows["value"] = rounded_costs(np.bincount(index, costs[chosen], len(keys)))
        return rows


@dataclass(frozen=True)
class _Delays:
    """How much longer late ranks were in call paths: by wait, then by call path."""

    wait: Array  # row of the wait among those that came
    path: Array  # number among all call paths
    longer: Array  # ns
    time: Array  # ns: all of the late rank's time there in the interval

    def sums(self, count: int) -> Array:
        """What all of a wait add up to."""
        return np.bincount(self.wait, self.longer, count)

    def explaining(self, unexplained: Array, root: int) -> _Delays:
        """With all of the late rank's time for waits that no delay explains; the program's if it has none."""
        longer = np.where(unexplained[self.wait], self.time, self.longer)
        without = np.setdiff1d(np.flatnonzero(unexplained), self.wait)
        every = np.ones(len(without))
        columns = (
            (self.wait, without),
            (self.path, np.full(len(without), root, "<u4")),
            (longer, every),
            (self.time, every),
        )
        return _Delays(*(np.concatenate(column) for column in columns))


def _key(high: Array, low: Array) -> Array:
    found: Array = (high.astype("<u8") << np.uint64(32)) | low.astype("<u8")
    return found


def _index(come: _Come, times: Array | Columns) -> Array:
    """For rows of times those of the waits that they are for."""
    keys = _key(come.rows["rank"], come.rows["number"])
    order = np.argsort(keys, kind="stable")
    found: Array = order[np.searchsorted(keys[order], _key(times["rank"], times["number"]))]
    return found


def _links(waits: Array, come: _Come, found: _Delays) -> Array:
    """What process 0 needs of waits to pass costs on."""
    links = np.zeros(len(come.order), _LINK_DTYPE)
    for name in ("rank", "number", "state", "late", "wait", "time", "path"):
        links[name] = come.rows[name]
    threads = _key(waits["rank"], waits["thread"])
    late = _key(come.rows["late"], come.rows["late_thread"])
    for thread in np.unique(late).tolist():
        own, chosen = waits[threads == thread], np.flatnonzero(late == thread)
        sums, number = np.cumsum(np.append(0.0, own["wait"])), int(own["number"][0]) if len(own) else 0
        first, last, before = _waits_within(own, come.since[chosen], come.rows["time"][chosen])
        links["first"][chosen], links["last"][chosen] = number + first, number + last
        links["before"][chosen] = before
        links["cause"][chosen] = sums[last] - sums[first] - before
    links["cause"] += found.sums(len(links))
    return links


def _waits_within(own: Array, since: Array, until: Array) -> tuple[Array, Array, Array]:
    """Which waits of a thread are in intervals, and what of the first one is before them, ns.

    While a thread waits, another one of its rank may synchronize with the rank that waits later.
    """
    ends = np.maximum.accumulate(own["begin"] + own["wait"])
    first, last = np.searchsorted(ends, since, side="right"), np.searchsorted(own["begin"], until)
    last = np.maximum(first, last)
    begins = np.append(own["begin"], np.inf)[first]
    return first, last, np.where(last > first, np.maximum(since - begins, 0.0), 0.0)


def indirect_costs(links: Columns, kinds: Array) -> Array:
    """What waits get of the costs of later waits, by their states.

    Parameters
    ----------
    links : Columns of _LINK_DTYPE
        All waits of all ranks, in any order.
    kinds : array of _KIND_DTYPE
        Wait states in call paths that are asked for one by one.

    Returns
    -------
    array of _INDIRECT_DTYPE, shape (waits,)
        ns for each wait state, and for each of the kinds.
    """
    order = np.lexsort((links["number"], links["rank"]))
    own, found = links.take(order), np.zeros(len(order), _INDIRECT_DTYPE)
    base = np.searchsorted(own["rank"], own["late"])
    first, last = ((base + own[name]).astype("<u8") for name in ("first", "last"))
    backwards = np.argsort(-own["time"], kind="stable").astype("<u8")

    def passed_on(chosen: Array) -> Array:
        costs, got = np.where(chosen, own["wait"], 0.0), np.zeros(len(order))
        propagate_waits(own["wait"], costs, own["cause"], first, last, own["before"], backwards, got)
        return got

    for number in set(np.unique(own["state"]).tolist()) - {JOIN}:
        found[STATES[number]][order] = passed_on(own["state"] == number)
    for number, kind in enumerate(kinds):
        chosen = (own["state"] == kind["state"]) & (own["path"] == kind["path"])
        found["of_kinds"][order, number] = passed_on(chosen)
    return found


_KINDS = {"latesender": CauseKind.MESSAGE, "latereceiver": CauseKind.LATE_RECEIVER}


def mpi_stays(waits: Array) -> Array:
    """Waits in MPI and for threads (WAITING_DTYPE) as the way back along the critical path takes them."""
    kinds = np.full(JOIN + 1, CauseKind.THREAD)
    kinds[: len(STATES)] = [_KINDS.get(state, CauseKind.COLLECTIVE) for state in STATES]
    rank, begin, late, time = (waits[name] for name in ("rank", "begin", "late", "time"))
    found = stays_in_mpi(rank, begin, late, time, kinds[waits["state"]])
    found["thread"], found["late_thread"][:, 0] = waits["thread"], waits["late_thread"]
    return found
