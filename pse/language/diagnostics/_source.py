"""Places in source text: what spans are, and how they turn into `file:line:col`."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
