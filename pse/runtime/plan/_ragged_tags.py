"""Tags whose pieces may have the size of another partition's.

`shift` hands whole pieces on. Where blocks can't be equal, what comes need not be as long as this partition's
own piece, and neither what is made from it: its extents are read from the buffer when a call starts, and who
needs the partition's own size checks it then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pse.language.check import CallSite, Swap
from pse.language.types import Type

_EXTENT = "%extent"
_ANEW = frozenset(
    {"scatter", "redistribute", "reshape", "resize", "transpose", "zero", "gather", "replicate"}
)


def ragged_tags(statements: Iterable[object], uneven: Callable[[str], bool]) -> frozenset[str]:
    """Find the tags that may hold pieces of other sizes.

    Parameters
    ----------
    statements : iterable
        All of a program's.
    uneven : callable
        Whether a tag's pieces differ in size.
    """
    steps, ragged, before = list(statements), set[str](), -1
    while len(ragged) > before:
        before = len(ragged)
        for statement in steps:
            ragged |= _made_ragged(statement, ragged, uneven)
    return frozenset(ragged)


def _made_ragged(statement: object, ragged: set[str], uneven: Callable[[str], bool]) -> set[str]:
    match statement:
        case Swap(left, right) if {left, right} & ragged:
            return {left, right}
        case CallSite():
            return _from_call(statement, ragged, uneven)
    return set()


def _from_call(site: CallSite, ragged: set[str], uneven: Callable[[str], bool]) -> set[str]:
    tags = {argument.tag for argument in site.inputs if argument.tag}
    name = site.module.name if site.module.language == "std" else ""
    begins = name == "shift" and any(uneven(tag) for tag in tags)
    if name in _ANEW or not (begins or tags & ragged):
        return set()
    return {output.tag for output in site.outputs if _is_piece(output.type)}


def _is_piece(array: Type) -> bool:
    return array.distribution.distributed and not array.scalar


def extent_name(tag: str, axis: int) -> str:
    """Make up the name by which an expression reads the extent of what a tag holds."""
    return f"{_EXTENT}{axis}:{tag}"


def read_extent(name: str) -> tuple[str, int] | None:
    """Give tag and axis of such a name; None for any other."""
    if not name.startswith(_EXTENT):
        return None
    axis, _, tag = name.removeprefix(_EXTENT).partition(":")
    return tag, int(axis)
