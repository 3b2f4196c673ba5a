"""Trees along which scalars go up into reductions and down to those who read them.

Places are numbered as in a heap of which each has up to eight below it: its shape hangs on nothing but how
many places there are, so what is combined along it has the same bits wherever partitions live. Up to eight
places below the top, it is what one would do without a tree.
"""

from __future__ import annotations

ARITY = 8
"""How many each place has below it, at most."""


def below(place: int, places: int) -> range:
    """List the places below one.

    Examples
    --------
    >>> below(0, 5), below(1, 12), below(2, 12)
    (range(1, 5), range(9, 12), range(12, 12))
    """
    first = min(place * ARITY + 1, places)
    return range(first, min(first + ARITY, places))


def above(place: int) -> tuple[int, int]:
    """Give the place above one, and the how-manieth it is there, from 1.

    Examples
    --------
    >>> above(1), above(8), above(9)
    ((0, 1), (0, 8), (1, 1))
    """
    return (place - 1) // ARITY, (place - 1) % ARITY + 1
