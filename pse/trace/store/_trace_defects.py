"""What is wrong with a trace, in few sentences: what many ranks have alike is said of the first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pse.text import ranges_text

ALIKE = 3
"""Ranks from which on a sentence is said once."""
_OF_RANK = re.compile(r"rank (\d+): (.*)", re.DOTALL)
_NUMBER = re.compile(r"\d[\d,.]*")


def without_events(rank: int) -> str:
    """Say that a rank, of which others know, has left nothing.

    Parameters
    ----------
    rank : int
        Which one.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> without_events(3)
    'rank 3: the trace has none of its events'
    """
    return f"rank {rank}: the trace has none of its events"


def merge_alike(problems: Iterable[str]) -> tuple[str, ...]:
    """Say once what differs in numbers only, from rank to rank; the order stays.

    Parameters
    ----------
    problems : iterable of str
        Sentences.

    Returns
    -------
    tuple of str
        The problems.

    Examples
    --------
    >>> merge_alike([f"rank {rank}: only {10 * rank} events" for rank in (0, 1, 2, 5)])
    ('rank 0: only 0 events; ranks 1-2, 5 likewise',)
    """
    groups: dict[str, list[str]] = {}
    for problem in problems:
        groups.setdefault(_NUMBER.sub("#", problem), []).append(problem)
    return tuple(sentence for group in groups.values() for sentence in _said(group))


def _said(group: Sequence[str]) -> Sequence[str]:
    found = [_OF_RANK.fullmatch(problem) for problem in group]
    ranks = [int(match[1]) for match in found if match]
    if len(ranks) < max(ALIKE, len(group)):
        return group
    return [f"{group[0]}; ranks {ranges_text(ranks[1:])} likewise"]
