"""From lark's rules to the syntax tree: one method for each rule of ``coven.lark``.

Runs inside the parser, bottom-up, so depth costs no stack.  All tokens reach the methods; a node's span runs
from its first to its last child.  Where the text begins (path, line, column) is a context variable, because
lark's callbacks take none.
"""

from __future__ import annotations

import dataclasses
from contextvars import ContextVar
from typing import Any

from lark import Token, Transformer

from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._words import BUILTINS
from pse.language.types import _expressions as ex

origin: ContextVar[tuple[str, int, int]] = ContextVar("origin")
"""Path, first line and first column of the text that is being parsed."""

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


@dataclasses.dataclass(frozen=True)
class Part:
    """A piece of a rule that is not a node of its own: `where …`, `[…]`, a list in parentheses."""

    kind: str
    value: Any
    span: Span


def span_of(token: Token) -> Span:
    """Give a token's place in the file that its text comes from."""
    path, line, column = origin.get()
    first = column - 1
    start_line, end_line = token.line or 1, token.end_line or 1
    return Span(
        path,
        line + start_line - 1,
        (token.column or 1) + (first if start_line == 1 else 0),
        line + end_line - 1,
        (token.end_column or 1) + (first if end_line == 1 else 0),
    )


def _span(children: list[Any]) -> Span:
    """Give the stretch from the first to the last child."""
    if not children:
        path, line, column = origin.get()
        return Span(path, line, column, line, column)
    first, last = children[0], children[-1]
    start = span_of(first) if isinstance(first, Token) else first.span
    end = start if last is first else span_of(last) if isinstance(last, Token) else last.span
    return Span(start.path, start.line, start.column, end.end_line, end.end_column)


def _nodes(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]


def _of(children: list[Any], kind: type) -> list[Any]:
    return [child for child in children if isinstance(child, kind)]


def _part(children: list[Any], kind: str) -> Any:
    """Give the value of an optional part, None if it is not there."""
    return next((child.value for child in children if isinstance(child, Part) and child.kind == kind), None)


def unescape(literal: str) -> str:
    """Take the quotes and escapes off a string literal."""
    pieces, characters = [], iter(literal[1:-1])
    for character in characters:
        pieces.append(character if character != "\\" else _ESCAPES[next(characters)])
    return "".join(pieces)


def _single(kind: str) -> Any:
    """Make a method for a rule whose one node is its value."""

    def method(self: TreeBuilder, children: list[Any]) -> Part:
        return Part(kind, _nodes(children)[0], _span(children))

    return method


def _several(kind: str) -> Any:
    """Make a method for a rule whose nodes are its value."""

    def method(self: TreeBuilder, children: list[Any]) -> Part:
        return Part(kind, tuple(_nodes(children)), _span(children))

    return method


class TreeBuilder(Transformer[Token, Any]):
    """Builds the tree; see the grammar for what the children of each rule are."""

    default = _single("default")
    index = _single("index")
    where = _single("where")
    stride = _single("step")
    inflight = _single("inflight")
    limit = _single("limit")
    over = _single("over")
    halo = _single("halo")
    else_ = _single("else")
    import_names = _several("names")
    arguments = _several("arguments")
    outputs = _several("outputs")
    fields = _several("fields")
    expressions = _several("expressions")
    extents = _several("expressions")

    def program(self, children: list[Any]) -> sx.Program:
        return sx.Program(tuple(_nodes(children)), _span(children))

    def version(self, children: list[Any]) -> sx.Version:
        return sx.Version(_integer(children[1]), _span(children))

    def import_(self, children: list[Any]) -> sx.Import:
        target = children[1]
        alias = next(iter(_of(children, sx.Identifier)), None)
        return sx.Import(target.value, target.span, alias, _part(children, "names"), _span(children))

    def target(self, children: list[Any]) -> Part:
        only = children[0]
        return Part("target", unescape(only) if isinstance(only, Token) else only.text, _span(children))

    def import_name(self, children: list[Any]) -> sx.ImportName:
        name, *alias = _nodes(children)
        return sx.ImportName(name, alias[0] if alias else None, _span(children))

    def param(self, children: list[Any]) -> sx.Param:
        element, name = _of(children, sx.Identifier)
        default, where = _part(children, "default"), _part(children, "where")
        live = any(isinstance(child, Token) and child.type == "LIVE" for child in children)
        return sx.Param(element, name, default, where, live, _span(children))

    def partition(self, children: list[Any]) -> sx.PartitionNode:
        name, count = _nodes(children)[:2]
        layout, grid = _part(children, "layout") or (None, ())
        return sx.PartitionNode(name, count, layout, grid, _span(children))

    def layout(self, children: list[Any]) -> Part:
        name, grid = _nodes(children)
        return Part("layout", (name, grid.value), _span(children))

    def threads(self, children: list[Any]) -> sx.Threads:
        return sx.Threads(tuple(_nodes(children)), _span(children))

    def options(self, children: list[Any]) -> sx.Options:
        return sx.Options(tuple(_nodes(children)), _span(children))

    def option(self, children: list[Any]) -> sx.OptionNode:
        *names, value = _nodes(children)
        literal, word = value.value
        thread = names[1] if len(names) > 1 else None
        return sx.OptionNode(names[0], thread, literal, word, value.span, _span(children))

    def option_value(self, children: list[Any]) -> Part:
        only = children[0]
        word = isinstance(only, sx.Identifier) or only.type in ("SIZE", "TRUE", "FALSE")
        value = only.id if isinstance(only, sx.Identifier) else str(only) if word else _literal(only)
        return Part("value", (value, word), _span(children))

    def bundle(self, children: list[Any]) -> sx.Bundle:
        return sx.Bundle(children[1], _members(children), _span(children))

    def record(self, children: list[Any]) -> sx.Record:
        return sx.Record(children[1], _members(children), _span(children))

    def members(self, children: list[Any]) -> Part:
        type, *names = _nodes(children)
        return Part(
            "members", tuple(sx.Field(type, name, _span([type, name])) for name in names), _span(children)
        )

    def segment(self, children: list[Any]) -> sx.Segment:
        results = _part(children, "results") or ()
        inputs = _part(children, "fields") or ()
        return sx.Segment(children[1], inputs, results, children[-1], _span(children))

    def results(self, children: list[Any]) -> Part:
        return Part("results", children[1].value, _span(children))

    def field(self, children: list[Any]) -> sx.Field:
        indices = next(iter(_of(children, sx.IndexRange)), None)
        return sx.Field(children[0], children[1], _span(children), indices)

    def indices(self, children: list[Any]) -> sx.IndexRange:
        _, name, _, lower, _, upper, _ = children
        return sx.IndexRange(name, lower, upper, _span(children))

    def program_body(self, children: list[Any]) -> sx.ProgramBody:
        return sx.ProgramBody(children[1], children[2], _span(children))

    def block(self, children: list[Any]) -> sx.Block:
        return sx.Block(tuple(_nodes(children)), _span(children))

    def call(self, children: list[Any]) -> sx.Call:
        label = next(iter(_of(children, sx.Identifier)), None)
        callee = _of(children, sx.Dotted)[0]
        outputs = _part(children, "outputs") or ()
        return sx.Call(label, callee, _part(children, "arguments"), outputs, _span(children))

    def argument(self, children: list[Any]) -> sx.CallArgument:
        name = children[0] if isinstance(children[0], sx.Identifier) else None
        inout = any(isinstance(child, Token) and child.type == "INOUT" for child in children)
        return sx.CallArgument(name, inout, children[-1], _span(children))

    def output(self, children: list[Any]) -> sx.OutputNode:
        distribution = next(iter(_of(children, sx.DistributionNode)), None)
        reduction = next(iter(_of(children, sx.ReductionNode)), None)
        stated, name = None, _joined(_of(children, sx.Dotted)[0])
        if isinstance(children[0], Token):
            element = _stated_element(children)
            stated = sx.TypeNode(element, _part(children, "shape"), distribution, _span(children))
        return sx.OutputNode(name, distribution, reduction, _span(children), stated, _part(children, "index"))

    def reduction(self, children: list[Any]) -> sx.ReductionNode:
        distribution = next(iter(_of(children, sx.DistributionNode)), None)
        target, operation = _of(children, sx.Identifier)
        index = _part(children, "index")
        return sx.ReductionNode(target, operation, distribution, _span(children), index)

    def operation(self, children: list[Any]) -> sx.Identifier:
        return sx.Identifier(_word(children[0]), _span(children))

    def let(self, children: list[Any]) -> sx.Let:
        return sx.Let(children[1], children[3], _span(children))

    def var(self, children: list[Any]) -> sx.Var:
        indices = next(iter(_of(children, sx.IndexRange)), None)
        return sx.Var(children[1], children[2], _part(children, "default"), _span(children), indices)

    def assignment(self, children: list[Any]) -> sx.Assignment:
        index = _part(children, "index")
        return sx.Assignment(_joined(children[0]), children[-1], _span(children), index)

    def for_(self, children: list[Any]) -> sx.For:
        _, counter, _, lower, _, upper, *_ = children
        stride, inflight = _part(children, "step"), _part(children, "inflight")
        return sx.For(counter, lower, upper, stride, inflight, children[-1], _span(children))

    def while_(self, children: list[Any]) -> sx.While:
        return sx.While(children[1], _part(children, "limit"), children[-1], _span(children))

    def if_(self, children: list[Any]) -> sx.If:
        otherwise = _part(children, "else")
        if isinstance(otherwise, sx.If):
            otherwise = sx.Block((otherwise,), otherwise.span)
        return sx.If(children[1], children[2], otherwise, _span(children))

    def break_(self, children: list[Any]) -> sx.Break:
        return sx.Break(_span(children))

    def parallel(self, children: list[Any]) -> sx.Parallel:
        return sx.Parallel(_part(children, "over"), children[-1], _span(children))

    def type(self, children: list[Any]) -> sx.TypeNode:
        distribution = next(iter(_of(children, sx.DistributionNode)), None)
        return sx.TypeNode(_joined(children[0]), _part(children, "shape"), distribution, _span(children))

    def shape(self, children: list[Any]) -> Part:
        middle = children[1]
        return Part("shape", middle.value if isinstance(middle, Part) else (), _span(children))

    def dynamic(self, children: list[Any]) -> ex.Name | ex.Binary:
        name = ex.Name(f"{ex.DYNAMIC}{children[1].id}", _span(children[:2]))
        return ex.Binary("<=", name, children[3], _span(children)) if len(children) > 2 else name

    def distribution(self, children: list[Any]) -> sx.DistributionNode:
        arguments = _part(children, "pattern") or ()
        halo, over = (
            _part(children, "halo") or Part("expressions", (), _span(children)),
            _part(children, "over"),
        )
        return sx.DistributionNode(children[1], arguments, halo.value, over, _span(children))

    def pattern_arguments(self, children: list[Any]) -> Part:
        listed = _nodes(children)
        return Part("pattern", listed[0].value if listed else (), _span(children))

    def directive(self, children: list[Any]) -> sx.Directive:
        parameters = tuple(_of(children, sx.DirectiveParameter))
        collective = isinstance(children[-1], Token) and children[-1].type == "COLLECTIVE"
        return sx.Directive(children[0], parameters, collective, _span(children))

    def directive_parameter(self, children: list[Any]) -> sx.DirectiveParameter:
        direction, element, name = children[:3]
        distribution = next(iter(_of(children, sx.DistributionNode)), None)
        node = sx.TypeNode(element, _part(children, "shape"), distribution, element.span)
        default = _part(children, "default")
        interior = any(isinstance(child, Token) and child.type == "INTERIOR" for child in children)
        return sx.DirectiveParameter(str(direction), name, node, default, _span(children), interior)

    def dotted(self, children: list[Any]) -> sx.Dotted:
        return sx.Dotted(tuple(_nodes(children)), _span(children))

    def name(self, children: list[Any]) -> sx.Identifier:
        return sx.Identifier(str(children[0]), _span(children))

    def name_use(self, children: list[Any]) -> ex.Name:
        return ex.Name(children[0].text, children[0].span)

    def indexed(self, children: list[Any]) -> ex.Apply:
        array = ex.Name(children[0].text, children[0].span)
        return ex.Apply(ex.INDEX, (array, children[1].value), _span(children))

    def position(self, children: list[Any]) -> ex.Name:
        return ex.Name("".join(map(str, children)), _span(children))

    def number(self, children: list[Any]) -> ex.Number:
        return ex.Number(_literal(children[0]), _span(children))  # type: ignore[arg-type]

    def text(self, children: list[Any]) -> ex.Text:
        return ex.Text(unescape(children[0]), _span(children))

    def parenthesis(self, children: list[Any]) -> Any:
        return dataclasses.replace(children[1], span=_span(children))

    def values(self, children: list[Any]) -> ex.Apply:
        return ex.Apply("list", (children[1], *children[3].value), _span(children))

    def binary(self, children: list[Any]) -> ex.Binary:
        left, operator, right = children
        return ex.Binary(str(operator), left, right, _span(children))

    def unary(self, children: list[Any]) -> ex.Unary:
        return ex.Unary(str(children[0]), children[1], _span(children))

    def application(self, children: list[Any]) -> ex.Apply | sx.CallExpression:
        callee, arguments = children[0], children[1].value
        if isinstance(callee, Token):
            name = sx.Identifier(str(callee), span_of(callee))
            callee = sx.Dotted((name,), name.span)
        if callee.text in BUILTINS and all(a.name is None and not a.inout for a in arguments):
            return ex.Apply(callee.text, tuple(argument.value for argument in arguments), _span(children))
        return sx.CallExpression(callee, arguments, _span(children))


def _members(children: list[Any]) -> tuple[sx.Field, ...]:
    """Give the members of a bundle or record."""
    return tuple(member for child in children[2:] if isinstance(child, Part) for member in child.value)


def _stated_element(children: list[Any]) -> sx.Identifier:
    """Give the element type that an output states: `f64`, `Body`, `drift.Body`."""
    after = children[1]
    is_dotted = isinstance(after, Token) and after.type == "DOT"
    text = f"{children[0]}.{children[2].id}" if is_dotted else str(children[0])
    return sx.Identifier(text, _span(children[: 3 if is_dotted else 1]))


def _joined(dotted: sx.Dotted) -> sx.Identifier:
    """Give `fluid.rho` as one name: that of a bundle's member, or of a record of an imported file."""
    return sx.Identifier(dotted.text, dotted.span)


def _word(child: Token | sx.Identifier) -> str:
    return child.id if isinstance(child, sx.Identifier) else str(child)


def _integer(token: Token) -> int:
    """Read an integer literal; beyond any 64-bit value its exact size no longer matters (and costs time)."""
    return int(token) if len(token) <= 30 else 10**30


def _literal(token: Token) -> int | float | bool | str:
    if token.type == "INT":
        return _integer(token)
    if token.type == "FLOAT":
        return float(token)
    if token.type == "STRING":
        return unescape(token)
    return token.type == "TRUE"
