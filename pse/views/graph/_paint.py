"""The picture itself: a laid-out scene as a matplotlib figure, for svg and png files.

The only module of the room that needs matplotlib.  It makes figures without pyplot and so touches no global
state. One unit of the axes is one point, y downwards.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

from pse.views.core._figure import FONT, text_width
from pse.views.core._palette import colour, darker, ink
from pse.views.graph._columns import INSET
from pse.views.graph._layout import (
    LINE_HEIGHT,
    NAME_SIZE,
    PORT,
    SMALL_SIZE,
    STACK,
    arrange,
    arrivals,
)
from pse.views.graph._pen import Pen
from pse.views.graph._scene import Box, Call, Element, Scene, Way, boxes, calls

MARGIN = 14.0
LEGEND_ROW = 16.0
NARROWEST = 430.0
ARROW = (3.2, 6.5)  # half width and length


def measure(text: str, size: float, bold: bool) -> float:
    """Give the width of a text in points."""
    return 72 * text_width(text, size, "bold" if bold else "normal")


class Painter:
    """Draws a scene; the figure's size follows from what is in it."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.layout = scene, arrange(scene, measure)
        layout = self.layout
        self.width = max(layout.width, NARROWEST) + 2 * MARGIN
        self.legend = self._legend_places()
        self.head = MARGIN + LEGEND_ROW * (max(row for _, _, row in self.legend) + 1)
        self.ports = self._ports()

    def run(self) -> Figure:
        height = self.head + self.layout.height + MARGIN
        figure = Figure(figsize=(self.width / 72, height / 72))
        self.axes: Axes = figure.add_axes((0, 0, 1, 1))
        left = -(self.width - self.layout.width) / 2
        self.axes.set_xlim(left, left + self.width)
        self.axes.set_ylim(height - self.head, -self.head)
        self.axes.set_axis_off()
        self._draw(left)
        return figure

    def _draw(self, left: float) -> None:
        for box in boxes(self.scene.root):
            self._box(box)
        for call in calls(self.scene.root):
            self._stems(call)
        for way in self.scene.ways:
            self._way(way)
        for element in self.layout.x:
            if element.lines:
                self._element(element)
        self._legend(left + MARGIN)

    # ------------------------------------------------------------ boxes and elements

    def _box(self, box: Box) -> None:
        if box.kind == "program":
            return
        left, top, right, bottom = self.layout.box[box]
        parallel = box.kind == "parallel"
        self._frame(
            (left, top + 1, right, bottom - 1),
            5.0,
            facecolor="#EDEFF2" if parallel else "#FFFFFF",
            edgecolor="#6B7280",
            linewidth=0.9,
            linestyle="-" if parallel else (0, (5, 2)),
            zorder=0,
        )

    def _frame(self, sides: tuple[float, float, float, float], radius: float, **style: Any) -> None:
        left, top, right, bottom = sides
        shape = f"round,pad=0,rounding_size={radius}"
        self.axes.add_patch(FancyBboxPatch((left, top), right - left, bottom - top, boxstyle=shape, **style))

    def _element(self, element: Element) -> None:
        {"call": self._call, "tag": self._tag}.get(element.kind, self._words)(element)

    def _sides(self, element: Element) -> tuple[float, float, float, float]:
        half = self.layout.size[element] / 2
        x = self.layout.x[element]
        return x - half, self.layout.top[element], x + half, self.layout.bottom[element]

    def _call(self, element: Element) -> None:
        fill = colour(element.thread)
        self._frame(
            self._sides(element), 4.0, facecolor=fill, edgecolor=darker(fill), linewidth=1.0, zorder=4
        )
        self._lines(element, ink(fill), 5.0)

    def _tag(self, element: Element) -> None:
        edge = darker(colour(element.thread))
        self._frame(self._sides(element), 5.5, facecolor="#FFFFFF", edgecolor=edge, linewidth=0.8, zorder=4)
        self._text(self.layout.x[element], self.layout.top[element] + 6.6, element.lines[0], SMALL_SIZE)

    def _words(self, element: Element) -> None:
        """Write a heading or a foot."""
        self._lines(element, "#000000", 0.0, align="left")

    def _lines(self, element: Element, shade: str, inset: float, align: str = "center") -> None:
        y = self.layout.top[element] + inset
        x = self.layout.x[element] if align == "center" else self._sides(element)[0]
        for number, line in enumerate(element.lines):
            first = number == 0 and element.kind != "foot"
            size = NAME_SIZE if first else SMALL_SIZE
            y += size * LINE_HEIGHT / 2
            self._text(x, y, line, size, shade, bold=first, align=align)
            y += size * LINE_HEIGHT / 2

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        shade: str = "#000000",
        *,
        bold: bool = False,
        align: str = "center",
    ) -> None:
        weight = "bold" if bold else "normal"
        style: dict[str, Any] = {
            "fontsize": size,
            "color": shade,
            "fontweight": weight,
            "family": FONT,
            "ha": align,
        }
        # A dollar sign must not start mathematics.
        self.axes.text(x, y, text, va="center_baseline", parse_math=False, zorder=5, **style)

    # ------------------------------------------------------------ ways

    def _stems(self, call: Call) -> None:
        """Join a call with the labels of its tags."""
        left, _, right, low = self._sides(call.node)
        shade = darker(colour(call.node.thread))
        for tag in call.tags:
            x = self.layout.x[tag]
            pen = Pen(min(max(x, left + INSET), right - INSET), low)
            pen.slant(x, self.layout.top[tag])
            self.axes.add_patch(PathPatch(pen.path(), fill=False, edgecolor=shade, linewidth=1.0, zorder=2))

    def _ports(self) -> dict[tuple[Element, Element], float]:
        """Spread the arrows that end at one element over its top, in the order in which they come."""
        places: dict[tuple[Element, Element], float] = {}
        for end, before in arrivals(self.scene).items():
            order = sorted(before, key=self.layout.x.__getitem__)
            for number, element in enumerate(order):
                places[element, end] = self.layout.x[end] + (number - (len(order) - 1) / 2) * PORT
        return places

    def _way(self, way: Way) -> None:
        shade = darker(colour(way.thread))
        pen = Pen(self.layout.x[way.elements[0]], self.layout.bottom[way.elements[0]])
        following = (*way.elements[2:], None)
        for (before, element), after in zip(pairwise(way.elements), following, strict=True):
            self._advance(pen, before, element, after)
        sideways = way.elements[-2].kind == "return"
        self._arrow(pen, shade, way.inout, sideways)
        style = _style(way.crosses, way.carried)
        self.axes.add_patch(PathPatch(pen.path(), fill=False, edgecolor=shade, zorder=2, **style))

    def _advance(self, pen: Pen, before: Element, element: Element, after: Element | None) -> None:
        """Lead a way from one element into the next, and through it."""
        layout = self.layout
        if element.kind == "return":
            self._climb(pen, before, element, after)
            return
        if before.kind == "return":
            return
        start, end = layout.channel[layout.row[element]]
        x = self.ports.get((before, element), layout.x[element]) if after is None else layout.x[element]
        pen.down(start)
        pen.slant(x, end)
        if after is None:
            pen.down(layout.top[element] - ARROW[1])
        elif after.kind != "return":
            pen.down(layout.bottom[element])

    def _climb(self, pen: Pen, foot: Element, back: Element, after: Element | None) -> None:
        """Go round a loop: right along its foot, up its side, left along its head."""
        layout, box = self.layout, back.box
        assert box is not None
        place = box.returns.index(back)
        low = layout.top[foot] + STACK * (place + 1)
        pen.down(low)
        pen.across(layout.x[back])
        if after is box.heading:
            pen.down(layout.top[after] + NAME_SIZE * LINE_HEIGHT / 2)
            pen.across(layout.x[after] + layout.size[after] / 2 + ARROW[1] + 2)
        elif after is not None:
            pen.down(layout.bottom[after] - STACK * (place + 1))
            pen.across(layout.x[after])
            pen.down(layout.bottom[after])

    def _arrow(self, pen: Pen, shade: str, inout: bool, sideways: bool) -> None:
        """Draw the head of an arrow: a triangle; a diamond where the tag is changed in place."""
        half, length = ARROW
        shape = [(-half, 0.0), (0.0, length), (half, 0.0)] + ([(0.0, -length)] if inout else [])
        points = [(pen.x - dy, pen.y + dx) if sideways else (pen.x + dx, pen.y + dy) for dx, dy in shape]
        self.axes.add_patch(Polygon(points, closed=True, facecolor=shade, edgecolor="none", zorder=3))

    # ------------------------------------------------------------ legend

    def _legend_entries(self) -> list[tuple[str, str, str]]:
        """Give kind, shade and text of every entry of the legend."""
        used = sorted({element.thread for element in self.layout.x if element.thread is not None})
        entries = [("thread", colour(thread), self.scene.threads[thread]) for thread in used]
        ways = self.scene.ways
        entries += [("wide", "#444444", "to another thread")] if any(way.crosses for way in ways) else []
        entries += [("dashed", "#444444", "to a later iteration")] if any(way.carried for way in ways) else []
        return entries + (
            [("diamond", "#444444", "changed in place")] if any(way.inout for way in ways) else []
        )

    def _legend_places(self) -> list[tuple[tuple[str, str, str], float, int]]:
        """Set the entries in lines; each with its distance from the left, and its line."""
        title = (("title", "#000000", self.scene.root.title), 0.0, 0)
        places, x, row = [title], measure(self.scene.root.title, NAME_SIZE + 2, True) + 2 * MARGIN, 0
        for entry in self._legend_entries():
            width = 34.0 + measure(entry[2], SMALL_SIZE, False)
            if x + width > self.width - 2 * MARGIN:
                x, row = 0.0, row + 1
            places.append((entry, x, row))
            x += width
        return places

    def _legend(self, left: float) -> None:
        for (kind, shade, text), x, row in self.legend:
            y = MARGIN / 2 + LEGEND_ROW * (row + 0.5) - self.head
            size = NAME_SIZE + 2 if kind == "title" else SMALL_SIZE
            shift = 0.0 if kind == "title" else 20.0
            self._sign(kind, shade, left + x, y)
            self._text(left + x + shift, y, text, size, bold=kind == "title", align="left")

    def _sign(self, kind: str, shade: str, x: float, y: float) -> None:
        if kind == "thread":
            self._frame((x, y - 4.5, x + 15, y + 4.5), 3.0, facecolor=shade, edgecolor=darker(shade))
        elif kind == "diamond":
            self._diamond(x + 8, y, shade)
        elif kind != "title":
            style = _style(kind == "wide", kind == "dashed")
            self.axes.add_line(Line2D((x, x + 15), (y, y), color=shade, **style))

    def _diamond(self, x: float, y: float, shade: str) -> None:
        half, length = ARROW
        points = [(x - half, y), (x, y + length), (x + half, y), (x, y - length)]
        self.axes.add_patch(Polygon(points, closed=True, facecolor=shade, edgecolor="none"))


def _style(crosses: bool, carried: bool) -> dict[str, Any]:
    """Lines are wide to another thread, dashed to a later iteration."""
    return {"linewidth": 1.7 if crosses else 1.0, "linestyle": (0, (4, 2)) if carried else "-"}
