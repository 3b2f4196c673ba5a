"""What of a graph differs from that of the text before: only this is written and sent.

A graph is four lists of parts: frames, nodes, edges and diagnostics.  What is written of a part follows from
its meaning and its place.  A part that has kept its meaning, and whose place has at most moved with the text
behind the change, is not written again: the page moves it itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from pse.desk.model._elements import Element
from pse.desk.model._flow import Flow
from pse.desk.model._graph import GraphWriter, Json
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import change_between
from pse.language.syntax import ast as sx
from pse.modules import module_comment

_NOWHERE = -1
"""Where a part is that has no place in the text."""


class Part(NamedTuple):
    """One part of a graph: `key` tells it from others in its list, `lines` are the numbers of its lines."""

    key: Hashable
    meaning: tuple[object, ...]
    start: int
    end: int
    lines: tuple[int, ...]


class Drawing:
    """The graph of a program as data for JSON, whole or as the difference from another one.

    Parameters
    ----------
    model : ProgramModel
        The program.
    version : int or None
        The version of its text.
    root : str
        The directory to which paths are relative.
    before : Drawing, optional
        The one that was given before.

    Attributes
    ----------
    number : int
        Counts the drawings of a program.

    See Also
    --------
    perform
    """

    def __init__(
        self, model: ProgramModel, version: int | None, root: str, before: Drawing | None = None
    ) -> None:
        self.model, self.version = model, version
        self.number: int = before.number + 1 if before is not None else 1
        self._writer = GraphWriter(model, root)
        self._called: dict[str, object] = {}
        self._known = before._called if before is not None else {}

    def whole(self) -> Json:
        """Give all of it."""
        return {"number": self.number, **self._writer.graph(self.version)}

    def since(self, before: Drawing) -> Json:
        """Give what makes this drawing of another one."""
        moved, writer = _Moved(before, self), self._writer
        return {
            "number": self.number,
            "since": before.number,
            "moved": moved.told,
            "frames": _changes(before._frames, self._frames, moved, writer.frames, writer.frame),
            "nodes": _changes(before._nodes, self._nodes, moved, writer.nodes, writer.node),
            "edges": _changes(before._edges, self._edges, moved, self.model.flows, writer.edge),
            "diagnostics": _changes(
                before._diagnostics, self._diagnostics, moved, writer.diagnostics, writer.diagnostic
            ),
            **writer.rest(self.version),
        }

    @cached_property
    def _repaired(self) -> set[str]:
        """The ids of frames and nodes whose trees do not follow from their texts alone."""
        parsed, found = self.model.drawn.inspection.parsed, set[str]()
        if not parsed.diagnostics:
            return found
        intact = parsed.intact()
        for element in self.model.elements:  # A frame before what is in it.
            around = element.frame
            if id(element.node) not in intact and (around is None or around.id in found):
                found.add(element.id)
        return found

    # Parts.

    @cached_property
    def _frames(self) -> list[Part]:
        return [self._part(element, self._frame) for element in self._writer.frames]

    @cached_property
    def _nodes(self) -> list[Part]:
        return [self._part(element, self._node) for element in self._writer.nodes]

    @cached_property
    def _edges(self) -> list[Part]:
        return [self._edge(flow) for flow in self.model.flows]

    @cached_property
    def _diagnostics(self) -> list[Part]:
        return list(self._told())

    def _part(self, element: Element, give: Callable[[Element], tuple[object, ...]]) -> Part:
        meaning = give(element) if element.id not in self._repaired else (object(),)  # It is like no other.
        line, column = self.model.text.place(element.start)
        around = element.frame.id if element.frame else None
        return Part(element.id, (element.kind, around, column, *meaning), element.start, element.end, (line,))

    def _frame(self, element: Element) -> tuple[object, ...]:
        text, node = self.model.text, element.node
        assert element.block is not None, "it is a frame"
        fields = (*node.inputs, *node.outputs) if isinstance(node, sx.Segment) else ()
        drawn = self.model.drawn
        types = [drawn.type_of(symbol) if (symbol := drawn.symbols.of(f.name.span)) else None for f in fields]
        end = text.range(element.block.span)[0]
        return text[element.start : end], drawn.text[element.start : end], types

    def _node(self, element: Element) -> tuple[object, ...]:
        model = self.model
        types = list(map(model.drawn.type_of, model.drawn.symbols.mentioned(element.node)))  # type: ignore[arg-type]
        text = model.text[element.start : element.end], model.drawn.text[element.start : element.end]
        return text, model.thread(element), self._what(element.called), types

    def _what(self, called: str) -> object:
        """Give what a name of calls stands for; what it stood for before if that is equal."""
        if called not in self._called:
            reference = self.model.drawn.module(called)
            segment = self.model.interface(called) if self.model.segment(called) is not None else None
            found = reference, module_comment(reference) if reference is not None else "", segment
            self._called[called] = self._known[called] if self._known.get(called) == found else found
        return self._called[called]

    def _edge(self, flow: Flow) -> Part:
        (source, port, loop), target, to, symbol = flow
        key = source.id, port, loop.id if loop else None, target.id, to, symbol.name
        meaning = self.model.drawn.type_of(symbol), self._writer.crosses(source, target)
        return Part(key, meaning, _NOWHERE, _NOWHERE, ())

    def _told(self) -> Iterator[Part]:
        own, count = self.model.analysis.path, Counter[object]()
        for diagnostic in self._writer.diagnostics:
            span, notes = diagnostic.span, diagnostic.notes
            key = diagnostic.code, diagnostic.message
            count[key] += 1
            told = diagnostic.severity, diagnostic.help, self._writer.holder(diagnostic)
            meaning = (
                *(*told, span.path, span.column),
                [(place.path, place.column, text) for place, text in notes],
                [place.line for place, _ in notes if place.path != own],
            )
            inside = span.path == own
            start, end = self.model.text.range(span) if inside else (_NOWHERE, _NOWHERE)
            lines = span.line, *(place.line for place, _ in notes if place.path == own)
            yield Part((key, count[key]), meaning, start, end, lines)


class _Moved:
    """How what is behind a change of the text has moved."""

    def __init__(self, before: Drawing, after: Drawing) -> None:
        old, new = before.model.text, after.model.text
        start, self._at, end = change_between(old, new)
        self._by = end - self._at
        self._lines = new.count("\n", start, end) - old.count("\n", start, self._at)
        at = before._writer.offsets.shown(self._at)
        by = after._writer.offsets.shown(end) - at
        self.told = {"at": at, "by": by, "lines": self._lines}

    def is_same(self, old: Part, new: Part) -> bool:
        """Whether a part is what another one has become where nothing but places has changed."""
        by, lines = (self._by, self._lines) if old.start >= self._at else (0, 0)
        end = old.end + (self._by if old.end >= self._at else 0)
        moved = tuple([line + lines for line in old.lines]) if lines else old.lines
        return (old.start + by, end, moved) == new[2:] and old.meaning == new.meaning


def _changes(
    before: Sequence[Part],
    after: Sequence[Part],
    moved: _Moved,
    sources: Sequence[Any],
    write: Callable[[Any], Json],
) -> Json:
    """Give which parts of a list are dropped, by their numbers, and which are put where."""
    numbers = {part.key: number for number, part in enumerate(before)}
    last, kept, put = -1, set[int](), []
    for number, part in enumerate(after):
        old = numbers.get(part.key, -1)
        if old > last and moved.is_same(before[old], part):  # What is kept is in the same order.
            kept.add(old)
            last = old
        else:
            put.append([number, write(sources[number])])
    return {"dropped": [number for number in range(len(before)) if number not in kept], "put": put}
