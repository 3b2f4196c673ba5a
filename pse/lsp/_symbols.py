"""What every name in a program means: where it is declared, and everywhere it is read and written.

Works on the syntax tree alone, so it knows programs with mistakes, too.  Visibility is the checker's
(`pse.language.check._scope`): `let`, `var` and counters live in their block, what a call makes in the
program or segment around it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

from pse.language import Span
from pse.language.check import PROCS
from pse.language.syntax import ast as sx
from pse.language.types import Apply, Binary, Name, Unary
from pse.records import replace

_APART = ("thread", "program", "field")
"""Kinds of symbols that no expression can mean."""


@dataclasses.dataclass
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
    places : list of (Span, bool)
        Everywhere it is written, the declaration included, and whether it gets a value there.

    See Also
    --------
    Analysis
    """

    name: str
    kind: str
    span: Span | None
    scope: Span | None = None
    node: object = None
    places: list[tuple[Span, bool]] = dataclasses.field(default_factory=list)


class Symbols:
    """The symbols of a program.

    Parameters
    ----------
    tree : Program or None
        The program's tree; None has no symbols.
    records : collection of str, optional
        The names that stand for record types, of which imports don't tell.

    See Also
    --------
    Analysis
    """

    def __init__(self, tree: sx.Program | None, records: Collection[str] = ()) -> None:
        self.all: list[Symbol] = []
        self._records = records
        self.calls: list[sx.Call | sx.CallExpression] = []
        self._file: dict[str, Symbol] = {}
        self._threads: dict[str, Symbol] = {}
        self._blocks: list[tuple[dict[str, Symbol], Span]] = []
        self._meant: dict[int, Symbol] = {}
        self._mentioned: list[Symbol] = []
        self._mentions: dict[int, list[Symbol]] = {}
        if tree is not None:
            self._items(tree)

    def of(self, span: Span | None) -> Symbol | None:
        """Give what a name means by the place that it has in the tree."""
        return self._meant.get(id(span))

    def mentioned(self, node: sx.Statement) -> list[Symbol]:
        """Give what the names of a statement that holds no others mean, in the order in which it is read."""
        return self._mentions.get(id(node), [])

    def at(self, line: int, column: int) -> tuple[Span, Symbol] | None:
        """Give the name at a place (counted from 1), also right behind it, and where it begins and ends."""
        places = [(span, symbol) for symbol in self.all for span, _ in symbol.places if span.line == line]
        found = [place for place in places if place[0].column <= column <= place[0].end_column]
        return min(found, key=lambda place: place[0].end_column - place[0].column, default=None)

    def visible(self, line: int, column: int) -> Iterator[Symbol]:
        """Give the symbols that can be used at a place; an inner one of a name before an outer one."""
        inside = [s for s in self.all if s.kind not in _APART and _holds(s.scope, line, column)]
        yield from sorted(
            inside, key=lambda s: (0, 0) if s.scope is None else (-s.scope.line, -s.scope.column)
        )

    def of_kind(self, *kinds: str) -> list[Symbol]:
        """Give the symbols of some kinds, in textual order."""
        return [symbol for symbol in self.all if symbol.kind in kinds]

    # Declaring and looking up.

    def _add(self, into: dict[str, Symbol], name: sx.Identifier, kind: str, node: object) -> Symbol:
        scope = None if into is self._file or into is self._threads else self._scope_of(into)
        symbol = Symbol(name.id, kind, name.span, scope, node, [(name.span, kind != "thread")])
        into[name.id] = symbol
        self.all.append(symbol)
        self._mention(symbol, name.span)
        return symbol

    def _mention(self, symbol: Symbol, span: Span) -> None:
        self._meant[id(span)] = symbol
        self._mentioned.append(symbol)

    def _scope_of(self, block: dict[str, Symbol]) -> Span:
        return next(span for names, span in self._blocks if names is block)

    def _find(self, name: str) -> Symbol | None:
        for names, _ in reversed(self._blocks):
            if name in names:
                return names[name]
        return self._file.get(name)

    def _refer(self, name: str, span: Span | None, *, written: bool = False) -> None:
        if span is None:
            return
        symbol, place = self._find(name), span
        if symbol is None and "." in name:  # A member of a bundle of tags.
            first = name.partition(".")[0]
            symbol, place = self._find(first), replace(span, end_column=span.column + len(first))
        if symbol is not None:
            symbol.places.append((place, written))
            self._mention(symbol, span)

    def _foreign(self, name: str, kind: str, span: Span) -> None:
        """Refer to what no text of the program declares: a module of a file or of the library, `procs`."""
        symbol = self._file.get(name)
        if symbol is None:
            symbol = self._file[name] = Symbol(name, kind, None)
            self.all.append(symbol)
        symbol.places.append((span, False))
        self._mention(symbol, span)

    # The file.

    def _items(self, tree: sx.Program) -> None:
        for item in tree.items:
            match item:
                case sx.Segment() | sx.Bundle() | sx.Record():
                    self._add(self._file, item.name, type(item).__name__.lower(), item)
                    if isinstance(item, sx.Record):
                        self._fields(item)
                case sx.Import():
                    self._import(item)
        for item in tree.items:
            self._declared(item)

    def _declared(self, item: sx.Item) -> None:
        match item:
            case sx.Param():
                self._add(self._file, item.name, "parameter", item)
                self._expressions(item.default, item.where)
            case sx.PartitionNode():
                self._add(self._file, item.name, "partition", item)
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
                places = [(item.name.span, True)]
                self.all.append(Symbol(item.name.id, "program", item.name.span, None, item, places))
                self._block(item.body)

    def _import(self, item: sx.Import) -> None:
        if item.alias is not None:
            self._add(self._file, item.alias, "import", item)
        for name in item.names or ():
            local = name.alias or name.name
            self._add(self._file, local, "record" if local.id in self._records else "module", (item, name))
            if name.alias is not None:
                self._foreign(f"{item.path}:{name.name.id}", "module", name.name.span)

    def _fields(self, item: sx.Record) -> None:
        self._blocks.append(({}, item.span))
        for member in item.members:
            self._add(self._blocks[-1][0], member.name, "field", (item, member))
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
        known = self._threads.get(label.id)
        if known is None:
            self._add(self._threads, label, "thread", None)
        else:
            known.places.append((label.span, False))

    # Statements.

    def _block(self, block: sx.Block, counter: tuple[sx.Identifier, sx.For] | None = None) -> None:
        self._blocks.append(({}, block.span))
        if counter is not None:
            self._add(self._blocks[-1][0], counter[0], "counter", counter[1])
        for statement in block.statements:
            self._statement(statement)
        self._blocks.pop()

    def _statement(self, node: sx.Statement) -> None:
        self._mentioned = self._mentions[id(node)] = []
        match node:
            case sx.Call():
                self._call(node)
            case sx.Let():
                self._expressions(node.value)
                self._add(self._blocks[-1][0], node.name, "tag", node)
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
            self._add(self._blocks[-1][0], node.indices.name, "counter", node)
        self._type(node.type)
        self._expressions(node.value if isinstance(node, sx.Var) else None)
        self._blocks.pop()
        self._add(self._blocks[-1][0], node.name, "tag", node)

    def _call(self, node: sx.Call) -> None:
        self._thread(node.label)
        self.calls.append(node)
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
            self._add(self._blocks[0][0], name, "tag", node)

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
                    self.calls.append(node)
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


def _holds(scope: Span | None, line: int, column: int) -> bool:
    if scope is None:
        return True
    return (scope.line, scope.column) <= (line, column) <= (scope.end_line, scope.end_column)
