"""Metrics of coscheduled communication by time slices: figures 5.3 to 5.5 of the paper on BCS-MPI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pse.text import count_text
from pse.views.core._axes_decoration import grid
from pse.views.core._figure import (
    BODY,
    FONT,
    HEAD,
    INK,
    WIDTH,
    add_axes,
    duration_axis,
    headed_figure,
)
from pse.views.core._palette import PALETTE

MEANINGS = {
    "getts": "from the previous slice",
    "gtdem": "descriptor exchange",
    "gtmsm": "message scheduling",
    "gtts": "whole slice",
    "late": "begun after its time",
    "np2pdem": "messages' descriptors",
    "np2pmsm": "messages scheduled",
    "ncolldem": "collectives' descriptors",
    "ncollmsm": "collectives scheduled",
    "bpts": "blocked ranks",
    "ltr_exchange": "exchange of a node's own descriptors",
    "ltr_nodes": "taking what other nodes told",
    "ltr_match": "matching",
    "ltr_decide": "deciding what waits for all ranks",
    "ltr_message": "moving bytes of messages",
    "ltr_broadcast": "collective operations but reductions",
    "ltr_reduce": "reductions",
}
TIMES = ("getts", "gtdem", "gtmsm", "gtts", "late", *(one for one in MEANINGS if one.startswith("ltr_")))
LEFT, RIGHT, BELOW, ABOVE, TALL = 0.95, 0.25, 0.5, 0.3, 1.5
"""Inches: room around a panel, and its height."""


def draw_slices(
    slices: NDArray[Any], metrics: Sequence[str], *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw a panel for each metric, one below the other, over the numbers of slices."""
    width, panels = width or WIDTH, len(metrics)
    tall = TALL if height is None else max(0.5, (height - HEAD - BELOW) / panels - ABOVE)
    whole = HEAD + panels * (tall + ABOVE) + BELOW
    first, last = int(slices["slice"][0]), int(slices["slice"][-1])
    line = f"{count_text(len(slices), 'slice')}, from {first:,} to {last:,}"
    figure = headed_figure("time slices", line, width=width, height=whole)
    for place, metric in enumerate(metrics):
        top = HEAD + place * (tall + ABOVE) + ABOVE
        axes = add_axes(figure, left=LEFT, right=RIGHT, top=top, bottom=whole - top - tall)
        _draw(axes, slices, metric, PALETTE[6 if metric in TIMES else 5])
        axes.set_xlim(first - 0.5, last + 0.5)
        axes.tick_params(labelbottom=place + 1 == panels)
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    axes.set_xlabel("slice", fontsize=BODY, color=INK, fontfamily=FONT)
    return figure


def _draw(axes: Axes, slices: NDArray[Any], metric: str, colour: str) -> None:
    values = slices[metric].astype(float)
    axes.vlines(slices["slice"], 0, values, color=colour, linewidth=min(1.5, 600 / len(slices) + 0.3))
    axes.set_ylim(0, max(1.0, values.max()) * 1.08)
    style: dict[str, Any] = {"fontsize": BODY, "color": INK, "fontfamily": FONT}
    axes.set_title(f"{metric.upper()}: {MEANINGS[metric]}", loc="left", pad=4, **style)
    if metric in TIMES:
        duration_axis(axes, "y", float(np.max(values, initial=1.0)), "time")
    else:
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.set_ylabel("number", **style)
    grid(axes, "y")
