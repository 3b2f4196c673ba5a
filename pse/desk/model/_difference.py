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
from pse.desk.model._ports import tag_type
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import change_between
from pse.language import Diagnostic
from pse.language.syntax import ast as sx
from pse.language.types import Type
from pse.lsp import Analysis, Symbol
from pse.modules import module_comment

_NOWHERE = -1
"""Where a part is that has no place in the text."""


class Part(NamedTuple):
    """One part of a graph: `key` tells it from others in its list.

    Where `sign` is as it was, too, the part is the same if nothing has changed that others decide.
    """

    key: Hashable
    sign: object
    source: Any
    start: int
    end: int


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

    def whole(self) -> Json:
        """Give all of it."""
        return {"number": self.number, **self._writer.graph(self.version)}

    def since(self, before: Drawing) -> Json:
        """Give what makes this drawing of another one."""
        writer, found = self._writer, _Comparison(before, self)
        return {
            "number": self.number,
            "since": before.number,
            "moved": found.moved,
            "frames": found.changes(before._frames, self._frames, found.is_same_frame, writer.frame),
            "nodes": found.changes(
                before._nodes, self._nodes, found.is_same_node, writer.node, found.is_node_untouched
            ),
            "edges": found.changes(
                before._edges, self._edges, found.is_same_edge, writer.edge, found.is_edge_untouched
            ),
            "diagnostics": found.changes(
                before._diagnostics, self._diagnostics, found.is_same_diagnostic, writer.diagnostic
            ),
            **writer.rest(self.version),
        }

    @cached_property
    def repaired(self) -> set[str]:
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
        return [Part(e.id, object(), e, e.start, e.end) for e in self._writer.frames]

    @cached_property
    def _nodes(self) -> list[Part]:
        mentioned = self.model.drawn.symbols.mentioned
        return [
            Part(e.id, (id(e.node), mentioned(e.node), _frame_id(e)), e, e.start, e.end)  # type: ignore[arg-type]
            for e in self._writer.nodes
        ]

    @cached_property
    def _edges(self) -> list[Part]:
        return [Part(_ends(flow), flow.symbol, flow, _NOWHERE, _NOWHERE) for flow in self.model.flows]

    @cached_property
    def _diagnostics(self) -> list[Part]:
        return list(self._told())

    def _told(self) -> Iterator[Part]:
        own, count, holder = self.model.analysis.path, Counter[object](), self._writer.holder
        for diagnostic in self._writer.diagnostics:
            span, key = diagnostic.span, (diagnostic.code, diagnostic.message)
            count[key] += 1
            start, end = self.model.text.range(span) if span.path == own else (_NOWHERE, _NOWHERE)
            yield Part((key, count[key]), (diagnostic, holder(diagnostic)), diagnostic, start, end)

    def lines(self, source: Any) -> tuple[int, ...]:
        """Give the numbers of the lines that are told of a part."""
        if isinstance(source, Diagnostic):
            own = self.model.analysis.path
            return source.span.line, *[place.line for place, _ in source.notes if place.path == own]
        return (source.node.span.line,) if isinstance(source, Element) else ()

    def holder(self, diagnostic: Diagnostic) -> str | None:
        """Give the id of what a diagnostic is about."""
        return self._writer.holder(diagnostic)


def _frame_id(element: Element) -> str | None:
    return element.frame.id if element.frame is not None else None


def _ends(flow: Flow) -> Hashable:
    (source, port, loop), target, to, symbol = flow
    return source.id, port, loop.id if loop else None, target.id, to, symbol.name


class _Comparison:
    """What has stayed as it was from one drawing to the next, and how what is behind the change has moved.

    Most statements of a text have the nodes that they had, and most names the symbols: of those, only what
    follows from others is compared.
    """

    def __init__(self, before: Drawing, after: Drawing) -> None:
        self._before, self._after = before, after
        self._old, self._new = before.model, after.model
        old, new = self._old.text, self._new.text
        self._start, self._at, end = change_between(old, new)
        self._by = end - self._at
        self._lines = new.count("\n", self._start, end) - old.count("\n", self._start, self._at)
        at = before._writer.offsets.shown(self._at)
        by = after._writer.offsets.shown(end) - at
        self.moved = {"at": at, "by": by, "lines": self._lines}
        self._called: dict[str, bool] = {}

    def changes(
        self,
        before: Sequence[Part],
        after: Sequence[Part],
        is_same: Callable[[Any, Any], bool],
        write: Callable[[Any], Json],
        is_untouched: Callable[[Any], bool] = lambda _: True,
    ) -> Json:
        """Give which parts of a list are dropped, by their numbers, and which are put where."""
        first, same = self._untouched(before, after, is_untouched)
        between = range(first, len(before) - same)
        numbers = {before[number].key: number for number in between}
        last, kept, put = -1, set[int](), []
        for number, part in enumerate(after[first : len(after) - same], first):
            old = numbers.get(part.key, -1)
            # What is kept is in the same order.
            if old > last and self._is_there(before[old], part) and is_same(before[old].source, part.source):
                kept.add(old)
                last = old
            else:
                put.append([number, write(part.source)])
        return {"dropped": [number for number in between if number not in kept], "put": put}

    def _untouched(
        self, before: Sequence[Part], after: Sequence[Part], is_untouched: Callable[[Any], bool]
    ) -> tuple[int, int]:
        """Count the first parts and the last ones that have nothing to do with the change."""
        if any(model.drawn is not model.analysis for model in (self._old, self._new)):
            return 0, 0
        shorter, pairs = min(len(before), len(after)), zip(before, after, strict=False)
        first = next((n for n, (a, b) in enumerate(pairs) if not self._stays(a, b, is_untouched)), shorter)
        pairs = zip(reversed(before[first:]), reversed(after[first:]), strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if not self._moves(a, b, is_untouched)), None)
        return first, shorter - first if same is None else same

    def _stays(self, old: Part, new: Part, is_untouched: Callable[[Any], bool]) -> bool:
        """Whether a part is wholly before the change, and as it was."""
        where = old.start == new.start and old.end == new.end < self._start
        return where and old.key == new.key and old.sign == new.sign and is_untouched(new.source)

    def _moves(self, old: Part, new: Part, is_untouched: Callable[[Any], bool]) -> bool:
        """Whether a part is wholly behind a change within lines, and as it was."""
        if old.start != _NOWHERE:
            moved = old.start + self._by, old.end + self._by
            if self._lines or old.start < self._at or moved != (new.start, new.end):
                return False
        return old.key == new.key and old.sign == new.sign and is_untouched(new.source)

    def _is_there(self, old: Part, new: Part) -> bool:
        """Whether a part is where another one would be if nothing but places had changed."""
        by, lines = (self._by, self._lines) if old.start >= self._at else (0, 0)
        end = old.end + (self._by if old.end >= self._at else 0)
        if old.start + by != new.start or end != new.end:
            return False
        then, now = self._before.lines(old.source), self._after.lines(new.source)
        return tuple([line + lines for line in then]) == now

    # Frames and nodes.

    def is_same_frame(self, old: Element, new: Element) -> bool:
        """Whether a frame is what it was."""
        if not self._is_same_element(old, new) or self._head(old, self._old) != self._head(new, self._new):
            return False
        return _field_types(old, self._old.drawn) == _field_types(new, self._new.drawn)

    def is_same_node(self, old: Element, new: Element) -> bool:
        """Whether a node is what it was."""
        if not self._is_same_element(old, new) or not self._is_same_text(old, new):
            return False
        return self._is_same_called(old.called, new.called) and self._are_same_types(old, new)

    def is_node_untouched(self, node: Element) -> bool:
        """Whether nothing has changed that decides what a node is, beside its own tree."""
        if node.id in self._touched or not self._is_same_called(node.called, node.called):
            return False
        return not self._retyped or self._retyped.isdisjoint(self._new.drawn.symbols.mentioned(node.node))  # type: ignore[arg-type]

    def _is_same_element(self, old: Element, new: Element) -> bool:
        if new.id in self._touched or _frame_id(old) != _frame_id(new):
            return False
        return old.node is new.node or (old.kind, old.node.span.column) == (new.kind, new.node.span.column)

    @cached_property
    def _touched(self) -> set[str]:
        return self._elsewhere | self._rebundled | self._before.repaired | self._after.repaired

    def _is_same_text(self, old: Element, new: Element) -> bool:
        if old.node is new.node and old.node.span.line == old.node.span.end_line:
            return True
        texts = [(model.text, model.drawn.text) for model in (self._old, self._new)]
        one, other = ([t[e.start : e.end] for t in both] for both, e in zip(texts, (old, new), strict=True))
        return one == other

    def _head(self, frame: Element, model: ProgramModel) -> tuple[str, str]:
        assert frame.block is not None, "it is a frame"
        end = model.text.range(frame.block.span)[0]
        return model.text[frame.start : end], model.drawn.text[frame.start : end]

    def _is_same_called(self, before: str, called: str) -> bool:
        """Whether calls name the same, and that stands for what it stood for."""
        if called not in self._called:
            one, other = (_what(called, model) for model in (self._old, self._new))
            self._called[called] = one == other
        return before == called and self._called[called]

    def _are_same_types(self, old: Element, new: Element) -> bool:
        before, now = self._old.drawn, self._new.drawn
        one, other = before.symbols.mentioned(old.node), now.symbols.mentioned(new.node)  # type: ignore[arg-type]
        if one is other:
            return not self._retyped or self._retyped.isdisjoint(one)
        return [*map(before.type_of, one)] == [*map(now.type_of, other)]

    @cached_property
    def _retyped(self) -> set[Symbol]:
        return self._new.drawn.retyped(self._old.drawn)

    @cached_property
    def _rebundled(self) -> set[str]:
        """The ids of calls to which names of bundles say something else than they did."""
        old = {e.id: self._old.bundles(e) for e in self._old.elements if e.call is not None}
        now = {e.id: self._new.bundles(e) for e in self._new.elements if e.call is not None}
        return {id for id, bundles in now.items() if bundles != old.get(id, bundles)}

    @cached_property
    def _elsewhere(self) -> set[str]:
        """The ids of frames and nodes that are on another thread than they were, or out of PARALLEL."""
        old = {e.id: (self._old.threads[e.id], e.parallel) for e in self._old.elements}
        threads = self._new.threads
        return {e.id for e in self._new.elements if old.get(e.id) != (threads[e.id], e.parallel)}

    # Edges and diagnostics.

    def is_same_edge(self, old: Flow, new: Flow) -> bool:
        """Whether an edge is what it was."""
        if not self._elsewhere.isdisjoint((new.source.element.id, new.target.id)):
            return False
        if old.symbol is new.symbol:
            return new.symbol not in self._retyped
        return self._old.drawn.type_of(old.symbol) == self._new.drawn.type_of(new.symbol)

    def is_edge_untouched(self, edge: Flow) -> bool:
        """Whether nothing has changed that decides what an edge is, beside its ends and its symbol."""
        if self._elsewhere and not self._elsewhere.isdisjoint((edge.source.element.id, edge.target.id)):
            return False
        return edge.symbol not in self._retyped

    def is_same_diagnostic(self, old: Diagnostic, new: Diagnostic) -> bool:
        """Whether a diagnostic is what it was."""
        if _told_of(old, self._old) != _told_of(new, self._new):
            return False
        return self._before.holder(old) == self._after.holder(new)


def _field_types(frame: Element, drawn: Analysis) -> list[Type | None]:
    """Give the types of the inputs and outputs of a segment."""
    node = frame.node
    fields = (*node.inputs, *node.outputs) if isinstance(node, sx.Segment) else ()
    return [tag_type(field.name, drawn) for field in fields]


def _what(called: str, model: ProgramModel) -> object:
    """Give what a name of calls stands for."""
    reference = model.drawn.module(called)
    segment = model.interface(called) if model.segment(called) is not None else None
    return reference, module_comment(reference) if reference is not None else "", segment


def _told_of(diagnostic: Diagnostic, model: ProgramModel) -> object:
    """Give what is told of a diagnostic beside its places in the program."""
    span, notes, own = diagnostic.span, diagnostic.notes, model.analysis.path
    related = [
        (place.path, place.column, text, place.line if place.path != own else 0) for place, text in notes
    ]
    return diagnostic.severity, diagnostic.help, span.path, span.column, related
