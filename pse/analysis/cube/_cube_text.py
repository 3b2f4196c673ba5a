"""A cube as text and JSON: metrics with their shares of all time, the longest waits, severities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pse.analysis.cube._amounts import amount_share, amount_text, largest
from pse.analysis.cube._cube import Cube
from pse.analysis.cube._metrics import (
    BY_NAME,
    GRID_STATES,
    LISTED_WAITS,
    METRICS,
    MORE_WAIT_STATES,
    ROOT_CAUSES,
    WAIT_STATES,
    ancestors,
)
from pse.analysis.cube._root_cause_text import cause_line, ranks_text, root_cause_lines
from pse.text import count_text, list_text, moment_text, time_text


def cube_text(cube: Cube, top: int = 10) -> Iterator[str]:
    """Give the lines of a report: where all time went, the longest waits, their causes, the critical path.

    Parameters
    ----------
    cube : Cube
        The cube.
    top : int, default 10
        How many call paths each list has.

    Yields
    ------
    str
        A line.

    Examples
    --------
    >>> print(*cube_text(cube), sep="\\n")
    8.04 µs of all ranks together: 2 ranks and 1 node
    <BLANKLINE>
    Time                                 8.04 µs   100 %
    ...
            Late sender                  3.00 µs    37 %
    ...
    """
    nodes = {(location.machine, location.node) for location in cube.locations}
    machines = {location.machine for location in cube.locations}
    places = [count_text(len(cube.ranks), "rank"), count_text(len(nodes), "node")]
    places += [count_text(len(machines), "machine")] if len(machines) > 1 else []
    base = f", in % of the old run's {time_text(cube.wholes()['time'])}" if cube.reference else ""
    yield f"{amount_text(cube, cube.total('time'))} of all ranks together{base}: {list_text(places)}"
    yield ""
    yield from _metric_lines(cube)
    yield ""
    if longest_waits(cube, 1):
        yield from _wait_lines(cube, top)
    else:
        changed = "longer or less long " if cube.reference else ""
        yield f"no rank waited {changed}for another in MPI or between calls"
    yield from root_cause_lines(cube, top)


def _wait_lines(cube: Cube, top: int) -> Iterator[str]:
    waits = longest_waits(cube, top)
    if waits:
        yield f"the {'largest changes of' if cube.reference else 'longest'} waits, by call path"
    for metric, path, values in waits:
        head = f"{amount_text(cube, values.sum()):>8}  {amount_share(cube, values.sum()):>6}"
        where = cube.path_text(path, places=True)
        yield f"{head}  {BY_NAME[metric].title}: {where}{ranks_text(cube, values)}"
        yield from _longest(cube, metric, path)
        yield from cause_line(cube, cube.causes_of(metric, path), float(values.sum()))


def _longest(cube: Cube, metric: str, path: int) -> Iterator[str]:
    """The longest single wait, in a line below; none where it belongs to a metric below this one."""
    row = cube.longest_instance(metric, path)
    of_others = [cube.longest_instance(other, path) for other in _below(metric)]
    if row is not None and not any(_same_wait(row, other) for other in of_others):
        rank, begin = cube.locations[row["location"]].rank, moment_text(float(row["begin"]))
        yield f"{'':19}the longest: {time_text(float(row['value']))} on rank {rank}, in the call at {begin}"


def _same_wait(row: Any, other: Any) -> bool:
    return other is not None and (row["location"], row["begin"]) == (other["location"], other["begin"])


def _below(metric: str) -> list[str]:
    return [name for name in LISTED_WAITS if BY_NAME[name].parent == metric]


def _metric_lines(cube: Cube) -> Iterator[str]:
    known = {name for metric in METRICS if _is_shown(cube, metric.name) for name in ancestors(metric.name)}
    shown = [m for m in METRICS if ancestors(m.name)[-1] == "time" and m.name in known]
    names = {metric.name: "  " * (len(ancestors(metric.name)) - 1) + metric.title for metric in shown}
    width = max(map(len, names.values()), default=0)
    for name, shown_name in names.items():
        total = cube.total(name)
        yield f"{shown_name:{width}}  {amount_text(cube, total):>8}  {amount_share(cube, total):>6}"


def _is_shown(cube: Cube, metric: str) -> bool:
    """Whether it is more than 0; changes on ranks or in call paths may make up for each other."""
    return cube.total(metric) > 0 or bool(cube.reference and cube.exclusive(metric).any())


def longest_waits(cube: Cube, top: int) -> list[tuple[str, int, Any]]:
    """Find the call paths with the longest waits: metric, index of the call path, values by location."""
    found = []
    for metric in LISTED_WAITS:
        values = cube.exclusive(metric)
        for below in _below(metric):
            values = values - cube.exclusive(below)
        sums = values.sum(axis=1)
        found += [(abs(sums[path]), metric, path, values[path]) for path in largest(cube, sums, top)]
    found.sort(key=lambda row: -row[0])
    return [(metric, path, values) for _, metric, path, values in found[:top]]


def severities_json(cube: Cube) -> dict[str, Any]:
    """Give wait states of MPI as JSON: metric, then routine, then a value for each rank in µs.

    Parameters
    ----------
    cube : Cube
        The cube.

    Returns
    -------
    dict
        ``severities``, ``unit``, ``ranks`` and ``problems``; routines without a wait state are left out.
        ``grid`` has the grid versions of wait states if ranks ran on several machines, whose names are
        in ``machines``, a name for each rank.  ``root_causes`` has delay costs and the critical path by the
        name that call paths end in, if they were searched.

    Examples
    --------
    >>> pse.analysis.severities_json(pse.analysis.analyze("mpi1"))["severities"]
    {'mpi_latesender': {'MPI_Recv': [0.0, 3.0]}}
    """
    machines = {location.rank: location.machine for location in cube.locations}
    several = len(set(machines.values())) > 1
    causes = _by_routine(cube, ROOT_CAUSES)
    grid = {"grid": _by_routine(cube, GRID_STATES), "machines": [machines[rank] for rank in cube.ranks]}
    return {
        "severities": _by_routine(cube, (*WAIT_STATES, *MORE_WAIT_STATES)),
        **(grid if several else {}),
        **({"root_causes": causes} if causes else {}),
        "unit": "microseconds, summed per region, one value per rank",
        "ranks": list(cube.ranks),
        "problems": list(cube.problems),
    }


def _by_routine(cube: Cube, metrics: Iterable[str]) -> dict[str, dict[str, list[float]]]:
    found = {metric: cube.by_region(metric) for metric in metrics}
    return {
        metric: {name: [value / 1e3 for value in values] for name, values in regions.items()}
        for metric, regions in sorted(found.items())
        if regions
    }
