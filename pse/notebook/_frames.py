"""An experiment as a data frame: a row for each point, with medians, intervals, speedup and efficiency.

Needs pandas, so `experiment` imports it when that is sure to be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pse.notebook._medians import Interval, median
from pse.notebook._scaling import draw_scaling
from pse.notebook._sweep import Point, Run, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_ENDS = ("", "_low", "_high")
_RUN_COLUMNS = ("repeat", "seconds", "error")
_COLUMNS = {
    *("runs", "failed", *Interval._fields, *_RUN_COLUMNS),
    *(f"{name}{end}" for name in ("speedup", "efficiency") for end in _ENDS),
}


class Experiment(pd.DataFrame):  # type: ignore[misc]
    """A data frame with a row for each point of a sweep.

    Columns: ``procs`` and the parameters (``param NAME`` for one that has the name of another column);
    ``runs`` and ``failed``, how many; ``median``, ``low`` and
    ``high``, the wall time in seconds and the bounds of its interval; ``confidence``, the probability that
    the interval holds the true median (95 % from six runs on); ``speedup``, ``speedup_low``, ``speedup_high``
    and ``efficiency``, ``efficiency_low``, ``efficiency_high``, over the smallest number of processors with
    the same parameters. The bounds of a ratio come from the bounds of both times, so they are rather too wide
    than too narrow.

    Attributes
    ----------
    raw : pandas.DataFrame
        All runs, one a row: the point, ``repeat``, ``seconds``, ``error``, and the figures that modules
        reported.
    program : str
        What ran.
    """

    _metadata = ["raw", "program", "names"]  # noqa: RUF012 (pandas' own convention)
    raw: Any = None
    program = ""
    names: Sequence[str] | None = None
    """Columns with parameters; None in frames that pandas put together of several."""

    @property
    def _constructor(self) -> Any:
        return Experiment  # So that a selection of rows can be drawn, too.

    def draw_speedup(self) -> Figure:
        """Draw the speedup over the number of processors, beside the ideal; a line for each setting."""
        return draw_scaling(self, "speedup")

    def draw_efficiency(self) -> Figure:
        """Draw the efficiency (speedup over ideal speedup) over the number of processors."""
        return draw_scaling(self, "efficiency")


def make_frame(sweep: Sweep, runs: Sequence[Run], program: str) -> Experiment:
    """Make the data frame of an experiment."""
    of_point: dict[Point, list[Run]] = {point: [] for point in sweep.points}
    for run in runs:
        of_point[run.point].append(run)
    times = {
        point: [run.seconds for run in mine if run.seconds is not None] for point, mine in of_point.items()
    }
    medians = {point: median(seconds) for point, seconds in times.items() if seconds}
    frame = Experiment([_row(point, mine, medians) for point, mine in of_point.items()])
    frame.raw = _raw(sweep, runs)
    frame.program, frame.names = program, [_column(name) for name in sweep.names[1:]]
    return frame


def _column(name: str) -> str:
    """Name the column of a parameter, whose name may be another column's."""
    return f"param {name}" if name in _COLUMNS else name


def _row(point: Point, mine: Sequence[Run], medians: Mapping[Point, Interval]) -> dict[str, Any]:
    row = {_column(name): value for name, value in point}
    row["runs"] = sum(run.error is None for run in mine)
    row["failed"] = len(mine) - row["runs"]
    found = medians.get(point)
    none = float("nan")
    row |= found._asdict() if found else dict.fromkeys(Interval._fields, none)
    base = _base(point, medians)
    ratios = _ratios(found, medians[base]) if found and base else (none, none, none)
    more = dict(point)["procs"] / dict(base)["procs"] if base else none
    for name, by in (("speedup", 1.0), ("efficiency", more)):
        row |= {f"{name}{end}": ratio / by for end, ratio in zip(_ENDS, ratios, strict=True)}
    return row


def _base(point: Point, medians: Mapping[Point, Interval]) -> Point | None:
    """Find the point with the same parameters and the fewest processors."""
    same = [other for other in medians if other[1:] == point[1:]]
    return min(same, key=lambda other: other[0][1], default=None)


def _ratios(found: Interval, base: Interval) -> tuple[float, float, float]:
    if found is base:
        return 1.0, 1.0, 1.0
    return base.median / found.median, base.low / found.high, base.high / found.low


def _raw(sweep: Sweep, runs: Sequence[Run]) -> pd.DataFrame:
    order = {key: number for number, key in enumerate(sweep.order())}
    rows = []
    for run in sorted(runs, key=lambda run: order[run.key]):
        row = {_column(name): value for name, value in run.point}
        row |= {"repeat": run.repeat, "seconds": run.seconds, "error": run.error}
        figures = {name if name not in row else f"figure {name}": x for name, x in run.figures.items()}
        rows.append(row | figures)
    return pd.DataFrame(rows, columns=None if rows else [*map(_column, sweep.names), *_RUN_COLUMNS])
