"""A program's text: places as offsets, and edits of it.

An offset counts characters from 0.  Edits refer to the text before them, are sorted and don't overlap.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from pse.language import Span

_SPACE = re.compile(r"(?:\s|//[^\n]*|#[^\n]*)*")
_REST = re.compile(r"[ \t]*(?:(?://|#)[^\n]*)?")


class Edit(NamedTuple):
    """Text in the place of characters.

    Attributes
    ----------
    start, end : int
        Where these characters begin and end.
    text : str
        What is written instead.

    See Also
    --------
    perform
    """

    start: int
    end: int
    text: str


class Text(str):
    """A text that knows its lines."""

    _starts: list[int]

    def __new__(cls, text: str) -> Text:
        """Find the begins of the lines."""
        made = super().__new__(cls, text)
        made._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        return made

    def offset(self, line: int, column: int) -> int:
        """Give the offset of a line and a column that are counted from 1."""
        return min(self._starts[min(line, len(self._starts)) - 1] + column - 1, len(self))

    def place(self, offset: int) -> tuple[int, int]:
        """Give line and column of an offset, counted from 1."""
        line = bisect_right(self._starts, offset, hi=len(self._starts) - 1)
        return line, offset - self._starts[line - 1] + 1

    def range(self, span: Span) -> tuple[int, int]:
        """Give begin and end of a span; a repaired text may have spans that end before they begin."""
        starts, line, end_line = self._starts, span.line, span.end_line
        if line <= end_line < len(starts):
            start, end = starts[line - 1] + span.column - 1, starts[end_line - 1] + span.end_column - 1
            if start <= end <= starts[-1] - 1:
                return start, end
        start = self.offset(line, span.column)
        return start, max(start, self.offset(end_line, span.end_column))

    def of(self, span: Span) -> str:
        """Give what is written at a span."""
        start, end = self.range(span)
        return self[start:end]

    def indent(self, offset: int) -> str:
        """Give the blanks at the begin of the line of an offset."""
        start = self.rfind("\n", 0, offset) + 1
        return re.match(r"[ \t]*", self[start:])[0]  # type: ignore[index]

    def leads(self, offset: int) -> bool:
        """Whether only blanks stand before an offset on its line."""
        return not self[self.rfind("\n", 0, offset) + 1 : offset].strip()

    def line_end(self, offset: int) -> int | None:
        """Give the end of the line if only blanks and a comment follow on it, else None."""
        found = _REST.match(self, offset)
        assert found is not None
        end = found.end()
        return end if end == len(self) or self[end] == "\n" else None

    def behind(self, offset: int, symbol: str) -> int | None:
        """Give the offset behind a symbol that follows, but for blanks and comments; None if it doesn't."""
        found = _SPACE.match(self, offset)
        assert found is not None
        return found.end() + len(symbol) if self.startswith(symbol, found.end()) else None


def change_between(old: str, new: str) -> tuple[int, int, int]:
    """Give where two texts begin to differ, and where they are alike again in the old and in the new one."""
    start = _common(old, new)
    least = min(len(old), len(new)) - start
    after = _common(old[len(old) - least :][::-1], new[len(new) - least :][::-1])
    return start, len(old) - after, len(new) - after


def _common(one: str, other: str) -> int:
    """Count the characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Make edits."""
    pieces, done = [], 0
    for start, end, new in edits:
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def tidy(text: str, edits: Iterable[Edit]) -> list[Edit]:
    """Sort edits, join those that touch or overlap, and take away from each what it does not change."""
    joined: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if joined and joined[-1].end >= edit.start:
            last = joined.pop()
            edit = Edit(last.start, max(last.end, edit.end), last.text + edit.text)
        joined.append(edit)
    return [small for edit in joined if (small := _smallest(text, edit)).text or small.end > small.start]


def _smallest(text: str, edit: Edit) -> Edit:
    old, new = text[edit.start : edit.end], edit.text
    least = min(len(old), len(new))
    before = next((i for i in range(least) if old[i] != new[i]), least)
    least -= before
    after = next((i for i in range(least) if old[-1 - i] != new[-1 - i]), least)
    return Edit(edit.start + before, edit.end - after, new[before : len(new) - after])


class PieceTable:
    """The pieces of a text after several rounds of edits, of which one round can be made.

    Parameters
    ----------
    text : str
        The text before all edits.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[tuple[int, int] | str] = [(0, len(text))]

    def apply(self, edits: Sequence[Edit]) -> None:
        """Take edits of the present text."""
        for edit in reversed(edits):
            before, rest = self._split(self._pieces, edit.start)
            _, after = self._split(rest, edit.end - edit.start)
            self._pieces = [*before, edit.text, *after]

    def edits(self) -> list[Edit]:
        """Give the edits of the first text that lead to the present one."""
        found, done, new = [], 0, ""
        for piece in [*self._pieces, (len(self._text), len(self._text))]:
            if isinstance(piece, str):
                new += piece
            elif piece[0] < piece[1] or piece[0] == len(self._text):
                found.append(Edit(done, piece[0], new))
                done, new = piece[1], ""
        return tidy(self._text, found)

    @staticmethod
    def _split(
        pieces: list[tuple[int, int] | str], at: int
    ) -> tuple[list[tuple[int, int] | str], list[tuple[int, int] | str]]:
        for number, piece in enumerate(pieces):
            length = len(piece) if isinstance(piece, str) else piece[1] - piece[0]
            if at < length:
                if isinstance(piece, str):
                    left, right = piece[:at], piece[at:]
                    return [*pieces[:number], left], [right, *pieces[number + 1 :]]
                middle = piece[0] + at
                return [*pieces[:number], (piece[0], middle)], [(middle, piece[1]), *pieces[number + 1 :]]
            at -= length
        return pieces, []
