"""Writing a proposal into a program: labels, iterations in flight, queue depth, partitions; nothing else.

Edits are pieces of the text, so comments and everything else stay as they are; a program that was formatted
is formatted again.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pse.advise.model._errors import AdviceError
from pse.advise.model._program_subject import Subject, nodes
from pse.errors import PseError
from pse.files import replace_file
from pse.language.check import For
from pse.language.diagnostics import Span
from pse.language.syntax import ast as sx, format_program

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Change:
    """What is changed in a program.

    Attributes
    ----------
    labels : mapping of (int, int) to str
        New labels of calls, by line and column.
    inflight : mapping of int to int
        Iterations in flight of loops, by their statement's number.
    depth : int or None
        The queue depth of all threads.
    partitions : mapping of str to str
        New counts of partitions.
    """

    labels: Mapping[tuple[int, int], str] = field(default_factory=dict)
    inflight: Mapping[int, int] = field(default_factory=dict)
    depth: int | None = None
    partitions: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many places of the text change."""
        return len(self.labels) + len(self.inflight) + (self.depth is not None) + len(self.partitions)


class _Edit(NamedTuple):
    begin: int
    end: int
    text: str


def rewrite(subject: Subject, change: Change) -> str:
    """Give the program's text with a change made."""
    lines = _line_starts(subject.text)
    edits = [*_labels(subject, change, lines), *_inflight(subject, change, lines)]
    edits += [*_declarations(subject, change, lines), *_depth(subject, change, lines)]
    for node in nodes(subject.tree, sx.PartitionNode):
        if node.name.id in change.partitions:
            edits.append(_over(node.count.span, change.partitions[node.name.id], lines))
    text = _edited(subject.text, edits)
    return text if not _is_formatted(subject) else format_program(text, subject.path)


def diff(subject: Subject, text: str) -> str:
    """Show what a change does to the program, as `diff -u` does."""
    lines = difflib.unified_diff(
        subject.text.splitlines(keepends=True),
        text.splitlines(keepends=True),
        subject.path,
        f"{subject.path} (proposed)",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def write(subject: Subject, text: str, sha256: str) -> None:
    """Put a rewritten program in the place of the one that ran, all of it or nothing.

    Raises
    ------
    AdviceError
        The file isn't the one that ran any more, or can't be written.
    """
    target = Path(subject.path).resolve()
    try:
        data = target.read_bytes()
        mark = _BOM if data.startswith(_BOM) else b""
        if hashlib.sha256(data.removeprefix(_BOM)).hexdigest() != sha256:
            raise AdviceError(
                f"{subject.path} was changed since this run was recorded; it was left as it is",
                help="record a run of it as it is now, and ask again",
            )
        replace_file(target, mark + text.encode())
    except OSError as error:
        raise AdviceError(
            f"{subject.path} can't be written: {error.strerror}", help="it was left as it is"
        ) from None


def _is_formatted(subject: Subject) -> bool:
    try:
        return format_program(subject.text, subject.path) == subject.text
    except PseError:
        return False


def _labels(subject: Subject, change: Change, lines: list[int]) -> Iterable[_Edit]:
    for place, label in change.labels.items():
        node = subject.calls[place]
        if node.label is not None:
            yield _over(node.label.span, label, lines)
        else:
            begin = _offset(lines, *place)
            yield _Edit(begin, begin, f"{label} ")


def _declarations(subject: Subject, change: Change, lines: list[int]) -> Iterable[_Edit]:
    """Declare new labels in a program that declares its threads."""
    declared = list(nodes(subject.tree, sx.Threads))
    known = {name.id for node in declared for name in node.names}
    new = [label for label in dict.fromkeys(change.labels.values()) if label not in known]
    if known and new:
        span = declared[-1].span
        end = _offset(lines, span.end_line, span.end_column)
        yield _Edit(end, end, "".join(f", {label}" for label in new))


def _inflight(subject: Subject, change: Change, lines: list[int]) -> Iterable[_Edit]:
    by_place = {(node.span.line, node.span.column): node for node in nodes(subject.tree, sx.For)}
    for step, window in change.inflight.items():
        statement = subject.walk.steps[step].statement
        assert isinstance(statement, For)
        node = by_place[statement.span.line, statement.span.column]
        if node.inflight is not None and node.inflight.span is not None:
            yield _over(node.inflight.span, str(window), lines)
        else:
            begin = _offset(lines, node.body.span.line, node.body.span.column)
            gap = "" if subject.text[begin - 1 : begin].isspace() else " "
            yield _Edit(begin, begin, f"{gap}inflight {window} ")


def _depth(subject: Subject, change: Change, lines: list[int]) -> Iterable[_Edit]:
    if change.depth is None:
        return
    for node in nodes(subject.tree, sx.OptionNode):
        if node.name.id == "queue_depth" and node.thread is None:
            yield _over(node.value_span, str(change.depth), lines)
            return
    heads = [i for i in subject.tree.items if not isinstance(i, sx.Segment | sx.ProgramBody)]
    end = _line_end(subject.text, _offset(lines, heads[-1].span.end_line, heads[-1].span.end_column))
    yield _Edit(end, end, f"\noptions {{ queue_depth = {change.depth} }}")


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for index, character in enumerate(text):
        if character == "\n":
            starts.append(index + 1)
    return starts


def _offset(lines: list[int], line: int, column: int) -> int:
    return lines[line - 1] + column - 1


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def _over(span: Span, text: str, lines: list[int]) -> _Edit:
    return _Edit(_offset(lines, span.line, span.column), _offset(lines, span.end_line, span.end_column), text)


def _edited(text: str, edits: Iterable[_Edit]) -> str:
    for edit in sorted(edits, reverse=True):
        text = text[: edit.begin] + edit.text + text[edit.end :]
    return text
