"""Formatting as edits: the lines that differ from what `pse fmt` writes, and no others."""

from __future__ import annotations

import difflib

from lsprotocol import types

from pse.errors import PseError
from pse.language import format_program
from pse.lsp._analysis import Lines


def formatted(lines: Lines, within: types.Range | None) -> list[types.TextEdit]:
    """Give the edits that bring a text, or some lines, into `pse fmt`'s form; none if it has mistakes."""
    try:
        text = format_program(lines.text, "text")
    except PseError:
        return []
    return list(line_edits(lines, text, within))


def line_edits(lines: Lines, text: str, within: types.Range | None) -> list[types.TextEdit]:
    """Give edits of whole lines that turn a text into another one; only those in a range, if one is given."""
    new = text.split("\n")
    edits = []
    matcher = difflib.SequenceMatcher(None, lines.lines, new, autojunk=False)
    for kind, first, last, begin, end in matcher.get_opcodes():
        outside = within is not None and (last - 1 < within.start.line or first > within.end.line)
        if kind == "equal" or outside:
            continue
        edits.append(_line_edit(lines, first, last, new[begin:end]))
    return edits


def _line_edit(lines: Lines, first: int, last: int, new: list[str]) -> types.TextEdit:
    """Replace some lines; at the end of a text there is no line break to go with them."""
    text = "".join(f"{line}\n" for line in new)
    if last < len(lines.lines):
        return types.TextEdit(types.Range(types.Position(first, 0), types.Position(last, 0)), text)
    if first == 0:
        return types.TextEdit(lines.whole(), "\n".join(new))
    start = lines.position(first, len(lines.lines[first - 1]) + 1)
    return types.TextEdit(types.Range(start, lines.whole().end), "".join(f"\n{line}" for line in new))
