"""Sums of values by metric, call path and location, while the operations of all ranks are gone through."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from pse.analysis.cube._cube import INSTANCE_DTYPE
from pse.analysis.cube._metrics import BY_NAME, METRICS, WAIT_OF_DELAY
from pse.analysis.patterns._delay import critical_path_imbalance
from pse.trace.format import Array, distinct

_MEASURED = (
    *("mpi_point2point", "mpi_collective", "mpi_synchronization", "mpi_other"),
    *("queue_empty", "queue_full", "partition_parked", "arena_wait"),
)
"""Metrics whose times are those of calls, of which the metrics below them are parts."""


VALUE_DTYPE = np.dtype([("metric", "<u2"), ("location", "<u4"), ("path", "<u4"), ("value", "<f8")])
"""A value: the metric as its place in `METRICS`, location and call path."""


WAIT_STATE_DTYPE = np.dtype([("rank", "<u4"), ("metric", "<u2"), ("begin", "<f8"), ("end", "<f8")])
"""A wait in MPI: the metric as its place in `METRICS`, begin and end in ns since the run's begin."""
_AT_END = ("_completion", "_completion_grid")
"""How metrics end that are waits at the ends of their calls."""


_COSTS_PER_NS = 1024
"""Delay costs are shares of waits: rounded to these parts of a ns, so that sums of them are exact."""


def rounded_costs(values: Array) -> Array:
    """Delay costs of which sums are exact."""
    rounded: Array = np.rint(values * _COSTS_PER_NS) / _COSTS_PER_NS
    return rounded


class Calls(NamedTuple):
    """Calls in which a rank waited: their call paths, and when they were entered and left, ns."""

    path: Array
    enter: Array
    leave: Array

    def of(self, chosen: Array) -> Calls:
        """Give some of them."""
        return Calls(*(column[chosen] for column in self))


class Severities:
    """Collects the values of a cube."""

    def __init__(self) -> None:
        self._values: dict[str, dict[int, Array]] = defaultdict(dict)
        self._kept: list[Array] = [np.empty(0, INSTANCE_DTYPE)]

    def add(self, metric: str, location: int, paths: Array, values: Array) -> None:
        """Add values of a metric at call paths of a location; only those above 0 count."""
        chosen = np.flatnonzero(values > 0)
        if not len(chosen):
            return
        added = np.bincount(paths[chosen], values[chosen])
        before = self._values[metric].get(location, np.zeros(0))
        if len(before) > len(added):
            before, added = added, before
        added[: len(before)] += before
        self._values[metric][location] = added

    def add_waits(self, metric: str, location: int, calls: Calls, waits: Array) -> None:
        """Add waits in calls of a location; the longest in each call path is kept as such."""
        self.add(metric, location, calls.path, waits)
        self.keep_longest(metric, location, calls, waits)

    def keep_longest(self, metric: str, location: int, calls: Calls, waits: Array) -> None:
        """Keep the longest wait of a metric in each call path."""
        waited = np.flatnonzero(waits > 0)
        most = np.zeros(int(calls.path[waited].max(initial=0)) + 1)
        np.maximum.at(most, calls.path[waited], waits[waited])
        waited = waited[waits[waited] == most[calls.path[waited]]]
        chosen = waited[np.unique(calls.path[waited], return_index=True)[1]]
        self._keep(metric, location, calls.of(chosen), waits[chosen])

    def _keep(self, metric: str, location: int, calls: Calls, waits: Array) -> None:
        rows = np.empty(len(waits), INSTANCE_DTYPE)
        rows["metric"], rows["location"] = METRICS.index(BY_NAME[metric]), location
        rows["path"], rows["begin"], rows["end"] = calls
        rows["value"] = waits
        self._kept.append(rows)

    def kept(self, numbers: Array) -> Array:
        """The waits that are kept as rows; `numbers` are those of call paths in all processes."""
        rows = np.concatenate(self._kept)
        rows["path"] = numbers[rows["path"]]
        return rows

    def rows(self, numbers: Array) -> Array:
        """All values but zeros as rows; `numbers` are those of call paths in all processes."""
        parts = [np.empty(0, VALUE_DTYPE)]
        for number, metric in enumerate(METRICS):
            for location, values in self._values.get(metric.name, {}).items():
                if metric.parent == "delay":
                    values = rounded_costs(values)
                chosen = np.flatnonzero(values)
                part = np.empty(len(chosen), VALUE_DTYPE)
                part["metric"], part["location"] = number, location
                part["path"], part["value"] = numbers[chosen], values[chosen]
                parts.append(part)
        return np.concatenate(parts)


class AllWaits(Severities):
    """Collects the values of a cube, and every wait in MPI."""

    def add_waits(self, metric: str, location: int, calls: Calls, waits: Array) -> None:
        """Keep all waits in calls of a location."""
        chosen = np.flatnonzero(waits > 0)
        self._keep(metric, location, calls.of(chosen), waits[chosen])

    def waits(self, ranks: Array) -> Array:
        """Give them as WAIT_STATE_DTYPE; `ranks` are those of locations."""
        kept = np.concatenate(self._kept)
        at_end = np.array([metric.name.endswith(_AT_END) for metric in METRICS])[kept["metric"]]
        found = np.empty(len(kept), WAIT_STATE_DTYPE)
        found["rank"], found["metric"] = ranks[kept["location"]], kept["metric"]
        found["begin"] = np.where(at_end, kept["end"] - kept["value"], kept["begin"])
        found["end"] = found["begin"] + kept["value"]
        return found


def tables(rows: Array, paths: int, locations: int) -> dict[str, Array]:
    """Include in every metric those below it; give (call paths, locations) by the names of metrics."""
    found: dict[str, Array] = {}
    there = set(distinct(rows["metric"]).tolist())
    for number, metric in reversed(list(enumerate(METRICS))):
        if number in there:
            own = rows[rows["metric"] == number]
            found.setdefault(metric.name, np.zeros((paths, locations)))[own["path"], own["location"]] += own[
                "value"
            ]
        if metric.name in found and metric.parent and metric.parent not in _MEASURED:
            found.setdefault(metric.parent, np.zeros((paths, locations)))
            found[metric.parent] += found[metric.name]
    return {metric.name: found[metric.name] for metric in METRICS if metric.name in found}


def with_imbalance(values: dict[str, Array]) -> dict[str, Array]:
    """Tables with the imbalance of the critical path, if they have that."""
    on_path = values.get("critical_path")
    if on_path is None:
        return values
    waits = [values[name] for name in (*WAIT_OF_DELAY.values(), "idle_end", "thread_wait") if name in values]
    active = np.maximum(values["time"] - sum(waits), 0.0)
    found = values | {"critical_path_imbalance": critical_path_imbalance(on_path, active)}
    return {metric.name: found[metric.name] for metric in METRICS if metric.name in found}


def longest_of_all(rows: Array) -> Array:
    """The longest of the longest waits of processes, also of metrics that include theirs."""
    numbers = {metric.name: number for number, metric in enumerate(METRICS)}
    above = np.array([numbers.get(metric.parent, 0) for metric in METRICS])
    is_wait = np.array([bool(metric.parent) and metric.parent not in _MEASURED for metric in METRICS])
    found = [rows]
    while len(rows := rows[is_wait[rows["metric"]]]):
        rows = rows.copy()
        rows["metric"] = above[rows["metric"]]
        found.append(rows)
    rows = np.concatenate(found)
    rows = rows[np.lexsort((rows["location"], -rows["value"], rows["path"], rows["metric"]))]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (rows["metric"][1:] != rows["metric"][:-1]) | (rows["path"][1:] != rows["path"][:-1])
    return rows[is_first]
