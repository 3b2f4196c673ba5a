"""Errors of a call: reported with the module's directive as a second place."""

from __future__ import annotations

from collections.abc import Sequence

from pse.language.check._context import Context
from pse.language.check._ir import ModuleReference
from pse.language.diagnostics._diagnostic import error
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types import _symbolic_extents as extents
from pse.language.types._expressions import Name, render_expression, substitute
from pse.language.types._symbolic_extents import Extent
from pse.language.types._types import (
    render_signature,
)

COMMENT = {"c": "//@ ", "c++": "//@ ", "fortran": "!@ ", "python": "#@ ", "cython": "#@ "}
"""What stands before a directive in each host language."""


class CallReports:
    """A call that is checked, and whether something was wrong with it.

    Parameters
    ----------
    context : Context
        Where the call stands.
    node : Call
        The call as written.
    reference : ModuleReference
        The module that it means.
    """

    def __init__(self, context: Context, node: sx.Call, reference: ModuleReference) -> None:
        self.context = context
        self.node = node
        self.reference = reference
        self.signature = reference.signature
        self.failed = False

    def fail(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        label: str = "",
        help: str | None = None,
        notes: Sequence[tuple[Span, str]] = (),
        directive: bool = True,
    ) -> None:
        """Report an error, with the module's directive as a second place."""
        self.failed = True
        second = self.directive_note() if directive else []
        self.context.report(error(code, message, span, label=label, help=help, notes=[*notes, *second]))

    def directive_note(self) -> list[tuple[Span, str]]:
        """Give the module's directive as a note; the standard library's needs none."""
        if self.reference.language == "std" or self.signature.span is None:
            return []
        comment = COMMENT.get(self.reference.language, "")
        return [(self.signature.span, comment + render_signature(self.signature))]

    def show_extent(self, extent: Extent) -> str:
        """Write an extent for a message."""
        named = substitute(extents.to_expression(extent), lambda name: Name(self.context.display(name.id)))
        return (
            f"{render_expression(named)} (a partition's piece of it)"
            if extents.has_piece(extent)
            else render_expression(named)
        )

    @property
    def thread(self) -> str:
        """The thread's label with a space after it, to be put before a suggested call."""
        return f"{self.node.label.id} " if self.node.label else ""
