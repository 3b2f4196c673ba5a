"""Pieces of a text that the pass over a later text takes over where nothing has changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from pse.language.diagnostics._source import Span

Key = TypeVar("Key", bound=Hashable)
Piece = TypeVar("Piece")


class Pieces(Generic[Key, Piece]):
    """What one pass over a text makes of its pieces, by all that they depend on, and by their lines.

    Parameters
    ----------
    move : callable
        Gives a piece a number of lines further down.
    before : Pieces, optional
        Those of the pass over an earlier text, which stay as they are.
    """

    def __init__(self, move: Callable[[Piece, int], Piece], before: Pieces[Key, Piece] | None) -> None:
        self._move, self._found = move, dict[Key, dict[int, Piece]]()
        self._before = before._found if before is not None else {}

    def find(self, key: Key, line: int) -> Piece | None:
        """Give the piece of the earlier text, or that of another line, and keep it; None if there is none."""
        pieces = self._before.get(key) or self._found.get(key)
        if pieces is None:
            return None
        found = pieces.get(line)
        if found is None:
            number, other = next(iter(pieces.items()))
            found = self._move(other, line - number)
        return self.keep(key, line, found)

    def keep(self, key: Key, line: int, piece: Piece) -> Piece:
        """Keep a piece for the pass over a later text."""
        self._found.setdefault(key, {})[line] = piece
        return piece

    def end(self) -> None:
        """Forget the earlier text."""
        self._before = {}


def moved(node: Any, by: int) -> Any:
    """Give a part of a syntax tree a number of lines further down."""
    if isinstance(node, tuple):
        return tuple([moved(part, by) for part in node])
    if isinstance(node, Span):
        return Span(node.path, node.line + by, node.column, node.end_line + by, node.end_column)
    if not dataclasses.is_dataclass(node):
        return node
    made: Any = type(node)
    return made(*[moved(getattr(node, name), by) for name in made.__dataclass_fields__])
