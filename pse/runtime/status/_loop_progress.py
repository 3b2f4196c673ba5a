"""How far the loops of a running program are, from what the board counts anyway.

The board counts the complete iterations of a program's own `inflight` loops.  Of other loops the calls
tell: a call that stands directly in the body (under nothing but PARALLEL) runs once in each iteration, and
for each partition.  A loop whose calls are all under `if` or in inner loops is not counted.  Pure functions
of the program and the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pse.errors import EvaluationError
from pse.language.check import CallSite, For, If, Parallel, While
from pse.language.types import Expression, evaluate, names_in
from pse.program import loop_name
from pse.records import dataclass
from pse.runtime.distribution._partition_placement import partition_counts
from pse.runtime.plan._edges import inflight_loops, is_own
from pse.text import program_line

if TYPE_CHECKING:
    from pse._abi.channel import SiteStatistics
    from pse.runtime._channel import Board
    from pse.runtime.request._prepared import Prepared


@dataclass(frozen=True)
class CountableLoop:
    """A loop, its direct calls with how often an iteration makes each, its number on the board, its total."""

    name: str
    calls: tuple[tuple[CallSite, int], ...]
    number: int | None
    total: int | None
    bound: bool


class LoopCounts:
    """Counts a program's loops.

    Parameters
    ----------
    prepared : Prepared
        The run.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared, self.walk = prepared, prepared.walk
        self._partitions = partition_counts(prepared.program, prepared.environment)
        self.loops = list(self._counted())

    def count(
        self, boards: Sequence[Board], done: Sequence[Sequence[SiteStatistics]], hidden: set[int]
    ) -> Iterator[tuple[str, int, int | None, bool]]:
        """Give name, complete iterations, total, and whether that is only a limit, of what can be counted.

        Parameters
        ----------
        boards : sequence of Board
            Where each rank writes.
        done : sequence of sequence of SiteStatistics
            Per rank and call site.
        hidden : set of int
            Ranks that are out of sight; calls whose thread has one of these don't tell.
        """
        for loop in self.loops:
            known = [
                (site, per, ranks) for site, per, ranks in self._telling(loop) if not hidden & set(ranks)
            ]
            if not known:
                continue
            if loop.number is not None:
                least = min(boards[r].iterations(loop.number, r) for *_, ranks in known for r in ranks)
            else:
                made = [(sum(done[r][site.id].calls for r in ranks), per) for site, per, ranks in known]
                least = min((calls // per for calls, per in made if calls), default=0)
            yield loop.name, least, loop.total, loop.bound

    def _telling(self, loop: CountableLoop) -> Iterator[tuple[CallSite, int, list[int]]]:
        placement = self.prepared.placement
        seats = [placement.seat(rank).key for rank in range(self.prepared.ranks)]
        for site, per in loop.calls:
            key = placement.thread_of(site)
            yield site, per, [rank for rank, other in enumerate(seats) if other == key]

    def _counted(self) -> Iterator[CountableLoop]:
        numbers = inflight_loops(self.walk)
        for step in self.walk.steps:
            if isinstance(step.statement, For | While):
                number = numbers.get(step.id) if is_own(self.walk, step.id) else None
                total, bound = self._total(step.id)
                yield CountableLoop(
                    self._name(step.statement), tuple(self._calls(step.id)), number, total, bound
                )

    def _name(self, loop: For | While) -> str:
        return f"{loop_name(loop, self.prepared.program.tags)}:{program_line(str(loop.span))}"

    def _calls(self, loop: int) -> Iterator[tuple[CallSite, int]]:
        """Give the calls that every iteration makes, and how often."""
        for site in self.walk.sites:
            between: list[object] = []
            for around in self.walk.ancestors(self.walk.step_of_site[site.id]):
                if around == loop:
                    if all(isinstance(statement, Parallel) for statement in between):
                        yield site, self._times(site)
                    break
                between.append(self.walk.steps[around].statement)

    def _times(self, site: CallSite) -> int:
        return self._partitions.get(site.partition or "", 1) if site.parallel else 1

    def _total(self, loop: int) -> tuple[int | None, bool]:
        """Multiply the extents of a loop and of those around it; None if that can't be known beforehand.

        A run that goes on from a checkpoint counts from there, and nobody here knows how far that was.
        """
        if self.prepared.resumed:
            return None, False
        around = [loop, *self.walk.ancestors(loop)]
        statements = [self.walk.steps[step].statement for step in around]
        if any(isinstance(statement, If) for statement in statements):
            return None, False
        loops = [statement for statement in statements if isinstance(statement, For | While)]
        extents = [self._extent(loop) for loop in loops]
        if any(extent is None for extent in extents) or any(map(_may_end_early, loops[1:])):
            return None, False
        return math.prod(extent or 0 for extent in extents), _may_end_early(loops[0])

    def _extent(self, loop: For | While) -> int | None:
        if isinstance(loop, While):
            return self._value(loop.limit)
        step = 1 if loop.step is None else self._value(loop.step)
        lower, upper = self._value(loop.lower), self._value(loop.upper)
        return None if lower is None or upper is None or not step else len(range(lower, upper, step))

    def _value(self, tree: Expression) -> int | None:
        if not names_in(tree) <= self.prepared.environment.keys():
            return None
        try:
            value = evaluate(tree, self.prepared.environment)
        except EvaluationError:
            return None  # The run will say so.
        return int(value) if isinstance(value, int | float) else None


def _may_end_early(loop: For | While) -> bool:
    """Whether data decides after how many iterations a loop ends."""
    return isinstance(loop, While) or loop.stop is not None
