"""The cube: what each metric is, for each call path and each location."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pse.analysis.cube._metrics import METRICS, ancestors, metric_named
from pse.text import call_path_text, count_text, source_line
from pse.trace.format import Array

INSTANCE_DTYPE = np.dtype(
    [
        ("metric", "<u2"),  # place in METRICS
        ("path", "<u4"),  # index of the call path
        ("location", "<u4"),  # index of the location
        ("begin", "<f8"),  # ns since the run's begin: when the call that waits was entered
        ("end", "<f8"),  # ns since the run's begin: when it was left
        ("value", "<f8"),  # ns that it waited
    ]
)
"""One wait in one call."""


@dataclass(frozen=True)
class CallPath:
    """A call path: a node of the tree of calls.

    Parameters
    ----------
    parent : int
        Index of the call path that it was called from; -1 for a root.
    kind : str
        What it ends in: ``program``, ``loop``, ``call site``, ``module``, ``routine`` or ``wait``.
    name : str
        Name of that.
    place : str
        ``file:line:col``; "" if it is not known.

    See Also
    --------
    Cube

    Examples
    --------
    >>> [(path.parent, path.kind, path.name) for path in cube.call_paths]
    [(-1, 'program', 'program'), (0, 'routine', 'MPI_Send'), (0, 'routine', 'MPI_Recv')]
    """

    parent: int
    kind: str
    name: str
    place: str = ""


@dataclass(frozen=True)
class Location:
    """What events are of: a thread of a process on a node of a machine.

    Parameters
    ----------
    machine : str
        Name of the machine (metahost).
    node : str
        Name of the node.
    rank : int
        Rank of its process.
    thread : int
        Number of the thread in its process.
    name : str
        Name of the thread, or "".

    See Also
    --------
    Cube

    Examples
    --------
    >>> [(location.node != "", location.rank, location.thread) for location in cube.locations]
    [(True, 0, 0), (True, 1, 0)]
    """

    machine: str
    node: str
    rank: int
    thread: int = 0
    name: str = ""


CAUSE_OF_WAIT_DTYPE = np.dtype(
    [
        ("metric", "<u2"),  # of the waits: place in METRICS
        ("path", "<u4"),  # of the waits
        ("cause", "<u4"),  # the call path in which ranks were late
        ("location", "<u4"),  # of the late ranks
        ("value", "<f8"),  # ns of the waits that are due to it
    ]
)
"""What the waits of a call path are due to."""


@dataclass(frozen=True, repr=False)
class Cube:
    """Metrics of call paths on locations.

    Methods that take the name of a metric raise `UsageError` if none has it.

    Parameters
    ----------
    call_paths : tuple of CallPath
        All call paths; parents come before their children.
    locations : tuple of Location
        All locations, by rank, then by thread.
    values : mapping of str to array of float64, shape (call paths, locations)
        By the name of each metric that is not 0 everywhere.  A value is that of a call path without those
        that were called from it, and includes the metrics below its own.  Times are in ns.
    title : str
        What was analysed.
    problems : tuple of str
        What could not be analysed, a sentence each.
    longest : array of INSTANCE_DTYPE
        Of each wait state and call path, the longest wait; none in cubes that were computed from others.
    causes : array of CAUSE_OF_WAIT_DTYPE
        Of the call paths with the longest waits, where ranks were late for these; none in such cubes.
    reference : mapping of str to float
        Of a difference, what is 100 %: totals of the old run, of metrics that no other includes. Otherwise
        empty: these totals are the cube's own.

    Examples
    --------
    >>> cube = pse.analysis.analyze("mpi1")
    >>> cube.total("mpi_latesender") / 1e9  # seconds
    3e-06
    """

    call_paths: tuple[CallPath, ...]
    locations: tuple[Location, ...]
    values: Mapping[str, Array]
    title: str = ""
    problems: tuple[str, ...] = field(default=())
    longest: Array = field(default_factory=lambda: np.empty(0, INSTANCE_DTYPE))
    causes: Array = field(default_factory=lambda: np.empty(0, CAUSE_OF_WAIT_DTYPE))
    reference: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        paths = count_text(len(self.call_paths), "call path")
        where = count_text(len(self.locations), "location")
        return f"Cube({self.title!r}, {count_text(len(self.values), 'metric')} of {paths} on {where})"

    @functools.cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of all processes, ascending."""
        return tuple(sorted({location.rank for location in self.locations}))

    def exclusive(self, metric: str) -> Array:
        """Values of a metric: of call paths without those that they called; (call paths, locations)."""
        found = self.values.get(metric)
        if found is None:
            metric_named(metric)
            found = np.zeros((len(self.call_paths), len(self.locations)))
        return found

    def inclusive(self, metric: str) -> Array:
        """Values of a metric: of call paths with all that they called; (call paths, locations)."""
        values = self.exclusive(metric).copy()
        for path in range(len(self.call_paths) - 1, 0, -1):
            if self.call_paths[path].parent >= 0:
                values[self.call_paths[path].parent] += values[path]
        return values

    def total(self, metric: str) -> float:
        """Give the sum of a metric over all call paths and locations."""
        return float(self.exclusive(metric).sum())

    def wholes(self) -> dict[str, float]:
        """Of metrics that no other includes, what is 100 %: their totals, or those of the old run."""
        roots = [metric.name for metric in METRICS if not metric.parent]
        return {name: self.total(name) for name in roots} | dict(self.reference)

    def own(self, metric: str) -> Array:
        """Values of a metric without the metrics below it; (call paths, locations)."""
        values = self.exclusive(metric).copy()
        for child in METRICS:
            if child.parent == metric:
                values -= self.exclusive(child.name)
        return values

    def by_region(self, metric: str) -> dict[str, list[float]]:
        """Sums of a metric by the name that call paths end in, a value for each rank; without zeros.

        Parameters
        ----------
        metric : str
            Name of a metric.

        Returns
        -------
        dict of str to list of float
            In the metric's unit, in the order of `ranks`.
        """
        values = self.exclusive(metric)
        sums: dict[str, Array] = {}
        columns = np.searchsorted(self.ranks, [location.rank for location in self.locations])
        for row in np.flatnonzero(values.any(axis=1)).tolist():
            name = self.call_paths[row].name
            sums.setdefault(name, np.zeros(len(self.ranks)))
            np.add.at(sums[name], columns, values[row])
        return {name: sums[name].tolist() for name in sorted(sums)}

    def longest_instance(self, metric: str, path: int) -> Array | None:
        """The longest wait of a metric in a call path: a row of INSTANCE_DTYPE; None if it is not known."""
        number = METRICS.index(metric_named(metric))
        rows = self.longest[(self.longest["metric"] == number) & (self.longest["path"] == path)]
        return rows[0] if len(rows) else None

    def causes_of(self, metric: str, path: int) -> Array:
        """Delay costs that the waits of a metric in a call path are due to; (call paths, locations)."""
        numbers = [METRICS.index(metric_named(name)) for name in ancestors(metric_named(metric).name)]
        rows = self.causes[np.isin(self.causes["metric"], numbers) & (self.causes["path"] == path)]
        found = np.zeros((len(self.call_paths), len(self.locations)))
        np.add.at(found, (rows["cause"], rows["location"]), rows["value"])
        return found

    def path_text(self, path: int, *, places: bool = False) -> str:
        """Write a call path from the root on: ``main / solve / MPI_Recv``.

        With `places`, functions have file and line: ``main (heat.c:40) / solve (heat.c:12) / MPI_Recv``.
        Levels of a recursion are counted: ``main / sort × 20 / MPI_Recv``.
        """
        names: list[str] = []
        while path >= 0:
            own = self.call_paths[path]
            place = source_line(own.place) if places and own.kind == "routine" else ""
            names.append(f"{own.name} ({place})" if place else own.name)
            path = own.parent
        return call_path_text(names[::-1])
