"""Where code is being lowered for: a rank's seat in the program, and the partition at hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pse.language.types import Type
from pse.runtime.plan._job import Job


class Here:
    """One rank's seat, and the partition whose way through PARALLEL is being written, if any.

    Attributes
    ----------
    processor : int or None
        None at a root thread.
    partition : int or None
        The partition at hand; None outside PARALLEL and between the fibers of one.
    fiber : bool
        Whether the partition runs as a fiber: code that several partitions of this rank have in common
        (replicated tags, control flow) is written elsewhere then.
    """

    def __init__(self, job: Job, rank: int) -> None:
        self.job, self.rank = job, rank
        seat = job.liveness.placement.seat(rank)
        self.key, self.processor = seat.key, seat.processor
        self.partition: int | None = None
        self.fiber = False

    @contextlib.contextmanager
    def at(self, partition: int | None, *, fiber: bool = False) -> Iterator[None]:
        """Write for one partition."""
        before = self.partition, self.fiber
        self.partition, self.fiber = partition, fiber
        yield
        self.partition, self.fiber = before

    def is_apart(self, array: Type) -> bool:
        """Whether this rank holds a value of its own for each of its partitions."""
        return array.distribution.distributed and self.processor is not None

    def lanes(self, array: Type) -> list[int | None]:
        """List the partitions whose values the code at hand deals with; None stands for a single value."""
        if not self.is_apart(array):
            return [None]
        if self.partition is not None:
            return [self.partition]
        assert self.processor is not None
        return list(self.job.members(self.job.set_of(array), self.processor))
