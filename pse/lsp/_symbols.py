"""What every name in a program means: where it is declared, and everywhere it is read and written.

Works on the syntax tree alone, so it knows programs with mistakes, too.  Visibility is the checker's
(`pse.language.check._scope`): `let`, `var` and counters live in their block, what a call makes in the
program or segment around it.

Statements behind each other in a block are a part (`_Part`).  Where they are the same in a later text, and
their names mean the same before them, all of that is taken over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from functools import cached_property
from operator import is_

from pse.language import Span
from pse.language.check import PROCS
from pse.language.syntax import ast as sx
from pse.language.types import Apply, Binary, Name, Unary
from pse.records import replace

_APART = ("thread", "program", "field")
"""Kinds of symbols that no expression can mean."""


_COMPOUND = (sx.For, sx.While, sx.If, sx.Parallel)
"""Statements that hold others."""

_LONGEST = 32
"""Statements in a part: so many are looked at again where one of them is edited."""

Place = tuple["Symbol", Span, bool]
"""A name that is written somewhere, and whether it gets a value there."""


@dataclasses.dataclass(eq=False)
class Symbol:
    """A name's meaning.

    Attributes
    ----------
    name : str
        As it is written; `fft.rows` for a module of an import.
    kind : str
        "parameter", "partition", "import", "module", "segment", "bundle", "record", "field", "program",
        "tag", "counter" or "thread".
    span : Span or None
        Where it is declared; None for what no text declares (`pse.std`, `procs`).
    scope : Span or None
        Where it is visible; None: in the whole file.
    node : object
        The node that declares it.

    See Also
    --------
    Analysis
    """

    name: str
    kind: str
    span: Span | None
    scope: Span | None = None
    node: object = None


@dataclasses.dataclass(eq=False)
class _Part:
    """What statements behind each other say of names; of all else it has no statements.

    `found` has what names meant before them, by the space of names in which they were looked up, and `made`
    what they made of names; `scopes` are the places of the blocks into which they put them.
    """

    scopes: list[Span]
    nodes: list[sx.Statement] = dataclasses.field(default_factory=list)
    found: dict[tuple[str, str], Symbol | None] = dataclasses.field(default_factory=dict)
    made: dict[tuple[str, str], Symbol] = dataclasses.field(default_factory=dict)
    symbols: dict[Symbol, None] = dataclasses.field(default_factory=dict)
    calls: list[sx.Call | sx.CallExpression] = dataclasses.field(default_factory=list)
    places: list[Place] = dataclasses.field(default_factory=list)
    meant: dict[int, Symbol] = dataclasses.field(default_factory=dict)
    mentions: dict[int, list[Symbol]] = dataclasses.field(default_factory=dict)

    def look_up(self, space: str, name: str, symbol: Symbol | None) -> None:
        """Note what a name means, if not by this part."""
        if symbol not in self.symbols:
            self.found.setdefault((space, name), symbol)


class Symbols:
    """The symbols of a program.

    Parameters
    ----------
    tree : Program or None
        The program's tree; None has no symbols.
    records : collection of str, optional
        The names that stand for record types, of which imports don't tell.
    before : Symbols, optional
        Those of an earlier text, for what did not change.

    See Also
    --------
    Analysis
    """

    def __init__(
        self, tree: sx.Program | None, records: Collection[str] = (), before: Symbols | None = None
    ) -> None:
        self.all: list[Symbol] = []
        self.calls: list[sx.Call | sx.CallExpression] = []
        self._records = records
        self._spaces: dict[str, dict[str, Symbol]] = {"file": {}, "thread": {}}
        self._blocks: list[tuple[dict[str, Symbol], Span]] = []
        self._written: list[Place] = []
        self._meant: dict[int, Symbol] = {}
        self._mentions: dict[int, list[Symbol]] = {}
        self._mentioned: list[Symbol] = []
        self._parts: dict[int, _Part] = {}
        self._part = _Part([])
        self._before = before
        if tree is not None:
            self._items(tree)
        self._end_part()
        self._before = None

    def of(self, span: Span | None) -> Symbol | None:
        """Give what a name means by the place that it has in the tree."""
        return self._meant.get(id(span))

    def mentioned(self, node: sx.Statement) -> list[Symbol]:
        """Give what the names of a statement that holds no others mean, in the order in which it is read."""
        return self._mentions.get(id(node), [])

    def places(self, symbol: Symbol) -> list[tuple[Span, bool]]:
        """Give everywhere a name is written, its declaration included, and whether it gets a value there."""
        return self._places.get(symbol, [])

    @cached_property
    def _places(self) -> dict[Symbol, list[tuple[Span, bool]]]:
        found = dict[Symbol, list[tuple[Span, bool]]]()
        for symbol, span, written in self._written:
            found.setdefault(symbol, []).append((span, written))
        return found

    def at(self, line: int, column: int) -> tuple[Span, Symbol] | None:
        """Give the name at a place (counted from 1), also right behind it, and where it begins and ends."""
        places = [(span, symbol) for symbol, span, _ in self._written if span.line == line]
        found = [place for place in places if place[0].column <= column <= place[0].end_column]
        return min(found, key=lambda place: place[0].end_column - place[0].column, default=None)

    @cached_property
    def _scoped(self) -> list[Symbol]:
        """Symbols of all scopes."""
        return list({id(symbol.scope): symbol for symbol in self.all}.values())

    def visible(self, line: int, column: int) -> Iterator[Symbol]:
        """Give the symbols that can be used at a place; an inner one of a name before an outer one."""
        holds = {id(symbol.scope): _holds(symbol.scope, line, column) for symbol in self._scoped}
        inside = [s for s in self.all if s.kind not in _APART and holds[id(s.scope)]]
        yield from sorted(inside, key=_outwards)

    @cached_property
    def _named(self) -> dict[str, list[Symbol]]:
        found = dict[str, list[Symbol]]()
        for symbol in self.all:
            if symbol.kind not in _APART:
                found.setdefault(symbol.name, []).append(symbol)
        return found

    def meant(self, name: str, line: int, column: int) -> Symbol | None:
        """Give what a name means at a place: the first one of that name that is visible there."""
        inside = [s for s in self._named.get(name, ()) if _holds(s.scope, line, column)]
        return min(inside, key=_outwards, default=None)

    def of_kind(self, *kinds: str) -> list[Symbol]:
        """Give the symbols of some kinds, in textual order."""
        return [symbol for symbol in self.all if symbol.kind in kinds]

    # Parts.

    def _end_part(self) -> None:
        """Take what was said since the last one, and begin a part where names stand now."""
        if self._part.nodes:
            self._parts[id(self._part.nodes[0])] = self._part
        self._take(self._part)
        scopes = [self._blocks[0][1], self._blocks[-1][1]] if self._blocks else []
        self._part = _Part(scopes)

    def _take(self, part: _Part) -> None:
        self.all += part.symbols
        self.calls += part.calls
        self._written += part.places
        self._meant.update(part.meant)
        self._mentions.update(part.mentions)

    def _known(self, statements: tuple[sx.Statement, ...], index: int) -> int:
        """Take over a part that begins with a statement; give how many statements are in it."""
        part = self._before._parts.get(id(statements[index])) if self._before is not None else None
        if part is None:
            return 0
        there = statements[index : index + len(part.nodes)]
        if len(there) < len(part.nodes) or not all(map(is_, part.nodes, there)):
            return 0
        self._end_part()
        if part.scopes != self._part.scopes:
            return 0
        if any(self._look_up(*asked) is not symbol for asked, symbol in part.found.items()):
            return 0
        for (space, name), symbol in part.made.items():
            self._space(space)[name] = symbol
        self._part = part
        self._end_part()
        return len(part.nodes)

    # Declaring and looking up.

    def _space(self, space: str) -> dict[str, Symbol]:
        """Give the names of the file, those of threads, or those of a block."""
        if space in self._spaces:
            return self._spaces[space]
        return self._blocks[0 if space == "outer" else -1][0]

    def _look_up(self, space: str, name: str) -> Symbol | None:
        """Give what a name means among all names, those of the file only, or threads."""
        if space == "":
            for names, _ in reversed(self._blocks):
                if name in names:
                    return names[name]
        return self._spaces[space or "file"].get(name)

    def _add(self, space: str, name: sx.Identifier, kind: str, node: object) -> Symbol:
        scope = None
        if space not in self._spaces:
            scope = self._blocks[0 if space == "outer" else -1][1]
        symbol = self._as_before(Symbol(name.id, kind, name.span, scope, node))
        self._make(space, symbol)
        self._mention(symbol, name.span, written=kind != "thread")
        return symbol

    def _as_before(self, symbol: Symbol) -> Symbol:
        """Give the symbol of an earlier text if it is the same: what is said of it need not be said again."""
        known = self._before.of(symbol.span) if self._before is not None else None
        return known if known is not None and _is_same(known, symbol) else symbol

    def _make(self, space: str, symbol: Symbol) -> None:
        """Have a name mean something; one of an index does so in its declaration only."""
        self._space(space)[symbol.name] = symbol
        self._part.symbols[symbol] = None
        if space != "index":
            self._part.made[space, symbol.name] = symbol

    def _mention(
        self, symbol: Symbol, span: Span, place: Span | None = None, *, written: bool = False
    ) -> None:
        self._part.places.append((symbol, place or span, written))
        self._part.meant[id(span)] = symbol
        self._mentioned.append(symbol)

    def _find(self, name: str, space: str = "") -> Symbol | None:
        symbol = self._look_up(space, name)
        self._part.look_up(space, name, symbol)
        return symbol

    def _refer(self, name: str, span: Span | None, *, written: bool = False) -> None:
        if span is None:
            return
        symbol, place = self._find(name), span
        if symbol is None and "." in name:  # A member of a bundle of tags.
            first = name.partition(".")[0]
            symbol, place = self._find(first), replace(span, end_column=span.column + len(first))
        if symbol is not None:
            self._mention(symbol, span, place, written=written)

    def _foreign(self, name: str, kind: str, span: Span) -> None:
        """Refer to what no text of the program declares: a module of a file or of the library, `procs`."""
        symbol = self._find(name, "file")
        if symbol is None:
            known = self._before._spaces["file"].get(name) if self._before is not None else None
            same = known is not None and known.span is None and known.kind == kind
            symbol = known if known is not None and same else Symbol(name, kind, None)
            self._make("file", symbol)
        self._mention(symbol, span)

    # The file.

    def _items(self, tree: sx.Program) -> None:
        for item in tree.items:
            match item:
                case sx.Segment() | sx.Bundle() | sx.Record():
                    self._add("file", item.name, type(item).__name__.lower(), item)
                    if isinstance(item, sx.Record):
                        self._fields(item)
                case sx.Import():
                    self._import(item)
        for item in tree.items:
            self._declared(item)

    def _declared(self, item: sx.Item) -> None:
        match item:
            case sx.Param():
                self._add("file", item.name, "parameter", item)
                self._expressions(item.default, item.where)
            case sx.PartitionNode():
                self._add("file", item.name, "partition", item)
                self._expressions(item.count, *item.grid)
            case sx.Threads() | sx.Options():
                labels = item.names if isinstance(item, sx.Threads) else [e.thread for e in item.entries]
                for label in labels:
                    self._thread(label)
            case sx.Segment():
                self._segment(item)
            case sx.Bundle():
                for member in dict.fromkeys(member.type for member in item.members):
                    self._type(member)
            case sx.ProgramBody():
                symbol = Symbol(item.name.id, "program", item.name.span, None, item)
                self._part.symbols[symbol] = None
                self._part.places.append((symbol, item.name.span, True))
                self._block(item.body)

    def _import(self, item: sx.Import) -> None:
        if item.alias is not None:
            self._add("file", item.alias, "import", item)
        for name in item.names or ():
            local = name.alias or name.name
            self._add("file", local, "record" if local.id in self._records else "module", (item, name))
            if name.alias is not None:
                self._foreign(f"{item.path}:{name.name.id}", "module", name.name.span)

    def _fields(self, item: sx.Record) -> None:
        self._blocks.append(({}, item.span))
        for member in item.members:
            self._add("inner", member.name, "field", (item, member))
        self._blocks.pop()

    def _segment(self, item: sx.Segment) -> None:
        self._blocks.append(({}, item.span))
        for field in (*item.inputs, *item.outputs):
            self._declaration(field)
        self._block(item.body)
        self._blocks.pop()

    def _thread(self, label: sx.Identifier | None) -> None:
        if label is None:
            return
        known = self._find(label.id, "thread")
        if known is None:
            self._add("thread", label, "thread", None)
        else:
            self._part.places.append((known, label.span, False))

    # Statements.

    def _block(self, block: sx.Block, counter: tuple[sx.Identifier, sx.For] | None = None) -> None:
        self._blocks.append(({}, block.span))
        if counter is not None:
            self._add("inner", counter[0], "counter", counter[1])
        self._end_part()
        index = 0
        while index < len(block.statements):
            if known := self._known(block.statements, index):
                index += known
            else:
                self._one(block.statements[index])
                index += 1
        self._end_part()
        self._blocks.pop()

    def _one(self, node: sx.Statement) -> None:
        """Take a statement into the open part; one that holds others is in none."""
        if len(self._part.nodes) == _LONGEST or isinstance(node, _COMPOUND):
            self._end_part()
        if not isinstance(node, _COMPOUND):
            self._part.nodes.append(node)
        self._statement(node)
        if isinstance(node, _COMPOUND):
            self._end_part()

    def _statement(self, node: sx.Statement) -> None:
        self._mentioned = self._part.mentions[id(node)] = []
        match node:
            case sx.Call():
                self._call(node)
            case sx.Let():
                self._expressions(node.value)
                self._add("inner", node.name, "tag", node)
            case sx.Var():
                self._declaration(node)
            case sx.Assignment():
                self._expressions(node.index, node.value)
                self._refer(node.name.id, node.name.span, written=True)
            case sx.For():
                self._expressions(node.lower, node.upper, node.step, node.inflight)
                self._block(node.body, (node.counter, node))
            case sx.While():
                self._expressions(node.condition, node.limit)
                self._block(node.body)
            case sx.If():
                self._expressions(node.condition)
                self._block(node.then)
                if node.otherwise is not None:
                    self._block(node.otherwise)
            case sx.Parallel():
                self._over(node.partition)
                self._block(node.body)

    def _declaration(self, node: sx.Var | sx.Field) -> None:
        """Take the declaration of a tag, or of an array of tags, whose index only the declaration knows."""
        self._blocks.append(({}, node.span))
        if node.indices is not None:
            self._expressions(node.indices.lower, node.indices.upper)
            self._add("index", node.indices.name, "counter", node)
        self._type(node.type)
        self._expressions(node.value if isinstance(node, sx.Var) else None)
        self._blocks.pop()
        self._add("inner", node.name, "tag", node)

    def _call(self, node: sx.Call) -> None:
        self._thread(node.label)
        self._part.calls.append(node)
        self._callee(node.callee)
        self._expressions(*(argument.value for argument in node.arguments))
        for output in node.outputs:
            if output.type is not None:
                self._type(output.type)
            else:
                self._distribution(output.distribution)
            self._expressions(output.index)
            self._output(output.name, node)
            if output.reduction is not None:
                self._expressions(output.reduction.index)
                self._output(output.reduction.target, node)
                self._distribution(output.reduction.distribution)

    def _output(self, name: sx.Identifier, node: sx.Call) -> None:
        """Take a name that a call writes: a tag that there is, or a new one of the body around the call."""
        if self._find(name.id.partition(".")[0]) is not None:
            self._refer(name.id, name.span, written=True)
        else:
            self._add("outer", name, "tag", node)

    def _callee(self, callee: sx.Dotted) -> None:
        first, *rest = callee.parts
        if self._find(first.id) is not None:
            self._refer(first.id, first.span)
        elif not rest:
            self._foreign(first.id, "module", first.span)
        for part in rest:
            self._foreign(callee.text, "module", part.span)

    # Expressions and types.

    def _expressions(self, *roots: sx.SyntaxExpression | None) -> None:
        waiting = [root for root in reversed(roots) if root is not None]
        while waiting:
            node = waiting.pop()
            match node:
                case Name():
                    self._name(node)
                case sx.CallExpression():
                    self._part.calls.append(node)
                    self._callee(node.callee)
                    waiting += reversed([argument.value for argument in node.arguments])
                case Unary():
                    waiting.append(node.operand)
                case Binary():
                    waiting += [node.right, node.left]
                case Apply():
                    waiting += reversed(node.arguments)

    def _name(self, node: Name) -> None:
        if node.id == PROCS and node.span is not None:
            self._foreign(PROCS, "parameter", node.span)
        else:
            self._refer(node.id, node.span)

    def _type(self, node: sx.TypeNode) -> None:
        self._refer(node.element.id, node.element.span)
        self._expressions(*(node.shape or ()))
        self._distribution(node.distribution)

    def _distribution(self, node: sx.DistributionNode | None) -> None:
        if node is not None:
            self._refer(node.pattern.parts[0].id, node.pattern.parts[0].span)
            self._expressions(*node.arguments, *node.halo)
            self._over(node.partition)

    def _over(self, name: sx.Identifier | None) -> None:
        if name is not None:
            self._refer(name.id, name.span)


def _is_same(one: Symbol, other: Symbol) -> bool:
    nodes = [node if isinstance(node, tuple) else (node,) for node in (one.node, other.node)]
    of_same = len(nodes[0]) == len(nodes[1]) and all(map(is_, *nodes))
    return of_same and one.span is other.span and (one.kind, one.scope) == (other.kind, other.scope)


def _outwards(symbol: Symbol) -> tuple[int, int]:
    """Give what symbols are sorted by to have inner ones before outer ones."""
    return (0, 0) if symbol.scope is None else (-symbol.scope.line, -symbol.scope.column)


def _holds(scope: Span | None, line: int, column: int) -> bool:
    if scope is None:
        return True
    return (scope.line, scope.column) <= (line, column) <= (scope.end_line, scope.end_column)
