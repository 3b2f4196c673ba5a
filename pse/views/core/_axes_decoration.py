"""What stands around the data of several views: names of rows, lines of a grid, and bars that sum up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from pse.text import share_text, time_text
from pse.views.core._colours import Style
from pse.views.core._figure import BODY, FONT, HEAD, SMALL, SOFT, duration_axis, row_name, text_width


@dataclass(frozen=True)
class Total:
    """A bar that sums up: its name, its look, its time in ns, and of how many things (0: not counted)."""

    name: str
    style: Style
    time: float
    count: int


def height_of_rows(wanted: float, height: float | None, rest: float) -> float:
    """Give the inches that rows get: what they want, or what a given height of the figure leaves them."""
    return wanted if height is None else max(0.5, height - HEAD - rest)


def widest_name(labels: Iterable[str], width: float) -> float:
    """Give the inches that names of rows take in a figure `width` inches wide."""
    return max(text_width(row_name(label, BODY, width), BODY) for label in labels)


def grid(axes: Axes, axis: str = "both") -> None:
    """Draw the lines of a grid, behind the data; `axis` is that whose ticks have lines."""
    axes.grid(axis=axis, color="#E3E3E3", linewidth=0.5)  # type: ignore[arg-type]


def name_rows(axes: Axes, places: Sequence[float], names: Sequence[str], size: float = BODY) -> None:
    """Write names beside rows; `size` is in points."""
    axes.set_yticks(places, names, fontsize=size, family=FONT)
    axes.tick_params(axis="y", length=0)


def name_crowded_rows(axes: Axes, labels: Sequence[str], high: float) -> None:
    """Write names beside rows that are `high` inches together: every n-th, if they are many."""
    step = max(1, int(np.ceil(len(labels) * 9 / (72 * high))))
    places = range(0, len(labels), step)
    size = min(BODY, max(SMALL - 1, 0.8 * 72 * high / len(labels) * step))
    width = float(axes.figure.bbox.width) / axes.figure.dpi
    name_rows(axes, places, [row_name(labels[place], size, width) for place in places], size)


def draw_sums(axes: Axes, totals: Sequence[Total], whole: float, label: str, size: float = BODY) -> None:
    """Draw bars from the top down, at each its time, its share of the whole (ns), and how often.

    Parameters
    ----------
    label : str
        What the x axis is.
    size : float
        Of the bars' names, points.
    """
    for place, one in enumerate(totals):
        style = one.style
        axes.barh(place, one.time, 0.7, color=style.colour, hatch=style.hatch, edgecolor="#444444", lw=0.5)
        axes.annotate(
            _numbers(one, whole), (one.time, place), (4, 0), textcoords="offset points", va="center",
            fontsize=SMALL, color=SOFT, family=FONT, annotation_clip=False,
        )  # fmt: skip
    longest = max(total.time for total in totals)
    axes.set_ylim(len(totals) - 0.4, -0.6)
    axes.set_xlim(0, 1.005 * longest)
    duration_axis(axes, "x", longest, label)
    name_rows(axes, range(len(totals)), [total.name for total in totals], size)


def _numbers(one: Total, whole: float) -> str:
    part = share_text(one.time / whole) if one.time / whole >= 0.005 else "< 1 %"
    return " · ".join([time_text(one.time), part, *([f"{one.count:,} ×"] if one.count else [])])
