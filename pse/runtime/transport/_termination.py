"""When all ranks have stopped for each other, and nothing is on its way between them any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def await_termination(
    add: Callable[[Sequence[int]], Sequence[int]], counts: Callable[[], Sequence[int]]
) -> None:
    """Return when every message has arrived; every rank calls it, and goes on serving what arrives.

    An arrival may make a rank send once more.  So ranks count until the sums over all ranks of what was sent
    and of what has arrived are equal, and the same twice in a row (Mattern, "Algorithms for distributed
    termination detection", 1987).  Pauses and the end of a run use it.  The engine's search for deadlocks
    follows the same rule, but asks ranks that have not stopped, by messages of its own; the MPI tool `check`
    does so where there is no engine.

    Parameters
    ----------
    add : callable
        Gives the sums of some numbers over all ranks, to every rank.
    counts : callable
        Gives how many messages this rank has sent, and how many have arrived here.

    Examples
    --------
    >>> counted = iter([(2, 1), (2, 2), (2, 2)])
    >>> await_termination(list, lambda: next(counted))
    >>> list(counted)
    []
    """
    before: list[int] = []
    while True:
        now = list(add(counts()))
        if now == before and now[0] == now[1]:
            return
        before = now
