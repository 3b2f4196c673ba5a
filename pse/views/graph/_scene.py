"""What a picture of a program consists of, before anything has a place: boxes, layers, ways of tags.

A program is a box; loops, branches and PARALLEL are boxes within boxes.  A box is a stack of layers: its
heading, then its calls and inner boxes in layers so that data flows downwards, then its foot.  Every tag
that a call makes is a small label under the call, and from there a way of elements, one in each layer that
it passes, down to each use: no edge ever passes through a call, because it owns room of its own beside it.
What a later iteration reads goes down to the foot of the loop, up again at its right side, and in from the
top.

`layout` gives the elements places, `Painter` draws them.  Pure; knows nothing of matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import networkx as nx

from pse.language.check import CallSite, If
from pse.program import (
    ProgramGraph,
    Role,
    Step,
    defined_tags,
    display_name,
    display_names,
    graph_node,
    heading_text,
    inouts_of,
    read_names,
    tag_text,
)
from pse.views.graph._measured import Measured

WIDEST_LAYER = 4
"""Most calls and boxes side by side; more go into a further layer."""


@dataclass(eq=False)
class Element:
    """Anything that takes room in a layer.

    ``kind`` is ``call``, ``tag`` (the label of a definition), ``lane`` (a tag passing a layer), ``heading``,
    ``foot``, ``turn`` (where a tag that goes round a loop meets its foot or its head) or ``return`` (its
    way up). ``thread`` is the place of its thread in the legend, None where it has none.
    """

    kind: str
    lines: tuple[str, ...] = ()
    thread: int | None = None
    box: Box | None = None
    layer: int = 0


@dataclass(eq=False)
class Call:
    """A call with the labels of the tags that it defines below it."""

    node: Element
    tags: list[Element] = field(default_factory=list)


@dataclass(eq=False)
class Box:
    """A loop, branch, PARALLEL, or the whole program; `returns` run up its right side."""

    title: str
    kind: str
    heading: Element
    foot: Element
    parent: Box | None = None
    layer: int = 0  # in the parent
    layers: list[list[Item]] = field(default_factory=list)
    returns: list[Element] = field(default_factory=list)


Item = Element | Call | Box


@dataclass(frozen=True)
class Way:
    """How one tag gets from its definition to one use, element by element."""

    elements: tuple[Element, ...]
    thread: int
    crosses: bool
    carried: bool
    inout: bool


@dataclass(frozen=True)
class Scene:
    """All there is to draw; `threads` are the legend's lines in order."""

    root: Box
    ways: tuple[Way, ...]
    threads: tuple[str, ...]


def boxes(root: Box) -> Iterator[Box]:
    """Give a box and all boxes in it, outer before inner."""
    yield root
    for layer in root.layers:
        for item in layer:
            if isinstance(item, Box):
                yield from boxes(item)


def calls(root: Box) -> Iterator[Call]:
    """Give all calls in a box and in the boxes in it."""
    for box in boxes(root):
        for layer in box.layers:
            yield from (item for item in layer if isinstance(item, Call))


def compose(graph: ProgramGraph, measured: Measured | None = None) -> Scene:
    """Turn a program graph, and what a run says of it, into the elements of its picture."""
    composer = _Composer(graph, measured or Measured())
    root = composer.program()
    ways = tuple(composer.ways())
    threads = tuple(_thread_text(region, label) for region, label in graph.placement.keys)
    return Scene(root, ways, threads)


def _thread_text(region: str, label: str) -> str:
    return f"{label} (root)" if region == "root" else f"{label} (in PARALLEL)"


class _Composer:
    """The scene under construction."""

    def __init__(self, graph: ProgramGraph, measured: Measured) -> None:
        self.measured = measured
        self.graph, self.walk, self.tags = graph, graph.walk, graph.tags
        self.place = {key: number for number, key in enumerate(graph.placement.keys)}
        self.ends: dict[int | str, Element] = {}  # where the edges of a node of the graph end
        self.labels: dict[tuple[int, str], Element] = {}  # of definitions
        self.loops: dict[int, Box] = {}  # by step
        self.lanes: dict[tuple[Element, Box, int, bool], Element] = {}
        self.bends: dict[tuple[Element, Box], tuple[Element, Element]] = {}
        self.drawn = {around for step in self._calls() for around in self.walk.ancestors(step)}
        self.touched = self._touched()
        self.renamed = self._renamed()

    def _calls(self) -> Iterator[int]:
        return (step.id for step in self.walk.steps if isinstance(step.statement, CallSite))

    def _renamed(self) -> dict[tuple[int, str], set[str]]:
        """Names under which a definition is read after a swap."""
        found: dict[tuple[int, str], set[str]] = {}
        for source, _, data in self.graph.nx.edges(data=True):
            other = display_name(data["tag"], self.tags)
            if data["tag"] != data["source_tag"] and other != display_name(data["source_tag"], self.tags):
                found.setdefault((source, data["source_tag"]), set()).add(other)
        return found

    # ------------------------------------------------------------ boxes, calls and layers

    def program(self) -> Box:
        box = self._box(f"program {self.graph.name}", "program", "", None)
        self._fill(box, self.walk.blocks[0].steps)
        return box

    def _box(self, title: str, kind: str, foot: str, parent: Box | None) -> Box:
        # The legend says the program's name.
        head = Element("heading", (title,) if parent is not None else ())
        box = Box(title, kind, head, Element("foot", (foot,) if foot else ()), parent)
        head.box = box.foot.box = box
        return box

    def _fill(self, box: Box, steps: tuple[int, ...]) -> None:
        """Stack heading, the statements in layers, and foot."""
        box.layers.append([box.heading])
        if box.kind in ("for", "while"):
            box.layers.append([])  # where tags of the iteration before come in
        for layer in self._layered(steps):
            items: list[Item] = []
            box.layers.append(items)
            for step in layer:
                self._put(box, items, step)
        box.layers.append([box.foot])
        box.foot.layer = len(box.layers) - 1

    def _layered(self, steps: tuple[int, ...]) -> list[list[int]]:
        """Spread statements over layers: after everything that they depend on, not too many side by side."""
        order = self._dependences(steps)
        layers: list[list[int]] = []
        ready: dict[int, int] = {}  # the first layer after a statement; assignments and swaps take none
        for step in steps:
            at = max((ready[before] for before in order.predecessors(step)), default=0)
            if self._is_drawn(step):
                while at < len(layers) and len(layers[at]) >= WIDEST_LAYER:
                    at += 1
                layers += [[]] if at == len(layers) else []
                layers[at].append(step)
                at += 1
            ready[step] = at
        return layers

    def _is_drawn(self, step: int) -> bool:
        return step in self.drawn or isinstance(self.walk.steps[step].statement, CallSite)

    def _dependences(self, steps: tuple[int, ...]) -> nx.DiGraph:
        """Order statements of one block by the tags that they share, unless both only read them."""
        order: nx.DiGraph = nx.DiGraph()
        order.add_nodes_from(steps)
        writer: dict[str, int] = {}
        readers: dict[str, list[int]] = {}
        for step in steps:
            reads, writes = self.touched[step]
            before = {writer[tag] for tag in reads | writes if tag in writer}
            before |= {reader for tag in writes for reader in readers.get(tag, ())}
            order.add_edges_from((earlier, step) for earlier in before)
            for tag in writes:
                writer[tag], readers[tag] = step, []
            for tag in reads - writes:
                readers.setdefault(tag, []).append(step)
        return order

    def _touched(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """What each statement reads and writes, what stands inside it included."""
        found = [(read_names(s.statement), defined_tags(s.statement)) for s in self.walk.steps]
        for step in reversed(self.walk.steps):
            around = self.walk.owner(step.id)
            if around is not None:
                (reads, writes), inner = found[around], found[step.id]
                found[around] = (reads | inner[0], writes | inner[1])
        return found

    def _put(self, box: Box, items: list[Item], step: int) -> None:
        """Put a statement into the last layer of a box."""
        layer, node = len(box.layers) - 1, self.walk.steps[step]
        if isinstance(node.statement, CallSite):
            items.append(self._call(node.statement, box, layer))
            return
        inner = self._compound(node, box)
        inner.layer = layer
        items.append(inner)

    def _compound(self, step: Step, parent: Box) -> Box:
        statement, kind = step.statement, type(step.statement).__name__.lower()
        box = self._box(heading_text(statement, self.tags), kind, self._foot(step), parent)
        self.ends[graph_node(self.walk, step.id)] = box.heading
        self.loops[step.id] = box
        blocks = [block for block in step.blocks if any(map(self._is_drawn, self.walk.blocks[block].steps))]
        if not isinstance(statement, If) or (len(blocks) == 1 and blocks == [step.blocks[0]]):
            self._note_entry(box, blocks[0])
            self._fill(box, self.walk.blocks[blocks[0]].steps)
        else:
            self._branches(box, blocks)
        return box

    def _branches(self, box: Box, blocks: list[int]) -> None:
        """Put ``then`` and ``else`` side by side into the box of their ``if``."""
        items: list[Item] = []
        box.layers += [[box.heading], items]
        for block in blocks:
            inner = self._box(
                "then" if self.walk.blocks[block].role is Role.THEN else "else", "case", "", box
            )
            inner.layer = 1
            self._note_entry(inner, block)
            self._fill(inner, self.walk.blocks[block].steps)
            items.append(inner)
        box.layers.append([box.foot])
        box.foot.layer = len(box.layers) - 1

    def _note_entry(self, box: Box, block: int) -> None:
        freed = display_names(self.graph.liveness.frees_at_entry(block), self.tags)
        box.heading.lines += (f"frees {freed} on entry",) if freed else ()

    def _foot(self, step: Step) -> str:
        """Say what is freed when a loop ends, or when a branch is not taken."""
        freed, when = self.graph.liveness.frees_at_exit(step.id), "then frees"
        if isinstance(step.statement, If) and not step.statement.otherwise:
            freed, when = self.graph.liveness.frees_at_entry(step.blocks[1]), "otherwise frees"
        return f"{when} {display_names(freed, self.tags)}" if freed else ""

    def _call(self, site: CallSite, box: Box, layer: int) -> Call:
        data = self.graph.nx.nodes[site.id]
        thread = self.place[data["key"]]
        lines = [site.label, f"{data['thread']} · line {self.graph.walk.line(site)}"]
        lines += [f"frees {display_names(data['frees'], self.tags)}"] if data["frees"] else []
        lines += filter(None, [self.measured.calls.get(site.id)])
        call = Call(Element("call", tuple(lines), thread, box, layer))
        self.ends[site.id] = call.node
        for tag, text in self._definitions(site):
            label = Element("tag", (text,), thread, box, layer)
            self.labels[site.id, tag] = label
            call.tags.append(label)
        return call

    def _definitions(self, site: CallSite) -> Iterator[tuple[str, str]]:
        """Give the tags that a call defines, with their labels; in-outs and reduced scalars only if read."""
        read = {data["source_tag"]: data for _, _, data in self.graph.nx.out_edges(site.id, data=True)}
        for output in site.outputs:
            if output.tag in read or output.reduction is None:
                yield output.tag, self._label(site, output.tag, tag_text(output.tag, output.type, self.tags))
            if output.reduction is not None:
                target, operation = output.reduction.target, output.reduction.operation
                whole, own = display_name(target, self.tags), display_name(output.tag, self.tags)
                text = f"{whole} = {operation} of {own}"
                yield target, self._label(site, target, text)
        for tag in sorted(inouts_of(site) & read.keys()):
            yield tag, self._label(site, tag, tag_text(tag, self.tags[tag].type, self.tags))

    def _label(self, site: CallSite, tag: str, text: str) -> str:
        """Add the names that a definition gets by swaps."""
        others = sorted(self.renamed.get((site.id, tag), ()))
        moved = self.measured.tags.get((site.id, display_name(tag, self.tags)))
        text += f" · {moved}" if moved else ""
        return f"{text} ⇄ {', '.join(others)}" if others else text

    # ------------------------------------------------------------ ways

    def ways(self) -> Iterator[Way]:
        """Lead every edge of the graph through the layers; what starts together stays together."""
        for source, target, data in self.graph.nx.edges(data=True):
            start, end = self.labels[source, data["source_tag"]], self.ends[target]
            loop = None if data["loop"] is None else self.loops[data["loop"]]
            inner = self._round(start, loop, end) if loop else self._down(start, start, end, False)
            elements = (start, *inner, end)
            yield Way(elements, start.thread or 0, data["crosses"], loop is not None, data["inout"])

    def _round(self, start: Element, loop: Box, end: Element) -> list[Element]:
        """Go down to the foot of a loop, up at its side, and in from its head."""
        foot, back = self._bend(start, loop)
        first = [*self._down(start, start, foot, False), foot, back]
        if end is loop.heading:
            return first
        key = (start, loop, 1, True)
        if key not in self.lanes:
            self.lanes[key] = self._add(Element("turn", (), start.thread, loop, 1))
        return [*first, self.lanes[key], *self._down(start, self.lanes[key], end, True)]

    def _bend(self, start: Element, loop: Box) -> tuple[Element, Element]:
        if (start, loop) not in self.bends:
            foot = self._add(Element("turn", (), start.thread, loop, len(loop.layers) - 1))
            back = Element("return", (), start.thread, loop, 1)
            loop.returns.append(back)
            self.bends[start, loop] = (foot, back)
        return self.bends[start, loop]

    def _down(self, start: Element, first: Element, last: Element, again: bool) -> list[Element]:
        """Give the lanes of the tag `start` in every layer between two elements."""
        places = _between(_levels(first), _levels(last))
        return [self._lane(start, box, layer, again) for box, layer in places]

    def _lane(self, start: Element, box: Box, layer: int, again: bool) -> Element:
        key = (start, box, layer, again)
        if key not in self.lanes:
            self.lanes[key] = self._add(Element("lane", (), start.thread, box, layer))
        return self.lanes[key]

    def _add(self, element: Element) -> Element:
        assert element.box is not None
        element.box.layers[element.layer].append(element)
        return element


def _levels(element: Element) -> list[tuple[Box, int]]:
    """Give the boxes around an element, the outermost first, with the layer in each."""
    box, layer = element.box, element.layer
    found: list[tuple[Box, int]] = []
    while box is not None:
        found.append((box, layer))
        layer, box = box.layer, box.parent
    return found[::-1]


def _between(start: list[tuple[Box, int]], end: list[tuple[Box, int]]) -> Iterator[tuple[Box, int]]:
    """Give every layer between two places: out of the boxes of one, across, into the boxes of the other."""
    pairs = zip(start, end, strict=False)
    common = sum(1 for (one, _), (other, _) in pairs if one is other)
    for box, layer in reversed(start[common:]):
        yield from ((box, further) for further in range(layer + 1, len(box.layers)))
    shared = start[common - 1][0]
    yield from ((shared, layer) for layer in range(start[common - 1][1] + 1, end[common - 1][1]))
    for box, layer in end[common:]:
        yield from ((box, before) for before in range(layer))
