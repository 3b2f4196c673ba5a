"""Making a segment of statements: what crosses their border, and in which form a segment takes and gives it.

Inside a segment an output's name stands for the caller's tag: so whatever the statements change is an output,
also if they read it.  What they only read is an input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from pse.errors import UsageError
from pse.language import Span
from pse.language.syntax import ast as sx
from pse.language.types import Direction, Name, Type, render_distribution, render_type
from pse.lsp._actions import Edit, Edits, contains, excerpt
from pse.lsp._analysis import Analysis
from pse.lsp._symbols import Symbol
from pse.text import free_name

REFUSED = "these statements can't be a segment"

_NAME = re.compile(r"[^\W\d]\w*")
_COUNTER, _INDENT = "i64", "  "


class SegmentMaking:
    """Statements that become a segment.

    Parameters
    ----------
    analysis : Analysis
        The program's.
    whole : Span
        Where they begin and end.

    See Also
    --------
    extract_segment
    """

    def __init__(self, analysis: Analysis, whole: Span) -> None:
        self._analysis, self._whole = analysis, whole
        self._places = {
            symbol: analysis.symbols.places(symbol) for symbol in analysis.symbols.of_kind("tag", "counter")
        }
        after = [
            symbol for symbol in self._places if self._declared(symbol) and self._is_needed_after(symbol)
        ]
        self._staying = [node for symbol in after if isinstance(node := symbol.node, sx.Var)]
        self._given_as_outputs = [node for symbol in after if isinstance(node := symbol.node, sx.Let)]

    def edits(self, name: str, program: Span) -> Edits:
        """Give the segment, before the program, and the call of it, behind the declarations that stay."""
        staying, body = self._statements()
        inputs, outputs = self._crossing
        results = f" -> ({self._declared_as(outputs)})" if outputs else ""
        made = "\n".join([f"segment {name}({self._declared_as(inputs)}){results} {{", *body, "}", ""])
        given = f" -> {', '.join(symbol.name for symbol in outputs)}" if outputs else ""
        call = f"{name}({', '.join(symbol.name for symbol in inputs)}){given}"
        indent = self._analysis.indent(self._whole.line)
        there = "\n".join([*staying, indent + call]).removeprefix(indent)
        before = Span(program.path, program.line, 1, program.line, 1)
        return Edit(before, made), Edit(self._whole, there)

    # What crosses the border.

    def _declared(self, symbol: Symbol) -> bool:
        """Whether the statements declare a name."""
        return symbol.span is not None and contains(self._whole, symbol.span)

    def _is_needed_after(self, symbol: Symbol) -> bool:
        end = self._whole.end_line, self._whole.end_column
        return any(end <= (span.line, span.column) for span, _ in self._places[symbol])

    def _stays(self, place: Span) -> bool:
        """Whether a place is in a declaration that stays before the call."""
        return any(contains(node.span, place) for node in self._staying)

    def _inside(self, symbol: Symbol) -> list[tuple[Span, bool]]:
        """Give where the statements of the segment name something, and whether it gets a value there."""
        return [(s, w) for s, w in self._places[symbol] if contains(self._whole, s) and not self._stays(s)]

    @cached_property
    def _changed_by_calls(self) -> set[Symbol | None]:
        """Scalars that calls change in place: a segment has a copy of those that it takes."""
        found = set[Symbol | None]()
        for call in self._analysis.symbols.calls:
            reference = self._analysis.module(call.callee.text)
            inputs = reference.signature.inputs if reference is not None else ()
            if any(p.direction is Direction.INOUT and p.type.scalar for p in inputs):
                values = [argument.value for argument in call.arguments if contains(self._whole, call.span)]
                found.update(self._analysis.symbols.of(v.span) for v in values if isinstance(v, Name))
        return {
            symbol for symbol in found if symbol is not None and isinstance(symbol.node, sx.Var | sx.Call)
        }

    @cached_property
    def _exchanged(self) -> set[Symbol | None]:
        """What is swapped, which no input can be."""
        calls = [call for call in self._analysis.symbols.calls if call.callee.text == "swap"]
        values = [a.value for call in calls if contains(self._whole, call.span) for a in call.arguments]
        names = [node for value in values for node in _named(value)]
        return {self._analysis.symbols.of(name.span) for name in names}

    def _is_changed(self, symbol: Symbol) -> bool:
        by_calls = symbol in self._changed_by_calls or symbol in self._exchanged
        return by_calls or any(written for _, written in self._inside(symbol))

    @cached_property
    def _crossing(self) -> tuple[list[Symbol], list[Symbol]]:
        """Give what is an input, and what is an output; also what their types are made of."""
        crossing = {symbol for symbol in self._places if self._crosses(symbol)}
        self._names = {symbol.name for symbol in crossing}
        needed = crossing
        while needed := {found for symbol in needed for found in self._typed_by(symbol)} - crossing:
            crossing |= needed
            self._names |= {symbol.name for symbol in needed}
        ordered = [symbol for symbol in self._places if symbol in crossing]
        outputs = [s for s in ordered if self._is_changed(s)]
        return [s for s in ordered if s not in outputs], outputs

    def _crosses(self, symbol: Symbol) -> bool:
        if not self._inside(symbol):
            return False
        before = not self._declared(symbol) or self._stays(symbol.span)  # type: ignore[arg-type]
        return before or self._is_needed_after(symbol)

    def _typed_by(self, symbol: Symbol) -> Iterator[Symbol]:
        """Give the tags and counters that stand in the declaration of an input or output."""
        for name in _NAME.findall(self._declaration(symbol)):
            found = self._analysis.symbols.meant(name, self._whole.line, self._whole.column)
            is_index = found is not None and found.kind == "counter" and not isinstance(found.node, sx.For)
            if found in self._places and found is not symbol and not is_index:
                yield found

    # Declarations.

    def _declared_as(self, symbols: list[Symbol]) -> str:
        return ", ".join(map(self._declaration, symbols))

    def _declaration(self, symbol: Symbol) -> str:
        """Give what a segment has in its head for a tag, a bundle or an array of tags."""
        node = symbol.node
        if isinstance(node, sx.Field):
            return self._rewritten(node.span, self._reindexed(node))
        if symbol.kind == "counter":
            return f"{_COUNTER} {symbol.name}"
        type, bundled = self._typed(symbol)
        if isinstance(node, sx.Var) and node.indices is not None:
            return self._array(node, render_distribution(type.distribution, display=_own))
        if isinstance(node, sx.Var) and bundled:
            return f"{excerpt(self._analysis.lines, node.type.span, ())} {symbol.name}"
        return f"{render_type(type, display=_own)} {symbol.name}"

    def _typed(self, symbol: Symbol) -> tuple[Type, bool]:
        """Give the type of a tag, or that of the first member of a bundle, and whether it is one."""
        tag = self._analysis.tag(symbol)
        if tag is None:
            message = f"{REFUSED}: the type of `{symbol.name}` is not known"
            raise UsageError(message, help="mend the errors of the program; what never runs has no types")
        if tag.type.scalar and tag.type.distribution.distributed:
            message = f"{REFUSED}: `{symbol.name}` is a value of each partition, which none takes or gives"
            help = f"choose all statements of its PARALLEL block that name `{symbol.name}`, too"
            raise UsageError(message, help=help)
        return tag.type, "." in tag.display

    def _array(self, node: sx.Var, where: str) -> str:
        """Give the declaration of an array of tags, with the distribution that they have."""
        assert node.indices is not None, "checked by the caller"
        edits, stated = self._reindexed(node), node.type.distribution is not None
        kind = self._rewritten(node.type.span, edits)
        kind = kind if stated or node.type.shape is None else f"{kind} {where}".rstrip()
        return f"{kind} {node.name.id}{self._rewritten(node.indices.span, edits)}"

    def _reindexed(self, node: sx.Var | sx.Field) -> list[Edit]:
        """Give the index of an array of tags a name that no other input or output has."""
        symbols = self._analysis.symbols
        index = symbols.of(node.indices.name.span) if node.indices is not None else None
        if index is None:
            return []
        return [Edit(span, free_name(index.name, self._names)) for span, _ in symbols.places(index)]

    def _rewritten(self, span: Span, edits: list[Edit]) -> str:
        inside = [edit for edit in edits if contains(span, edit.span)]
        return re.sub(r"\s*\n\s*", " ", excerpt(self._analysis.lines, span, inside))

    # Statements.

    def _statements(self) -> tuple[list[str], list[str]]:
        """Give the lines of the declarations that stay, and those of the segment."""
        whole, indent = self._whole, self._analysis.indent(self._whole.line)
        lets = [_up_to_name(node) for node in self._given_as_outputs]
        text = indent + excerpt(self._analysis.lines, whole, [Edit(span, "") for span in lets])
        lines = text.split("\n")
        own = {n for node in self._staying for n in range(node.span.line, node.span.end_line + 1)}
        length = max(own, default=whole.line - 1) - whole.line + 1
        between = [line for n, line in enumerate(lines[:length], whole.line) if n not in own]
        if not all(map(_is_empty, between)):
            names = " and ".join(f"`{node.name.id}`" for node in self._staying)
            message = f"{REFUSED}: {names}, which what is behind them needs, must be declared before them"
            raise UsageError(message, help="move the declarations before these statements")
        if all(map(_is_empty, lines[length:])):
            message = f"{REFUSED}: they only declare what statements behind them need"
            raise UsageError(message, help="choose statements that use it, too")
        return lines[:length], [_INDENT + line.removeprefix(indent) for line in lines[length:]]


def _is_empty(line: str) -> bool:
    return not line.strip() or line.strip().startswith("//")


def _up_to_name(node: sx.Let) -> Span:
    """Give the place of the word `let`, without which a statement gives its value to an output."""
    return Span(node.span.path, node.span.line, node.span.column, node.name.span.line, node.name.span.column)


def _named(value: sx.SyntaxExpression) -> Iterator[Name]:
    """Give the name of a tag, or of the array that it is of."""
    if isinstance(value, Name):
        yield value
    for part in getattr(value, "arguments", ())[:1]:
        yield from _named(part)


def _own(name: str) -> str:
    """Give a name as the user wrote it, without the segment's use that it is of."""
    return name.split(".")[-1]
