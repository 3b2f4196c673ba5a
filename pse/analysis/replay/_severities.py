"""Sums of values by metric, call path and location, while the operations of all ranks are gone through."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from pse.analysis.cube._metrics import METRICS
from pse.trace.format import Array

_MEASURED = ("mpi_point2point", "mpi_collective", "mpi_synchronization")
"""Metrics whose times are those of routines, of which the metrics below them are parts."""


VALUE_DTYPE = np.dtype([("metric", "<u2"), ("location", "<u4"), ("path", "<u4"), ("value", "<f8")])
"""A value: the metric as its place in `METRICS`, location and call path."""


class Severities:
    """Collects the values of a cube."""

    def __init__(self) -> None:
        self._values: dict[str, dict[int, Array]] = defaultdict(dict)

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

    def rows(self, numbers: Array) -> Array:
        """All values but zeros as rows; `numbers` are those of call paths in all processes."""
        parts = [np.empty(0, VALUE_DTYPE)]
        for number, metric in enumerate(METRICS):
            for location, values in self._values.get(metric.name, {}).items():
                chosen = np.flatnonzero(values)
                part = np.empty(len(chosen), VALUE_DTYPE)
                part["metric"], part["location"] = number, location
                part["path"], part["value"] = numbers[chosen], values[chosen]
                parts.append(part)
        return np.concatenate(parts)


def tables(rows: Array, paths: int, locations: int) -> dict[str, Array]:
    """Include in every metric those below it; give (call paths, locations) by the names of metrics."""
    found: dict[str, Array] = {}
    for number, metric in reversed(list(enumerate(METRICS))):
        own = rows[rows["metric"] == number]
        if len(own):
            found.setdefault(metric.name, np.zeros((paths, locations)))[own["path"], own["location"]] += own[
                "value"
            ]
        if metric.name in found and metric.parent and metric.parent not in _MEASURED:
            found.setdefault(metric.parent, np.zeros((paths, locations)))
            found[metric.parent] += found[metric.name]
    return {metric.name: found[metric.name] for metric in METRICS if metric.name in found}
