"""How far the ranks of a simulated run are: contexts in streams, calls one after the other, and rounds seen.

Plain data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pse.advise.model._operations import Operation
from pse.advise.simulate._rank_schedules import Seat, Stream
from pse.advise.simulate._resource_sharing import Party


@dataclass(slots=True, eq=False)
class Strand:
    """Operations one after the other, and which of them is next."""

    operations: list[int]
    place: int = 0


@dataclass(slots=True, eq=False)
class Context:
    """A place in a stream; `round` is the iteration in flight that it is, of the loop `loop`."""

    stream: Stream
    loop: int = 0
    round: int = 0
    parent: Context | None = None
    place: int = 0
    strands: list[Strand] | None = None
    children: int = 0


@dataclass(slots=True, eq=False)
class Rank:
    """A rank; `skipped` are the seconds of rounds that are not simulated."""

    seat: Seat
    party: Party
    contexts: list[Context]
    called: list[tuple[Strand, Operation]] = field(default_factory=list)
    seconds: float = 0.0
    skipped: float = 0.0
    marks: dict[int, list[float]] = field(default_factory=dict)

    def skip(self, marks: list[float], rounds: int) -> None:
        """Count rounds that aren't simulated, by the pace of the later half of those that were."""
        half = (len(marks) - 1) // 2
        pace = (marks[-1] - marks[half]) / max(len(marks) - 1 - half, 1)
        self.skipped += pace * rounds
