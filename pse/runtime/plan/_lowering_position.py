"""Where code is being lowered for: a rank's seat in the program, and the partition at hand."""

from __future__ import annotations

from pse.language.types import Type
from pse.program import ThreadKey
from pse.records import dataclass
from pse.runtime.plan._job import Job


@dataclass(frozen=True)
class Position:
    """One rank's seat, and the partition whose way through PARALLEL is being lowered, if any.

    Attributes
    ----------
    job : Job
        What all ranks agree on.
    rank : int
        The rank.
    key : ThreadKey
        Its thread.
    processor : int or None
        Its processor; None at a root thread.
    partition : int or None
        The partition at hand; None outside PARALLEL and between the fibers of one.
    fiber : bool
        Whether the partition runs as a fiber.  What several partitions of this rank have in common
        (replicated tags, control flow) is lowered outside of fibers.
    spread : str or None
        The set of partitions whose fibers the code at hand starts, in PARALLEL and outside of these fibers.
    """

    job: Job
    rank: int
    key: ThreadKey
    processor: int | None
    partition: int | None = None
    fiber: bool = False
    spread: str | None = None

    @classmethod
    def of(cls, job: Job, rank: int) -> Position:
        """Give the position of a rank outside PARALLEL."""
        seat = job.liveness.placement.seat(rank)
        return cls(job, rank, seat.key, seat.processor)

    def at(self, partition: int | None, *, fiber: bool = False) -> Position:
        """Give the position of the same rank for one partition."""
        return Position(self.job, self.rank, self.key, self.processor, partition, fiber)

    def over(self, partitions: str) -> Position:
        """Give the position of the same rank where it starts fibers for a set of partitions."""
        return Position(self.job, self.rank, self.key, self.processor, spread=partitions)

    @property
    def partitions(self) -> list[int]:
        """The partitions of this rank whose fibers the code at hand starts."""
        assert self.spread is not None
        assert self.processor is not None
        return self.job.members(self.spread, self.processor)

    def is_apart(self, array: Type) -> bool:
        """Whether this rank holds a value of its own for each of its partitions."""
        return array.distribution.distributed and self.processor is not None

    def lanes(self, array: Type) -> list[int | None]:
        """List the partitions whose values the code at hand deals with; None stands for a single value.

        A fiber does not deal with what the partitions of its rank share.
        """
        if not self.is_apart(array):
            return [] if self.fiber else [None]
        if self.partition is not None:
            return [self.partition]
        assert self.processor is not None
        return list(self.job.members(self.job.set_of(array), self.processor))
