"""Places in source text: what spans are, and how they turn into `file:line:col`.

The ground of the room: imports nothing of pse.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of a source file; lines and columns count from 1, the end column is exclusive.

    `path` is the path as the user typed it.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"
