"""Algebra of cubes: difference, mean and union of runs, whose results are cubes again.

After F. Song, F. Wolf, N. Bhatia, J. Dongarra, S. Moore: An algebra for cross-experiment performance
analysis, ICPP 2004.  Call paths of two cubes are the same if they and all call paths above them have the same
kind and name, but for names of programs and of their own files; locations are the same if they have the same
rank and thread, wherever they ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pse.analysis.cube._cube import CallPath, Cube, Location
from pse.analysis.cube._metrics import METRICS, ancestors
from pse.errors import UsageError
from pse.text import change_text, time_text
from pse.trace.format import Array

_STRANGE = "no function nor region of {} is in {}: if these are two programs, differences say little"


def cube_difference(old: Cube, new: Cube) -> Cube:
    """Subtract a cube from another: what is negative in the result became less.

    Parameters
    ----------
    old, new : Cube
        Two runs.

    Returns
    -------
    Cube
        ``new - old``, over the call paths and locations of both.

    Examples
    --------
    >>> before, after = pse.analysis.analyze("mpi1"), pse.analysis.analyze("mpi2")
    >>> cube_difference(before, after).total("mpi_latesender")
    -2000.0
    """
    joined = _Joined((old, new))
    first, second = joined.values(0), joined.values(1)
    zero = np.zeros(joined.shape)
    names = first.keys() | second.keys()
    values = {name: second.get(name, zero) - first.get(name, zero) for name in names}
    made = joined.cube(values, f"{new.title} - {old.title}")
    strange = () if joined.have_common_functions() else (_STRANGE.format(old.title, new.title),)
    return replace(made, reference=old.wholes(), problems=(*made.problems, *strange))


def cube_mean(cubes: Sequence[Cube]) -> Cube:
    """Take the mean of cubes, of repeated runs for instance.

    Parameters
    ----------
    cubes : sequence of Cube
        At least one.

    Returns
    -------
    Cube
        The mean, over the call paths and locations of all; where a cube lacks one, it counts as 0.

    Raises
    ------
    UsageError
        There is none.

    Examples
    --------
    >>> first, second = pse.analysis.analyze("mpi1"), pse.analysis.analyze("mpi2")
    >>> cube_mean([first, second]).total("mpi_latesender")
    2000.0
    """
    joined = _Joined(cubes)
    values: dict[str, Array] = {}
    for number in range(len(cubes)):
        for name, own in joined.values(number).items():
            values[name] = values.get(name, 0) + own / len(cubes)
    return joined.cube(values, f"mean of {', '.join(cube.title for cube in cubes)}")


def cube_union(cubes: Sequence[Cube]) -> Cube:
    """Put together metrics that were measured in different runs.

    Parameters
    ----------
    cubes : sequence of Cube
        At least one.

    Returns
    -------
    Cube
        Each metric of the first cube that has it, over the call paths and locations of all.

    Raises
    ------
    UsageError
        There is none.

    Examples
    --------
    >>> cube_union([cube, pse.analysis.analyze("mpi2")]).total("visits")
    4.0
    """
    joined = _Joined(cubes)
    values: dict[str, Array] = {}
    for number in range(len(cubes)):
        values = joined.values(number) | values
    return joined.cube(values, f"union of {', '.join(cube.title for cube in cubes)}")


class _Joined:
    """The call paths and locations of several cubes, and where those of each are among them."""

    def __init__(self, cubes: Sequence[Cube]) -> None:
        if not cubes:
            raise UsageError("there is no cube to compute with", help="name at least one")
        self._cubes = cubes
        self._paths: list[CallPath] = []
        self._locations: dict[tuple[int, int], Location] = {}
        known: dict[tuple[int, str, str], int] = {}
        scripts = [_script(cube) for cube in cubes]
        self._rows = [
            self._join(cube, known, None if None in scripts else script)
            for cube, script in zip(cubes, scripts, strict=True)
        ]
        for cube in cubes:
            for location in cube.locations:
                self._locations.setdefault((location.rank, location.thread), location)
        self._functions = [
            {
                row
                for number, (row, path) in enumerate(zip(rows, cube.call_paths, strict=True))
                if path.parent >= 0 and number != script and not path.name.startswith("MPI_")
            }
            for rows, cube, script in zip(self._rows, cubes, scripts, strict=True)
        ]
        self._order = sorted(self._locations)
        self.shape = (len(self._paths), len(self._order))

    def _join(self, cube: Cube, known: dict[tuple[int, str, str], int], script: int | None) -> list[int]:
        rows: list[int] = []
        for number, path in enumerate(cube.call_paths):
            parent = rows[path.parent] if path.parent >= 0 else -1
            key = (parent, path.kind, "" if parent < 0 or number == script else path.name)
            if key not in known:
                known[key] = len(self._paths)
                self._paths.append(CallPath(parent, path.kind, path.name, path.place))
            rows.append(known[key])
        return rows

    def have_common_functions(self) -> bool:
        """Whether all have a call path of a function, region or module in common; true if one has none."""
        return not all(self._functions) or bool(set.intersection(*self._functions))

    def values(self, number: int) -> dict[str, Array]:
        """The values of one cube, over the call paths and locations of all."""
        places = {key: place for place, key in enumerate(self._order)}
        cube = self._cubes[number]
        columns = [places[location.rank, location.thread] for location in cube.locations]
        found = {}
        for name, own in cube.values.items():
            found[name] = np.zeros(self.shape)
            np.add.at(found[name], np.ix_(self._rows[number], columns), own)
        return found

    def cube(self, values: dict[str, Array], title: str) -> Cube:
        """A cube with all call paths and locations, and the metrics that are not 0 everywhere."""
        kept = {metric.name: values[metric.name] for metric in METRICS if metric.name in values}
        kept = {name: own for name, own in kept.items() if own.any()}
        problems = tuple(f"{cube.title}: {problem}" for cube in self._cubes for problem in cube.problems)
        locations = tuple(self._locations[key] for key in self._order)
        return Cube(tuple(self._paths), locations, kept, title, problems)


def _script(cube: Cube) -> int | None:
    """The call path of the program's own file, if there is one: the program may be in another one later."""
    found = [
        number
        for number, path in enumerate(cube.call_paths)
        if path.parent == 0 and path.place and Path(path.place.partition(":")[0]).name == path.name
    ]
    return found[0] if len(found) == 1 else None


def difference_text(old: Cube, new: Cube, top: int = 10) -> Iterator[str]:
    """Give the lines of a report on what changed: in percent of the old run's time, gains are negative.

    Parameters
    ----------
    old, new : Cube
        Two runs.
    top : int, default 10
        How many call paths with the largest changes are listed.

    Yields
    ------
    str
        A line.

    Examples
    --------
    >>> print(*difference_text(cube, pse.analysis.analyze("mpi2")), sep="\\n")
                                             old       new  change in % of the old run's time
    Time                                 8.04 µs   4.04 µs     -49.8 %
      Execution                          5.02 µs   3.02 µs     -24.9 %
    ...
    """
    changed, whole = cube_difference(old, new), old.wholes()["time"] or 1.0
    known = {*old.values, *new.values}
    shown = [metric for metric in METRICS if metric.unit == "ns" and metric.name in known]
    names = {metric.name: "  " * (len(ancestors(metric.name)) - 1) + metric.title for metric in shown}
    width = max(map(len, names.values()), default=0)
    yield f"{'':{width}}  {'old':>8}  {'new':>8}  change in % of the old run's time"
    for name, title in names.items():
        times = "  ".join(f"{time_text(cube.total(name)):>8}" for cube in (old, new))
        yield f"{title:{width}}  {times}  {change_text(changed.total(name) / whole):>10}"
    rows = _largest(changed, top)
    if rows:
        yield ""
        yield "the largest changes, by call path"
    for time, title, path in rows:
        yield f"{change_text(time / whole):>10}  {title}: {changed.path_text(path)}"


def _largest(changed: Cube, top: int) -> list[tuple[float, str, int]]:
    """Call paths whose own metrics changed the most: time, the metric's title, call path."""
    rows = []
    for metric in METRICS:
        if ancestors(metric.name)[-1] == "time":
            sums = changed.own(metric.name).sum(axis=1)
            rows += [(float(sums[path]), metric.title, int(path)) for path in np.flatnonzero(sums)]
    rows.sort(key=lambda row: -abs(row[0]))
    return rows[:top]
