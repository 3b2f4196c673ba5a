"""Which tags of a program can be looked at while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from pse.errors import UsageError
from pse.language.check import For, ResolvedProgram, While, has_dynamic_extent
from pse.language.types import Element, render_type
from pse.program import Placement
from pse.text import did_you_mean


def watchable_tags(program: ResolvedProgram) -> dict[str, str]:
    """Give the tags of a program's text that are made of numbers, and their types."""
    named = {name: tag for name, tag in program.tags.items() if not (tag.loop_counter or tag.internal)}
    return {name: render_type(tag.type) for name, tag in named.items() if is_number(tag.type.element)}


def require_recordable(program: ResolvedProgram, placement: Placement, tags: Sequence[str]) -> None:
    """Refuse tags of which no frame can be taken at any pause of a run."""
    readable = _readable_at_pauses(program, placement) if tags else set()
    for tag in tags:
        if has_dynamic_extent(program.tags[tag].type):
            message = f"modules decide how many rows {tag} has: it can't be looked at while the program runs"
            raise UsageError(message, help="watch an array of a known shape, or save this one in the program")
        if tag not in readable:
            message = f"{tag} has no value at any pause: nothing reads it from the head of a loop on"
            known = sorted(readable & watchable_tags(program).keys())
            others = f", or watch one of these: {', '.join(known)}" if known else ""
            help = f"read it in a later round of a loop outside PARALLEL, or behind the loop{others}"
            raise UsageError(message, help=help)


def _readable_at_pauses(program: ResolvedProgram, placement: Placement) -> set[str]:
    """Give the tags that have a value at some pause: at heads of loops outside PARALLEL."""
    from pse.program import analyse_run_liveness  # Most runs are not recorded.
    from pse.runtime.checkpoint._values import live_at
    from pse.runtime.plan._edges import is_own

    liveness = analyse_run_liveness(program, placement, together=True)
    walk = liveness.walk
    heads = [s.id for s in walk.steps if isinstance(s.statement, For | While) and is_own(walk, s.id)]
    return {tag for head in heads for key in placement.keys for tag in live_at(liveness, key, head)}


def is_number(element: object) -> bool:
    """Whether what has elements of this type can be shown as a picture or a curve."""
    return isinstance(element, Element) and element not in (Element.STRING, Element.OBJECT, Element.COMM)


def require_watchable(program: ResolvedProgram, *tags: object) -> None:
    """Refuse what are no tags that can be watched.

    Parameters
    ----------
    program : ResolvedProgram
        The program.
    *tags : str
        Names.

    Raises
    ------
    UsageError
        With those that can be watched.

    Examples
    --------
    >>> from pse.notebook import checked
    >>> require_watchable(checked("heat.coven").program, "u")
    """
    known = watchable_tags(program)
    for tag in tags:
        if not isinstance(tag, str) or tag not in known:
            help = did_you_mean(str(tag), known) or f"these can be watched: {', '.join(known)}"
            raise UsageError(f"{program.path} has no tag {tag} of numbers", help=help)
