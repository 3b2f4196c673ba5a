"""Which definition of a tag each use of it reads: the edges between elements, found on the syntax tree.

So they are known for programs with mistakes, too.  A loop's body is entered with what its own end brings
around (`_made`), so that every statement is looked at once for its uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pse.desk.model._elements import Element, heads
from pse.desk.model._ports import Port, Ports
from pse.language.syntax import ast as sx
from pse.language.types import Apply, Binary, Name, Unary
from pse.lsp import Symbol, Symbols

Loop = Element | None


class Definition(NamedTuple):
    """Where a tag gets a value; `loop` brings that from an iteration to the next."""

    element: Element
    port: str
    loop: Loop = None


class Effects(NamedTuple):
    """The names that a statement reads, and those that it gives a value, each with its port.

    With the latter stands whether they are arrays of tags, of which only one gets the value.
    """

    reads: list[tuple[Name, str]]
    writes: list[tuple[sx.Identifier | Name, str, bool]]


def effects(element: Element, ports: Ports) -> Effects:
    """Give what a statement does to tags."""
    node, (inputs, outputs) = element.node, ports
    if element.call is None:
        value = getattr(node, "value", None)
        reads = [(name, name.id) for name in names(value)]
        makes = isinstance(node, sx.Let | sx.Var | sx.Assignment) and value is not None
        one = isinstance(node, sx.Assignment) and node.index is not None
        return Effects(reads, [(node.name, node.name.id, one)] if makes else [])  # type: ignore[union-attr]
    given = [(port, port.argument.value) for port in inputs if port.argument is not None]
    writes: list[Any] = [(value, port.name, False) for port, value in given if port.direction == "inout"]
    for port in outputs:
        writes += _written(port)
    return Effects([(name, port.name) for port, value in given for name in names(value)], writes)


def _written(port: Port) -> list[tuple[sx.Identifier, str, bool]]:
    output = port.output
    if output is None:
        return []
    made = [(output.name, port.name, output.index is not None)]
    if output.reduction is not None:
        made.append((output.reduction.target, port.name, output.reduction.index is not None))
    return made


class Flow(NamedTuple):
    """An edge: a definition, and the port that reads it."""

    source: Definition
    target: Element
    port: str
    symbol: Symbol


Definitions = dict[int, frozenset[Definition]]
"""The definitions of each symbol (by its identity) that may be the last ones."""

_LOOPS = ("for", "while")
_NONE: frozenset[Definition] = frozenset()


class Reaching:
    """Finds the edges of a program.

    Parameters
    ----------
    symbols : Symbols
        What its names mean.
    effects_of : callable
        Gives what a statement reads and writes.
    """

    def __init__(self, symbols: Symbols, effects_of: Callable[[Element], Effects]) -> None:
        self._symbols, self._effects_of = symbols, effects_of
        self._loops: dict[Element, Definitions] = {}
        self._flows: dict[Flow, None] = {}
        self._left: list[Definitions] = []

    def flows(self, frames: list[Element]) -> list[Flow]:
        """Give the edges within the program and its segments."""
        for frame in frames:
            before: Definitions = {}
            if isinstance(frame.node, sx.Segment):
                for field in frame.node.inputs:
                    self._define(before, field.name, Definition(frame, field.name.id))
            after = self._walk(frame.inner, before, self._use)
            if isinstance(frame.node, sx.Segment):
                for field in frame.node.outputs:
                    self._use(after, field.name, frame, field.name.id)
        return sorted(self._flows, key=_place)

    def _walk(self, inner: list[Element], known: Definitions, use: Callable[..., None]) -> Definitions:
        """Follow statements; gives the definitions that reach their end."""
        branch: Definitions = {}
        for number, element in enumerate(inner):
            if element.block is None and element.kind != "break":
                self._statement(element, known, use)
                continue
            following = inner[number + 1].kind if number + 1 < len(inner) else ""
            if element.kind in _LOOPS:
                known = self._loop(element, known, use)
                continue
            self._read_head(element, known, use)
            if element.kind == "if":
                branch, after = known, self._walk(element.inner, dict(known), use)
                known = after if following == "else" else _union(known, after)
            elif element.kind == "else":
                known = _union(known, self._walk(element.inner, dict(branch), use))
            elif element.kind == "break":
                self._left.append(dict(known))
            else:
                known = self._walk(element.inner, known, use)
        return known

    def _loop(self, loop: Element, known: Definitions, use: Callable[..., None]) -> Definitions:
        """Follow a loop; its condition is read before each iteration, its bounds only once."""
        carried = {name: _carried(made, loop) for name, made in self._made(loop).items()}
        inside = _union(known, carried)
        self._read_head(loop, inside if loop.kind == "while" else known, use)
        outer, self._left = self._left, []
        for after in (self._walk(loop.inner, inside, use), *self._left):
            known = _union(known, _without(after, loop))
        self._left = outer
        return known

    def _made(self, loop: Element) -> Definitions:
        """Give what a loop's body defines by its end, whatever came in."""
        if loop not in self._loops:
            outer, self._left = self._left, []
            self._loops[loop] = self._walk(loop.inner, {}, lambda *_: None)
            self._left = outer
        return self._loops[loop]

    def _read_head(self, element: Element, known: Definitions, use: Callable[..., None]) -> None:
        if element.block is not None and isinstance(element.node, sx.For | sx.While | sx.If):
            for field in heads(element.node):
                for name in names(getattr(element.node, field)):
                    use(known, name, element, field)

    def _statement(self, element: Element, known: Definitions, use: Callable[..., None]) -> None:
        reads, writes = self._effects_of(element)
        for name, port in reads:
            use(known, name, element, port)
        for written, port, others in writes:
            self._define(known, written, Definition(element, port), others)

    def _define(self, known: Definitions, name: object, definition: Definition, others: bool = False) -> None:
        """Note who makes a tag; of an array of tags the others are as they were."""
        if isinstance(name, (sx.Identifier, Name)) and (symbol := self._symbols.of(name.span)) is not None:
            made = frozenset((definition,))
            known[id(symbol)] = known.get(id(symbol), _NONE) | made if others else made

    def _use(
        self,
        known: Mapping[int, frozenset[Definition]],
        name: sx.Identifier | Name,
        to: Element,
        port: str,
    ) -> None:
        symbol = self._symbols.of(name.span)
        if symbol is None:
            return
        for source in known.get(id(symbol), ()):
            self._flows[Flow(source, to, port, symbol)] = None


def _place(flow: Flow) -> tuple[object, ...]:
    """Give what flows are sorted by: where they end, then where they come from."""
    source, target = flow.source, flow.target
    loop = source.loop.start if source.loop is not None else -1
    return target.start, target.end, flow.port, flow.symbol.name, source.element.start, source.port, loop


def names(root: object) -> Iterator[Name]:
    """Give the names that an expression reads, in the order of the text."""
    waiting = [root]
    while waiting:
        match waiting.pop():
            case Name() as name:
                yield name
            case sx.CallExpression(_, arguments, _):
                waiting += reversed([argument.value for argument in arguments])
            case Unary() as unary:
                waiting.append(unary.operand)
            case Binary() as binary:
                waiting += [binary.right, binary.left]
            case Apply() as apply:
                waiting += reversed(apply.arguments)


def _union(one: Definitions, other: Definitions) -> Definitions:
    return {name: one.get(name, frozenset()) | other.get(name, frozenset()) for name in {**one, **other}}


def _carried(made: frozenset[Definition], loop: Element) -> frozenset[Definition]:
    return frozenset(definition._replace(loop=loop) for definition in made)


def _without(known: Definitions, loop: Element) -> Definitions:
    """Give definitions as they are seen behind a loop."""

    def seen(definition: Definition) -> Definition:
        return definition._replace(loop=None) if definition.loop is loop else definition

    return {name: frozenset(map(seen, found)) for name, found in known.items()}
