"""Taking a segment apart where it is called: the inverse of making one of statements."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pse.errors import UsageError
from pse.language import Severity, Span
from pse.language.syntax import ast as sx
from pse.language.types import Element, Name, render_type
from pse.lsp._actions import Edit, Edits, contains, edited, excerpt, require_sound
from pse.lsp._analysis import Analysis
from pse.lsp._symbols import Symbol
from pse.records import replace
from pse.text import free_name

_SCALARS = {element.label for element in Element}
_WIDENED = "f64"
"""The elements of scalars to which a call widens what is given, if it is an integer."""

_REFUSED = "this call can't be replaced by the statements of its segment"


def called_segment(analysis: Analysis, call: sx.Call) -> sx.Segment | None:
    """Give the segment of this file that a call names; None if it names something else."""
    items = analysis.inspection.tree.items if analysis.inspection.tree else ()
    found = (item for item in items if isinstance(item, sx.Segment))
    return next((segment for segment in found if segment.name.id == call.callee.text), None)


def inline_segment(analysis: Analysis, call: sx.Call) -> list[Edit]:
    """Put the statements of a segment in the place of a call; the segment goes with its last call.

    Parameters
    ----------
    analysis : Analysis
        The program's.
    call : Call
        A call of one of its segments.

    Returns
    -------
    list of Edit
        The edits of the program.

    Raises
    ------
    UsageError
        If it isn't one, or the program would be wrong or mean something else.

    See Also
    --------
    extract_segment, Analysis
    """
    segment = called_segment(analysis, call)
    if segment is None:
        raise UsageError(f"`{call.callee.text}` is no segment of this file", help="choose a call of one")
    if (len(segment.inputs), len(segment.outputs)) != (len(call.arguments), len(call.outputs)):
        help = "give each its own tag or value, and bundles as a whole"
        raise UsageError(f"{_REFUSED}: its inputs and outputs are not those of the segment", help=help)
    inlining = _Inlining(analysis, segment, call)
    removed = inlining.removed()
    try:
        edits = (*removed, inlining.call(declared=False))
        if not inlining.keeps_types(edits):
            inlining.named_by_let.clear()
            edits = (*removed, inlining.call(declared=False))
        require_sound(analysis, edits, _REFUSED)
    except UsageError:
        inlining.named_by_let.clear()
        edits = (*removed, inlining.call(declared=True))
        require_sound(analysis, edits, _REFUSED)
    return list(edits)


class _Inlining:
    """One call of a segment, and what the names in the segment become there."""

    def __init__(self, analysis: Analysis, segment: sx.Segment, call: sx.Call) -> None:
        self._analysis, self._segment, self._call = analysis, segment, call
        self._named: list[str] = []
        self._renamed = {s: self._free(s) for s in _made_in(analysis, segment)}
        for field, argument in zip(segment.inputs, call.arguments, strict=True):
            self._input(field, analysis.written(argument.value.span or argument.span), argument.value)
        for field, output in zip(segment.outputs, call.outputs, strict=True):
            self._renamed[self._symbol(field)] = output.name.id
        self.named_by_let = list(self._named_once())

    def _named_once(self) -> Iterator[tuple[Span, Symbol]]:
        """Give the assignments that can name outputs that the call makes, as `let` does, and these."""
        for field, output in zip(self._segment.outputs, self._call.outputs, strict=True):
            made, written = self._analysis.symbols.of(output.name.span), self._assigned(field)
            if made is not None and made.node is self._call and len(written) == 1:
                yield written[0], made

    def _assigned(self, field: sx.Field) -> list[Span]:
        """Give where an output gets its value, if that is by an assignment of the segment's own block."""
        own = {s.name.span for s in self._segment.body.statements if isinstance(s, sx.Assignment)}
        places = self._analysis.symbols.places(self._symbol(field))[1:]
        written = [span for span, is_written in places if is_written]
        return written if own.issuperset(written) and places[:1] == [(s, True) for s in written] else []

    def keeps_types(self, edits: Edits) -> bool:
        """Whether what is named by `let` is sound after edits, and has the types that the segment says."""
        if not self.named_by_let:
            return True
        after = self._analysis.remade(edited(self._analysis.lines, edits))
        if any(d.severity is Severity.ERROR for d in after.inspection.diagnostics):
            return False
        types = {s.name: after.type_of(s) for s in after.symbols.of_kind("tag") if isinstance(s.node, sx.Let)}
        return all(types.get(s.name) == self._analysis.type_of(s) for _, s in self.named_by_let)

    def _symbol(self, field: sx.Field) -> Symbol:
        found = self._analysis.symbols.of(field.name.span)
        assert found is not None, "a field is declared where its name stands"
        return found

    def _input(self, field: sx.Field, given: str, value: sx.SyntaxExpression) -> None:
        """Have an input stand for what is given; a scalar that is not simply named is named before."""
        symbol, element = self._symbol(field), field.type.element.id
        is_scalar = element in _SCALARS and field.type.shape is None and field.indices is None
        if not is_scalar or (isinstance(value, Name) and self._element(value) == element):
            self._renamed[symbol] = given
            return
        name = self._renamed[symbol] = self._free(symbol)
        self._named.append(f"let {name} = {f'f64({given})' if element == _WIDENED else given}")

    def _free(self, symbol: Symbol) -> str:
        """Give a name's name at the call, where another one may have it."""
        others = [other for other in self._analysis.symbols.all if other is not symbol]
        if all(other.name != symbol.name or self._is_apart(other, symbol) for other in others):
            return symbol.name
        return free_name(symbol.name, {other.name for other in others})

    def _is_apart(self, other: Symbol, symbol: Symbol) -> bool:
        """Whether another name of that name does not matter at the call: it has another place."""
        call, scope = self._call.span, other.scope
        if scope is None or contains(scope, call):
            return False
        home = next(s for s in self._bodies() if contains(s, call))
        return symbol.kind == "counter" or not (contains(home, scope) or contains(self._segment.span, scope))

    def _bodies(self) -> Iterator[Span]:
        """Give the places of the program and of all segments."""
        items = self._analysis.inspection.tree.items if self._analysis.inspection.tree else ()
        yield from (item.span for item in items if isinstance(item, sx.Segment | sx.ProgramBody))

    def _element(self, value: Name) -> str | None:
        """Give the type of a scalar that is named."""
        found = self._analysis.symbols.of(value.span)
        if found is not None and isinstance(found.node, sx.Param):
            return found.node.element.id
        if found is not None and found.kind == "counter":
            return Element.I64.label
        type = self._analysis.type_of(found) if found is not None else None
        return render_type(type) if type is not None else None

    def call(self, *, declared: bool) -> Edit:
        """Give the statements in the place of the call, the outputs declared before them if they must be."""
        made = list(self._declarations()) if declared else []
        statements = "\n".join([*self._named, *made, self._body()])
        span, indent = self._call.span, self._analysis.indent(self._call.span.line)
        line = self._analysis.lines[span.line - 1]
        if "\n" in statements and line[: span.column - 1].strip():
            raise UsageError(f"{_REFUSED}: others are on its line", help="put it on a line of its own")
        return Edit(span, textwrap.indent(statements, indent).removeprefix(indent))

    def _declarations(self) -> Iterator[str]:
        for field, output in zip(self._segment.outputs, self._call.outputs, strict=True):
            found = self._analysis.symbols.of(output.name.span)
            if found is not None and found.node is self._call:
                yield f"var {self._text(field.type.span)} {output.name.id}"

    def _body(self) -> str:
        span = self._segment.body.span
        text = self._text(Span(span.path, span.line, span.column + 1, span.end_line, span.end_column - 1))
        first, _, rest = text.partition("\n")
        return "\n".join([*filter(None, [first.strip()]), *filter(None, [textwrap.dedent(rest).rstrip()])])

    def _text(self, span: Span) -> str:
        """Give what is written at a span, with the names that it has at the call."""
        symbols = self._analysis.symbols
        edits = [
            Edit(place, name)
            for symbol, name in self._renamed.items()
            for place, _ in symbols.places(symbol)
            if name != symbol.name and contains(span, place)
        ]
        edits = [Edit(place, self._let(place) + name) for place, name in edits] + [
            Edit(replace(place, end_line=place.line, end_column=place.column), "let ")
            for place, _ in self.named_by_let
            if contains(span, place) and all(place != edit.span for edit in edits)
        ]
        return excerpt(self._analysis.lines, span, edits)

    def _let(self, place: Span) -> str:
        return "let " if any(place == named for named, _ in self.named_by_let) else ""

    def removed(self) -> Edits:
        """Take the segment out, with its lines if nothing else is on them, unless there are other calls."""
        symbol = self._analysis.symbols.of(self._segment.name.span)
        if symbol is None or len(self._analysis.symbols.places(symbol)) > 2:
            return ()
        span, lines = self._segment.span, self._analysis.lines
        beside = lines[span.line - 1][: span.column - 1] + lines[span.end_line - 1][span.end_column - 1 :]
        alone = not beside.strip() and span.end_line < len(lines)
        return (Edit(Span(span.path, span.line, 1, span.end_line + 1, 1) if alone else span, ""),)


def _made_in(analysis: Analysis, segment: sx.Segment) -> Iterator[Symbol]:
    """Give what a segment declares, but for its inputs and outputs."""
    fields = {field.name.span for field in (*segment.inputs, *segment.outputs)}
    for symbol in analysis.symbols.of_kind("tag", "counter"):
        if symbol.span is not None and contains(segment.span, symbol.span) and symbol.span not in fields:
            yield symbol
