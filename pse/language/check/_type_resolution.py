"""From written types to types: `f64[N, M] @ block(0) halo(1)` as a ``Type``, with everything wrong reported.

Shared by programs (``declarations``, ``statements``) and module directives (``directive``).  What the names
in a shape stand for is the caller's business.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from pse.language.diagnostics._diagnostic import Diagnostic, error
from pse.language.syntax import ast as sx
from pse.language.types._expressions import Expression, Number
from pse.language.types._types import Distribution, Element, Pattern

Report = Callable[[Diagnostic], None]
"""Takes each diagnostic as it is found."""

ELEMENTS = {element.label: element for element in Element}
PATTERNS = {pattern.value: pattern for pattern in Pattern if pattern not in (Pattern.USER, Pattern.ANY)}


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Suggest the known word that is nearest to a misspelt one, as a help text."""
    candidates = sorted(set(known))[:2000]
    lowered = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(word[:64].lower(), lowered, n=1, cutoff=0.6)
    return f"did you mean `{lowered[found[0]]}`?" if found else None


def element_of(name: sx.Identifier, report: Report) -> Element | None:
    """Look up an element type; an unknown one is reported and gives None."""
    if name.id not in ELEMENTS:
        types = ", ".join(ELEMENTS)
        help = did_you_mean(name.id, ELEMENTS) or f"types are {types}"
        report(error("E0305", f"unknown type `{name.id}`", name.span, help=help))
    return ELEMENTS.get(name.id)


def distribution_of(
    node: sx.DistributionNode,
    rank: int | None,
    report: Report,
    user_pattern: Callable[[sx.Dotted], str | None],
) -> Distribution | None:
    """Read a distribution.

    Parameters
    ----------
    node : DistributionNode
        As written.
    rank : int or None
        How many axes the array has, None if that is not known here.
    report : callable
        Takes what is wrong.
    user_pattern : callable
        Gives the full name of a user's pattern, None if a name is none.

    Returns
    -------
    Distribution or None
        None if it cannot be read; its `partition` is as written.
    """
    word = node.pattern.text
    user = None if word in PATTERNS else user_pattern(node.pattern)
    if word not in PATTERNS and user is None:
        known = ", ".join(PATTERNS)
        help = (
            did_you_mean(word, PATTERNS)
            or f"distributions are {known}, and patterns imported from a Python file"
        )
        report(error("E0306", f"unknown distribution `{word}`", node.pattern.span, help=help))
        return None
    pattern = PATTERNS.get(word, Pattern.USER)
    arguments = list(node.arguments)
    block = _block(pattern, arguments, node, report)
    axes = _axes(pattern, arguments, rank, node, report)
    if axes is None or (pattern is Pattern.BLOCK_CYCLIC and block is None):
        return None
    if node.halo is not None and pattern is not Pattern.BLOCK:
        report(error("E0306", f"`{word}` has no halo; only `block` has one", node.span))
        return None
    partition = node.partition.id if node.partition else None
    return Distribution(pattern, axes, block, node.halo, user, partition)


def _block(
    pattern: Pattern, arguments: list[Expression], node: sx.DistributionNode, report: Report
) -> Expression | None:
    """Take the block size off the arguments of `block_cyclic`."""
    if pattern is not Pattern.BLOCK_CYCLIC:
        return None
    if len(arguments) < 2:
        message = "`block_cyclic` needs its axes and a block size"
        report(error("E0306", message, node.span, help="for example: @ block_cyclic(0, 64)"))
        return None
    return arguments.pop()


def _axes(
    pattern: Pattern, arguments: list[Expression], rank: int | None, node: sx.DistributionNode, report: Report
) -> tuple[int, ...] | None:
    """Read the axes that a distribution cuts."""
    whole = pattern in (Pattern.ROOT, Pattern.REPLICATED)
    if whole and not arguments:
        return ()
    word = node.pattern.text
    if whole:
        report(
            error(
                "E0306", f"`{word}` cuts no axis and takes no arguments", node.span, help=f"write: @ {word}"
            )
        )
        return None
    axes = [argument.value for argument in arguments if isinstance(argument, Number)]
    ascending = all(type(axis) is int for axis in axes) and axes == sorted(set(axes))
    if not axes or len(axes) < len(arguments) or not ascending:
        message = f"`{word}` needs the axes that it cuts, as ascending integers"
        report(error("E0306", message, node.span, help=f"for example: @ {word}(0)"))
        return None
    if rank is not None and axes[-1] >= rank:
        message = f"axis {axes[-1]} is not there: axes count from 0, and the array has {rank}"
        report(error("E0306", message, node.span))
        return None
    return tuple(int(axis) for axis in axes)
