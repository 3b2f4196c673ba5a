"""The cost of messages by size: what was measured, the fitted lines, and what they miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from pse.emulate import Measured, Model, Results, fit
from pse.errors import UsageError
from pse.text import size_text, time_text
from pse.views.charts._panels import NUMBERED, draw_panels, label
from pse.views.core._palette import PALETTE

LEAST = 0.5
"""Where a message without bytes stands on the logarithmic axis, bytes."""
LARGE, LINEAR = 100.0, 10.0
"""With an error above `LARGE`, the scale of errors is linear up to `LINEAR` only, percent."""
_MODES = ("piecewise", "paper")


def draw_costs(
    results: Sequence[Results], *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw measured times of messages with both models, and the errors of their lines, for each result."""
    measured = {number: one.exchanges for number, one in enumerate(results, 1) if len(one.exchanges)}
    if not measured:
        raise UsageError(
            "these results have no exchanges: phase one was not measured",
            help="measure with phase one: exchange sizes in the configuration",
        )
    colours = _colours(list(measured))
    models = {number: [fit(table, mode) for mode in _MODES] for number, table in measured.items()}
    rows = [row for several in models.values() for one in several for row in one.table]
    bent = 100 * max(abs(row.residual) for row in rows) > LARGE
    notes = "One way, medians over launches with 95 % confidence intervals by bootstrap."
    notes += f" The scale of errors is logarithmic beyond ±{LINEAR:g} %." * bent
    notes += NUMBERED * (len(measured) > 1)
    titles = ["time of a message", "error of the lines"]
    figure, (left, right) = draw_panels(
        results, "cost of messages", titles, _handles(colours), notes, width=width, height=height or 4.6
    )
    for number, (segments, line) in models.items():
        mark, solid, dashed = colours[number]
        _times(left, segments, mark)
        _lines(left, right, segments, solid, "-")
        _lines(left, right, line, dashed, "--")
    _scale_axes(left, right, rows)
    if bent:
        right.set_yscale("symlog", linthresh=LINEAR)
        right.margins(y=0.1)  # The limits of a linear scale cut the greatest error.
        right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    right.axhline(0, color="#888888", linewidth=0.8)
    label(right, "size of the message", "error (%)")
    label(left, "size of the message", "time one way")
    return figure


def _colours(numbers: Sequence[int]) -> dict[int, tuple[str, str, str]]:
    """Give the colours of what was measured, and of both models' lines: one for each of several results."""
    if len(numbers) == 1:
        return {numbers[0]: ("black", PALETTE[6], PALETTE[5])}
    shades = [shade for shade in PALETTE if shade != "#F0E442"]
    return {number: (shades[place % len(shades)],) * 3 for place, number in enumerate(numbers)}


def _handles(colours: Mapping[int, tuple[str, str, str]]) -> list[Line2D]:
    """Name the lines of one result; of several the colours, too."""
    several = len(colours) > 1
    mark, solid, dashed = ("#888888",) * 3 if several else next(iter(colours.values()))
    found = [Line2D([], [], color=own[0], label=f"({number})") for number, own in colours.items() if several]
    return [
        *found,
        Line2D([], [], color=mark, marker="o", markersize=4, linestyle="", label="measured, median"),
        Line2D([], [], color=solid, label="lines by segments, relative loss"),
        Line2D([], [], color=dashed, linestyle="--", label="one line, ordinary least squares"),
    ]


def _times(axes: Axes, model: Model, colour: str) -> None:
    sizes = np.array([max(one.size, LEAST) for one in model.table])
    times = np.array([one.seconds for one in model.table])
    spans = np.array([one.interval or (one.seconds, one.seconds) for one in model.table])
    axes.errorbar(
        sizes,
        times,
        yerr=np.abs(spans.T - times),
        color=colour,
        fmt="o",
        markersize=3.5,
        elinewidth=0.8,
        capsize=2,
    )


def _lines(left: Axes, right: Axes, model: Model, colour: str, dashes: str) -> None:
    sizes = np.array([one.size for one in model.table], float)
    begins = [one.begin for one in model.segments]
    for number, begin in enumerate(begins):
        end = begins[number + 1] - 1 if number + 1 < len(begins) else sizes[-1]
        fine = np.concatenate([[begin], np.geomspace(max(begin, LEAST), max(end, LEAST + 0.1), 100)])
        left.plot(np.maximum(fine, LEAST), model.line(fine), color=colour, linestyle=dashes, linewidth=1.2)
    missed = 100 * np.array([one.residual for one in model.table])
    right.plot(np.maximum(sizes, LEAST), missed, color=colour, linestyle=dashes, marker=".", linewidth=1)


def _scale_axes(left: Axes, right: Axes, rows: Sequence[Measured]) -> None:
    """Make the axes of times and sizes logarithmic, with ticks for all rows."""
    ends = [end for one in rows for end in (one.interval or (one.seconds, one.seconds))]
    left.set_yscale("log")
    few = np.log10(max(ends) / min(ends)) < 3
    left.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_text(1e9 * value, zeros=False)))
    left.yaxis.set_minor_formatter(NullFormatter())
    largest = max(one.size for one in rows)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        powers = [LEAST, *(2.0**power for power in range(2, 41, 4))]
        axes.xaxis.set_major_locator(FixedLocator([one for one in powers if one <= 1.5 * largest]))
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: "0 B" if value < 1 else size_text(value, zeros=False))
        )
        axes.xaxis.set_minor_formatter(NullFormatter())
