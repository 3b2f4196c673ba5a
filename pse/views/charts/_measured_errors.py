"""Errors of predicted run times against the communication load: by number of nodes, and by application."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pse.emulate import Results, RunTime, run_times
from pse.views.charts._panels import (
    NUMBERED,
    application_names,
    draw_panels,
    extent,
    is_numbered,
    is_recorded,
    label,
    setting,
    way,
)
from pse.views.core._palette import PALETTE

MARKS = "os^Dv<>"
COLOURS = [shade for shade in PALETTE if shade != "#F0E442"]  # A thin yellow line hardly shows on white.
DODGE, WIDEST = 0.8, 5.0
"""Points of several lines at one load stand so far beside each other, and all together, percent of load."""
MARGIN_OF_LOADS = 4.0
"""Room beside the least and the greatest load, percent of load: for their marks, which stand beside them."""


@dataclass(frozen=True)
class Point:
    """One run time, with the panel and the line that it belongs to."""

    panel: str
    line: str
    order: tuple[int, str]
    time: RunTime
    alone: str | None = None
    """The application of whose line this has the colour, since it is the same one alone."""
    recorded: bool = False
    """Whether no load was asked for: it stands at the one that it had."""
    result: int = 1

    @property
    def load(self) -> float:
        """Where it stands, percent."""
        return self.time.achieved if self.recorded else self.time.load


def draw_error(
    results: Sequence[Results], *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw the error against the load: a panel for each kind of exchange and size, a line per node count."""
    points = []
    for number, one in enumerate(results, 1):
        known = {str(app.get("name")): app for app in one.metadata.get("applications", ())}
        for time in run_times(one):
            application = known.get(time.name, {})
            panel = ", ".join([*_kind(application), setting(application, time.size)])
            line = extent({"ranks": time.ranks, **application})
            order = (int(line.split()[0]), line)
            points.append(Point(panel, line, order, time, None, is_recorded(application), number))
    points = _told_apart(points)
    kinds = list(dict.fromkeys(point.panel.replace(", alone", "") for point in points))
    points.sort(key=lambda point: (kinds.index(point.panel.replace(", alone", "")), "alone" in point.panel))
    return _draw("error of predicted run time", results, points, width, height)


def _told_apart(points: Sequence[Point]) -> list[Point]:
    """Number the lines of results that measured the same: they would be one line."""
    results = defaultdict(set)
    for point in points:
        results[point.panel, point.line, point.time.load].add(point.result)
    alike = {line for (_, line, _), several in results.items() if len(several) > 1}
    return [_numbered(point) if point.line in alike else point for point in points]


def _numbered(point: Point) -> Point:
    name = f"{point.line} ({point.result})"
    return replace(point, line=name, order=(point.order[0], name))


def draw_applications(
    results: Sequence[Results], *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw the error against the load with a line for each application, those alone beside those together."""
    points = []
    for one, names in zip(results, application_names(results), strict=True):
        known = {str(app.get("name")): app for app in one.metadata.get("applications", ())}
        for time in run_times(one):
            application = known.get(time.name, {})
            name, first = names.get(time.name, time.name), application.get("alone")
            alone = None if first is None else names.get(first, first)
            order = (0, name if alone is None else f"{alone} alone")
            panel = setting(application, time.size)
            points.append(Point(panel, name, order, time, alone, is_recorded(application)))
    return _draw("error of predicted run time by application", results, points, width, height)


def _kind(application: Mapping[str, Any]) -> Iterator[str]:
    """Say what an application exchanges, and how."""
    yield str(application.get("name" if is_recorded(application) else "pattern", "unknown pattern"))
    yield from filter(None, [way(application), "alone" if application.get("alone") else ""])


def _draw(
    title: str, results: Sequence[Results], points: Sequence[Point], width: float | None, height: float | None
) -> Figure:
    panels = list(dict.fromkeys(point.panel for point in points))
    lines = [name for _, name in sorted({(point.order, point.line) for point in points})]
    style = _styles(lines, {point.line: point.alone for point in points if point.alone})
    handles = [Line2D([], [], label=name, linewidth=1.2, markersize=4, **style[name]) for name in lines]
    notes = (
        "Measured run time over predicted, less 1, without barriers: the median over launches, with 95 %"
        " confidence intervals by bootstrap."
    )
    notes += NUMBERED * any(map(is_numbered, lines))
    figure, all_axes = draw_panels(results, title, panels, handles, notes, width=width, height=height)
    for panel, axes in zip(panels, all_axes, strict=True):
        axes.axhline(0, color="#888888", linewidth=0.8)
        own = [point for point in points if point.panel == panel]
        drawn = [name for name in lines if name in {point.line for point in own}]
        for place, name in enumerate(drawn):
            beside = min(DODGE, WIDEST / len(drawn)) * (place - (len(drawn) - 1) / 2)
            _line(axes, [point for point in own if point.line == name], style[name], beside)
        axes.set_xlim(-MARGIN_OF_LOADS, 100 + MARGIN_OF_LOADS)
        label(axes, "communication load (%)", "error (%)")
    return figure


def _styles(lines: Sequence[str], alone: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Give lines colours and marks; an application alone has those of the same one beside others, dashed."""
    firsts = list(dict.fromkeys(alone.get(name, name) for name in lines))
    found = {}
    for name in lines:
        place = firsts.index(alone.get(name, name))
        style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKS[place % len(MARKS)]}
        found[name] = style | ({"linestyle": "--", "markerfacecolor": "white"} if name in alone else {})
    return found


def _line(axes: Any, points: Sequence[Point], style: Mapping[str, Any], beside: float) -> None:
    """Draw a line through the errors of one application or node count, a little beside their loads."""
    ordered = sorted([(point.load, point.time) for point in points], key=lambda row: row[0])
    loads, errors = np.array([load for load, _ in ordered]), np.array([time.error for _, time in ordered])
    spans = [time.error_interval or (time.error, time.error) for _, time in ordered]
    bars = np.abs(np.array(spans).reshape(-1, 2).T - errors)
    joined = {} if len(np.unique(loads)) == len(loads) else {"linestyle": ""}  # Or of several applications.
    if len(ordered):
        axes.errorbar(
            loads + beside,
            100 * errors,
            yerr=100 * bars,
            linewidth=1.2,
            markersize=4,
            capsize=2,
            elinewidth=0.8,
            **{**style, **joined},
        )
