"""Diagnostics that show themselves: HTML in a notebook, colours in a terminal, plain text elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from pse.language.diagnostics import Diagnostic, render_diagnostics, render_pieces

# As dark as can be read on black, as light as can be read on white.
_CSS = {
    "error": "color: #dd3a31; font-weight: bold",
    "warning": "color: #a56c00; font-weight: bold",
    "place": "color: #227eb6",
    "caret": "color: #dd3a31; font-weight: bold",
    "help": "color: #22894b; font-weight: bold",
}
_ANSI = {"error": "1;31", "warning": "1;33", "place": "36", "caret": "1;31", "help": "1;32"}


class Diagnostics(Sequence[Diagnostic]):
    """What the checker says about a program.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        In the order of their places.
    sources : mapping of str to str
        Texts by path, whose lines are quoted.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> None:
        self._diagnostics, self._sources = tuple(diagnostics), dict(sources)

    @overload
    def __getitem__(self, index: int) -> Diagnostic: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Diagnostic, ...]: ...
    def __getitem__(self, index: int | slice) -> Diagnostic | tuple[Diagnostic, ...]:
        return self._diagnostics[index]

    def __len__(self) -> int:
        return len(self._diagnostics)

    def __str__(self) -> str:
        return render_diagnostics(self._diagnostics, self._sources)

    __repr__ = __str__

    def ansi(self) -> str:
        """Write them with the colours of a terminal."""
        return "".join(
            f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if style else text
            for text, style in render_pieces(self._diagnostics, self._sources)
        )

    def _repr_html_(self) -> str:
        pieces = (
            f'<span style="{_CSS[style]}">{html.escape(text)}</span>' if style else html.escape(text)
            for text, style in render_pieces(self._diagnostics, self._sources)
        )
        return f'<pre style="line-height: 1.35; overflow-x: auto">{"".join(pieces)}</pre>'
