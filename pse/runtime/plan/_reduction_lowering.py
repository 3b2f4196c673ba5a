"""Lowering of reductions: partitions' values are combined along a tree over the numbers of partitions.

Arrays go the same way as scalars: a partition's array to the place above it, the sum of all to its readers.
"""

from __future__ import annotations

from collections.abc import Sequence

from pse._abi.coven import Reduction
from pse._abi.plan import ArgumentKind, CallKind
from pse.language.check import CallSite, Output
from pse.runtime.distribution import _trees as trees
from pse.runtime.plan._edges import Edge, Role
from pse.runtime.plan._lowered import Argument, Call, EngineOperation, Expect, Lowered, Push
from pse.runtime.plan._lowering_context import LoweringContext
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._shapes import element_of


def contributions(context: LoweringContext, site: CallSite, position: Position) -> list[Push]:
    """Send the values of the partition at hand on their way into reductions."""
    reduced = [output for output in site.outputs if output.reduction]
    return [_contribution(context, site, output, output.tag, position) for output in reduced]


def lower_reduction(
    context: LoweringContext, site: CallSite, output: Output, position: Position
) -> list[Lowered]:
    """Reduce on the first processor, and hand the result to every reader; others take part on the way."""
    target = _target(output)
    if context.processor:
        branch = has_branches(context, site, output, position.partition or 0)
        combined = lower_branch(context, site, output, position) if branch else []
        return [*combined, *expect_reduced(context, site, target)]
    pushes = context.handovers.value(site, Edge(site.id, target, Role.VALUE), position)
    releases = [] if context.is_live_after(site, target) else [target]
    return _combine(context, site, output, position, None, target, pushes, releases)


def lower_branch(
    context: LoweringContext, site: CallSite, output: Output, position: Position
) -> list[Lowered]:
    """Combine the value of the partition at hand with those below it, and hand that on."""
    partial = f"%combined{site.id}.{_target(output)}"
    push = _contribution(context, site, output, partial, position)
    return _combine(context, site, output, position, position.partition, partial, [push], [partial])


def has_branches(context: LoweringContext, site: CallSite, output: Output, partition: int) -> bool:
    """Whether a partition combines what comes from others, on their way to the first."""
    return partition > 0 and len(trees.below(partition, _pieces(context, site, output))) > 0


def expect_reduced(context: LoweringContext, site: CallSite, target: str) -> list[Lowered]:
    """Expect the result of a reduction, where this rank may read it."""
    edge = Edge(site.id, target, Role.VALUE)
    return [Expect(target, None, edge)] if context.is_live_after(site, target) else []


def _contribution(
    context: LoweringContext, site: CallSite, output: Output, tag: str, position: Position
) -> Push:
    """Hand a value to the place in the tree where it is combined.

    That is this partition's own if others are below it, and `tag` is not yet combined with theirs.
    """
    edge, own = Edge(site.id, _target(output), Role.CONTRIBUTION), position.partition or 0
    place, index = own, 0
    if own and (tag != output.tag or not has_branches(context, site, output, own)):
        place, index = trees.above(own)
    processor = context.job.owners(context.job.set_of(output.type))[place] if place else 0
    rank = context.placement.rank_of(context.key, processor)
    depth = None if output.type.scalar else context.job.depths(context.key.label)
    return Push(tag, edge, rank, index, lane=place or None, depth=depth)


def _combine(
    context: LoweringContext,
    site: CallSite,
    output: Output,
    position: Position,
    place: int | None,
    target: str,
    pushes: Sequence[Push],
    releases: Sequence[str],
) -> list[Lowered]:
    assert output.reduction is not None
    edge = Edge(site.id, output.reduction.target, Role.CONTRIBUTION)
    gathered = f"%contributions{site.id}.{output.reduction.target}"
    count = 1 + len(trees.below(place or 0, _pieces(context, site, output)))
    combination = Reduction[output.reduction.operation.upper()]
    operation = EngineOperation(gathered, target, combination, silent=True)
    made = _made(context, output, target)
    return [
        Expect(gathered, position.partition, edge, place, count),
        Call(site, CallKind.COMBINE, position, made, pushes, [gathered, *releases], operation),
    ]


def _made(context: LoweringContext, output: Output, target: str) -> list[Argument]:
    """Give the argument that is the array which a combination makes; none for a scalar."""
    assert output.reduction is not None
    array = context.tag_type(output.reduction.target)
    if array.scalar:
        return []
    shape = array.shape or ()
    return [Argument(ArgumentKind.MAKE, element_of(array), target, ndim=len(shape), shape=shape)]


def _pieces(context: LoweringContext, site: CallSite, output: Output) -> int:
    return context.job.pieces(output.type) if site.parallel else 1


def _target(output: Output) -> str:
    """Name the tag that an output is reduced into."""
    assert output.reduction is not None
    return output.reduction.target
