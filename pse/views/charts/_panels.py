"""Panels side by side: one kind of axes again and again, with a legend for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pse.emulate import RECORDED, Results
from pse.text import count_text, list_text, size_text
from pse.views.core._axes_decoration import grid
from pse.views.core._figure import (
    BODY,
    FONT,
    HEAD,
    INK,
    MARGIN,
    WIDTH,
    add_axes,
    caption,
    caption_lines,
    elided,
    headed_figure,
    legend_below,
    legend_height,
)

LEFT, BETWEEN, BELOW, ABOVE = 0.85, 0.75, 0.6, 0.35
"""Room of labels beside, between, below and above panels, inches."""
TALL = 2.4
MOST_COLUMNS = 3


def draw_panels(
    results: Sequence[Results],
    title: str,
    panels: Sequence[str],
    handles: Sequence[Any],
    notes: str,
    *,
    width: float | None,
    height: float | None,
    columns: int | None = None,
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a panel for each title, by rows, and a legend below them."""
    width = width or WIDTH
    room = width - 2 * MARGIN
    columns = columns or (2 if len(panels) == 4 else min(len(panels), MOST_COLUMNS))
    lines = ceil(len(panels) / columns)
    folded = caption_lines(notes, room)
    foot = (
        legend_height([str(handle.get_label()) for handle in handles], room) + 0.15 * (len(folded) + 1) + 0.1
    )
    frame = ABOVE + BELOW
    tall = TALL if height is None else max(0.5, (height - HEAD - foot) / lines - frame)
    whole = HEAD + lines * (tall + frame) + foot
    figure = headed_figure(title, about(results), width=width, height=whole)
    wide = (width - LEFT - MARGIN - (columns - 1) * BETWEEN) / columns
    found = []
    for place, name in enumerate(panels):
        row, column = divmod(place, columns)
        left = LEFT + column * (wide + BETWEEN)
        top = HEAD + row * (tall + frame) + ABOVE
        axes = add_axes(figure, left=left, top=top, right=width - left - wide, bottom=whole - top - tall)
        axes.set_title(elided(name, BODY, wide), fontsize=BODY, family=FONT, color=INK, loc="left")
        grid(axes)
        found.append(axes)
    legend_below(figure, handles, top=foot, width=room)
    caption(figure, folded)
    return figure, found


def about(results: Sequence[Results]) -> str:
    """Say in a line what was measured where."""
    launches = [len(one.launches) for one in results]
    ranks = sorted({int(one.metadata["ranks"]) for one in results if one.metadata.get("ranks")})
    hosts = {host for one in results for host in one.metadata.get("hosts", ())}
    parts = [
        f"{list_text(map(str, ranks))} ranks" if ranks else "",
        ", ".join(sorted(hosts)) if len(hosts) < 4 else count_text(len(hosts), "node"),
        count_text(sum(launches), "launch", "launches"),
        " ".join(str(next((one.metadata["mpi"] for one in results if one.metadata.get("mpi")), "")).split()),
    ]
    return " · ".join(filter(None, parts))


def application_names(results: Sequence[Results]) -> list[dict[str, str]]:
    """Name the applications of each result so that those of different results can be told apart.

    By the name in its result: with nodes or ranks, and with the way of sending, where results differ in that;
    with the number of the result where nothing else differs.
    """
    told = [
        {str(one.get("name")): (extent(one), way(one)) for one in own.metadata.get("applications", ())}
        for own in results
    ]
    found = []
    for own in told:
        names = {}
        for name, facts in own.items():
            others = [one[name] for one in told if name in one]
            differing = [fact for place, fact in enumerate(facts) if len({one[place] for one in others}) > 1]
            names[name] = ", ".join(filter(None, [name, *differing]))
        found.append(names)
    sizes = [_sizes(one) for one in results]
    counts = Counter(
        (shown, own.get(name))
        for names, own in zip(found, sizes, strict=True)
        for name, shown in names.items()
    )
    return [
        {
            name: shown if counts[shown, own.get(name)] == 1 else f"{shown} ({number})"
            for name, shown in names.items()
        }
        for number, (names, own) in enumerate(zip(found, sizes, strict=True), 1)
    ]


def _sizes(results: Results) -> dict[str, tuple[int, ...]]:
    """Give the sizes of each application's messages."""
    names = [str(one.get("name")) for one in results.metadata.get("applications", ())]
    rows = results.cycles[["application", "size"]]
    known = np.unique(rows)
    return {
        name: tuple(known["size"][known["application"] == place].tolist()) for place, name in enumerate(names)
    }


def extent(application: Mapping[str, Any]) -> str:
    """Say how many nodes an application has, or ranks where all are on one."""
    nodes, ranks = len(application.get("nodes", ())), application.get("ranks")
    if nodes > 1:
        return count_text(nodes, "node")
    return "" if ranks is None else count_text(int(ranks), "rank")


def is_recorded(application: Mapping[str, Any]) -> bool:
    """Say whether an application replays a recorded program, whose messages and load are the trace's."""
    return bool(application.get("pattern") == RECORDED)


def setting(application: Mapping[str, Any], size: int, load: float | None = None) -> str:
    """Name the size of an application's messages, and its load; those of a trace have no name."""
    if is_recorded(application):
        return "as recorded"
    return ", ".join([size_text(size, zeros=False), *([] if load is None else [f"{load:g} %"])])


def way(application: Mapping[str, Any]) -> str:
    """Say how an application sends its messages; a recorded program sends as its trace says."""
    if is_recorded(application):
        return ""
    return {True: "blocking", False: "non-blocking"}.get(application.get("blocking"), "")  # type: ignore[arg-type]


def is_numbered(name: str) -> bool:
    """Say whether a name has the number of its result."""
    return name.endswith(")") and name.rpartition(" (")[2][:-1].isdecimal()


NUMBERED = " (1), (2), … are the results in the order in which they are named."


def label(axes: Axes, x: str = "", y: str = "") -> None:
    """Name the axes of a panel."""
    style: dict[str, Any] = {"fontsize": BODY, "family": FONT, "color": INK}
    axes.set_xlabel(x, **style)
    axes.set_ylabel(y, **style)
