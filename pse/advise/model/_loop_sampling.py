"""Which rounds of a loop are walked: all of a short one, of a long one some that stand for the rest.

A loop whose rounds all make the same calls is left out in part everywhere, one in flight too; of others, the
first rounds are simulated, and the rest is only followed in the trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from pse.advise.model._dataflow import Dataflow
from pse.advise.model._operations import Loop
from pse.advise.model._trace_cursor import Cursor
from pse.advise.model._transfer_sizes import number
from pse.language.check import For, If, While
from pse.program import Walk

BUDGET = 2000
"""Calls that are simulated; longer runs are simulated in part."""
LEAST_ROUNDS = 8
"""Rounds of a loop that are simulated at least, if it has as many."""


class LoopSample:
    """The rounds of all loops of a program that a walk comes to.

    Parameters
    ----------
    walk : Walk
        The program.
    cursor : Cursor
        Where the walk is in the trace.
    flow : Dataflow
        Values and tags, which begin anew in each iteration in flight.
    """

    def __init__(self, walk: Walk, cursor: Cursor, flow: Dataflow) -> None:
        self._walk, self._cursor, self._flow = walk, cursor, flow
        self._environment = flow.environment
        self._thinning = max(1.0, cursor.observed.seen / BUDGET)
        self._depth = 0
        forks = [
            s.id for s in walk.steps if isinstance(s.statement, For) and s.statement.inflight is not None
        ]
        self._numbers = {step: index for index, step in enumerate(forks)}

    def of(self, loop: For | While, block: int, node: Loop) -> Iterator[None]:
        """Bring the walk into each round that is walked, and behind the loop; counts them in the node."""
        thinning = self._thinning
        self._depth += 1
        yield from self._of(loop, block, node)
        self._depth -= 1
        self._thinning = thinning
        if isinstance(loop, For):
            self._environment.pop(loop.counter, None)

    def _of(self, loop: For | While, block: int, node: Loop) -> Iterator[None]:
        bounds = self._bounds(loop)
        if isinstance(loop, For) and loop.inflight is not None:
            yield from self._in_flight(loop, node, bounds)
        elif bounds is None and (self._depth > 1 or not self._is_plain(block)):
            yield from self._by_the_trace(node)
        elif bounds is None or self._is_plain(block):
            yield from self._sampled(loop, node, bounds)
        else:
            yield from self._counted(loop, node, bounds)

    def _bounds(self, loop: For | While) -> range | None:
        if isinstance(loop, While) or loop.stop is not None:
            return None
        step = 1 if loop.step is None else number(loop.step, self._environment)
        lower, upper = number(loop.lower, self._environment), number(loop.upper, self._environment)
        return None if lower is None or upper is None or not step else range(lower, upper, step)

    def _is_plain(self, block: int) -> bool:
        """Whether every round makes the same calls: no data decides anything in it."""
        waiting = [block]
        while waiting:
            for step in self._walk.blocks[waiting.pop()].steps:
                statement = self._walk.steps[step].statement
                if isinstance(statement, If | While) or (isinstance(statement, For) and statement.inflight):
                    return False
                waiting += self._walk.steps[step].blocks
        return True

    def _kept(self, total: int) -> int:
        """How many of so many rounds are walked; what is inside has to be thinned out less then."""
        kept = min(total, max(LEAST_ROUNDS, round(total / self._thinning)))
        self._thinning = max(1.0, self._thinning * kept / max(total, 1))
        return kept

    def _in_flight(self, loop: For, node: Loop, bounds: range | None) -> Iterator[None]:
        """Each iteration begins with the tags that there are before the loop; so does what follows it."""
        outer, made = self._cursor.tph, self._flow.made
        known = len(bounds) if bounds is not None else None
        node.total, contexts = self._cursor.enter(self._numbers[node.step], known)
        for index in _spread(node.total, self._kept(node.total)):
            self._flow.made = dict(made)
            self._cursor.tph = contexts[index] if contexts else outer
            self._count(loop, bounds, index)
            yield
        self._flow.made, self._cursor.tph = made, outer

    def _by_the_trace(self, node: Loop) -> Iterator[None]:
        """Go on while the trace does: no more rounds than it has calls."""
        before = self._cursor.dry
        for index in range(self._cursor.observed.seen + 1):
            if not self._cursor.next_is_in(node.sites):
                break
            self._cursor.dry = before or index >= max(LEAST_ROUNDS, BUDGET // 20)
            node.total = index + 1
            yield
        self._cursor.dry = before

    def _counted(self, loop: For | While, node: Loop, bounds: range) -> Iterator[None]:
        node.total, before = len(bounds), self._cursor.dry
        kept = self._kept(node.total)
        for index in range(node.total):
            self._cursor.dry = before or index >= kept
            self._count(loop, bounds, index)
            yield
        self._cursor.dry = before

    def _sampled(self, loop: For | While, node: Loop, bounds: range | None) -> Iterator[None]:
        """Rounds spread over a loop whose rounds all make the same calls: the first tells how many."""
        if not (bounds if bounds is not None else self._cursor.next_is_in(node.sites)):
            return
        begin = self._cursor.stand()
        self._count(loop, bounds, 0)
        yield
        stride = self._cursor.stride(begin)
        node.total = len(bounds) if bounds is not None else stride.rounds_in(self._cursor.observed)
        for index in _spread(node.total, self._kept(node.total))[1:]:
            self._cursor.leap(stride, index)
            self._count(loop, bounds, index)
            yield
        self._cursor.leave(stride, node.total)

    def _count(self, loop: For | While, bounds: range | None, index: int) -> None:
        """Give a loop's counter its value, if the program alone tells it."""
        if isinstance(loop, For) and bounds is not None:
            self._environment[loop.counter] = bounds[index]


def _spread(total: int, kept: int) -> list[int]:
    """Numbers of rounds, from the first to the last, evenly."""
    if kept <= 1:
        return list(range(min(total, kept)))
    return [round(index * (total - 1) / (kept - 1)) for index in range(kept)]
