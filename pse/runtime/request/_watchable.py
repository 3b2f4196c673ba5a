"""Which tags of a program can be looked at while it runs."""

from __future__ import annotations

from pse.errors import UsageError
from pse.language.check import ResolvedProgram
from pse.language.types import Element, render_type
from pse.text import did_you_mean


def watchable_tags(program: ResolvedProgram) -> dict[str, str]:
    """Give the tags of a program's text that are made of numbers, and their types."""
    named = {name: tag for name, tag in program.tags.items() if not (tag.loop_counter or tag.internal)}
    return {name: render_type(tag.type) for name, tag in named.items() if is_number(tag.type.element)}


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
