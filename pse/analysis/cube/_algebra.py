"""Algebra of cubes: difference, mean and union of runs, whose results are cubes again.

After F. Song, F. Wolf, N. Bhatia, J. Dongarra, S. Moore: An algebra for cross-experiment performance
analysis, ICPP 2004.  Call paths of two cubes are the same if they and all call paths above them have the same
kind, name and, of routines, name of file, but for names of programs and of their own files.  Lines tell apart
those of one cube that have all that in common.  Locations are the same if they have the same rank and thread,
wherever they ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pse.analysis.cube._cube import CallPath, Cube, Location
from pse.analysis.cube._metrics import METRICS, ancestors
from pse.errors import UsageError
from pse.text import change_text, list_text, program_line, split_place, time_text
from pse.trace.format import Array

_STRANGE = "no function nor region of {} is in {}: if these are two programs, differences say little"
_RANKS = "the runs have different numbers of ranks: {}; {}"
_NOTHING = "nothing was taken from {}: the runs before it have all of its metrics"
_OWN_FILE = "/"  # Stands for the program's own file, which may have another name later; no file has this one.
_Key = tuple[int, str, str]


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
    problems = (
        *made.problems,
        *strange,
        *_different_ranks((old, new), "times are those of all ranks together"),
    )
    return replace(made, reference=old.wholes(), problems=problems)


def _different_ranks(cubes: Sequence[Cube], consequence: str) -> Iterator[str]:
    """Say that runs had different numbers of ranks, if they had."""
    if len({len(cube.ranks) for cube in cubes}) > 1:
        yield _RANKS.format(
            list_text([f"{len(cube.ranks):,} in {cube.title}" for cube in cubes]), consequence
        )


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
    made = joined.cube(values, f"mean of {', '.join(cube.title for cube in cubes)}")
    ranks = _different_ranks(cubes, "where a run has no such rank, it counts as 0")
    return replace(made, reference=_mean_reference(cubes), problems=(*made.problems, *ranks))


def _mean_reference(cubes: Sequence[Cube]) -> dict[str, float]:
    """What is 100 % of a mean of differences: the mean of their old runs."""
    if not all(cube.reference for cube in cubes):
        return {}
    return {name: sum(cube.wholes()[name] for cube in cubes) / len(cubes) for name in cubes[0].reference}


def cube_union(cubes: Sequence[Cube]) -> Cube:
    """Put together metrics that were measured in different runs.

    Parameters
    ----------
    cubes : sequence of Cube
        At least one.

    Returns
    -------
    Cube
        Each metric of the first cube that has it, over the call paths and locations of all.  Its problems
        say of which cubes it has nothing.

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
    unused = list[str]()
    for number, cube in enumerate(cubes):
        own = joined.values(number)
        unused += [] if own.keys() - values.keys() else [_NOTHING.format(cube.title)]
        values = own | values
    made = joined.cube(values, f"union of {', '.join(cube.title for cube in cubes)}")
    return replace(made, reference=cubes[0].reference, problems=(*made.problems, *unused))


class _Joined:
    """The call paths and locations of several cubes, and where those of each are among them."""

    def __init__(self, cubes: Sequence[Cube]) -> None:
        if not cubes:
            raise UsageError("there is no cube to compute with", help="name at least one")
        self._cubes = cubes
        self._paths: list[CallPath] = []
        self._locations: dict[tuple[int, int], Location] = {}
        self._known: dict[_Key, dict[int, _Spot]] = {}
        scripts = [_script(cube) for cube in cubes]
        files = [_own_file(cube) for cube in cubes]
        self._rows = [
            self._join(cube, None if None in scripts else script, "" if "" in files else file)
            for cube, script, file in zip(cubes, scripts, files, strict=True)
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

    def _join(self, cube: Cube, script: int | None, own_file: str) -> list[int]:
        rows = [-1] * len(cube.call_paths)
        for group in _namesakes(cube, script):
            first = cube.call_paths[group[0]]
            parent = rows[first.parent] if first.parent >= 0 else -1
            key = (parent, first.kind, _joined_name(group[0], first, script))
            known = self._known.setdefault(key, {})
            spots = {number: _spot(cube.call_paths[number], own_file) for number in group}
            found = _pairs(spots, known)
            for number, spot in spots.items():
                rows[number] = found.get(number, len(self._paths))
                if number not in found:
                    known[len(self._paths)] = spot
                    self._paths.append(replace(cube.call_paths[number], parent=parent))
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


@dataclass(frozen=True)
class _Spot:
    """Where a routine is: the whole place, and the name of its file and the line, "" if unknown."""

    place: str
    file: str
    line: str


_SAME: tuple[Callable[[_Spot, _Spot], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: (one.file, one.line) == (other.file, other.line),
    lambda one, other: one.file == other.file,
    lambda one, other: not (one.file and other.file),
)
"""When two routines of one name are the same: the surer comes first."""


def _spot(path: CallPath, own_file: str) -> _Spot:
    if path.kind != "routine":
        return _Spot(path.place, "", "")
    file = _file(path)
    line = str(program_line(path.place) or "")
    return _Spot(path.place, _OWN_FILE if file and file == own_file else file, line)


def _pairs(spots: dict[int, _Spot], known: dict[int, _Spot]) -> dict[int, int]:
    """Which of the known routines each of those of one cube is; each is that of one at most."""
    found: dict[int, int] = {}
    left = dict(known)
    for same in _SAME:
        for number, spot in spots.items():
            row = next((row for row, other in left.items() if same(spot, other)), None)
            if number not in found and row is not None:
                found[number] = row
                del left[row]
    return found


def _namesakes(cube: Cube, script: int | None) -> Iterable[list[int]]:
    """Call paths in groups that have the parent, the kind and the name in common; parents come first."""
    found: dict[_Key, list[int]] = {}
    for number, path in enumerate(cube.call_paths):
        key = (path.parent, path.kind, _joined_name(number, path, script))
        found.setdefault(key, []).append(number)
    return found.values()


def _joined_name(number: int, path: CallPath, script: int | None) -> str:
    """The name that counts: programs and their own files may have other names later."""
    return "" if path.parent < 0 or number == script else path.name


def _file(path: CallPath) -> str:
    return split_place(path.place)[0].rpartition("/")[2]


def _script(cube: Cube) -> int | None:
    """The call path of the program's own file, if there is one: the program may be in another one later."""
    found = [
        number
        for number, path in enumerate(cube.call_paths)
        if path.parent == 0 and path.place and _file(path) == path.name
    ]
    return found[0] if len(found) == 1 else None


def _own_file(cube: Cube) -> str:
    """The name of the file that the program begins in: its script, or that of ``main``; "" if unknown."""
    script = _script(cube)
    mains = [path for path in cube.call_paths if path.parent == 0 and path.name == "main"]
    begins = mains if script is None else [cube.call_paths[script]]
    return _file(begins[0]) if begins else ""


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
        yield f"{change_text(time / whole):>10}  {title}: {changed.path_text(path, places=True)}"


def _largest(changed: Cube, top: int) -> list[tuple[float, str, int]]:
    """Call paths whose own metrics changed the most: time, the metric's title, call path."""
    rows = []
    for metric in METRICS:
        if ancestors(metric.name)[-1] == "time":
            sums = changed.own(metric.name).sum(axis=1)
            rows += [(float(sums[path]), metric.title, int(path)) for path in np.flatnonzero(sums)]
    rows.sort(key=lambda row: -abs(row[0]))
    return rows[:top]
