"""Reads of halos that nothing exchanged since the tag was written.

A walk over the resolved program.  What one branch of an `if` exchanges counts as exchanged; what a round of a
loop leaves behind counts for the next round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pse.language.check._ir import (
    CallSite,
    For,
    If,
    Parallel,
    Statement,
    Swap,
    Tag,
    While,
)
from pse.language.diagnostics._diagnostic import Diagnostic, warning_at
from pse.language.diagnostics._source import Span
from pse.language.types import _symbolic_extents as extents
from pse.language.types._expressions import Expression, Number
from pse.language.types._types import Direction, Parameter, Pattern, Type

_FILLING = ("exchange", "zero", "fill")
"""Standard operations after which a halo agrees with the neighbours' cells."""

Stale = dict[str, Span]
"""Tags whose halo nothing has filled since they were written: where that was."""


def check_halos(
    body: Sequence[Statement], tags: Mapping[str, Tag], texts: Mapping[str, str]
) -> list[Diagnostic]:
    """Warn of calls that read a halo which was not exchanged.

    Parameters
    ----------
    body : sequence of Statement
        The checked program's statements.
    tags : mapping of str to Tag
        Its tags by their unique names.
    texts : mapping of str to str
        The texts of its files by path, from which messages take the names.
    """
    if not any(has_halo(tag.type) for tag in tags.values()):
        return []
    walk = _Walk(tags, texts)
    walk.statements(body, {}, report=True)
    return walk.found


def takes_frame(pattern: Expression) -> bool:
    """Whether an extent of a directive is a dimension and some cells more: `nx + 2`."""
    terms = extents.extent_of(pattern, extents.atom).terms
    return len(terms) > 1 and any(not monomial and count > 0 for monomial, count in terms)


def lacks_halo(parameter: Parameter, type: Type) -> Expression | None:
    """Give the extent by which a directive counts a halo along a cut axis of a tag, which has none."""
    shape, how = parameter.type.shape or (), type.distribution
    if has_halo(type) or parameter.interior or how.pattern is not Pattern.BLOCK:
        return None
    return next((shape[a] for a in how.axes if a < len(shape) and frame_width(shape[a])), None)


def frame_width(pattern: Expression) -> int:
    """Give how wide the frame is at either side: 1 for `nx + 2`; 0 if it can't be a halo."""
    terms = extents.extent_of(pattern, extents.atom).terms
    count = next((count for monomial, count in terms if not monomial), 0)
    return count // 2 if takes_frame(pattern) and count % 2 == 0 else 0


def has_halo(type: Type) -> bool:
    """Whether the pieces of a tag have a halo."""
    distribution = type.distribution
    return bool(distribution.halo) and any(width != Number(0) for width in distribution.widths)


def takes_halo(parameter: Parameter, type: Type) -> bool:
    """Whether a directive counts the halo of a tag apart from its cells."""
    shape = parameter.type.shape or ()
    return has_halo(type) and any(takes_frame(shape[a]) for a in type.distribution.axes if a < len(shape))


class _Walk:
    def __init__(self, tags: Mapping[str, Tag], texts: Mapping[str, str]) -> None:
        self.tags, self.texts, self.found = tags, texts, list[Diagnostic]()

    def statements(self, body: Sequence[Statement], stale: Stale, *, report: bool) -> None:
        """Walk over statements and change `stale` as they do."""
        for statement in body:
            match statement:
                case CallSite():
                    self._call(statement, stale, report)
                case Swap(left, right):
                    kept = {left: stale.pop(right, None), right: stale.pop(left, None)}
                    stale.update({name: span for name, span in kept.items() if span is not None})
                case If():
                    self._branches(statement, stale, report)
                case For() | While():
                    before = dict(stale)
                    self.statements(statement.body, stale, report=False)
                    stale |= before
                    if report:
                        self.statements(statement.body, stale, report=True)
                        stale |= before
                case Parallel():
                    self.statements(statement.body, stale, report=report)
                case _:
                    pass

    def _branches(self, statement: If, stale: Stale, report: bool) -> None:
        other = dict(stale)
        self.statements(statement.then, stale, report=report)
        self.statements(statement.otherwise, other, report=report)
        for name in stale.keys() - other.keys():
            del stale[name]

    def _call(self, site: CallSite, stale: Stale, report: bool) -> None:
        standard = site.module.language == "std"
        for argument in site.inputs:
            since = stale.get(argument.tag or "")
            if argument.tag is None or since is None or argument.parameter.interior:
                continue
            if report and not standard and takes_halo(argument.parameter, self.tags[argument.tag].type):
                self._warn(site, argument.tag, argument.span, since)
        source = next((stale.get(a.tag) for a in site.inputs if a.tag), None)
        written = [o.tag for o in site.outputs]
        written += [a.tag for a in site.inputs if a.tag and a.parameter.direction is Direction.INOUT]
        for name in written:
            if name not in self.tags or not has_halo(self.tags[name].type):
                continue
            since = source if standard and site.module.name == "copy" else site.span
            if since is None or (standard and site.module.name in _FILLING):
                stale.pop(name, None)
            else:
                stale[name] = since

    def _warn(self, site: CallSite, tag: str, span: Span, since: Span) -> None:
        name = self.tags[tag].name_at(span, self.texts)
        message = (
            f"`{site.label}` takes the halo of `{name}`, but it was not exchanged since `{name}` was written"
        )
        notes = [(since, "it is written here")]
        help = f"fill it before the call:  exchange({name})"
        self.found.append(warning_at("W0401", message, span, notes=notes, help=help))
