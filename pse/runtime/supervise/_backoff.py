"""The one waiting policy of the Python side: look, then sleep a little longer each time nothing has come."""

from __future__ import annotations

import time
from collections.abc import Callable

SHORTEST = 20e-6
"""Seconds of the first sleep; a look costs about as much."""

LONGEST = 5e-3
"""Seconds of the longest sleep, if nothing else is said: looking then takes less than 1 % of a core."""

GROWTH = 1.25
"""What comes is seen, on average, after a tenth more of the time that was waited for it."""


class Backoff:
    """How long to sleep between two looks at something that nobody announces.

    Sleeps grow by a quarter each time, from 20 µs to 5 ms unless a look's cost asks for other bounds.  The
    engine's own waits have a doorbell instead (cext/channel); MPI, processes and files have none.

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
    >>> backoff.lengthen()
    >>> backoff.lengthen()
    >>> backoff.seconds
    3e-05
    >>> backoff.sleep_until(lambda: True)
    True
    """

    def __init__(self, longest: float = LONGEST, shortest: float = SHORTEST) -> None:
        self.seconds, self._longest, self._shortest = shortest, longest, shortest

    def reset(self) -> None:
        """Begin anew with the shortest sleep: something has come."""
        self.seconds = self._shortest

    def lengthen(self, at_most: float = float("inf")) -> None:
        """Make the next sleep longer, but no longer than so many seconds."""
        self.seconds = min(GROWTH * self.seconds, self._longest, at_most)

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
