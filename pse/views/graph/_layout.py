"""Places for the elements of a scene: which is beside which, and where exactly, in points from the top left.

Vertically, everything stands in rows that follow from the layers of `scene`, with more room between two
rows the further an edge has to go sideways there.  Horizontally, `columns` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pse.views.graph._columns import INSET, Columns, Sides
from pse.views.graph._scene import Box, Call, Element, Item, Scene

Measure = Callable[[str, float, bool], float]
"""Width in points of a text, given its size in points and whether it is bold."""

NAME_SIZE, SMALL_SIZE = 9.0, 7.5
LINE_HEIGHT = 1.35
LANE = 5.0
PORT = 13.0  # between arrows that end at one call
STACK = 7.0  # between tags that turn in one row
BORDER = 7.0  # room above and below a row for each box that begins or ends there
CHANNEL, SLANT, DEEPEST = 13.0, 0.09, 60.0  # room between rows: least, per point of horizontal way, most


@dataclass(frozen=True)
class Layout:
    """Places in points, y downwards.

    `x` is the middle of an element; `top` and `bottom` its vertical extent; `box` gives left, top, right,
    bottom; `channel` gives, by row, where the room for slanted edges above it begins and ends.
    """

    width: float
    height: float
    x: Mapping[Element, float]
    top: Mapping[Element, float]
    bottom: Mapping[Element, float]
    size: Mapping[Element, float]
    box: Mapping[Box, tuple[float, float, float, float]]
    row: Mapping[Element, int]
    channel: Mapping[int, tuple[float, float]]


def arrange(scene: Scene, measure: Measure) -> Layout:
    """Give every element of a scene its place; the order within layers changes on the way."""
    rows = _Rows(scene.root)
    size = {element: width_of(element, measure) for element in rows.first}
    for end, before in arrivals(scene).items():
        size[end] = max(size[end], PORT * len(before) + INSET)
    x, sides = Columns(scene, rows.first, size).best()
    return _stack(scene, rows, x, sides, size)


def arrivals(scene: Scene) -> dict[Element, list[Element]]:
    """Give, for each element at which ways end, the elements that they come from."""
    found: dict[Element, dict[Element, None]] = {}
    for way in scene.ways:
        found.setdefault(way.elements[-1], {})[way.elements[-2]] = None
    return {end: [element for element in before if element.kind != "return"] for end, before in found.items()}


def width_of(element: Element, measure: Measure) -> float:
    """Room that an element needs, in points."""
    if not element.lines:
        return LANE
    texts = [
        measure(line, NAME_SIZE if n == 0 else SMALL_SIZE, n == 0) for n, line in enumerate(element.lines)
    ]
    if element.kind in ("tag", "foot"):
        texts = [measure(line, SMALL_SIZE, False) for line in element.lines]
    return max(texts) + {"call": 18.0, "tag": 8.0}.get(element.kind, 2.0)


def height_of(element: Element) -> float:
    """Height of an element's text and frame, in points."""
    small = SMALL_SIZE * LINE_HEIGHT
    if element.kind in ("tag", "foot"):
        return small * len(element.lines) + (3.0 if element.lines else 0.0)
    tall = NAME_SIZE * LINE_HEIGHT + small * (len(element.lines) - 1) if element.lines else 0.0
    return tall + (10.0 if element.kind == "call" else 0.0)


class _Rows:
    """The rows that elements and boxes take, counted from the top of the picture."""

    def __init__(self, root: Box) -> None:
        self.first: dict[Element, int] = {}
        self.last: dict[Element, int] = {}
        self.span: dict[Box, tuple[int, int]] = {}
        self.count = self._box(root, 0)

    def _box(self, box: Box, row: int) -> int:
        start = row
        starts = []
        for layer in box.layers:
            starts.append(row)
            depth = max((self._item(item, row) for item in layer), default=1)
            for item in layer:
                if isinstance(item, Element):
                    self.last[item] = row + depth - 1
            row += depth
        for back in box.returns:
            self.first[back], self.last[back] = starts[1], row - 1
        self.span[box] = (start, row - 1)
        return row - start

    def _item(self, item: Item, row: int) -> int:
        if isinstance(item, Box):
            return self._box(item, row)
        if isinstance(item, Call):
            self.first[item.node] = self.last[item.node] = row
            self.first |= dict.fromkeys(item.tags, row + 1)
            self.last |= dict.fromkeys(item.tags, row + 1)
            return 2 if item.tags else 1
        self.first[item] = row
        return 1


def _stack(
    scene: Scene,
    rows: _Rows,
    x: Mapping[Element, float],
    sides: Sides,
    size: Mapping[Element, float],
) -> Layout:
    """Give the rows their heights, and everything its vertical extent."""
    above, below = _borders(rows, 0), _borders(rows, 1)
    heights, slants = _row_heights(scene, rows), _slants(scene, rows, x)
    tops: dict[int, float] = {}
    bottoms: dict[int, float] = {}
    channel: dict[int, tuple[float, float]] = {}
    y = 0.0
    for row in range(rows.count):
        room = _room(heights[row], slants.get(row, 0.0)) if row else 0.0
        channel[row] = (y, y + room)
        tops[row] = (
            y + room + BORDER * max((above[box] for box in above if rows.span[box][0] == row), default=0)
        )
        bottoms[row] = tops[row] + heights[row]
        y = bottoms[row] + BORDER * max((below[box] for box in below if rows.span[box][1] == row), default=0)
    boxes_at = {
        box: (
            sides[box][0],
            tops[start] - BORDER * above[box],
            sides[box][1],
            bottoms[end] + BORDER * below[box],
        )
        for box, (start, end) in rows.span.items()
    }
    top, bottom = _extents(rows, tops, bottoms)
    return Layout(sides[scene.root][1], y, x, top, bottom, size, boxes_at, rows.first, channel)


def _room(height: float, slant: float) -> float:
    """Height of the room above a row: none where nothing stands in the row and nothing slants."""
    return min(CHANNEL + SLANT * slant, DEEPEST) if height or slant > 1.0 else 0.0


def _extents(
    rows: _Rows, tops: Mapping[int, float], bottoms: Mapping[int, float]
) -> tuple[dict[Element, float], dict[Element, float]]:
    """Calls and labels stand at the top of their row, what only passes fills its rows."""
    top = {element: tops[row] for element, row in rows.first.items()}
    bottom = {element: bottoms[row] for element, row in rows.last.items()}
    for element in rows.first:
        if element.lines:
            bottom[element] = top[element] + height_of(element)
    return top, bottom


def _borders(rows: _Rows, end: int) -> dict[Box, int]:
    """Count, for each box, how many borders lie one in the other where it begins (0) or ends (1)."""
    depth: dict[Box, int] = {}
    for box in rows.span:  # inner boxes stand before their parents
        depth[box] = depth.get(box, 1)
        if box.parent is not None and rows.span[box.parent][end] == rows.span[box][end]:
            depth[box.parent] = max(depth.get(box.parent, 1), depth[box] + 1)
    return depth


def _row_heights(scene: Scene, rows: _Rows) -> dict[int, float]:
    heights = dict.fromkeys(range(rows.count), 0.0)
    for element, row in rows.first.items():
        heights[row] = max(heights[row], height_of(element))
    for box in rows.span:
        if box.returns:
            room = STACK * (len(box.returns) + 1)
            for row in (rows.first[box.returns[0]], rows.span[box][1]):
                heights[row] = max(heights[row], room)
    return heights


def _slants(scene: Scene, rows: _Rows, x: Mapping[Element, float]) -> dict[int, float]:
    """The longest horizontal way in the room above each row."""
    found: dict[int, float] = {}
    for way in scene.ways:
        for first, second in pairwise(way.elements):
            if "return" not in (first.kind, second.kind):
                row = rows.first[second]
                found[row] = max(found.get(row, 0.0), abs(x[first] - x[second]))
    return found
