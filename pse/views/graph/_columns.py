"""Which element of a scene is beside which, and how far from the left.

The order within layers is improved by the barycentre rule (Sugiyama, Tagawa, Toda 1981).  Given an order, the
horizontal coordinates are the solution of one linear programme over the whole picture, which keeps the ways
of tags straight as in Gansner, Koutsofios, North, Vo, *A technique for drawing directed graphs* (1993),
with the sides of boxes as further variables.  `layout` calls this and adds the vertical coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from pse.views.graph._scene import Box, Call, Element, Item, Scene, boxes, calls

INSET = 8.0  # between a box's side and what it holds
SPACE = 12.0  # between neighbours
SWEEPS = 9
CROSSING = 40.0  # what a crossing costs, in points of way

Sides = dict[object, tuple[float, float]]
"""Left and right of boxes and calls."""


def elements_of(item: Item) -> Iterator[Element]:
    """Give everything inside an item of a layer, itself included."""
    if isinstance(item, Element):
        yield item
    elif isinstance(item, Call):
        yield from (item.node, *item.tags)
    else:
        yield from item.returns
        for layer in item.layers:
            for inner in layer:
                yield from elements_of(inner)


class Columns:
    """Orders within layers, and horizontal coordinates for them."""

    def __init__(self, scene: Scene, row: Mapping[Element, int], widths: Mapping[Element, float]) -> None:
        self.row, self.widths = row, widths
        pairs = (pair for way in scene.ways for pair in pairwise(way.elements))
        self.pairs = list(dict.fromkeys(pairs))
        self.boxes = list(boxes(scene.root))
        self.calls = list(calls(scene.root))
        self.up, self.down = self._neighbours()
        self.after: dict[Element, list[Element]] = {}
        for first, second in self.pairs:
            self.after.setdefault(first, []).append(second)

    def best(self) -> tuple[dict[Element, float], Sides]:
        """Alternate between ordering and placing; give the best that was met."""
        solution = kept = self._place()
        best = self._cost(solution)
        for sweep in range(SWEEPS):
            self._reorder(solution[0], sweep)
            solution = self._place()
            if self._cost(solution) < best:
                best, kept = self._cost(solution), solution
        return kept[0], kept[1]

    # ------------------------------------------------------------ order

    def _neighbours(self) -> tuple[dict[int, list[Element]], dict[int, list[Element]]]:
        """For each item of a layer (by identity), the elements outside it that ways come from and go to."""
        up: dict[int, list[Element]] = {}
        down: dict[int, list[Element]] = {}
        within: dict[Element, list[int]] = {}
        for item in (item for box in self.boxes for layer in box.layers for item in layer):
            for element in elements_of(item):
                within.setdefault(element, []).append(id(item))
        for first, second in self.pairs:
            above, below = set(within.get(first, ())), set(within.get(second, ()))
            for inner in below - above:
                up.setdefault(inner, []).append(first)
            for inner in above - below:
                down.setdefault(inner, []).append(second)
        return up, down

    def _reorder(self, x: Mapping[Element, float], sweep: int) -> None:
        """Sort every layer by where its neighbours above, below, or both are."""
        for box in self.boxes:
            for layer in box.layers:
                keys = {id(item): self._key(item, x, sweep) for item in layer}
                layer.sort(key=lambda item: keys[id(item)])
                for item in layer:
                    if isinstance(item, Call):
                        item.tags.sort(key=lambda tag: self._middle(self.after.get(tag, [tag]), x))

    def _key(self, item: Item, x: Mapping[Element, float], sweep: int) -> tuple[bool, float]:
        pinned = isinstance(item, Element) and item.kind in ("heading", "foot")
        above, below = self.up.get(id(item), []), self.down.get(id(item), [])
        near = (above, below, above + below)[sweep % 3] or above + below
        return not pinned, self._middle(near or list(elements_of(item)), x)

    def _middle(self, elements: list[Element], x: Mapping[Element, float]) -> float:
        return sum(x[element] for element in elements) / len(elements)

    def _cost(self, solution: tuple[dict[Element, float], object, float]) -> float:
        """Weigh the length of ways and the crossings between them."""
        x, _, length = solution
        gaps: dict[int, list[tuple[float, float]]] = {}
        for first, second in self.pairs:
            if "return" not in (first.kind, second.kind):
                gaps.setdefault(self.row[second], []).append((x[first], x[second]))
        return length + CROSSING * sum(map(_crossings, gaps.values()))

    # ------------------------------------------------------------ coordinates

    def _place(self) -> tuple[dict[Element, float], Sides, float]:
        """Solve for the coordinates of the order as it stands."""
        programme = _Programme()
        for box in self.boxes:
            self._constrain_box(programme, box)
        for call in self.calls:
            self._constrain_call(programme, call)
        for first, second in self.pairs:
            programme.attract(first, second, self._weight(first, second))
        values, length = programme.solve()
        x = {element: values[element] for element in self.widths}
        framed = (*self.boxes, *self.calls)
        sides: Sides = {item: (values[item, "left"], values[item, "right"]) for item in framed}
        return x, sides, length

    def _weight(self, first: Element, second: Element) -> float:
        """Straightness is worth most where a way only passes."""
        if "return" in (first.kind, second.kind):
            return 0.05
        passing = (first.kind in ("lane", "turn")) + (second.kind in ("lane", "turn"))
        return (1.0, 3.0, 8.0)[passing]

    def _constrain_box(self, programme: _Programme, box: Box) -> None:
        left, right = (box, "left"), (box, "right")
        programme.tighten(left, right, 0.3)
        for layer in box.layers:
            ends = [self._ends(item) for item in (*layer, *box.returns)]
            if not ends:
                continue
            programme.apart(left, ends[0][0][0], INSET + ends[0][0][1])
            programme.apart(ends[-1][1][0], right, INSET + ends[-1][1][1])
            for (_, (before, one)), ((after, other), _) in pairwise(ends):
                programme.apart(before, after, one + other + SPACE)
        for pinned in (box.heading, box.foot):
            programme.tighten(left, pinned, 0.5)

    def _ends(self, item: Item) -> tuple[tuple[object, float], tuple[object, float]]:
        """Give the variables of an item's left and right end, with the half width to add."""
        if isinstance(item, Element):
            half = self.widths[item] / 2
            return (item, half), (item, half)
        return ((item, "left"), 0.0), ((item, "right"), 0.0)

    def _constrain_call(self, programme: _Programme, call: Call) -> None:
        for row in ([call.node], call.tags):
            if row:
                programme.apart((call, "left"), row[0], self.widths[row[0]] / 2)
                programme.apart(row[-1], (call, "right"), self.widths[row[-1]] / 2)
            for one, other in pairwise(row):
                programme.apart(one, other, (self.widths[one] + self.widths[other]) / 2 + SPACE)
        if call.tags:
            programme.centre(call.node, call.tags[0], call.tags[-1])


class _Programme:
    """A linear programme over named variables: distances kept, distances made small."""

    def __init__(self) -> None:
        self.index: dict[object, int] = {}
        self.rows: list[tuple[int, int, float]] = []  # first + distance <= second
        self.middles: list[tuple[int, ...]] = []
        self.costs: list[tuple[int, int, float]] = []  # weight * (second - first), never negative
        self.pulls: list[tuple[int, int, float]] = []  # weight * |second - first|

    def _variable(self, name: object) -> int:
        return self.index.setdefault(name, len(self.index))

    def apart(self, first: object, second: object, distance: float) -> None:
        """Keep `second` at least so far right of `first`."""
        self.rows.append((self._variable(first), self._variable(second), distance))

    def tighten(self, first: object, second: object, weight: float) -> None:
        """Keep a distance small that other constraints keep positive."""
        self.costs.append((self._variable(first), self._variable(second), weight))

    def centre(self, middle: object, first: object, last: object) -> None:
        """Keep a variable in the middle of two others."""
        self.middles.append(tuple(map(self._variable, (middle, first, last))))

    def attract(self, first: object, second: object, weight: float) -> None:
        """Keep two variables near each other, on whichever side."""
        self.pulls.append((self._variable(first), self._variable(second), weight))

    def solve(self) -> tuple[dict[object, float], float]:
        """Find the values, all at least zero, and what the attractions cost in all."""
        names, pulls = len(self.index), len(self.pulls)
        cost = np.zeros(names + pulls)
        for first, second, weight in self.costs:
            cost[first] -= weight
            cost[second] += weight
        cost[names:] = [weight for _, _, weight in self.pulls]
        matrix, limit = self._inequalities(names)
        equal = self._equalities(names)
        found = linprog(
            cost, A_ub=matrix, b_ub=limit, A_eq=equal, b_eq=np.zeros(equal.shape[0]), method="highs"
        )
        length = float(cost[names:] @ found.x[names:])
        return {name: float(found.x[place]) for name, place in self.index.items()}, length

    def _equalities(self, names: int) -> csr_array:
        """Write ``2 * middle - first - last = 0``."""
        lines = [line for line in range(len(self.middles)) for _ in range(3)]
        columns = [place for places in self.middles for place in places]
        values = [2.0, -1.0, -1.0] * len(self.middles)
        return csr_array((values, (lines, columns)), shape=(len(self.middles), names + len(self.pulls)))

    def _inequalities(self, names: int) -> tuple[csr_array, np.ndarray]:
        """Write ``matrix @ x <= limit``; each attraction has a variable above both signs of its distance."""
        entries: list[tuple[int, int, float]] = []
        limit: list[float] = []
        for first, second, distance in self.rows:
            entries += [(len(limit), first, 1.0), (len(limit), second, -1.0)]
            limit.append(-distance)
        for number, (first, second, _) in enumerate(self.pulls):
            for sign in (1.0, -1.0):
                entries += [(len(limit), first, sign), (len(limit), second, -sign)]
                entries.append((len(limit), names + number, -1.0))
                limit.append(0.0)
        lines, columns, values = zip(*entries, strict=True)
        shape = (len(limit), names + len(self.pulls))
        return csr_array((values, (lines, columns)), shape=shape), np.array(limit)


def _crossings(gap: list[tuple[float, float]]) -> int:
    """Count the pairs of ways that cross between two rows."""
    x = np.array(gap)
    above, below = np.subtract.outer(x[:, 0], x[:, 0]), np.subtract.outer(x[:, 1], x[:, 1])
    return int(np.count_nonzero(above * below < 0) // 2)
