"""How Python waits for what nobody announces: look, then sleep a part of the time that it has waited."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pse._abi.waiting import BACKOFF_LONGEST, BACKOFF_LONGEST_BRIEF, BACKOFF_SHARE, BACKOFF_SHORTEST

if TYPE_CHECKING:
    from mpi4py import MPI

SHORTEST = BACKOFF_SHORTEST / 1e9
"""Seconds of the first sleep."""

LONGEST = BACKOFF_LONGEST / 1e9
"""Seconds of the longest sleep, if nothing else is said."""

LONGEST_BRIEF = BACKOFF_LONGEST_BRIEF / 1e9
"""Seconds of the longest sleep in a wait for a rank that is known to be at work on the answer."""


class Backoff:
    """How long to sleep between two looks at something that nobody announces.

    A sleep takes an eighth of the time that was slept so far, from 20 µs to 5 ms unless a look's cost asks
    for other bounds.  The engine's own waits have a doorbell instead (cext/channel); MPI, processes and files
    have none.  Waits in C are by the same constants (cext/backoff).

    Parameters
    ----------
    longest, shortest : float, optional
        Seconds that a sleep takes at most, and that the first one takes.

    Attributes
    ----------
    seconds : float
        How long the next sleep is.

    Examples
    --------
    >>> backoff = Backoff(longest=30e-6)
    >>> for _ in range(20):
    ...     backoff.lengthen()
    >>> backoff.seconds
    3e-05
    >>> backoff.sleep_until(lambda: True)
    True
    """

    def __init__(self, longest: float = LONGEST, shortest: float = SHORTEST) -> None:
        self.seconds, self._longest, self._shortest = shortest, longest, shortest
        self._slept = 0.0

    def reset(self) -> None:
        """Begin anew with the shortest sleep: something has come."""
        self.seconds, self._slept = self._shortest, 0.0

    def lengthen(self, at_most: float = float("inf")) -> None:
        """Count the sleep that is over; the next one may be longer, but takes at most so many seconds."""
        self._slept += self.seconds
        self.seconds = min(max(self._slept / BACKOFF_SHARE, self._shortest), self._longest, at_most)

    def sleep_until(self, done: Callable[[], object], patience: float = float("inf")) -> bool:
        """Sleep between looks until one of them succeeds.

        Parameters
        ----------
        done : callable
            The look; whatever it gives that is true ends the wait.
        patience : float, optional
            Seconds after which the wait ends anyway.

        Returns
        -------
        bool
            Whether a look succeeded in time.
        """
        deadline = time.monotonic() + patience
        while not done():
            if time.monotonic() >= deadline:
                return False
            time.sleep(self.seconds)
            self.lengthen()
        return True


def await_request(request: MPI.Request) -> None:
    """Sleep until MPI has completed a request to which another rank is known to be at work.

    Parameters
    ----------
    request : MPI.Request
        The request; null afterwards.

    Examples
    --------
    >>> await_request(MPI.COMM_WORLD.Ibarrier())  # doctest: +SKIP
    """
    Backoff(LONGEST_BRIEF).sleep_until(request.Test)
