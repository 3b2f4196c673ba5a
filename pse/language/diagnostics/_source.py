"""Places in source text: what spans are, and how they turn into `file:line:col`."""

from __future__ import annotations

from dataclasses import field

from pse.records import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of a source file.

    Attributes
    ----------
    path : str
        The path as the user typed it.
    line, column : int
        Where it begins, counted from 1.
    end_line, end_column : int
        Where it ends; the end column is exclusive.
    calls : tuple of (str, int, int)
        In an inlined segment: file, line and column of the calls that lead to this place, the outermost
        first.  Spans are compared without them.

    Examples
    --------
    >>> span = Span("heat.coven", 12, 5, 12, 13)
    >>> str(span)
    'heat.coven:12:5'
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    calls: tuple[tuple[str, int, int], ...] = field(default=(), compare=False)

    def __hash__(self) -> int:
        return hash((self.line, self.column, self.end_column))  # Enough to tell most from each other.

    def __str__(self) -> str:
        steps, shown, here = [*self.calls, (self.path, self.line, self.column)], [], None
        for path, line, column in steps:
            shown.append(f"{line}:{column}" if path == here else f"{path}:{line}:{column}")
            here = path
        return " → ".join(shown)

    @property
    def start(self) -> str:
        """The place alone, as editors read it, without the calls of segments that lead to it."""
        return f"{self.path}:{self.line}:{self.column}"
