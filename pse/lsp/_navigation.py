"""From a name to its declaration, to a module's source, to every place where it is used; and its renaming."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from lsprotocol import types

from pse.errors import PseError, UsageError
from pse.language import Span
from pse.language.check import ModuleReference
from pse.language.syntax import ast as sx, require_name
from pse.lsp._analysis import Analysis, Lines, resolved, text_on_disk
from pse.lsp._symbols import Symbol
from pse.modules import function_line


def definition(analysis: Analysis, position: types.Position) -> list[types.Location]:
    """Give where the name at a position is declared: of a module, its function in the source."""
    found = analysis.symbol_at(position)
    if found is None:
        return _imported_file(analysis, position)
    symbol = found[1]
    reference = analysis.module(symbol.name) if symbol.kind == "module" else None
    if reference is not None and reference.source is not None:
        return [_function(reference)]
    if symbol.kind == "record" and isinstance(symbol.node, tuple):
        return [_record(analysis, *symbol.node)]
    if symbol.kind == "import" and isinstance(symbol.node, sx.Import):
        return [_file(resolved(symbol.node.path, analysis.path))]
    return [types.Location(uri_of(analysis.path), analysis.range(symbol.span))] if symbol.span else []


def _imported_file(analysis: Analysis, position: types.Position) -> list[types.Location]:
    """Give the file whose path in an import stands at a position."""
    line, column = analysis.place(position)
    for item in analysis.inspection.tree.items if analysis.inspection.tree else ():
        if isinstance(item, sx.Import):
            span = item.path_span
            if span.line == line and span.column <= column <= span.end_column:
                return [_file(resolved(item.path, analysis.path))]
    return []


def _file(path: str, line: int = 0) -> types.Location:
    start = types.Position(line, 0)
    return types.Location(uri_of(path), types.Range(start, start))


def _record(analysis: Analysis, item: sx.Import, name: sx.ImportName) -> types.Location:
    """Give where an imported file declares a record."""
    path = resolved(item.path, analysis.path)
    try:
        text = text_on_disk(path)
    except PseError:
        return _file(path)
    found = re.search(rf"\brecord\s+{re.escape(name.name.id)}\b", text)
    return _file(path, text.count("\n", 0, found.start()) if found else 0)


def _function(reference: ModuleReference) -> types.Location:
    assert reference.source is not None, "modules of the library have no source"
    line = function_line(reference)
    place = types.Position(line - 1, 0)
    return types.Location(uri_of(reference.source), types.Range(place, place))


def uri_of(path: str) -> str:
    """Give a file's URI.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    str
        Its URI.

    Examples
    --------
    >>> uri_of("/programs/heat.coven")
    'file:///programs/heat.coven'
    """
    return Path(path).absolute().as_uri()


def references(analysis: Analysis, position: types.Position, *, declaration: bool) -> list[types.Location]:
    """Give all places of the name at a position."""
    found = analysis.symbol_at(position)
    if found is None:
        return []
    spans = [span for span, _ in analysis.symbols.places(found[1]) if declaration or span != found[1].span]
    return [types.Location(uri_of(analysis.path), analysis.range(span)) for span in _in_order(spans)]


def highlights(analysis: Analysis, position: types.Position) -> list[types.DocumentHighlight]:
    """Give all places of the name at a position, told apart by whether it is read or written there."""
    found = analysis.symbol_at(position)
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(analysis.range(span), kinds.Write if written else kinds.Read)
        for span, written in (analysis.symbols.places(found[1]) if found else ())
    ]


def _in_order(spans: Iterable[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: (span.line, span.column))


def renamable(analysis: Analysis, position: types.Position) -> types.Range | None:
    """Give the range of the name at a position if it can get another one."""
    found = analysis.symbol_at(position)
    if found is None or found[1].span is None:
        return None
    return analysis.range(found[0])


def rename(analysis: Analysis, position: types.Position, name: str) -> list[types.TextEdit]:
    """Give the edits by which the name at a position gets another one.

    Parameters
    ----------
    analysis : Analysis
        The program's.
    position : Position
        Any place where the name is written.
    name : str
        The new name.

    Returns
    -------
    list of TextEdit
        The edits of the program.

    Raises
    ------
    UsageError
        If it can't have that name: it isn't one, it is in use where the renamed one is visible, or the
        program would be wrong.

    See Also
    --------
    Analysis
    """
    found = analysis.symbol_at(position)
    if found is None or found[1].span is None:
        raise UsageError("there is nothing to rename here", help="put the cursor on a name of this file")
    symbol = found[1]
    require_name(name, symbol.kind)
    _require_free(analysis, symbol, name)
    edits = list(_edits(analysis, symbol, name))
    _require_right(analysis, edits, name)
    return [types.TextEdit(analysis.range(span), text) for span, text in edits]


def _require_free(analysis: Analysis, symbol: Symbol, name: str) -> None:
    """Make sure that no other symbol of that name is visible where this one is."""
    apart = {"thread", "field"}
    for other in analysis.symbols.all:
        together = other.kind == symbol.kind or not apart & {other.kind, symbol.kind}
        alike = other.name == name and other is not symbol and together
        if alike and _overlap(symbol.scope, other.scope):
            place = f" (line {other.span.line})" if other.span else ""
            raise UsageError(f"`{name}` is in use{place}", help="choose another name")


def _overlap(one: Span | None, other: Span | None) -> bool:
    if one is None or other is None:
        return True
    return not (
        (one.end_line, one.end_column) <= (other.line, other.column)
        or (other.end_line, other.end_column) <= (one.line, one.column)
    )


def _require_right(analysis: Analysis, edits: list[tuple[Span, str]], name: str) -> None:
    """Make sure that nothing is wrong with the program that was right before."""
    lines = analysis.lines.copy()
    for span, text in reversed(edits):
        line = lines[span.line - 1]
        lines[span.line - 1] = line[: span.column - 1] + text + line[span.end_column - 1 :]
    known = {(d.code, d.span.line) for d in analysis.inspection.diagnostics}
    found = analysis.remade("\n".join(lines)).inspection.diagnostics
    wrong = next((d for d in found if (d.code, d.span.line) not in known), None)
    if wrong is not None:
        message = f"`{name}` can't be the name, the program would be wrong: {wrong.message}"
        raise UsageError(message, help="choose another name")


def _edits(analysis: Analysis, symbol: Symbol, name: str) -> Iterator[tuple[Span, str]]:
    """Replace a name at all its places; an imported one keeps its file's name behind `as`."""
    imported = symbol.node[1] if isinstance(symbol.node, tuple) else None
    for span in _in_order({(s.line, s.column): s for s, _ in analysis.symbols.places(symbol)}.values()):
        renamed = isinstance(imported, sx.ImportName) and imported.alias is None and span == symbol.span
        yield span, f"{symbol.name} as {name}" if renamed else name


def rename_in_directive(lines: Lines, position: types.Position, name: str) -> list[types.TextEdit]:
    """Rename a parameter or a dimension in the directive at a position of a module's source.

    Raises
    ------
    UsageError
        If there is none, or the name can't be one or is in use in the directive.
    """
    line, column = lines.place(position)
    span, text = directive_at(lines, line)
    word = next(
        (w for w in re.finditer(r"[A-Za-z_]\w*", lines.lines[line - 1]) if w.start() < column <= w.end() + 1),
        None,
    )
    if span is None or word is None:
        raise UsageError(
            "there is nothing to rename here", help="put the cursor on a parameter of a directive"
        )
    require_name(name, "parameter")
    if re.search(rf"\b{re.escape(name)}\b", text):
        raise UsageError(f"`{name}` is in use in this directive", help="choose another name")
    return [
        types.TextEdit(
            types.Range(lines.position(number, found.start() + 1), lines.position(number, found.end() + 1)),
            name,
        )
        for number in range(span.line, span.end_line + 1)
        for found in re.finditer(rf"\b{re.escape(word[0])}\b", lines.lines[number - 1])
    ]


def directive_at(lines: Lines, line: int) -> tuple[Span | None, str]:
    """Give where the directive on a line of a module's source stands, and its text; None if there is none."""
    marked = re.compile(r"\s*(?://|!|#) ?@")
    first = line
    while first > 1 and marked.match(lines.lines[first - 1]) and "coven" not in lines.lines[first - 1]:
        first -= 1
    if not re.match(r"\s*(?://|!|#) ?@\s*coven\b", lines.lines[first - 1]):
        return None, ""
    last = first
    while last < len(lines.lines) and marked.match(lines.lines[last]) and "coven" not in lines.lines[last]:
        last += 1
    if line > last:
        return None, ""
    text = "\n".join(lines.lines[first - 1 : last])
    return Span("", first, 1, last, len(lines.lines[last - 1]) + 1), text
