"""What all views share: a figure with its head, axes of time, legends beside the data, captions.

Everything is laid out in inches from the top, so that neither many rows nor a long legend squeeze the rest.

Imports matplotlib, without pyplot.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pse.text import TIME_UNITS, count_text, moment_text, text_bytes, time_text
from pse.trace import Selection, Trace
from pse.views.core._selection_caption import selection_text, start_text

FONT = "DejaVu Sans"  # Comes with matplotlib, so that a picture is the same on every machine.
INK = "#1A1A1A"
SOFT = "#555555"
TITLE, BODY, SMALL = 11.0, 9.0, 7.5  # points
WIDTH = 11.0  # inches
MARGIN = 0.25
HEAD = 0.75
"""Height of title and subtitle, inches."""
NAMES = 0.36
"""Share of a figure's width that names of rows may take."""
TICK = 0.6
"""Room of a tick of a horizontal axis, inches; of a vertical one half as much."""
LEAST = 0.3
"""Of axes, inches: a figure that is asked to be too small is cut rather than refused."""


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Give the width of a text in inches; `size` is in points.

    The points of the outline say it, as curves reach no farther; to follow all curves takes 20 times as long.
    """
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), text, size=size, prop=FontProperties(family=FONT, weight=weight))
    return float(np.max(path.vertices[:, 0])) / 72


def new_figure(
    trace: Trace, title: str, *, width: float, height: float, selection: Selection | None = None
) -> Figure:
    """Make a figure with a head that says what is shown, and of which run.

    Parameters
    ----------
    title : str
        What the picture shows: ``calls and waits of each thread``.
    width, height : float
        Inches, the head included.
    selection : Selection, optional
        What the picture shows of the run; the head says it.
    """
    name, about = describe(trace)
    line = " · ".join(filter(None, [about, selection_text(selection)]))
    return headed_figure(f"{name} — {title}", line, width=width, height=height)


def headed_figure(title: str, line: str, *, width: float, height: float) -> Figure:
    """Make a figure with a title, and a line below it that is cut where there is no room."""
    figure = Figure(figsize=(width, height), facecolor="white")
    left, room = MARGIN / width, width - 2 * MARGIN
    style: dict[str, Any] = {"family": FONT, "va": "top"}
    figure.text(left, 1 - 0.2 / height, title, size=TITLE, weight="bold", color=INK, **style)
    below = shortened(line, SMALL + 0.5, room)
    figure.text(left, 1 - 0.45 / height, below, size=SMALL + 0.5, color=SOFT, **style)
    return figure


def describe(trace: Trace) -> tuple[str, str]:
    """Give a run's name, and a line with its parameters, processors, ranks, hosts and start."""
    hosts = {trace.files[rank].host for rank in trace.ranks}
    ranks = count_text(len(trace.ranks), "rank")
    where = f" on {count_text(len(hosts), 'host')}" if len(hosts) > 1 else ""
    known = trace.definitions
    if known is None:
        return trace.path.resolve().name, f"{ranks}{where} · {time_text(trace.span, zeros=False)}"
    values = ", ".join(f"{name} = {_value(value)}" for name, value in known.parameters.items())
    processors = {rank.processor for rank in known.ranks} - {None}
    parts = [
        values,
        count_text(len(processors), "processor") if processors else "",
        ranks + where,
        time_text(trace.span, zeros=False),
        start_text(known.started),
    ]
    # Names of files, and what the command line says, may be no text.
    name, line = PurePath(known.program).stem, " · ".join(filter(None, parts))
    return text_bytes(name).decode(), text_bytes(line).decode()


def add_axes(figure: Figure, *, left: float, top: float, right: float, bottom: float) -> Axes:
    """Add axes with these margins in inches, in the house's plain style."""
    width, height = figure.get_size_inches()
    wide, high = max(LEAST, width - left - right), max(LEAST, height - top - bottom)
    box = (left / width, bottom / height, wide / width, high / height)
    axes = figure.add_axes(box)
    axes.tick_params(labelsize=BODY - 0.5, colors=INK, length=3, width=0.6, labelfontfamily=FONT)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color("#888888")
        spine.set_linewidth(0.6)
    axes.set_axisbelow(True)
    return axes


def time_unit(longest: float) -> tuple[float, str]:
    """Give the unit in which a time in ns is a handy number: its ns, and its name.

    Examples
    --------
    >>> time_unit(2_500_000)
    (1000000.0, 'ms')
    """
    return next(((size, name) for size, name in TIME_UNITS if longest >= 2 * size), TIME_UNITS[-1])


def time_axis(axes: Axes, begin: float, end: float) -> None:
    """Let x be time in ns from `begin` to `end`, shown in the unit that suits."""
    label = "time since the start of the run"
    end = max(end, begin + 1)
    axes.set_xlim(begin, end)
    if begin < 5 * (end - begin):
        duration_axis(axes, "x", end - begin if begin < end - begin else end, label)
    else:  # Ticks like 10.00025 s say little.
        since = begin // 1e3 * 1e3
        duration_axis(axes, "x", end - begin, f"{label}, after {moment_text(since)}", since=since)


def duration_axis(axes: Axes, which: str, longest: float, label: str, since: float = 0.0) -> None:
    """Let one axis (``x`` or ``y``) be ns, in the unit that suits the longest; leaves limits alone.

    Ticks are numbers from `since` on.
    """
    size, name = time_unit(longest)
    axis = axes.xaxis if which == "x" else axes.yaxis
    box = axes.get_window_extent()
    room = (box.width if which == "x" else 2 * box.height) / axes.figure.dpi
    axis.set_major_locator(_Ticks(since, int(np.clip(room / TICK, 1, 8))))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{round((value - since) / size, 6):.10g}"))
    axis.set_label_text(f"{label} ({name})", fontsize=BODY, color=INK, fontfamily=FONT)


class _Ticks(MaxNLocator):
    """So many round numbers at most, from a time on."""

    def __init__(self, since: float, number: int) -> None:
        super().__init__(nbins=number, steps=[1, 2, 2.5, 5, 10])
        self.since = since

    def tick_values(self, vmin: float, vmax: float) -> Any:
        return np.asarray(super().tick_values(vmin - self.since, vmax - self.since)) + self.since


def legend_below(figure: Figure, handles: Sequence[Any], *, top: float, width: float) -> None:
    """Put a legend whose upper edge lies `top` inches above the figure's lower edge; see `legend_height`.

    Entries follow each other as words do in a text; each line is a legend of matplotlib.
    """
    total, height = figure.get_size_inches()
    labels = [str(handle.get_label()) for handle in handles]
    for line, (first, last) in enumerate(_legend_lines(labels, width)):
        legend = figure.legend(
            handles=list(handles[first:last]),
            loc="upper left",
            bbox_to_anchor=(MARGIN / total, (top - line * LEGEND_LINE) / height),
            ncols=last - first,
            prop=FontProperties(family=FONT, size=LEGEND_SIZE),
            labelcolor=INK,
            frameon=False,
            handlelength=1.6,
            handleheight=0.9,
            handletextpad=0.6,
            columnspacing=1.6,
            borderaxespad=0,
            borderpad=0,
        )
        legend.set_zorder(10)


LEGEND_SIZE = SMALL + 0.5  # points
LEGEND_LINE = 0.19  # inches
LONGEST_ENTRY = 2.5
"""Name of a module in a legend, inches."""
_LEGEND_MARK = (1.6 + 0.6 + 1.6) * LEGEND_SIZE / 72  # inches that an entry takes beside its label


def legend_height(labels: Sequence[str], width: float) -> float:
    """Height that a legend takes, inches."""
    return len(_legend_lines(labels, width)) * LEGEND_LINE


def _legend_lines(labels: Sequence[str], width: float) -> list[tuple[int, int]]:
    """First and past-the-last entry of each line."""
    lines, first, used = [], 0, 0.0
    for place, label in enumerate(labels):
        needed = text_width(label, LEGEND_SIZE) * 1.06 + _LEGEND_MARK
        if place > first and used + needed > width:
            lines.append((first, place))
            first, used = place, 0.0
        used += needed
    return [*lines, (first, len(labels))] if labels else []


def caption_lines(text: str, width: float) -> list[str]:
    """Fold a caption to a width in inches."""
    return textwrap.wrap(text, max(40, int(width / text_width("n" * 20, SMALL) * 20 * 1.08)))


def caption(figure: Figure, lines: Sequence[str]) -> None:
    """Write lines at the very foot of a figure; each takes 0.15 inches."""
    width, height = figure.get_size_inches()
    text = figure.text(MARGIN / width, 0.1 / height, "\n".join(lines), size=SMALL, color=SOFT, va="bottom")
    text.set(family=FONT, linespacing=1.35)


def shortened(text: str, size: float, room: float) -> str:
    """Cut a text at its end so that it fits into a width in inches."""
    width = text_width(text, size)
    if width <= room:
        return text
    text = text[: int(1.3 * len(text) * room / width) + 1]
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


def row_name(text: str, size: float, width: float) -> str:
    """Give the name of a row in a figure `width` inches wide: as it is, if it leaves room for the picture."""
    return elided(text, size, NAMES * width)


def legend_name(text: str) -> str:
    """Give the name of a module or routine as legends have it."""
    return elided(text, LEGEND_SIZE, LONGEST_ENTRY)


def elided(text: str, size: float, room: float) -> str:
    """Take out a text's middle so that it fits into a width in inches: names often differ at their ends."""
    width = text_width(text, size)
    if width <= room:
        return text
    for kept in range(min(len(text) - 1, int(1.3 * len(text) * room / width)), 1, -1):
        short = f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}"
        if text_width(short, size) <= room:
            return short
    return "…"


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
