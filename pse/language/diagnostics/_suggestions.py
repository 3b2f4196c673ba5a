"""Which known word a misspelt one may stand for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_word(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Find the known word that is nearest to a misspelt one, whatever their cases; None if none is near.

    Parameters
    ----------
    word : str
        What was written.
    known : iterable of str
        What could have been meant; of more than 2,000 words the first in alphabetical order count.
    cutoff : float
        How near it must be, from 0 to 1 (equal).

    Examples
    --------
    >>> nearest_word("Blok", ["block", "cyclic"])
    'block'
    """
    lowered = {candidate.lower(): candidate for candidate in sorted(set(known))[:2000]}
    found = difflib.get_close_matches(word[:64].lower(), lowered, n=1, cutoff=cutoff)
    return lowered[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Suggest the known word that is nearest to a misspelt one, as a help text; None if none is near.

    Examples
    --------
    >>> did_you_mean("blok", ["block", "cyclic"])
    'did you mean `block`?'
    """
    found = nearest_word(word, known)
    return f"did you mean `{found}`?" if found else None
