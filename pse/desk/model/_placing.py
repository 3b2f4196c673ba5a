"""Where statements and items go in a text, and how they are taken out: lines, indents, one-line blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pse.desk.model._elements import Element
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import Edit, Text
from pse.errors import PseError, UsageError
from pse.language.syntax import ast as sx, format_program, parse_program

INDENT = "  "
_WIDTH = 110
_SEPARATOR = re.compile(r"[ \t]*;")
_ORDER = (sx.Version, sx.Import, sx.Param, sx.PartitionNode, sx.Threads, sx.Options)
"""The order in which items stand at the head of a program."""


def canonical(statements: str) -> str:
    """Write statements as the formatter does, without indent.

    Raises
    ------
    UsageError
        If they can't be read.
    """
    text = f"coven 1\nprogram p {{\n{statements}\n}}\n"
    parsed = parse_program(text, "")
    if parsed.diagnostics:
        raise UsageError(parsed.diagnostics[0].message, help=parsed.diagnostics[0].help)
    if parsed.tree is None or len(parsed.tree.items) != 2:
        raise UsageError("these are not statements of one block", help="give whole statements")
    try:
        lines = format_program(text, "").split("\n")[2:-2]
    except PseError as error:
        raise UsageError(error.message, help=error.help) from None
    return "\n".join(line.removeprefix(INDENT) for line in lines)


def block_of(model: ProgramModel, frame: Element) -> tuple[int, int]:
    """Give where the braces of a frame are.

    Raises
    ------
    UsageError
        If it has none of its own, or they are missing.
    """
    assert frame.block is not None
    start, end = model.text.range(frame.block.span)
    if model.text[start : start + 1] != "{" or model.text[end - 1 : end] != "}":
        what = "`else if` has no block of its own" if frame.kind == "else" else "a brace is missing here"
        raise UsageError(f"nothing can be put into `{frame.label}`: {what}", help="change the text instead")
    return start, end


def insert_statements(model: ProgramModel, frame: Element, after: Element | None, statements: str) -> Edit:
    """Put statements (without indent) into a frame, behind one of its elements or first."""
    if after is not None and after.frame is not frame:
        raise UsageError(f"{after.id} is not in `{frame.label}`", help="name an element of the block itself")
    text, (start, end) = model.text, block_of(model, frame)
    place = last_part(frame, after).end if after is not None else start + 1
    if not text[start + 1 : end - 1].strip():
        outer = text.indent(frame.start)
        return Edit(start + 1, end - 1, f"\n{indented(statements, outer + INDENT)}\n{outer}")
    if "\n" not in text[start:end] and (edit := _on_line(text, place, statements, first=after is None)):
        return edit
    return _own_lines(text, frame, place, statements, end)


def last_part(frame: Element, element: Element) -> Element:
    """Give the `else` of an `if`, behind which there can be a statement; else the element itself."""
    if element.kind == "if":
        number = frame.inner.index(element)
        if frame.inner[number + 1 : number + 2] and frame.inner[number + 1].kind == "else":
            return frame.inner[number + 1]
    return element


def _on_line(text: Text, place: int, statements: str, *, first: bool) -> Edit | None:
    """Put a statement into a block that is on one line, if it has room there."""
    line = text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0]
    if "\n" in statements or "{" in statements or len(line) + len(statements) + 2 > _WIDTH:
        return None
    return Edit(place, place, f" {statements} " if first else f"  {statements}")


def _own_lines(text: Text, frame: Element, place: int, statements: str, end: int) -> Edit:
    indent = text.indent(frame.start) + INDENT
    if frame.inner and text.leads(frame.inner[0].start):
        indent = text.indent(frame.inner[0].start)
    new = f"\n{indented(statements, indent)}"
    if (separator := _SEPARATOR.match(text, place)) is not None:
        place = separator.end()
    line_end = text.line_end(place)
    if line_end is not None:
        return Edit(line_end, line_end, new)
    behind = place + len(text[place:]) - len(text[place:].lstrip(" \t"))
    last = behind == end - 1
    return Edit(place, behind, f"{new}\n{text.indent(frame.start) if last else indent}")


def indented(statements: str, indent: str) -> str:
    """Indent lines that are not empty."""
    return "\n".join(indent + line if line else line for line in statements.split("\n"))


def dedented(model: ProgramModel, start: int, end: int) -> str:
    """Give what is written at a range, as if its first line had no indent."""
    indent = model.text.indent(start)
    first, *rest = model.text[start:end].split("\n")
    return "\n".join([first, *(line.removeprefix(indent) for line in rest)])


def removed(text: Text, start: int, end: int) -> Edit:
    """Take out a statement or an item: its lines with their comment if nothing else is on them."""
    line_end = text.line_end(end)
    if text.leads(start) and line_end is not None:
        begin = text.rfind("\n", 0, start) + 1
        return Edit(begin, min(line_end + 1, len(text)), "")
    while start and text[start - 1] in " \t":
        start -= 1
    if text[start - 1 : start] == "{" and text[end : end + 1] == " ":
        end += len(text[end:]) - len(text[end:].lstrip(" \t")) - 1
    return Edit(start, end, "")


def insert_item(model: ProgramModel, kind: type, item: str) -> Edit:
    """Put an item behind the last one of its kind, or of those that stand before that kind."""
    before = _ORDER[: _ORDER.index(kind) + 1]
    found = [i for k in reversed(before) for i in model.items(k)[-1:]]
    if not found:
        return Edit(0, 0, f"coven 1\n{item}\n")
    _, end = model.text.range(found[0].span)
    line_end = model.text.line_end(end)
    if line_end is None:
        behind = end + len(model.text[end:]) - len(model.text[end:].lstrip(" \t"))
        return Edit(end, behind, f"\n{item}\n")
    return Edit(line_end, line_end, f"\n{item}")


def neighbours(model: ProgramModel, chosen: Sequence[object]) -> list[Element]:
    """Give elements that stand in one block one behind the other.

    Raises
    ------
    UsageError
        If they don't.
    """
    found = sorted({model.element(id) for id in chosen}, key=lambda e: e.start)
    frame = found[0].frame if found else None
    if frame is None or any(e.frame is not frame for e in found):
        raise UsageError("these are not statements of one block", help="choose neighbours in one block")
    first = frame.inner.index(found[0])
    last = frame.inner.index(last_part(frame, found[-1]))
    if found[0].kind == "else" or set(frame.inner[first : last + 1]) - set(found) - _elses(frame):
        raise UsageError("there are other statements between these", help="choose them too, or move them")
    return frame.inner[first : last + 1]


def _elses(frame: Element) -> set[Element]:
    return {element for element in frame.inner if element.kind == "else"}
