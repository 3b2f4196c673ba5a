"""Edits of whole statements and blocks: heads, new ones, deleting, copying, moving, wrapping, grouping."""

from __future__ import annotations

from collections.abc import Iterable

from pse.desk.model._call_edits import Edits
from pse.desk.model._elements import Element, heads
from pse.desk.model._fields import Operation, list_of, optional_text, text_of
from pse.desk.model._placing import (
    INDENT,
    canonical,
    dedented,
    insert_statements,
    last_part,
    neighbours,
    removed,
)
from pse.desk.model._program import ProgramModel
from pse.desk.model._text import Edit
from pse.errors import UsageError
from pse.language import Span
from pse.language.syntax import ast as sx, require_name
from pse.lsp import extract_segment, inline_segment, rename as rename_symbol


def create_program(model: ProgramModel, operation: Operation) -> Edits:
    """Begin an empty file."""
    name = text_of(operation, "name")
    require_name(name, "program")
    if model.items(sx.ProgramBody):
        raise UsageError("the file has a program", help="a second one goes into a file of its own")
    end = len(model.text)
    gap = "" if not end or model.text.endswith("\n") else "\n"
    made = [] if model.items(sx.Version) else [Edit(0, 0, "coven 1\n")]
    return [*made, Edit(end, end, f"{gap}program {name} {{ }}\n")]


def set_head(model: ProgramModel, operation: Operation) -> Edits:
    """Change a part of a block's head."""
    frame, field = model.frame(operation.get("frame")), text_of(operation, "field")
    value, parts = optional_text(operation, "value"), heads(frame.node)
    if field not in parts:
        known = ", ".join(parts) or "nothing"
        raise UsageError(f"`{frame.label}` has no {field}", help=f"what can be changed: {known}")
    span = parts[field]
    if field in ("name", "counter") and span is not None:
        return _renamed(model, span.line, span.column, text_of(operation, "value"))
    if span is not None and value:
        return [Edit(*model.text.range(span), value)]
    if field not in _OPTIONAL:
        raise UsageError(f"`{frame.label}` needs a {field}", help="give a text for it")
    return _optional_head(model, frame, field, value)


_OPTIONAL = {"step": "step", "inflight": "inflight", "limit": "max", "partition": "over"}
"""Parts of heads that may be left out, and the word before each."""


def _optional_head(model: ProgramModel, frame: Element, field: str, value: str | None) -> Edits:
    match frame.node:
        case sx.For():
            before = frame.node.step if field == "inflight" and frame.node.step else frame.node.upper
            assert before.span is not None
            _, start = model.text.range(before.span)
        case sx.While():
            assert frame.node.condition.span is not None
            _, start = model.text.range(frame.node.condition.span)
        case _:
            start = frame.start + len("PARALLEL")
    written = heads(frame.node)[field]
    end = model.text.range(written)[1] if written is not None else start
    return [Edit(start, end, f" {_OPTIONAL[field]} {value}" if value else "")]


def add_statement(model: ProgramModel, operation: Operation) -> Edits:
    """Write statements into a block."""
    statements = canonical(text_of(operation, "text"))
    return [insert_statements(model, *place_of(model, operation), statements)]


def place_of(model: ProgramModel, operation: Operation) -> tuple[Element, Element | None]:
    after = operation.get("after")
    return model.frame(operation.get("frame")), model.element(after) if after is not None else None


def _chosen(model: ProgramModel, operation: Operation) -> list[Element]:
    """Give the elements that an operation names, without those that are in another one of them."""
    found = {model.element(id) for id in list_of(operation, "items")}
    if any(element.frame is None for element in found):
        raise UsageError("a whole program can't be chosen here", help="choose what is in it")
    outer = [e for e in found if not any(frame in found for frame in e.around())]
    return sorted(outer, key=lambda element: element.start)


def _extent(model: ProgramModel, element: Element) -> tuple[int, int]:
    """Give begin and end of a statement as the text has it: an `else` begins at its word, an `if` has it."""
    assert element.frame is not None
    if element.kind != "else":
        return element.start, last_part(element.frame, element).end
    before = element.frame.inner[element.frame.inner.index(element) - 1].end
    return before, element.end


def delete(model: ProgramModel, operation: Operation) -> Edits:
    """Take statements and blocks out, with the comments on their lines."""
    edits: Edits = []
    for element in _chosen(model, operation):
        start, end = _extent(model, element)
        if edits and start < edits[-1].end:
            continue  # The `else` of an `if` that goes as well.
        edits.append(Edit(start, end, "") if element.kind == "else" else removed(model.text, start, end))
    return edits


def copy(model: ProgramModel, operation: Operation) -> Edits:
    """Write statements a second time."""
    return [insert_statements(model, *place_of(model, operation), _copied(model, operation))]


def _copied(model: ProgramModel, operation: Operation) -> str:
    chosen = _chosen(model, operation)
    if any(element.kind == "else" for element in chosen):
        raise UsageError("an `else` belongs to its `if`", help="choose the `if`")
    return "\n".join(dedented(model, *_with_comment(model, element)) for element in chosen)


def _with_comment(model: ProgramModel, element: Element) -> tuple[int, int]:
    """Give begin and end of a statement, with the comment behind it if nothing else is on its lines."""
    start, end = _extent(model, element)
    line_end = model.text.line_end(end)
    return start, line_end if line_end is not None and model.text.leads(start) else end


def move(model: ProgramModel, operation: Operation) -> Edits:
    """Put statements at another place, also into another block."""
    frame, after = place_of(model, operation)
    chosen = set(_chosen(model, operation))
    if after in chosen or chosen & {frame, *frame.around()}:
        raise UsageError("a statement can't be moved into or behind itself", help="choose another place")
    return [insert_statements(model, frame, after, _copied(model, operation)), *delete(model, operation)]


def wrap(model: ProgramModel, operation: Operation) -> Edits:
    """Put neighbouring statements into a block."""
    chosen, head = neighbours(model, list_of(operation, "items")), text_of(operation, "head")
    canonical(f"{head} {{ }}")  # Refuses what is not a head.
    start, end = chosen[0].start, chosen[-1].end
    text, indent = model.text, model.text.indent(start)
    if not text.leads(start) or text.line_end(end) is None:
        return [Edit(start, start, f"{head} {{ "), Edit(end, end, " }")]
    end = text.line_end(end) or end
    lines = [place + 1 for place in range(start, end) if text[place] == "\n" and text[place + 1] != "\n"]
    deeper = [Edit(place, place, INDENT) for place in lines]
    return [Edit(start, start, f"{head} {{\n{indent}{INDENT}"), *deeper, Edit(end, end, f"\n{indent}}}")]


def group(model: ProgramModel, operation: Operation) -> Edits:
    """Make neighbouring statements a segment, and a call of it."""
    chosen, name = neighbours(model, list_of(operation, "items")), text_of(operation, "name")
    require_name(name, "segment")
    if not model.text.leads(chosen[0].start) or model.text.line_end(chosen[-1].end) is None:
        raise UsageError("these statements share their line with others", help="format the program first")
    first, last = chosen[0].node.span, chosen[-1].node.span
    return _of_spans(model, extract_segment(model.analysis, [first, last], name))


def ungroup(model: ProgramModel, operation: Operation) -> Edits:
    """Put the statements of a segment in the place of a call of it."""
    call = model.element(operation.get("node")).node
    if not isinstance(call, sx.Call):
        raise UsageError("only a call of a segment can be taken apart", help="choose one")
    return _of_spans(model, inline_segment(model.analysis, call))


def _of_spans(model: ProgramModel, edits: Iterable[tuple[Span, str]]) -> Edits:
    return [Edit(*model.text.range(span), text) for span, text in edits]


def rename(model: ProgramModel, operation: Operation) -> Edits:
    """Give a name another one, everywhere."""
    at = operation.get("at")
    if not isinstance(at, int) or not 0 <= at <= len(model.text):
        raise UsageError("`rename` needs at, an offset of the name", help="give a place where it is written")
    return _renamed(model, *model.text.place(at), text_of(operation, "to"))


def _renamed(model: ProgramModel, line: int, column: int, name: str) -> Edits:
    analysis = model.analysis
    edits = rename_symbol(analysis, analysis.position(line, column), name)
    return [
        Edit(
            model.text.offset(*analysis.place(edit.range.start)),
            model.text.offset(*analysis.place(edit.range.end)),
            edit.new_text,
        )
        for edit in edits
    ]
