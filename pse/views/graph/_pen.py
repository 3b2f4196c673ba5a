"""Paths for `Painter`: stretches that run down, across or slanted, joined by round corners."""

from __future__ import annotations

from matplotlib.path import Path

CORNER = 4.0  # radius in points


class Pen:
    """A path under construction, made of vertical, horizontal and slanted stretches; corners get round."""

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = self.start = x, y
        self.stretches: list[tuple[str, float, float]] = []

    def down(self, y: float) -> None:
        """Go on vertically, up or down."""
        self._go("line", self.x, y)

    def across(self, x: float) -> None:
        """Go on horizontally."""
        self._go("line", x, self.y)

    def slant(self, x: float, y: float) -> None:
        """Go to another place further down, vertical at both ends."""
        self._go("line" if abs(x - self.x) < 0.5 else "curve", x, y)

    def _go(self, kind: str, x: float, y: float) -> None:
        if (x, y) != (self.x, self.y):
            self.stretches.append((kind, x, y))
        self.x, self.y = x, y

    def path(self) -> Path:
        """Give the path, from where the pen was set down."""
        x, y = self.start
        vertices, codes = [(x, y)], [Path.MOVETO]
        for number, (kind, to_x, to_y) in enumerate(self.stretches):
            if kind == "curve":
                middle = (y + to_y) / 2
                vertices += [(x, middle), (to_x, middle), (to_x, to_y)]
                codes += [Path.CURVE4] * 3
            else:
                following = self.stretches[number + 1] if number + 1 < len(self.stretches) else None
                vertices += _rounded((x, y), (to_x, to_y), following)
                codes += [Path.LINETO] + [Path.CURVE3] * 2 * (len(vertices) - len(codes) > 1)
            x, y = to_x, to_y
        return Path(vertices, codes)


def _rounded(
    start: tuple[float, float], corner: tuple[float, float], following: tuple[str, float, float] | None
) -> list[tuple[float, float]]:
    """End a straight stretch: at its corner, or if it turns there, before it with the curve around it."""
    if following is None or following[0] == "curve":
        return [corner]
    end = following[1:]
    if (start[0] == corner[0]) == (corner[0] == end[0]):
        return [corner]
    return [_toward(corner, start), corner, _toward(corner, end)]


def _toward(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Go from a corner towards another point, by the radius of corners but no more than half the way."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = abs(dx) + abs(dy)
    part = min(CORNER, length / 2) / length
    return corner[0] + part * dx, corner[1] + part * dy
