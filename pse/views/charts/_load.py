"""CPU load: how much of each module call's time its rank computed, was ready without a core, and slept.

A call site that sleeps more than 40 % of its time waits inside its calls, for a disk, a network, other ranks:
it is worth a thread of its own, beside one that computes.  One that was preempted is not; nor is any where
ranks outnumber cores.  A row is one call site; a dot is one call, an upright line all calls together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pse.text import count_text, cpu_share_text, share_text, time_text
from pse.trace import Selection, Trace
from pse.trace.format import Array, TraceError
from pse.trace.query import Names
from pse.views.core._axes_decoration import grid, height_of_rows, name_rows, widest_name
from pse.views.core._colours import Style, module_styles
from pse.views.core._figure import (
    BODY,
    FONT,
    HEAD,
    INK,
    MARGIN,
    SMALL,
    SOFT,
    WIDTH,
    add_axes,
    caption,
    caption_lines,
    legend_below,
    legend_height,
    new_figure,
    row_name,
)

LIMIT = 0.6
"""A module that sleeps for the rest, or more, is worth a thread of its own."""
PREEMPTED, ASLEEP = "#B8B8B8", "#CFE3F5"
PITCH = 0.4
"""Height of a row, inches."""
MOST_ROWS = 60
"""Call sites that are shown: those with the most run time."""
GRID = (800, 24)
"""Dots that a row has room for: calls that fall on the same one are drawn once."""
LARGEST = 42.0
"""Area of the longest call's dot, points squared."""


@dataclass(frozen=True)
class Load:
    """The calls of one call site.

    Parameters
    ----------
    label : str
        Its name, line and thread.
    style : Style
        Its module's colour.
    loads, times : array of float, shape (n,)
        CPU time over run time, and run time in ns, of each call.
    mean : float
        CPU time over run time of all of them.
    preempted : float
        The part of the run time, from 0 to 1, in which they were ready to run without a core.
    """

    label: str
    style: Style
    loads: Array
    times: Array
    mean: float
    preempted: float = 0.0

    @property
    def asleep(self) -> float:
        """The part of the run time in which the calls neither computed nor were ready to, from 0 to 1."""
        return max(0.0, 1 - self.mean - self.preempted)


def loads(trace: Trace, selection: Selection) -> list[Load]:
    """CPU loads by call site and thread, those with the most run time first."""
    calls = selection.of(trace, trace.module_calls())
    calls = calls[calls["complete"] & (calls["leave"] > calls["enter"])]
    names, styles = Names(trace), module_styles(trace)
    sites, first, index = np.unique(calls["site"], return_index=True, return_inverse=True)
    threads = [names.thread(rank) for rank in calls["rank"][first].tolist()]
    # A segment's calls stand for all its uses.
    places = [f"{names.spoken_site(site)} · {thread}" for site, thread in zip(sites, threads, strict=True)]
    known = list(dict.fromkeys(places))
    group = np.array([known.index(place) for place in places], "<i8")[index]
    found = []
    for number, place in enumerate(known):
        part = calls[group == number]
        times, cpu = (part["leave"] - part["enter"]).astype(float), part["cpu"].astype(float)
        site = int(part["site"][0])
        style = styles.get(names.module(site) or names.site(site)[1], Style("#999999"))
        total = float(times.sum())
        mean = float(cpu.sum()) / total
        # The clocks of CPU time and of the run queue are read one after the other.
        lost = min(float(part["preempted"].sum()) / total, max(0.0, 1 - mean))
        found.append(Load(place, style, cpu / times, times, mean, lost))
    return sorted(found, key=lambda one: -one.times.sum())


def crowded_host(trace: Trace) -> str:
    """Say which host has more ranks than cores: ``7 ranks share the 2 cores of node1``; "" if none has."""
    cores = trace.definitions.environment.get("cores") if trace.definitions else None
    hosts = Counter(trace.files[rank].host for rank in trace.ranks)
    host, ranks = hosts.most_common(1)[0]
    if not isinstance(cores, int) or ranks <= cores:
        return ""
    return f"{ranks} ranks share the {count_text(cores, 'core')} of {host}"


def draw_load(
    trace: Trace, selection: Selection, *, width: float | None = None, height: float | None = None
) -> Figure:
    """Draw the CPU load of each module call."""
    shown = loads(trace, selection)
    if not shown:
        raise TraceError(
            "nothing to show: no module call ended within the selection",
            help="the CPU load is measured in module calls; a trace of MPI alone has none",
        )
    left_out = len(shown) - MOST_ROWS
    shown = shown[:MOST_ROWS]
    width = width or WIDTH
    left = MARGIN + widest_name((one.label for one in shown), width) + 0.15
    crowded = crowded_host(trace)
    lines = caption_lines(_notes(left_out, crowded), width - 2 * MARGIN)
    longest = max(float(one.times.max()) for one in shown)
    handles = _handles(longest, advises=not crowded)
    legend = legend_height([str(handle.get_label()) for handle in handles], width - 2 * MARGIN)
    foot = 0.66 + legend + 0.15 * (len(lines) + 1)
    high = height_of_rows(PITCH * len(shown) + 0.15, height, foot)
    title = _title(shown)
    figure = new_figure(trace, title, width=width, height=HEAD + high + foot, selection=selection)
    axes = add_axes(figure, left=left, top=HEAD, right=MARGIN + 1.75, bottom=foot)
    _frame(axes, shown, [row_name(one.label, BODY, width) for one in shown])
    if not crowded:
        axes.axvline(LIMIT, color="#B00020", linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="limit")
    for place, one in enumerate(shown):
        _row(axes, place, one, longest, stands_out=not crowded and one.asleep > 1 - LIMIT)
    legend_below(figure, handles, top=foot - 0.55, width=width - 2 * MARGIN)
    caption(figure, lines)
    return figure


def _title(shown: Sequence[Load]) -> str:
    """Say how much of their time calls compute."""
    whole = sum(float(one.times.sum()) for one in shown)
    computing = sum(one.mean * float(one.times.sum()) for one in shown)
    return f"Module calls compute in {share_text(computing / whole)} of their time"


def _frame(axes: Axes, shown: Sequence[Load], names: Sequence[str]) -> None:
    most = max(1.0, _highest(shown))
    axes.set_xlim(0, 1.04 * most)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.hlines(np.arange(len(shown) - 1) + 0.5, 0, 1.04 * most, color="#EEEEEE", linewidth=0.6, zorder=0.5)
    grid(axes, "x")
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    name_rows(axes, range(len(shown)), names)
    axes.set_xlabel("CPU time over run time (%)", fontsize=BODY, color=INK, family=FONT)


def _highest(shown: Sequence[Load]) -> float:
    """The load that all but half a percent of the run time has at most: of short calls it is a guess."""
    loads, times = np.concatenate([one.loads for one in shown]), np.concatenate([one.times for one in shown])
    order = np.argsort(loads)
    passed = np.cumsum(times[order])
    return float(loads[order][np.searchsorted(passed, 0.995 * passed[-1])])


def _row(axes: Axes, place: int, one: Load, longest: float, *, stands_out: bool) -> None:
    _parts(axes, place, one)
    x, y, times = _dots(one, axes.get_xlim()[1])
    axes.scatter(
        x, place + y, s=_area(times, longest), c=one.style.colour, edgecolors="#333333", linewidths=0.3,
        alpha=0.75, zorder=5, clip_on=False, gid=one.label, rasterized=len(x) > 2000,
    )  # fmt: skip
    mean = min(one.mean, axes.get_xlim()[1])
    axes.plot([mean, mean], [place - 0.42, place + 0.42], color="white", linewidth=4.5, zorder=4)
    axes.plot(
        [mean, mean], [place - 0.42, place + 0.42], color="#111111", linewidth=2.2, zorder=4.1, gid="mean"
    )
    count, total = count_text(len(one.times), "call"), one.times.sum()
    preempted = f"preempted {share_text(one.preempted)}\n" if one.preempted >= 0.01 else ""
    axes.annotate(
        f"{preempted}{cpu_share_text(one.mean, total, len(one.times))} · {time_text(total)} · {count}",
        (1, place), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
        fontsize=SMALL, color="#B00020" if stands_out else SOFT, family=FONT, annotation_clip=False,
    )  # fmt: skip


def _parts(axes: Axes, place: int, one: Load) -> None:
    """How much of the run time was spent ready without a core and asleep, from all calls' CPU time on."""
    begin = min(one.mean, 1.0)
    for size, colour, hatch in ((one.preempted, PREEMPTED, "////"), (one.asleep, ASLEEP, "")):
        size = min(size, 1 - begin)
        axes.barh(
            place, size, 0.7, begin, color=colour, hatch=hatch, edgecolor="white", linewidth=0, zorder=0.7,
            gid="preempted" if hatch else "asleep",
        )  # fmt: skip
        begin += size


def _dots(one: Load, most: float) -> tuple[Array, Array, Array]:
    """Places of the dots: load, a height that spreads calls, run time; each place once, with the longest."""
    order = np.argsort(one.times, kind="stable")[::-1]
    x = np.minimum(one.loads[order], most)
    column = np.minimum((x / most * GRID[0]).astype("<i8"), GRID[0] - 1)
    line = (
        (np.arange(len(x)) * 0.618034 % 1 * GRID[1]).astype("<i8") if len(x) > 1 else np.full(1, GRID[1] // 2)
    )
    _, first = np.unique(column * GRID[1] + line, return_index=True)
    return x[first], 0.7 * ((line[first] + 0.5) / GRID[1] - 0.5), one.times[order][first]


def _area(times: Array, longest: float) -> Array:
    area: Array = np.maximum(5.0, LARGEST * np.sqrt(times / longest))
    return area


def _handles(longest: float, *, advises: bool) -> list[Line2D | Patch]:
    sizes = [_dot(time, longest) for time in (longest, longest / 10)]
    mean = Line2D([], [], marker="|", color="#111111", linestyle="none", markersize=10, markeredgewidth=2.2)
    mean.set_label("all calls together")
    limit = Line2D([], [], color="#B00020", linewidth=1.0, linestyle=(0, (4, 3)))
    limit.set_label("60 %: what sleeps for the rest may use a thread of its own")
    lost = Patch(facecolor=PREEMPTED, hatch="////", edgecolor="white", linewidth=0)
    lost.set_label("ready without a core (preempted)")
    parts = [lost, Patch(facecolor=ASLEEP, label="asleep")]
    return [*sizes, mean, *parts, *([limit] if advises else [])]


def _dot(time: float, longest: float) -> Line2D:
    size = float(_area(np.array([time]), longest)[0] ** 0.5)
    dot = Line2D([], [], marker="o", linestyle="none", markersize=size, markeredgewidth=0.4)
    dot.set(markerfacecolor="#BBBBBB", markeredgecolor="#333333", label=f"a call of {time_text(time)}")
    return dot


def _notes(left_out: int, crowded: str) -> str:
    rest = f" {left_out:,} call sites with less run time are left out." if left_out > 0 else ""
    crowd = f"{crowded}: calls are short of cores, and more threads don't help. " if crowded else ""
    return (
        f"{crowd}At the right: CPU time over run time of all calls, their run time, their number. "
        "Over 100 %: the module has threads of its own, or its calls are too short to tell; such are "
        f"drawn at the edge. Heights within a row only keep dots apart.{rest}"
    )
