"""Code actions that change a program's structure: threads of calls, statements and segments of them."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from pse.errors import UsageError
from pse.language import Span
from pse.language.syntax import ast as sx
from pse.lsp._actions import Edit, code_action, program_of, require_sound
from pse.lsp._analysis import Analysis
from pse.lsp._segment_inlining import called_segment, inline_segment
from pse.lsp._segment_making import REFUSED, SegmentMaking
from pse.records import replace
from pse.text import count_text

KIND, INLINE = types.CodeActionKind.RefactorRewrite, types.CodeActionKind.RefactorInline
KINDS = (KIND, INLINE)


def refactorings(analysis: Analysis, within: types.Range) -> list[types.CodeAction]:
    """Offer to move a call to another thread, to take its segment apart, and to make one of statements."""
    line, _ = analysis.place(within.start)
    actions = []
    call = next((c for c in analysis.symbols.calls if isinstance(c, sx.Call) and _on(c, line)), None)
    if call is not None and (segment := called_segment(analysis, call)) is not None:
        actions += _inlined(analysis, call, segment)
    elif call is not None:
        actions += [_moved(analysis, call, label) for label in _other_threads(analysis, call)]
    if within.start != within.end and (extracted := _extracted(analysis, within)) is not None:
        actions.append(extracted)
    return actions


def _on(call: sx.Call, line: int) -> bool:
    return call.span.line <= line <= call.span.end_line


def _other_threads(analysis: Analysis, call: sx.Call) -> list[str]:
    """Give the threads of the program that a call is not on, and the next letter."""
    labels = [symbol.name for symbol in analysis.symbols.of_kind("thread")]
    letters = (f"thread_{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    labels += [next((label for label in letters if label not in labels), "thread_A2")]
    return [label for label in sorted(set(labels)) if call.label is None or label != call.label.id]


def _moved(analysis: Analysis, call: sx.Call, label: str) -> types.CodeAction:
    start = (
        call.label.span
        if call.label
        else Span(call.span.path, *(call.callee.span.line, call.callee.span.column) * 2)
    )
    text = label if call.label else f"{label} "
    return code_action(analysis, f"Move {call.callee.text} to {label}", KIND, [Edit(start, text)])


def _inlined(analysis: Analysis, call: sx.Call, segment: sx.Segment) -> list[types.CodeAction]:
    try:
        edits = inline_segment(analysis, call)
    except UsageError:
        return []
    title = f"Replace the call by the statements of {segment.name.id}"
    return [code_action(analysis, title, INLINE, edits)]


def _extracted(analysis: Analysis, within: types.Range) -> types.CodeAction | None:
    selected = _selected(analysis, within)
    if not selected:
        return None
    try:
        edits = extract_segment(analysis, selected, _unused(analysis, "part"))
    except UsageError:
        return None
    count = count_text(len(selected), "statement")
    return code_action(analysis, f"Make a segment of {count}", KIND, edits)


def extract_segment(analysis: Analysis, selected: Sequence[Span], name: str) -> list[Edit]:
    """Make a segment of whole statements: what they read is its input, what is used after them its output.

    Parameters
    ----------
    analysis : Analysis
        The program's.
    selected : sequence of Span
        The first and the last of the statements, and perhaps those between them.
    name : str
        What the segment is called.

    Returns
    -------
    list of Edit
        The edits of the program.

    Raises
    ------
    UsageError
        If they can't be a segment.

    See Also
    --------
    Analysis
    """
    program, first, last = program_of(analysis), selected[0], selected[-1]
    if program is None:
        raise UsageError(f"{REFUSED}: there is no program", help="write one:  program name { … }")
    making = SegmentMaking(analysis, replace(first, end_line=last.end_line, end_column=last.end_column))
    edits = making.edits(name, program)
    require_sound(analysis, edits, REFUSED)
    return list(edits)


def _selected(analysis: Analysis, within: types.Range) -> list[Span]:
    """Give the statements of one block that lie whole within a selection."""
    start, end = analysis.place(within.start), analysis.place(within.end)
    waiting: list[sx.Block] = []
    for item in analysis.inspection.tree.items if analysis.inspection.tree else ():
        if isinstance(item, sx.ProgramBody):
            waiting.append(item.body)
    while waiting:
        block = waiting.pop()
        inside = [
            s.span for s in block.statements if start <= (s.span.line, s.span.column) and _ends(s.span) <= end
        ]
        if inside:
            return inside
        for statement in block.statements:
            for name in ("body", "then", "otherwise"):
                if isinstance(part := getattr(statement, name, None), sx.Block):
                    waiting.append(part)
    return []


def _ends(span: Span) -> tuple[int, int]:
    return span.end_line, span.end_column


def _unused(analysis: Analysis, name: str) -> str:
    taken = {symbol.name for symbol in analysis.symbols.all}
    names = [name, *(f"{name}{number}" for number in range(2, len(taken) + 2))]
    return next(free for free in names if free not in taken)
