"""Dispersion of communication and barriers: quantiles of each application at each size and load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from pse.emulate import Results, Summary, summaries
from pse.text import time_text
from pse.views.charts._panels import NUMBERED, application_names, draw_panels, is_numbered, label, setting
from pse.views.core._axes_decoration import name_rows, widest_name
from pse.views.core._figure import BODY, HEAD, MARGIN, SMALL, WIDTH, row_name
from pse.views.core._palette import PALETTE, darker

ROW = 0.26
"""Height of a row, inches."""
MOST_ROWS = 60
METRICS = ("communication", "barrier")
_NONE: Final[dict[str, Any]] = {"fontsize": SMALL, "color": "#888888", "va": "center", "ha": "center"}


def draw_dispersion(
    results: Sequence[Results], *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw quantiles of communication and barrier times, a row for each application, size and load."""
    found = _rows(results)
    sides = [[(name, one) for name, one in found if one.metric == metric][:MOST_ROWS] for metric in METRICS]
    names = [name for name, _ in sides[0]]
    width = width or WIDTH
    tall = HEAD + ROW * len(names) + 1.7
    handles = [
        Line2D([], [], color="#888888", linewidth=1, label="1 % to 99 %"),
        Patch(color=PALETTE[1], label="quarter to three quarters"),
        Line2D([], [], color="black", linewidth=2, label="median"),
        Line2D([], [], color=PALETTE[5], marker="D", linestyle="", markersize=4, label="mean"),
    ]
    cut = len(found) // len(METRICS) - len(names)
    notes = "Times of all ranks, cycles and launches; σ is at the right of each row." + (
        f" {cut} more rows are left out." if cut else ""
    )
    notes += NUMBERED * any(is_numbered(name) for own in application_names(results) for name in own.values())
    figure, axes = draw_panels(
        results,
        "dispersion of times",
        METRICS,
        handles,
        notes,
        width=width,
        height=height or max(tall, 3.2),
        columns=2,
    )
    for one, side, metric in zip(axes, sides, METRICS, strict=True):
        _boxes(one, [row for _, row in side], metric)
    _name_rows(figure, axes, names, width)
    return figure


def _rows(results: Sequence[Results]) -> list[tuple[str, Summary]]:
    """Give all summaries with their applications' names, an application alone beside the same one at once."""
    found = []
    for own, names in zip(results, application_names(results), strict=True):
        known = {str(one.get("name")): one for one in own.metadata.get("applications", ())}
        for one in summaries(own, metrics=METRICS):
            application = known.get(one.name, {})
            first = application.get("alone") or one.name
            order = (first, one.size, one.load, names.get(first, first), one.name != first, one.beside)
            name = f"{names.get(one.name, one.name)}, {setting(application, one.size, one.load)}"
            name += f", beside {one.beside}" * bool(one.beside)
            found.append((order, name, one))
    return [(name, one) for _, name, one in sorted(found, key=lambda row: row[0])]


def _boxes(axes: Axes, rows: Sequence[Summary], metric: str) -> None:
    for place, one in enumerate(rows):
        if one.quantiles[0.99] <= 0:  # Applications that aren't synchronous have no barriers.
            axes.annotate("none", (0.5, place), xycoords=("axes fraction", "data"), **_NONE)
            continue
        low, left, middle, right, high = (max(one.quantiles[q], 1e-9) for q in (0.01, 0.25, 0.5, 0.75, 0.99))
        axes.plot([low, high], [place, place], color="#888888", linewidth=1)
        axes.barh(place, right - left, left=left, height=0.5, color=PALETTE[1], edgecolor=darker(PALETTE[1]))
        axes.plot([middle, middle], [place - 0.3, place + 0.3], color="black", linewidth=2)
        axes.plot(max(one.mean, 1e-9), place, marker="D", color=PALETTE[5], markersize=4)
        axes.annotate(
            f"σ {time_text(1e9 * one.sigma) if one.sigma == one.sigma else '–'}",
            (1.01, place), xycoords=("axes fraction", "data"), fontsize=SMALL, va="center",
        )  # fmt: skip
    ends = [max(one.quantiles[q], 1e-9) for one in rows for q in (0.01, 0.99) if one.quantiles[0.99] > 0]
    axes.set_xlim(0.8 * min(ends, default=1e-6), 1.25 * max(ends, default=1e-3))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: time_text(1e9 * value, zeros=False)))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    label(axes, f"{metric} time of a cycle")


def _name_rows(figure: Figure, axes: Sequence[Axes], names: Sequence[str], width: float) -> None:
    """Write the rows' names beside the left panel, and move both panels to make room for them."""
    shown = [row_name(name, BODY, width) for name in names]
    name_rows(axes[0], range(len(names)), shown)
    axes[1].set_yticks(range(len(names)), [""] * len(names))
    left = widest_name(names, width) + MARGIN + 0.15
    sigma = 0.75
    wide = max(0.3, (width - left - MARGIN - 2 * sigma - 0.1) / 2)
    for place, one in enumerate(axes):
        box = one.get_position()
        begin = left + place * (wide + sigma + 0.1)
        one.set_position((begin / width, box.y0, wide / width, box.height))
