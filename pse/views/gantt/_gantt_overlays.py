"""What may lie over the rows of the Gantt: marks, lengths of queues, memory, events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pse.text import size_text
from pse.trace import EventType, Trace
from pse.trace.format import Array
from pse.trace.query import outside_of_program
from pse.views.core._figure import FONT, SMALL
from pse.views.core._time_breakdown import START_AND_END
from pse.views.gantt._gantt_blocks import HALF
from pse.views.gantt._gantt_data import Blocks
from pse.views.gantt._wait_state_bars import WaitStates

MOST_MARKS = 20_000
MOST_STEPS = 4_000
"""Of a curve on one row."""
EVENTS: dict[str, tuple[tuple[EventType, ...], Any, str]] = {
    "tag sent": ((EventType.SEND, EventType.PARTITION_SEND, EventType.MPI_SEND), 6, "#111111"),
    "tag received": ((EventType.RECEIVE, EventType.PARTITION_RECEIVE, EventType.MPI_RECEIVE), 7, "#1F3A93"),
    "memory allocated": ((EventType.ALLOCATE,), 2, "#14532D"),
    "memory freed": ((EventType.FREE,), 3, "#8B1A1A"),
}
"""Auxiliary events: their types, and number and colour of their mark."""
SLICE, MATCH = "#7B1FA2", "#111111"


class Markers:
    """Marks that the program or a tool set."""

    notes: Sequence[str] = ()

    def __init__(self, found: Blocks) -> None:
        place = {one.row.rank: index for index, one in enumerate(found.rows)}
        self.marks = [
            (time, place[rank], text)
            for rank, time, text in found.markers[:MOST_MARKS]
            if found.begin <= time <= found.end
        ]
        style: dict[str, Any] = {"marker": "v", "color": "#111111", "linestyle": "none", "markersize": 4.5}
        self.handles = [Line2D([], [], **style, label="mark")] if self.marks else []

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw a triangle for each, with its text while they are few."""
        if not self.marks:
            return
        x, y = ([mark[column] for mark in self.marks] for column in (0, 1))
        axes.scatter(x, np.array(y) - HALF, marker="v", s=16, c="#111111", linewidths=0, zorder=8)
        for time, row, text in self.marks if len(self.marks) <= 30 else ():
            axes.annotate(
                text, (time, row - HALF), (2, 2), textcoords="offset points", size=SMALL - 1, family=FONT
            )


class StartAndEnd:
    """The time of each rank before the program's first statement, and after the last thing that it does."""

    notes: Sequence[str] = ()

    def __init__(self, trace: Trace, found: Blocks) -> None:
        self._spans = [
            (place, begin, end)
            for place, one in enumerate(found.rows)
            for begin, end in outside_of_program(trace, one.row.rank)
            if begin < found.end and end > found.begin
        ]
        self._look: dict[str, Any] = {
            "facecolor": "#F2F2F2", "edgecolor": "#C4C4C4", "hatch": "////", "linewidth": 0,
        }  # fmt: skip
        self.handles = [Patch(**self._look, label=START_AND_END)] if self._spans else []

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw a hatched band for each."""
        if not self._spans:
            return
        bands = [
            [(begin, place - HALF), (begin, place + HALF), (end, place + HALF), (end, place - HALF)]
            for place, begin, end in self._spans
        ]
        axes.add_collection(PolyCollection(bands, **self._look, zorder=0.8, gid=START_AND_END), autolim=False)


class _Curves:
    """A curve over each row that has one: 0 at its foot, the largest of all rows at its head."""

    colour = "#000000"
    dashes: Any = "solid"
    """Unlike those of the ways of TPHs, which are solid and thin."""

    def __init__(self, found: Blocks, curves: dict[int, tuple[Array, Array]], label: str, none: str) -> None:
        self.curves = curves
        self.found = found
        self.largest = max((float(values.max(initial=0)) for _, values in curves.values()), default=0.0)
        style: dict[str, Any] = {"color": self.colour, "linestyle": self.dashes, "linewidth": 1.6}
        self.handles = [Line2D([], [], **style, label=label)] if curves else []
        self.notes = [] if curves else [none]

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw the curves as steps."""
        lines = []
        for row, (times, values) in self.curves.items():
            x = np.repeat(np.append(times, self.found.end), 2)[1:-1].astype("<f8")
            y = row + HALF - 2 * HALF * np.repeat(values, 2) / max(self.largest, 1.0)
            lines.append(np.stack([x, y], axis=1))
        below: dict[str, Any] = {"colors": "#FFFFFF", "linewidths": 2.4, "zorder": 7.8}
        above = {"colors": self.colour, "linewidths": 1.2, "linestyles": [self.dashes], "zorder": 7.9}
        for style in (below, above):
            axes.add_collection(LineCollection(lines, **style), autolim=False)


class Queues(_Curves):
    """The longest queue of each rank."""

    colour = "#2A4FD0"

    def __init__(self, trace: Trace, found: Blocks) -> None:
        samples = trace.queue_depths()
        curves = {}
        for place, one in enumerate(found.rows):
            mine = samples[samples["rank"] == one.row.rank]
            if len(mine):
                curves[place] = _stepped(found, *_longest(mine))
        largest = int(max((values.max(initial=0) for _, values in curves.values()), default=0))
        super().__init__(
            found, curves, f"longest queue of the rank (row's height: {largest})", "No queue was recorded."
        )


class Memory(_Curves):
    """The memory that each rank holds for tags."""

    colour, dashes = "#14532D", (0, (5, 1.5))

    def __init__(self, trace: Trace, found: Blocks) -> None:
        changes = trace.memory()
        curves = {}
        for place, one in enumerate(found.rows):
            mine = changes[changes["rank"] == one.row.rank]
            if len(mine):
                curves[place] = _stepped(found, mine["time"], np.cumsum(mine["bytes"]))
        largest = max((values.max(initial=0) for _, values in curves.values()), default=0)
        label = f"memory held by the rank (row's height: {size_text(float(largest), zeros=False)})"
        super().__init__(found, curves, label, "No memory was recorded.")


class Events:
    """Auxiliary events as marks on the rows."""

    def __init__(self, trace: Trace, found: Blocks) -> None:
        self.marks: dict[str, list[tuple[Array, float]]] = {}
        there = shown = 0
        for name, (types, _, _) in EVENTS.items():
            for place, one in enumerate(found.rows):
                times = trace.run_times(one.row.rank, trace.select(one.row.rank, *types)["time"])
                times = times[(times >= found.begin) & (times <= found.end)]
                few = times[:: max(1, -(-len(times) * len(found.rows) // MOST_MARKS))]
                there, shown = there + len(times), shown + len(few)
                if len(few):
                    self.marks.setdefault(name, []).append((few, float(place)))
        self.handles = [
            Line2D(
                [],
                [],
                marker=EVENTS[name][1],
                color=EVENTS[name][2],
                linestyle="none",
                markersize=4,
                label=name,
            )
            for name in self.marks
        ]
        self.notes = [f"Marks: {shown:,} of {there:,} events are shown."] if shown < there else []

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw them at the head of each row, arrivals at its foot."""
        for name, places in self.marks.items():
            _, marker, colour = EVENTS[name]
            side = HALF if name == "tag received" else -HALF
            x = np.concatenate([times for times, _ in places])
            y = np.concatenate([np.full(len(times), place + side) for times, place in places])
            axes.scatter(x, y, marker=marker, s=min(14.0, pitch), c=colour, linewidths=0.5, zorder=8)


class Slices:
    """Time slices, at the foot of the row of the rank that ran them, and matches at that of their ranks."""

    def __init__(self, trace: Trace, found: Blocks) -> None:
        place = {one.row.rank: index for index, one in enumerate(found.rows)}
        self.slices, self._all = _within(trace.time_slices(), found, place)
        self.matches, matched = _within(trace.slice_matches(), found, place)
        self.notes = [] if self._all else ["No time slices were recorded."]
        shown, there = len(self.slices) + len(self.matches), self._all + matched
        if shown < there:
            self.notes = [f"Slices: {shown:,} of {there:,} slices and matches are shown."]
        looks: tuple[tuple[Any, str, dict[str, Any]], ...] = (
            (self.slices, "time slice", {"color": SLICE, "marker": "|"}),
            (self.matches, "matched in a slice", {"color": MATCH, "marker": "o"}),
        )
        self.handles = [
            Line2D([], [], **look, linestyle="none", markersize=4, label=label)
            for rows, label, look in looks
            if len(rows)
        ]
        self._place = place

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw the length of each slice, with a tick since most are short, and a dot for each match."""
        x, y = self.slices["begin"], self._heights(self.slices)
        axes.hlines(y, x, self.slices["end"], colors=SLICE, linewidths=3, zorder=8)
        axes.scatter(x, y, marker="|", s=pitch, c=SLICE, linewidths=0.8, zorder=8)
        heights = self._heights(self.matches)
        axes.scatter(self.matches["begin"], heights, s=7, c=MATCH, linewidths=0, zorder=8.1)

    def _heights(self, rows: Array) -> Array:
        return np.array([self._place[int(rank)] + HALF for rank in rows["rank"]], "<f8")


def _within(rows: Array, found: Blocks, place: dict[int, int]) -> tuple[Array, int]:
    """The rows in the window, of more than can be seen some of them, and how many there are."""
    is_shown = np.isin(rows["rank"], list(place))
    rows = rows[is_shown & (rows["begin"] <= found.end) & (rows["end"] >= found.begin)]
    return rows[:: max(1, -(-len(rows) // MOST_MARKS))], len(rows)


MADE_BY: dict[str, Callable[[Trace, Blocks], Any]] = {
    "queues": Queues,
    "memory": Memory,
    "events": Events,
    "slices": Slices,
    "wait-states": WaitStates,
}
"""By their names in `OVERLAYS`."""


def _longest(samples: Array) -> tuple[Array, Array]:
    """The longest of all queues of a rank after each sample."""
    keys = (samples["edge"].astype("<u8") << np.uint64(32)) | samples["sender"]
    queues, which = np.unique(keys, return_inverse=True)
    longest = np.zeros(len(samples), "<i8")
    for queue in range(len(queues)):
        mine = np.flatnonzero(which == queue)
        last = np.searchsorted(mine, np.arange(len(samples)), side="right") - 1
        depth = np.where(last >= 0, samples["depth"][mine[np.maximum(last, 0)]], 0)
        longest = np.maximum(longest, depth.astype("<i8"))
    return samples["time"], longest


def _stepped(found: Blocks, times: Array, values: Array) -> tuple[Array, Array]:
    """A curve's part in the window; of more steps than can be seen, the highest of each group."""
    first = max(0, int(np.searchsorted(times, found.begin, side="right")) - 1)
    last = int(np.searchsorted(times, found.end, side="right"))
    times, values = np.maximum(times[first:last], found.begin), values[first:last]
    if len(times) > MOST_STEPS:
        begins = np.arange(0, len(times), -(-len(times) // MOST_STEPS))
        times, values = times[begins], np.maximum.reduceat(values, begins)
    return times, values
