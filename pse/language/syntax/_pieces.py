"""Pieces of a text that the pass over a later text takes over where nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Any, Generic, TypeVar

from pse.language.diagnostics._source import Span
from pse.records import replace

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

    def __iter__(self) -> Iterator[Piece]:
        """Give all pieces that are kept."""
        return (piece for pieces in self._found.values() for piece in pieces.values())

    def end(self) -> None:
        """Forget the earlier text."""
        self._before = {}


class Move:
    """Moves the places in parts of a program a number of lines further down.

    Parameters
    ----------
    by : int
        The number of lines.
    within : Span, optional
        What is moved; other places stay. Without it, all are moved.
    apart : set of type
        Classes whose objects are left as they are.
    """

    def __init__(self, by: int, within: Span | None = None, apart: Collection[type] = ()) -> None:
        self._by, self._within, self._apart = by, within, {*_PLAIN, *apart}

    def __call__(self, node: Any) -> Any:
        """Give a part with its places moved."""
        cls = node.__class__
        if cls in self._apart:
            return node
        if cls is tuple:
            return tuple([self(part) for part in node]) if node else node
        if cls is Span:
            return self._span(node) if self._within is None or _is_in(node, self._within) else node
        return self._fields(node) if hasattr(cls, "__dataclass_fields__") else node

    def _fields(self, node: Any) -> Any:
        made = object.__new__(node.__class__)
        values, apart = vars(made), self._apart
        values.update(vars(node))
        for name, value in vars(node).items():
            if value.__class__ not in apart:
                values[name] = self(value)
        return made

    def _span(self, span: Span) -> Span:
        return replace(span, line=span.line + self._by, end_line=span.end_line + self._by)


_PLAIN = (str, int, float, bool, type(None))


def _is_in(span: Span, around: Span) -> bool:
    lines = around.line <= span.line <= span.end_line <= around.end_line
    return lines and span.path == around.path


def moved(node: Any, by: int) -> Any:
    """Give a part of a syntax tree a number of lines further down."""
    return Move(by)(node)
