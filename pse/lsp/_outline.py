"""The shape of a program: its symbols as a tree, what folds, the colours of words, hints between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from pse.language import Span
from pse.language.syntax import ast as sx
from pse.language.types import render_distribution
from pse.lsp._analysis import Analysis, MovedLines
from pse.program import number_statements

Kind = types.SymbolKind
_Token = tuple[int, int, int, int, int]
"""A word: its line and where it begins in it, from 0, its length, its type and modifiers."""

TOKEN_TYPES = (
    "keyword",
    "comment",
    "string",
    "number",
    "operator",
    "type",
    "variable",
    "parameter",
    "enum",
    "namespace",
    "function",
    "method",
    "label",
    "class",
    "property",
)
_NUMBERS = {kind: number for number, kind in enumerate(TOKEN_TYPES)}
TOKEN_MODIFIERS = ("declaration", "modification", "defaultLibrary")
_COLOURS = {
    "tag": "variable",
    "counter": "variable",
    "parameter": "parameter",
    "partition": "enum",
    "import": "namespace",
    "module": "function",
    "segment": "method",
    "bundle": "class",
    "record": "class",
    "field": "property",
    "thread": "label",
    "program": "class",
}


def document_symbols(analysis: Analysis) -> list[types.DocumentSymbol]:
    """Give the program's items, and the statements inside them."""
    tree = analysis.inspection.tree
    return [symbol for item in (tree.items if tree else ()) for symbol in _item(analysis, item)]


def _item(analysis: Analysis, item: sx.Item) -> Iterator[types.DocumentSymbol]:
    match item:
        case sx.Import():
            names = [name.alias or name.name for name in item.names or ()] + (
                [item.alias] if item.alias else []
            )
            children = [_symbol(analysis, name.id, Kind.Function, name.span, name.span) for name in names]
            yield _symbol(analysis, item.path, Kind.Module, item.span, item.path_span, children)
        case sx.Param():
            yield _symbol(analysis, item.name.id, Kind.Constant, item.span, item.name.span)
        case sx.PartitionNode():
            yield _symbol(analysis, item.name.id, Kind.Enum, item.span, item.name.span)
        case sx.Bundle() | sx.Record():
            members = [_symbol(analysis, m.name.id, Kind.Field, m.span, m.name.span) for m in item.members]
            yield _symbol(analysis, item.name.id, Kind.Struct, item.span, item.name.span, members)
        case sx.Segment():
            children = list(_statements(analysis, item.body))
            yield _symbol(analysis, item.name.id, Kind.Method, item.span, item.name.span, children)
        case sx.ProgramBody():
            children = list(_statements(analysis, item.body))
            yield _symbol(analysis, item.name.id, Kind.Class, item.span, item.name.span, children)


def _statements(analysis: Analysis, block: sx.Block) -> Iterator[types.DocumentSymbol]:
    for node in block.statements:
        match node:
            case sx.Call():
                label = f"{node.label.id} " if node.label else ""
                yield _symbol(analysis, label + node.callee.text, Kind.Function, node.span, node.callee.span)
            case sx.Let() | sx.Var():
                yield _symbol(analysis, node.name.id, Kind.Variable, node.span, node.name.span)
            case sx.For() | sx.While() | sx.Parallel():
                yield _block(analysis, node.span, node.body)
            case sx.If():
                yield _block(analysis, node.span, node.then)
                if node.otherwise is not None:
                    yield from _statements(analysis, node.otherwise)


def _block(analysis: Analysis, span: Span, body: sx.Block) -> types.DocumentSymbol:
    head = analysis.lines[span.line - 1][span.column - 1 :].split("{")[0].strip()
    place = Span(span.path, span.line, span.column, span.line, span.column + len(head))
    return _symbol(analysis, head or "block", Kind.Namespace, span, place, list(_statements(analysis, body)))


def _symbol(
    analysis: Analysis,
    name: str,
    kind: Kind,
    whole: Span,
    name_span: Span,
    children: list[types.DocumentSymbol] | None = None,
) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name, kind, analysis.range(whole), analysis.range(name_span), children=children or []
    )


def folding(analysis: Analysis) -> list[types.FoldingRange]:
    """Give what folds: blocks of several lines, and runs of comment lines."""
    scanned = analysis.scanned
    opened: list[int] = []
    found: list[types.FoldingRange] = []
    for token in scanned.tokens:
        if token.type == "LBRACE":
            opened.append(token.line or 1)
        elif token.type == "RBRACE" and opened:
            first, last = opened.pop(), (token.line or 1) - 1
            if last > first:
                found.append(types.FoldingRange(first - 1, last - 1))
    return found + list(_comments([token.line or 1 for token in scanned.comments]))


def _comments(lines: list[int]) -> Iterator[types.FoldingRange]:
    first = last = None
    for line in [*lines, -1]:
        if last is not None and first is not None and line != last + 1:
            if last > first:
                yield types.FoldingRange(first - 1, last - 1, kind=types.FoldingRangeKind.Comment)
            first = line
        first, last = first if first is not None else line, line


def semantic_tokens(analysis: Analysis) -> types.SemanticTokens:
    """Give what each word is: a keyword, a tag, a thread, a module, and so on."""
    return _encoded(_tokens(analysis))


def moved_tokens(before: Analysis, moved: MovedLines) -> types.SemanticTokens:
    """Give what each word of the lines is that have not changed since an analysis."""
    places = ((moved.now(token[0]), token) for token in _tokens(before))
    return _encoded((line, *token[1:]) for line, token in places if line is not None)


def _tokens(analysis: Analysis) -> Iterator[_Token]:
    coloured = {(s.line, s.column): (s, kind, modifiers) for s, kind, modifiers in _words(analysis)}
    coloured |= {(s.line, s.column): (s, kind, modifiers) for s, kind, modifiers in _names(analysis)}
    for _, (span, kind, modifiers) in sorted(coloured.items()):
        line, start, end = _columns(analysis, span)
        if span.end_line == span.line and end > start:
            yield line, start, end - start, _NUMBERS[kind], modifiers


def _encoded(tokens: Iterable[_Token]) -> types.SemanticTokens:
    """Give words as the protocol has them: lines and characters behind the word before."""
    data: list[int] = []
    line = character = 0
    for at, start, *rest in tokens:
        data += [at - line, start - (character if at == line else 0), *rest]
        line, character = at, start
    return types.SemanticTokens(data)


def _columns(analysis: Analysis, span: Span) -> tuple[int, int, int]:
    """Give the line of a word in the editor, and where it begins and ends in it."""
    if analysis.lines[span.line - 1].isascii():
        return span.line - 1, span.column - 1, span.end_column - 1
    place = analysis.range(span)
    return place.start.line, place.start.character, place.end.character


def _names(analysis: Analysis) -> Iterator[tuple[Span, str, int]]:
    for symbol in analysis.symbols.all:
        for span, written in analysis.symbols.places(symbol):
            library = symbol.span is None and symbol.kind == "module" and "." not in symbol.name
            yield span, _COLOURS[symbol.kind], (span == symbol.span) | written << 1 | library << 2


def _words(analysis: Analysis) -> Iterator[tuple[Span, str, int]]:
    scanned = analysis.scanned
    for token in (*scanned.tokens, *scanned.comments):
        kind = _word_kind(token.type, str(token))
        if kind is not None:
            line, column = token.line or 1, token.column or 1
            yield Span(analysis.path, line, column, line, column + len(token)), kind, 0


def _word_kind(token: str, text: str) -> str | None:
    if token in ("COMMENT", "STRING"):
        return token.lower()
    if token in ("INT", "FLOAT", "SIZE"):
        return "number"
    if token in ("ARROW", "RANGE", "AT") or (not text[0].isalnum() and token.isupper() and len(text) < 3):
        return "operator" if not text[0].isalpha() and text not in "(){}[],;." else None
    if token == "NAME":
        return None
    return "keyword" if text.isalpha() else None


def hints(analysis: Analysis, within: types.Range) -> list[types.InlayHint]:
    """Give the threads of calls without a label, and the distributions that outputs get without saying so."""
    program, placement = analysis.inspection.program, analysis.placement
    if program is None or placement is None:
        return []
    found: dict[tuple[int, int], types.InlayHint] = {}
    unwritten = _unwritten(analysis)
    for site in number_statements(program).sites:
        if site.thread is None and not site.moved:
            label = f"{placement.thread_of(site).label} "
            _hint(analysis, found, site.span.line, site.span.column, label)
        for output in site.outputs:
            end = (output.span.end_line, output.span.end_column)
            if not output.type.scalar and end in unwritten:
                _hint(analysis, found, *end, f" {render_distribution(output.type.distribution)}")
    first, last = within.start.line, within.end.line
    return [hint for hint in found.values() if first <= hint.position.line <= last]


def _unwritten(analysis: Analysis) -> set[tuple[int, int]]:
    """Give where outputs end that are declared by their call, without a distribution behind them."""
    outputs = [o for call in analysis.symbols.calls if isinstance(call, sx.Call) for o in call.outputs]
    made = {(s.span.line, s.span.column) for s in analysis.symbols.of_kind("tag") if s.span}
    return {
        (o.name.span.end_line, o.name.span.end_column)
        for o in outputs
        if o.distribution is None and o.reduction is None and (o.name.span.line, o.name.span.column) in made
    }


def _hint(
    analysis: Analysis, found: dict[tuple[int, int], types.InlayHint], line: int, column: int, label: str
) -> None:
    found.setdefault((line, column), types.InlayHint(analysis.position(line, column), label))
