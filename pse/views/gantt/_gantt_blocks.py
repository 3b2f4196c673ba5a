"""The rows of the Gantt: calls, waits and routines as blocks, and what is merged as columns.

A column of a pixel's width stands for blocks that are narrower; it is as high as the share of the pixel's
time that they take, in a lighter colour and without outline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.patches import Patch
from matplotlib.path import Path

from pse._abi.blocks import OPEN, Lane
from pse.text import share_text, time_text
from pse.trace import ModuleFlag, Trace
from pse.trace.format import Array
from pse.views.core._colours import lighter, wait_text
from pse.views.core._figure import FONT, SMALL, legend_name, text_width
from pse.views.core._palette import darker, ink
from pse.views.gantt._gantt_data import Blocks, Category, RowBlocks

HALF = 0.39
"""Half the height of a row's blocks; a row is 1 high."""
WAIT_HALF = 0.17
LEAST_SHARE = 0.06
"""Lower columns are drawn as high as this, so that nothing is invisible."""
PALER = 0.4
MOST_LABELS = 600
MOST_ENTRIES = 28
"""Modules and routines in the legend."""
HATCH = "/////"
FAILED = "#B00020"


class Calls:
    """Everything that happens on the rows."""

    def __init__(self, trace: Trace, found: Blocks) -> None:
        self.found = found
        self.labels = {site.id: site.label for site in trace.definitions.sites} if trace.definitions else {}
        lanes = [
            int(one[name]["lane"].max(initial=0))
            for one in map(vars, found.rows)
            for name in ("blocks", "shares")
        ]
        self.depths = max(0, max(lanes) - Lane.REGION + 1)
        self.has_calls = any((table["lane"] == Lane.CALL).any() for table in self._tables())
        self.pixel = (found.end - found.begin) / (len(found.edges) - 1)
        self.handles = list(self._handles())
        self.notes = list(self._notes())

    # ------------------------------------------------------------ words

    def _tables(self) -> Iterator[Array]:
        for one in self.found.rows:
            yield one.blocks
            yield one.shares

    def _totals(self) -> Array:
        """Time of each category, and at least 1 for what occurs at all."""
        totals = np.zeros(len(self.found.categories), "<f8")
        for one in self.found.rows:
            np.add.at(totals, one.blocks["category"], one.blocks["end"] - one.blocks["begin"] + 1.0)
            np.add.at(totals, one.shares["category"], one.shares["time"] + 1.0)
        return totals

    def _handles(self) -> Iterator[Any]:
        totals = self._totals()
        there = [index for index in range(len(totals)) if totals[index] > 0]
        kinds = {index: self.found.categories[index].kind for index in there}
        work = [index for index in there if kinds[index] in ("module", "routine")]
        longest = set(sorted(work, key=lambda index: -totals[index])[:MOST_ENTRIES])
        yield from (_entry(self.found.categories[index]) for index in work if index in longest)
        if len(work) > len(longest):
            yield Patch(facecolor="none", label=f"and {len(work) - len(longest)} more")
        waits = [index for index in there if kinds[index] == "wait"]
        yield from (_entry(self.found.categories[index]) for index in waits)
        yield from (_entry(self.found.categories[index]) for index in there if kinds[index] == "other")
        if self.found.merged:
            yield Patch(
                facecolor="#B8B8B8", label="paler: many in a pixel, as high as their share of its time"
            )
        flags = np.bitwise_or.reduce(
            [
                np.bitwise_or.reduce(one.blocks["flags"][one.blocks["lane"] != Lane.WAIT], initial=0)
                for one in self.found.rows
            ]
            or [0]
        )
        if any((one.blocks["flags"] & OPEN).any() for one in self.found.rows):
            yield Patch(
                facecolor="white", edgecolor="#444444", hatch=HATCH, linewidth=0.5, label="never ended"
            )
        if flags & ModuleFlag.FAILED:
            yield Patch(facecolor="white", edgecolor=FAILED, linewidth=1.4, label="failed call")

    def _notes(self) -> Iterator[str]:
        merged = self.found.merged
        there = merged + sum(len(one.blocks) for one in self.found.rows)
        white = "White: neither in a call nor waiting." if self.has_calls else "White: in no routine."
        yield white if there else "Nothing happened here: no call, no wait, no routine."
        if merged:
            width, least = time_text(self.pixel, zeros=False), share_text(LEAST_SHARE)
            yield f"Of {there:,} blocks {merged:,} are narrower than a pixel ({width}) and merged: columns"
            yield f"are as high as their share of its time (at least {least}), waits from above."

    # ------------------------------------------------------------ places

    def _span(self, lane: Array) -> tuple[Array, Array]:
        """Upper and lower side of lanes, from the middle of the row."""
        depth = np.maximum(lane.astype("<i4") - Lane.REGION, 0)
        top = 0.06 if self.has_calls else -HALF
        upper = np.where(lane == Lane.CALL, -HALF, top + (HALF - top) * depth / max(1, self.depths))
        upper = np.where(lane == Lane.WAIT, -WAIT_HALF, upper)
        return upper, np.where(lane == Lane.WAIT, WAIT_HALF, HALF)

    def _visible(self, lane: int) -> tuple[float, float]:
        """Upper and lower side of what nested blocks leave of a lane."""
        upper, lower = (float(side) for side in self._span(np.array(lane)))
        nested = max(lane + 1, Lane.REGION) if lane != Lane.WAIT else lane
        if nested < Lane.REGION or nested >= Lane.REGION + self.depths:
            return upper, lower
        return upper, float(self._span(np.array(nested))[0])

    # ------------------------------------------------------------ marks

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw columns, blocks and their labels."""
        self.is_fine = pitch < 6  # Outlines and hatches would cover everything.
        self._draw_shares(axes)
        self._draw_blocks(axes)
        if pitch >= 13:
            self._draw_labels(axes, pitch)

    def _draw_shares(self, axes: Axes) -> None:
        paths: dict[tuple[int, int], list[Path]] = {}
        for place, one in enumerate(self.found.rows):
            for lane, category, path in self._columns(place, one):
                paths.setdefault((lane, category), []).append(path)
        for (lane, category), shapes in sorted(paths.items()):
            known = self.found.categories[category]
            colour = known.style.colour if known.kind == "wait" else lighter(known.style.colour, PALER)
            filled = PathCollection(shapes, facecolors=colour, edgecolors="none", linewidths=0)
            filled.set_zorder(self._order(lane) - 0.5 / max(1, self.depths))  # Before what it is nested in.
            filled.set_gid(f"merged {known.name}")
            filled.set_hatch(self._hatch(known, False) or "")
            axes.add_collection(filled, autolim=False)

    def _order(self, lane: int) -> float:
        """From back to front: waits, calls, routines by depth."""
        fixed: dict[int, float] = {Lane.WAIT: 3.0, Lane.CALL: 4.0}
        return fixed.get(lane, 5 + (lane - Lane.REGION) / max(1, self.depths))

    def _columns(self, place: int, one: RowBlocks) -> Iterator[tuple[int, int, Path]]:
        """The columns of a row by lane and category, stacked; waits hang from above."""
        shares, widths = one.shares, np.diff(self.found.edges)
        for lane in np.unique(shares["lane"]):
            chosen = shares[shares["lane"] == lane]
            upper, lower = (float(side) for side in self._span(lane)) if lane != Lane.WAIT else (HALF, -HALF)
            level = np.full(len(widths), place + lower)
            for category in np.unique(chosen["category"]):
                part = chosen[chosen["category"] == category]
                high = np.zeros(len(widths))
                share = np.clip(part["time"] / widths[part["pixel"]], LEAST_SHARE, 1)
                high[part["pixel"]] = share * (lower - upper)
                after = np.clip(level - high, place + min(upper, lower), place + max(upper, lower))
                path = _columns_path(self.found.edges, level, after)
                if path is not None:
                    yield int(lane), int(category), path
                level = after

    def _draw_blocks(self, axes: Axes) -> None:
        for lane in (
            Lane.WAIT,
            Lane.CALL,
            *range(Lane.REGION, Lane.REGION + self.depths),
        ):
            self._draw_lane(axes, lane)

    def _draw_lane(self, axes: Axes, lane: int) -> None:
        tables = [one.blocks[one.blocks["lane"] == lane] for one in self.found.rows]
        places = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        table = np.concatenate(tables)
        for category in np.unique(table["category"]):
            mine = table["category"] == category
            for is_open in (False, True):
                chosen = mine & ((table["flags"] & OPEN != 0) == is_open)
                if chosen.any():
                    self._fill(axes, table[chosen], places[chosen], is_open)
        failed = (
            (table["lane"] == Lane.CALL)
            & (table["flags"] & ModuleFlag.FAILED != 0)
            & (table["flags"] & OPEN == 0)
        )
        if failed.any():
            shapes = self._shapes(table[failed], places[failed])
            outline = PolyCollection(shapes, facecolors="none", edgecolors=FAILED, linewidths=1.4, zorder=6.5)
            outline.set_gid("failed")
            axes.add_collection(outline, autolim=False)

    def _fill(self, axes: Axes, table: Array, places: Array, is_open: bool) -> None:
        category = self.found.categories[int(table["category"][0])]
        colour = category.style.colour
        pixels = (table["end"] - table["begin"]) / self.pixel
        has_no_outline = self.is_fine or category.kind == "other" or (category.kind == "wait" and not is_open)
        filled = PolyCollection(
            self._shapes(table, places),
            facecolors=colour,
            edgecolors="none" if has_no_outline and not is_open else darker(colour, 0.6),
            linewidths=0.0 if has_no_outline else 0.5 * np.clip((pixels - 3) / 12, 0.1, 1),
            hatch=self._hatch(category, is_open),
            zorder=self._order(int(table["lane"][0])),
        )
        filled.set_gid(f"{'open ' if is_open else ''}{category.kind} {category.name}")
        axes.add_collection(filled, autolim=False)

    def _hatch(self, category: Category, is_open: bool) -> str | None:
        return HATCH if is_open else None if self.is_fine else category.style.hatch or None

    def _shapes(self, table: Array, places: Array) -> Any:
        """Rectangles, shape (n, 4, 2); none is narrower than a pixel, for it would not be seen."""
        found = self.found
        begin, end = np.maximum(table["begin"], found.begin), np.minimum(table["end"], found.end)
        end = np.maximum(end, begin + 0.9 * self.pixel)
        upper, lower = self._span(table["lane"])
        x = np.stack([begin, end, end, begin], axis=1)
        y = np.stack([places + upper, places + upper, places + lower, places + lower], axis=1)
        return np.stack([x, y], axis=2).astype("<f8")

    # ------------------------------------------------------------ labels

    def _draw_labels(self, axes: Axes, pitch: float) -> None:
        left, right = axes.get_xlim()
        inches = axes.get_window_extent().width / axes.figure.dpi / (right - left)
        size = min(SMALL, pitch * 0.45)
        written = 0
        for place, one in enumerate(self.found.rows):
            begin = np.maximum(one.blocks["begin"], self.found.begin)
            width = (np.minimum(one.blocks["end"], self.found.end) - begin) * inches
            for index in np.flatnonzero(width > 0.12)[: MOST_LABELS - written]:
                block = one.blocks[index]
                upper, lower = self._visible(int(block["lane"]))
                fitted = min(size, pitch * (lower - upper) * 0.85)
                text = self._fitting(block, float(width[index]) - 0.05, fitted) if fitted >= 5 else ""
                if text:
                    middle = float(begin[index]) + float(width[index]) / inches / 2
                    self._write(axes, middle, place + (upper + lower) / 2, text, block, fitted)
                    written += 1

    def _write(self, axes: Axes, x: float, y: float, text: str, block: Any, size: float) -> None:
        category = self.found.categories[int(block["category"])]
        colour = "#666666" if category.kind in ("wait", "other") else ink(category.style.colour)
        written = axes.text(x, y, text, size=size, color=colour, family=FONT, zorder=9, clip_on=True)
        written.set(ha="center", va="center_baseline")
        if block["lane"] == Lane.CALL or block["lane"] >= Lane.REGION:  # Lines and wait states may cross it.
            written.set_bbox({"facecolor": category.style.colour, "edgecolor": "none", "pad": 0.5})

    def _fitting(self, block: Any, width: float, size: float) -> str:
        return next((text for text in self._texts(block) if text_width(text, size) <= width), "")

    def _texts(self, block: Any) -> Sequence[str]:
        """What may stand in a block, the longest first."""
        category = self.found.categories[int(block["category"])]
        if category.kind == "wait":
            return (wait_text(category.name), category.name)
        if block["lane"] >= Lane.REGION:
            name = self.found.routines[int(block["detail"])]
            return (name, name.removeprefix("MPI_"))
        label = self.labels.get(int(block["site"]), category.name)
        tph = self.found.tph_names.get(int(block["tph"]))
        return (*([f"{label} · {tph}"] if tph else []), label, label.rpartition(".")[2])


def _entry(category: Category) -> Patch:
    style = category.style
    return Patch(
        facecolor=style.colour,
        edgecolor=darker(style.colour, 0.6),
        linewidth=0.4,
        hatch=style.hatch or None,
        label=legend_name(wait_text(category.name) if category.kind == "wait" else category.name),
    )


def _columns_path(edges: Array, lower: Array, upper: Array) -> Path | None:
    """All columns that are not empty as one path: neighbours of equal sides are one rectangle."""
    same = (lower[1:] == lower[:-1]) & (upper[1:] == upper[:-1])
    begins = np.flatnonzero(np.concatenate([[True], ~same]))
    ends = np.append(begins[1:], len(lower))
    is_filled = lower[begins] != upper[begins]
    begins, ends = begins[is_filled], ends[is_filled]
    if not len(begins):
        return None
    x = edges[np.stack([begins, begins, ends, ends, begins], axis=1)].astype("<f8")
    foot, head = lower[begins], upper[begins]
    y = np.stack([foot, head, head, foot, foot], axis=1)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(begins))
    return Path(np.stack([x.reshape(-1), y.reshape(-1)], axis=1), codes)
