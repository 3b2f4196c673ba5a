"""Edits that the helps of diagnostics name, as code actions.

A help is a sentence for people.  What it says to write is tried at the places that it can mean, and is
offered if the checker then has nothing more to say about the place: no edit leads to the next error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lsprotocol import types

from pse.errors import UsageError
from pse.language import Diagnostic, ModuleFinder, Severity, Span, inspect_program
from pse.language.syntax import ast as sx
from pse.lsp._analysis import Analysis
from pse.lsp._navigation import uri_of

_MOST = 12
"""Edits that are tried for one help: each is a check of the program."""

_CODE = re.compile(r": {1,2}(.+)$")
_ALTERNATIVES = re.compile(r"(?:;  |\s+or, |,? +or(?= [^`]*: ))")
_SYNTAX = "E00"
"""Codes of syntax errors, behind which the checker sees nothing."""

_QUOTED = re.compile(r"`([^`]+)`")
_PLACES_BEFORE = ("first", "before", "above", "declare", "add", "begin the file", "name the pieces", "with:")


class Edit(NamedTuple):
    """Text in the place of a span's."""

    span: Span
    text: str


Edits = tuple[Edit, ...]


def quick_fixes(analysis: Analysis, finder: ModuleFinder, within: types.Range) -> list[types.CodeAction]:
    """Give the edits that the helps in a range name, each tried before it is offered."""
    found = []
    for diagnostic in analysis.inspection.diagnostics:
        if (
            diagnostic.help
            and diagnostic.span.path == analysis.path
            and _touches(analysis, diagnostic.span, within)
        ):
            edits = mend(analysis, finder, diagnostic)
            if edits is not None:
                found.append(_action(analysis, diagnostic, edits))
    return found


def _touches(analysis: Analysis, span: Span, within: types.Range) -> bool:
    place = analysis.range(span)
    return place.start.line <= within.end.line and within.start.line <= place.end.line


def _action(analysis: Analysis, diagnostic: Diagnostic, edits: Edits) -> types.CodeAction:
    title = (diagnostic.help or "").replace("  ", " ")
    return code_action(analysis, title[:1].upper() + title[1:], types.CodeActionKind.QuickFix, edits)


def code_action(
    analysis: Analysis, title: str, kind: types.CodeActionKind, edits: Sequence[Edit]
) -> types.CodeAction:
    """Offer edits of a program under a title."""
    changes = [types.TextEdit(analysis.range(edit.span), edit.text) for edit in edits]
    return types.CodeAction(title, kind, edit=types.WorkspaceEdit({uri_of(analysis.path): changes}))


def mend(analysis: Analysis, finder: ModuleFinder, diagnostic: Diagnostic) -> Edits | None:
    """Find the edit that a diagnostic's help names: the first after which the program is better."""
    for number, edits in enumerate(_candidates(analysis, diagnostic)):
        if number == _MOST:
            break
        text = edited(analysis.lines, edits)
        left = inspect_program(text, analysis.path, modules=finder, before=analysis.inspection).diagnostics
        if _is_better(analysis.inspection.diagnostics, left, diagnostic):
            return edits
    return None


def _is_better(before: tuple[Diagnostic, ...], after: tuple[Diagnostic, ...], mended: Diagnostic) -> bool:
    """Whether one diagnostic is gone, and no error has come that another one has not hidden until now."""
    count = Counter((d.code, d.message) for d in before)
    count.subtract((d.code, d.message) for d in after)
    gone = count[mended.code, mended.message] > 0
    syntax = mended.code.startswith(_SYNTAX)
    new = [code for (code, _), number in count.items() if number < 0 and code.startswith("E")]
    return gone and not any(code.startswith(_SYNTAX) or not syntax for code in new)


def edited(lines: list[str], edits: Edits) -> str:
    """Apply edits, which must not overlap; of two at one place the first one's text comes first."""
    result = list(lines)
    for span, text in [*sorted(edits, key=lambda edit: (edit.span.line, edit.span.column))][::-1]:
        first, last = result[span.line - 1], result[span.end_line - 1]
        new = first[: span.column - 1] + text + last[span.end_column - 1 :]
        result[span.line - 1 : span.end_line] = new.split("\n")
    return "\n".join(result)


def excerpt(lines: list[str], span: Span, edits: Iterable[Edit]) -> str:
    """Give what is written at a span after edits within it."""
    before = Edit(Span(span.path, 1, 1, span.line, span.column), "")
    after = Edit(Span(span.path, span.end_line, span.end_column, len(lines), len(lines[-1]) + 1), "")
    return edited(lines, (before, *edits, after))


def require_sound(analysis: Analysis, edits: Edits, refused: str) -> None:
    """Refuse edits after which the program has errors that it did not have."""
    before = {(d.code, d.message) for d in analysis.inspection.diagnostics}
    after = analysis.remade(edited(analysis.lines, edits)).inspection.diagnostics
    for found in after:
        if found.severity is Severity.ERROR and (found.code, found.message) not in before:
            raise UsageError(
                f"{refused}: {found.message}", help=found.help or f"see `pse explain {found.code}`"
            )


def _candidates(analysis: Analysis, diagnostic: Diagnostic) -> Iterator[Edits]:
    """Give the edits that a help can mean, the likeliest first."""
    help, span = diagnostic.help or "", diagnostic.span
    statement = _statement_at(analysis, span)
    if help.startswith(("did you mean", "write `", "names have no")):
        for text in _QUOTED.findall(help)[:1]:
            yield (Edit(span, text),)
            yield from _misspelt(analysis, diagnostic, text)
    for sentence in _ALTERNATIVES.split(help):
        code = _CODE.search(sentence)
        if code is not None and "…" not in code[1]:
            yield from _written(
                analysis, diagnostic, code[1].split("   "), sentence[: code.start()], statement
            )
    if (called := re.search(r"call it (_\w+)", help)) is not None:
        found = analysis.symbols.at(span.line, span.column)
        places = {place for place, _ in analysis.symbols.places(found[1])} if found else ()
        yield tuple(Edit(place, called[1]) for place in places)
    if help.startswith("remove"):
        yield from _removed(analysis, help, span, statement)
    if help.startswith(("close it with", "add the missing")):
        for text in _QUOTED.findall(help)[:1]:
            end = len(analysis.lines[span.line - 1]) + 1
            yield (Edit(Span(span.path, span.line, end, span.line, end), text),)
            yield (_at_end(analysis, text),)


def _misspelt(analysis: Analysis, diagnostic: Diagnostic, text: str) -> Iterator[Edits]:
    """Give the edits that replace, within a diagnostic's place, a word that its message names."""
    span = diagnostic.span
    if span.line == span.end_line:
        for word in _QUOTED.findall(diagnostic.message):
            column = analysis.written(span).find(word) + span.column
            if column >= span.column:
                yield (Edit(Span(span.path, span.line, column, span.line, column + len(word)), text),)


def _written(
    analysis: Analysis, diagnostic: Diagnostic, code: list[str], words: str, statement: Span | None
) -> Iterator[Edits]:
    """Give the edits that put code where a help's words can mean it, its parts on lines of their own."""
    span = diagnostic.span
    if any(word in words for word in _PLACES_BEFORE):
        yield from _inserted(analysis, span, code)
        return
    joined = f"\n{analysis.indent(span.line)}".join(code)
    yield (Edit(span, joined),)
    if joined.startswith("-> "):
        yield (Edit(span, joined[3:]),)
    if statement is not None and words.startswith("write"):
        yield (Edit(_from(statement, span), joined),)
        yield (Edit(statement, joined),)
    yield from _inserted(analysis, span, code)


def _from(statement: Span, span: Span) -> Span:
    """Give what is left of a statement from a place on."""
    return Span(span.path, span.line, span.column, statement.end_line, statement.end_column)


def _inserted(analysis: Analysis, span: Span, code: list[str]) -> Iterator[Edits]:
    """Put code on lines of its own before the statement, before its block, or before the program."""
    made, taken = re.search(r"-> (\w+)", code[-1]), re.search(r"\((\w+)", code[0])
    renamed: Edits = ()
    if made and taken and span.line == span.end_line and analysis.written(span) == taken[1]:
        renamed = (Edit(span, made[1]),)
    for place in (*reversed(_around(analysis, span)), program_of(analysis)):
        if place is not None:
            text = "".join(f"{analysis.indent(place.line)}{line}\n" for line in code)
            line = Edit(Span(span.path, place.line, 1, place.line, 1), text)
            yield (line, *renamed)
            if renamed:
                yield (line,)
    yield (Edit(Span(span.path, 1, 1, 1, 1), "".join(f"{line}\n" for line in code)),)


def _removed(analysis: Analysis, help: str, span: Span, statement: Span | None) -> Iterator[Edits]:
    for text in _QUOTED.findall(help)[:1]:
        line = analysis.lines[span.line - 1]
        at = line.find(text, max(0, span.column - 1 - len(text)))
        if at >= 0:
            yield (Edit(Span(span.path, span.line, at + 1, span.line, at + 1 + len(text)), ""),)
    yield (Edit(span, ""),)
    if statement is not None:
        first, last = statement.line, statement.end_line
        if last < len(analysis.lines):
            yield (Edit(Span(span.path, first, 1, last + 1, 1), ""),)


def _at_end(analysis: Analysis, text: str) -> Edit:
    line, column = len(analysis.lines), len(analysis.lines[-1]) + 1
    return Edit(Span(analysis.path, line, column, line, column), f"{text}\n")


def _around(analysis: Analysis, span: Span) -> list[Span]:
    """Give the statements and items around a place, the outermost first."""
    found: list[Span] = []
    waiting: list[object] = list(analysis.inspection.tree.items) if analysis.inspection.tree else []
    while waiting:
        node = waiting.pop(0)
        place = getattr(node, "span", None)
        if not isinstance(place, Span) or not contains(place, span):
            continue
        if not isinstance(node, sx.Block | sx.ProgramBody | sx.Segment):
            found.append(place)
        waiting = [
            part for part in (getattr(node, name, None) for name in ("body", "then", "otherwise")) if part
        ]
        waiting += getattr(node, "statements", ())
    return found


def contains(outer: Span, inner: Span) -> bool:
    return (outer.line, outer.column) <= (inner.line, inner.column) and (
        inner.end_line,
        inner.end_column,
    ) <= (
        outer.end_line,
        outer.end_column,
    )


def _statement_at(analysis: Analysis, span: Span) -> Span | None:
    around = _around(analysis, span)
    return around[-1] if around else None


def program_of(analysis: Analysis) -> Span | None:
    items = analysis.inspection.tree.items if analysis.inspection.tree else ()
    return next((item.span for item in items if isinstance(item, sx.ProgramBody)), None)
