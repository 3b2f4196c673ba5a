"""What is drawn: the statements of a program as nodes, its blocks as frames, in the order of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pse.desk.model._text import Text
from pse.language import Span
from pse.language.syntax import ast as sx

Node = sx.Statement | sx.Segment | sx.ProgramBody | sx.Block

_KINDS: dict[type, str] = {
    sx.ProgramBody: "program",
    sx.Segment: "segment",
    sx.Parallel: "parallel",
    sx.For: "for",
    sx.While: "while",
    sx.If: "if",
    sx.Block: "else",
    sx.Call: "call",
    sx.Let: "let",
    sx.Var: "var",
    sx.Assignment: "assign",
    sx.Break: "break",
}


@dataclass(eq=False)
class Element:
    """A node or a frame.

    `id` is kept over edits; `block` is what is in a frame; `call` is the call that a node is, `called` what
    that calls; `parallel` says whether it is inside PARALLEL.
    """

    kind: str
    node: Node
    start: int
    end: int
    label: str
    frame: Element | None
    block: sx.Block | None = None
    inner: list[Element] = field(default_factory=list)
    id: str = ""
    call: sx.Call | sx.CallExpression | None = None
    called: str = ""
    parallel: bool = False

    def around(self) -> Iterator[Element]:
        """Give the frames around it, the innermost first."""
        frame = self.frame
        while frame is not None:
            yield frame
            frame = frame.frame

    def within(self) -> Iterator[Element]:
        """Give everything in it, in the order of the text."""
        for element in self.inner:
            yield element
            yield from element.within()


def elements(tree: sx.Program | None, text: Text) -> list[Element]:
    """Give the outermost frames of a program with all that is in them."""
    items = tree.items if tree is not None else ()
    return [_frame(i, i.body, None, text) for i in items if isinstance(i, sx.ProgramBody | sx.Segment)]


def count_elements(tree: sx.Program | None) -> int:
    """Count what is in the outermost frames, without making it."""
    items = tree.items if tree is not None else ()
    return sum(_count(item.body) for item in items if isinstance(item, sx.ProgramBody | sx.Segment))


def _count(block: sx.Block) -> int:
    inner = map(_blocks, block.statements)
    return sum(max(len(blocks), 1) + sum(map(_count, blocks)) for blocks in inner)


def _blocks(node: sx.Statement) -> list[sx.Block]:
    """Give the blocks in a statement: each is a frame."""
    match node:
        case sx.For() | sx.While() | sx.Parallel():
            return [node.body]
        case sx.If():
            return [node.then] if node.otherwise is None else [node.then, node.otherwise]
    return []


def _frame(node: Node, block: sx.Block, outer: Element | None, text: Text) -> Element:
    start, end = text.range(node.span)
    frame = Element(_KINDS[type(node)], node, start, end, _head(node, block, text), outer, block)
    frame.parallel = outer is not None and _makes_parallel(outer)
    for statement in block.statements:
        frame.inner += _statement(statement, frame, text)
    return frame


def _head(node: Node, block: sx.Block, text: Text) -> str:
    if isinstance(node, sx.Block):
        return "else"
    head = text[text.range(node.span)[0] : text.range(block.span)[0]]
    return " ".join(re.sub(r"(//|#)[^\n]*", "", head).split())


def _statement(node: sx.Statement, outer: Element, text: Text) -> list[Element]:
    match node:
        case sx.Call():  # Most are.
            return [_simple(node, node, node.callee.text, outer, text)]
        case sx.For() | sx.While() | sx.Parallel():
            return [_frame(node, node.body, outer, text)]
        case sx.If():
            frames = [_frame(node, node.then, outer, text)]
            if node.otherwise is not None:
                frames[0].end = text.range(node.then.span)[1]
                frames.append(_frame(node.otherwise, node.otherwise, outer, text))
            return frames
        case sx.Break():
            return [_simple(node, None, "break", outer, text)]
        case sx.Let(value=sx.CallExpression() as call):
            return [_simple(node, call, node.name.id, outer, text)]
    return [_simple(node, None, node.name.id, outer, text)]


def _simple(
    node: sx.Statement, call: sx.Call | sx.CallExpression | None, label: str, outer: Element, text: Text
) -> Element:
    start, end = text.range(node.span)
    called = call.callee.text if call is not None else ""
    made = Element(_KINDS[type(node)], node, start, end, label, outer, call=call, called=called)
    made.parallel = _makes_parallel(outer)
    return made


def _makes_parallel(frame: Element) -> bool:
    return frame.parallel or frame.kind == "parallel"


def heads(node: Node) -> dict[str, Span | None]:
    """Give the expressions and names in a frame's head, by the names of their fields; None: not written."""

    def place(part: object) -> Span | None:
        found = getattr(part, "span", None)
        return found if isinstance(found, Span) else None

    match node:
        case sx.ProgramBody() | sx.Segment():
            return {"name": node.name.span}
        case sx.Parallel():
            return {"partition": place(node.partition)}
        case sx.For():
            names = ("counter", "lower", "upper", "step", "inflight")
        case sx.While():
            names = ("condition", "limit")  # type: ignore[assignment]
        case sx.If():
            names = ("condition",)  # type: ignore[assignment]
        case _:
            return {}
    return {name: place(getattr(node, name)) for name in names}
