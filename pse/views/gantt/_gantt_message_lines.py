"""The lines of the Gantt: each follows a TPH from the block that defined a tag to the one that reads it.

A line begins where the block that defined the tag ends, and ends where the block that reads it begins; where
these blocks are merged, or a condition reads the tag, at the times when the message was sent and taken, as
those of messages among partitions do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from pse._abi.blocks import Lane
from pse.text import time_text
from pse.trace import NONE, Trace
from pse.trace.format import Array, EdgeDefinition
from pse.trace.query import NO_CALL, PROGRAM_TPH, message_consumers
from pse.views.gantt._gantt_blocks import HALF
from pse.views.gantt._gantt_data import Blocks, RowBlocks

MOST_LINES = 800
"""More can't be told apart; then one stands for many."""
BINS = 40
"""Parts of the time, of which each has one line for each pair of rows then, or fewer parts."""
COLOURS = ("#111111", "#1F3A93", "#8B1A1A", "#14532D", "#6A1B9A", "#5D4037")
"""Dark, as blocks are bright."""
MANY = "#333333"
MOST_NAMED = 6


class MessageLines:
    """Lines of the messages between rows; `is_chosen` says whether they are of selected TPHs."""

    def __init__(self, trace: Trace, found: Blocks, is_chosen: bool) -> None:
        self.found = found
        self.edges = {edge.id: edge for edge in trace.definitions.edges} if trace.definitions else {}
        self.is_chosen = is_chosen
        self.messages, self.parts = _thinned(found)
        self.tphs = np.unique(self.messages["tph"])
        self.handles = list(self._handles())
        self.notes = list(self._notes())

    def _colour(self, tph: int) -> str:
        if len(self.tphs) > 2 * len(COLOURS):
            return MANY
        return COLOURS[int(np.searchsorted(self.tphs, tph)) % len(COLOURS)]

    # ------------------------------------------------------------ words

    def _handles(self) -> Iterator[Any]:
        if not len(self.messages):
            return
        if self.tphs[-1] == 0:
            yield Line2D([], [], color=COLOURS[0], linewidth=0.9, label="message")
        elif len(self.tphs) <= MOST_NAMED:
            for tph in self.tphs.tolist():
                yield Line2D([], [], color=self._colour(tph), linewidth=1.2, label=self._name(tph))
        else:
            yield Line2D([], [], color=MANY, linewidth=0.9, label="way of a TPH")

    def _name(self, tph: int) -> str:
        known = "the program" if tph == PROGRAM_TPH else self.found.tph_names.get(tph)
        return f"{known} (TPH {tph})" if known else f"TPH {tph}"

    def _notes(self) -> Iterator[str]:
        there, has_some = self.found.message_count, len(self.messages) > 0
        if self.parts and has_some:
            part = time_text((self.found.end - self.found.begin) / self.parts, zeros=False)
            yield f"Lines: {len(self.messages):,} of {there:,} messages, one from row to row in each {part}."
        elif there and not has_some:
            yield f"None of {there:,} messages is shown: they are too many."

    # ------------------------------------------------------------ marks

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw the lines."""
        if self.is_chosen:
            self._draw_rests(axes)
        if not len(self.messages):
            return
        segments = self._segments()
        colours = [self._colour(tph) for tph in self.messages["tph"].tolist()]
        alpha = 0.9 if self.is_chosen else float(np.clip(20 / len(segments) ** 0.6, 0.22, 0.75))
        alpha = min(alpha, 0.35) if self.parts else alpha
        width = (1.4 if self.is_chosen else 0.8 if len(segments) < 200 else 0.6) * (1 if pitch > 8 else 0.7)
        lines = LineCollection(segments, colors=colours, linewidths=width, alpha=alpha, zorder=6)
        lines.set_gid("ways")
        axes.add_collection(lines, autolim=False)
        if len(segments) <= 300:
            x, y = segments[:, 1].T
            axes.scatter(x, y, s=6 * width, c=colours, linewidths=0, zorder=6.2, alpha=alpha)

    def _draw_rests(self, axes: Axes) -> None:
        """Link the blocks of a chosen TPH on one row as well."""
        segments, colours = [], []
        for place, one in enumerate(self.found.rows):
            calls = one.blocks[(one.blocks["lane"] == Lane.CALL) & (one.blocks["category"] != 0)]
            calls = calls[np.lexsort((calls["begin"], calls["tph"]))]
            for first, second in itertools.pairwise(calls):
                if first["tph"] == second["tph"]:
                    segments.append([(first["end"], place), (second["begin"], place)])
                    colours.append(self._colour(int(first["tph"])))
        rests = LineCollection(segments, colors=colours, linewidths=1.0, linestyles=":", zorder=6)
        rests.set_gid("rests")
        axes.add_collection(rests, autolim=False)

    def _segments(self) -> Any:
        """Shape (n, 2, 2): from the side of one row that faces the other to the side of that."""
        sent, received = self.messages["sent"].astype("<f8"), self.messages["received"].astype("<f8")
        place = {one.row.rank: index for index, one in enumerate(self.found.rows)}
        calls = {one.row.rank: _Calls(one, self.found) for one in self.found.rows}
        is_all = self.edges and not self.parts
        read = (
            message_consumers(self.messages, lambda rank: calls[rank].calls, self.edges) if is_all else None
        )
        for index, message in enumerate(self.messages):
            sent[index] = calls[int(message["sender"])].defining(message)
            mine = calls[int(message["receiver"])]
            call = mine.next(message, self.edges) if read is None else int(read[index])
            received[index] = mine.reading(message, call)
        rows = np.array(
            [[place[int(m[name])] for name in ("sender", "receiver")] for m in self.messages], "<f8"
        )
        down = HALF * np.sign(rows[:, 1] - rows[:, 0])
        x = np.stack([sent, np.maximum(received, sent)], axis=1)
        return np.stack([x, np.stack([rows[:, 0] + down, rows[:, 1] - down], axis=1)], axis=2)


class _Calls:
    """The calls of one row that are there one by one, and where others are merged."""

    def __init__(self, one: RowBlocks, found: Blocks) -> None:
        self.calls = one.blocks[one.blocks["lane"] == Lane.CALL]
        merged = one.shares[one.shares["lane"] == Lane.CALL]
        self.merged = np.unique(found.edges[merged["pixel"]])

    def defining(self, message: Any) -> float:
        """Where the line of a message begins."""
        time = int(message["sent"])
        if message["edge"] == NONE:
            return time
        mine = (self.calls["tph"] == message["tph"]) & (self.calls["site"] == message["site"])
        ends = self.calls["end"][mine & (self.calls["end"] <= time)]
        return self._bridged(int(ends.max()), time, time) if len(ends) else time

    def next(self, message: Any, edges: Mapping[int, EdgeDefinition]) -> int:
        """The first call after a message that may have read it: of a few of many that is all one can tell."""
        if message["edge"] == NONE:
            return NO_CALL
        mine = (self.calls["tph"] == message["tph"]) & (self.calls["begin"] >= message["received"])
        if int(message["edge"]) in edges:
            mine &= np.isin(self.calls["site"], edges[int(message["edge"])].targets)
        return int(np.argmax(mine)) if mine.any() else NO_CALL

    def reading(self, message: Any, call: int) -> float:
        """Where the line of a message that this call read ends."""
        time = int(message["received"])
        begin = int(self.calls["begin"][call]) if call != NO_CALL else time
        return self._bridged(time, begin, time, at=begin)

    def _bridged(self, begin: int, end: int, otherwise: int, at: int | None = None) -> float:
        """A block's time (`at`, or `begin`), unless merged calls between could be meant as well."""
        between = np.searchsorted(self.merged, [begin, end])
        return otherwise if between[0] != between[1] else begin if at is None else at


def _thinned(found: Blocks) -> tuple[Array, int]:
    """Messages to draw; the number of parts of time of which each has at most one of a kind, 0 for all."""
    messages = found.messages
    if len(messages) <= MOST_LINES and not found.is_sampled:
        return messages, 0
    # In an order of chance, as the first of each part would look like a rhythm.
    messages = messages[np.random.default_rng(1).permutation(len(messages))]
    parts = BINS
    while True:
        part = (messages["sent"] - found.begin).astype("<f8") * parts // (found.end - found.begin)
        key = (messages["sender"].astype("<u8") << 40) | (messages["receiver"].astype("<u8") << 16)
        _, first = np.unique(key | np.clip(part, 0, parts).astype("<u8"), return_index=True)
        if len(first) <= MOST_LINES or parts == 1:
            return messages[first[:: max(1, len(first) // MOST_LINES)]], parts
        parts //= 2
