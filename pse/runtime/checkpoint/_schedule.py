"""When checkpoints are taken: every so many rounds of the program's own loops, or every so many seconds.

All ranks pass the same pauses in the same order, so a number of pauses means the same to all of them. The
first rank decides, from its clock where seconds count, at which pause all meet next and whether they save
there; between two meetings nobody looks at a clock or talks to anybody. No MPI and no files here.
"""

from __future__ import annotations

import re

from pse.errors import UsageError
from pse.records import dataclass
from pse.text import duration_text

DEFAULT = "30s"

STOP_GRACE = 20.0
"""Seconds that a run has for a last checkpoint when it is stopped; batch systems kill after some 30."""

_LONGEST = 5.0
"""Seconds between two meetings, about: a rank that waits for the others there can stop no sooner."""


def late_stop(directory: str) -> str:
    """Say that a run that was stopped has come to no checkpoint in time."""
    return (
        f"no checkpoint could be written within {duration_text(STOP_GRACE)} of the signal; "
        f"the last one in {directory}, if there is one, stays\n"
    )


@dataclass(frozen=True)
class Every:
    """How often: a number of rounds, or of seconds (the other is None)."""

    rounds: int | None
    seconds: float | None

    @staticmethod
    def parse(text: str) -> Every:
        """Read ``10`` or ``30s``.

        Raises
        ------
        UsageError
            If it is neither.

        Examples
        --------
        >>> Every.parse("10")
        Every(rounds=10, seconds=None)
        >>> Every.parse("0.5s")
        Every(rounds=None, seconds=0.5)
        """
        number = re.fullmatch(r"(\d{1,15}|\d{0,9}\.\d{1,9})(s?)", text, re.ASCII)
        if number and number[2] and float(number[1]) > 0:
            return Every(None, float(number[1]))
        if number and number[1].isdigit() and not number[2] and int(number[1]) > 0:
            return Every(int(number[1]), None)
        raise UsageError(
            f"--every {text}: expected a number of rounds or of seconds, more than 0",
            help="for example --every 10, or --every 30s",
        )


@dataclass(frozen=True)
class Decision:
    """What a meeting decides: whether a checkpoint is taken, and at which pause all meet next."""

    save: bool
    due: int


class Schedule:
    """Decides for all ranks; kept by the first one.

    Parameters
    ----------
    every : Every
    rounds : int
        Pauses passed before the run begins.
    now : float
        Seconds on any clock that only goes forward.
    """

    def __init__(self, every: Every, rounds: int, now: float) -> None:
        self.every = every
        self._saved, self._saved_at = rounds, now
        self._met, self._met_at = rounds, now
        self._postponed = False
        self._stride = 1

    @property
    def first(self) -> int:
        """The pause at which all meet first."""
        return self._saved + 1

    def meet(self, rounds: int, now: float, *, entry: bool, before_entry: bool) -> Decision:
        """Decide at a meeting.

        Parameters
        ----------
        rounds : int
            Number of the pause.
        now : float
            As above.
        entry : bool
            Whether an `inflight` loop begins here. Its iterations can only be counted from a checkpoint at
            its beginning, so one that is not within another loop always gets one.
        before_entry : bool
            Whether this is the head of a loop with such a loop in it: a checkpoint waits for the next pause,
            which is likely to be that loop's beginning.
        """
        save = entry or self._postponed or self._is_time(rounds, now)
        if save and before_entry and not self._postponed:
            self._postponed = True
            return Decision(False, rounds + 1)
        step = self._step(rounds, now, save)
        self._met, self._met_at = rounds, now
        if save:
            self._saved, self._saved_at, self._postponed = rounds, now, False
        return Decision(save, rounds + step)

    def took(self, now: float) -> None:
        """Note that a checkpoint has been written: its own time doesn't count as the program's."""
        self._saved_at = self._met_at = now

    def _is_time(self, rounds: int, now: float) -> bool:
        if self.every.rounds is not None:
            return rounds - self._saved >= self.every.rounds
        assert self.every.seconds is not None
        return now - self._saved_at >= self.every.seconds

    def _step(self, rounds: int, now: float, save: bool) -> int:
        """How many pauses on all meet again: by the pace of the last ones, and at most twice as many."""
        pace = max((now - self._met_at) / max(1, rounds - self._met), 1e-9)
        self._stride = max(1, min(int(_LONGEST / pace), 2 * self._stride))
        if self.every.rounds is not None:
            left = self.every.rounds - (0 if save else rounds - self._saved)
        else:
            assert self.every.seconds is not None
            left = int((self.every.seconds - (0.0 if save else now - self._saved_at)) / pace)
        return max(1, min(left, self._stride))
