"""The cost of messages by size: what was measured, the fitted lines, and what they miss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from pse.emulate import Model, Results, fit
from pse.errors import UsageError
from pse.text import size_text, time_text
from pse.views.charts._panels import draw_panels, label
from pse.views.core._palette import PALETTE

LEAST = 0.5
"""Where a message without bytes stands on the logarithmic axis, bytes."""


def draw_costs(
    results: Sequence[Results], *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw measured times of messages with both models, and the errors of their lines."""
    measured = [one.exchanges for one in results if len(one.exchanges)]
    if not measured:
        raise UsageError(
            "these results have no exchanges: phase one was not measured",
            help="measure with phase one: exchange sizes in the configuration",
        )
    together = _together(measured)
    models = [(mode, fit(together, mode)) for mode in ("piecewise", "paper")]
    colours = (PALETTE[6], PALETTE[5])
    handles = [
        Line2D([], [], color="black", marker="o", markersize=4, linestyle="", label="measured, median"),
        Line2D([], [], color=colours[0], label="lines by segments, relative loss"),
        Line2D([], [], color=colours[1], linestyle="--", label="one line, ordinary least squares"),
    ]
    notes = "One way, medians over launches with 95 % confidence intervals by bootstrap."
    titles = ["time of a message", "error of the lines"]
    figure, (left, right) = draw_panels(
        results, "cost of messages", titles, handles, notes, width=width, height=height or 4.6
    )
    _times(left, models[0][1])
    for (mode, model), colour in zip(models, colours, strict=True):
        _lines(left, right, model, colour, "--" if mode == "paper" else "-")
    right.axhline(0, color="#888888", linewidth=0.8)
    label(right, "size of the message", "error (%)")
    label(left, "size of the message", "time one way")
    return figure


def _together(measured: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Join the exchanges of several results; each launch keeps a number of its own."""
    found, first = [], 0
    for rows in measured:
        own = rows.copy()
        own["launch"] = first + np.unique(rows["launch"], return_inverse=True)[1]
        first = int(own["launch"].max()) + 1
        found.append(own)
    return np.concatenate(found)


def _times(axes: Axes, model: Model) -> None:
    sizes = np.array([max(one.size, LEAST) for one in model.table])
    times = np.array([one.seconds for one in model.table])
    spans = np.array([one.interval or (one.seconds, one.seconds) for one in model.table])
    axes.errorbar(
        sizes,
        times,
        yerr=np.abs(spans.T - times),
        color="black",
        fmt="o",
        markersize=3.5,
        elinewidth=0.8,
        capsize=2,
    )
    axes.set_yscale("log")
    decades = np.log10(spans.max() / spans.min())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 3 else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_text(1e9 * value, zeros=False)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _lines(left: Axes, right: Axes, model: Model, colour: str, dashes: str) -> None:
    sizes = np.array([one.size for one in model.table], float)
    begins = [one.begin for one in model.segments]
    for number, begin in enumerate(begins):
        end = begins[number + 1] - 1 if number + 1 < len(begins) else sizes[-1]
        fine = np.concatenate([[begin], np.geomspace(max(begin, LEAST), max(end, LEAST + 0.1), 100)])
        left.plot(np.maximum(fine, LEAST), model.line(fine), color=colour, linestyle=dashes, linewidth=1.2)
    missed = 100 * np.array([one.residual for one in model.table])
    right.plot(np.maximum(sizes, LEAST), missed, color=colour, linestyle=dashes, marker=".", linewidth=1)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        powers = [LEAST, *(2.0**power for power in range(2, 41, 4))]
        axes.xaxis.set_major_locator(FixedLocator([one for one in powers if one <= 1.5 * sizes[-1]]))
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: "0 B" if value < 1 else size_text(value, zeros=False))
        )
        axes.xaxis.set_minor_formatter(NullFormatter())
