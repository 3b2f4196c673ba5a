"""Lowering of the operations between neighbours: exchange (halos) and shift.

`exchange` packs what neighbours show each other into strips: they are small, and whoever writes the array in
place next must not wait until all neighbours have looked at it. `shift` hands the piece itself on; from then
on two tags stand for one buffer, and whoever changes one of them gets a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pse._abi.plan import CallKind
from pse.language.check import CallSite, periodic_axes
from pse.language.types import Type, evaluate
from pse.runtime.distribution._distributions import coordinates
from pse.runtime.distribution._halos import Strip
from pse.runtime.distribution._strided_copies import packing, strided_copies, unpacking
from pse.runtime.plan._edges import Edge, Role
from pse.runtime.plan._lowered import Call, EngineOperation, Expect, Lowered, Push
from pse.runtime.plan._lowering_context import LoweringContext
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._redistribution_lowering import part_of, rank_with, source_of
from pse.runtime.plan._shapes import element_of
from pse.runtime.plan._tables import itemsize


def lower_exchange(context: LoweringContext, site: CallSite, position: Position) -> list[Lowered]:
    """Fill the halo of every piece, corners too.

    Beyond the array's own edge it is left as it is, or shows the other end of a periodic axis.
    """
    tag, here = source_of(site), position.partition
    array, edge = context.shapes.type_of(site, tag), Edge(site.id, tag, Role.PIECES)
    size = itemsize(element_of(array))
    shown, seen = (lists[here or 0] for lists in context.shapes.strips(array, periodic_axes(site)))
    parts = [part_of(array, unpacking(strided_copies(s.held, s.framed, size), size)) for s in shown]
    strips = f"%strips{site.id}" if shown else None
    expected = [Expect(strips, here, edge, here, len(shown))] if strips else []
    changed = context.arguments.changed(site, tag, position)
    pushes = context.handovers.value(site, Edge(site.id, tag, Role.VALUE), position)
    releases = [*context.releases(site, position), *([strips] if strips else [])]
    operation = EngineOperation(source=strips, target=tag)
    fill = Call(site, CallKind.FILL, position, [changed], pushes, releases, operation, parts)
    return [_show(context, site, position, edge, array, seen), *expected, fill]


def lower_shift(context: LoweringContext, site: CallSite, position: Position) -> list[Lowered]:
    """Hand every piece to the partition some places further on, round and round."""
    tag, output, here = source_of(site), site.outputs[0], position.partition
    array, edge = context.shapes.type_of(site, tag), Edge(site.id, tag, Role.PIECES)
    target = _target(context, site, array, here or 0)
    push = Push(tag, edge, rank_with(context, array, target), lane=None if here is None else target)
    lend = EngineOperation(source=tag, silent=True, lend=True)
    pushes = context.handovers.value(site, Edge(site.id, output.tag, Role.VALUE), position)
    dead = sorted(context.live.dead_outputs(site))
    take = EngineOperation(source=output.tag)
    return [
        Call(site, CallKind.PUBLISH, position, (), [push], context.given_up(site, tag), lend),
        Expect(output.tag, here, edge, here),
        Call(site, CallKind.PUBLISH, position, (), pushes, dead, take),
    ]


def _show(
    context: LoweringContext,
    site: CallSite,
    position: Position,
    edge: Edge,
    array: Type,
    seen: Sequence[Strip],
) -> Call:
    """Send the strips of this piece that halos show."""
    here, size = position.partition, itemsize(element_of(array))
    parts, pushes = [], []
    for part, strip in enumerate(seen):
        parts.append(part_of(array, packing(strided_copies(strip.held, strip.framed, size), size)))
        rank, lane = rank_with(context, array, strip.target), None if here is None else strip.target
        pushes.append(Push(edge.tag, edge, rank, strip.place, lane, part, contiguous=True))
    checked = context.arguments.expected(site, edge.tag, position)
    operation = EngineOperation(source=edge.tag, silent=True)
    return Call(site, CallKind.PUBLISH, position, checked, pushes, (), operation, parts)


def _target(context: LoweringContext, site: CallSite, array: Type, partition: int) -> int:
    """Give the partition to which a shift hands a piece: further on, or along an axis of the grid."""
    distance, axis = _known(context, site, "by", 1), _known(context, site, "axis", -1)
    if axis < 0:
        return (partition + distance) % context.job.pieces(array)
    grid = context.job.grid(context.job.set_of(array))
    place = list(coordinates(partition, grid))
    place[axis] = (place[axis] + distance) % grid[axis]
    return int(np.ravel_multi_index(place, grid))


def _known(context: LoweringContext, site: CallSite, name: str, default: int) -> int:
    """Give a scalar input of a shift; the checker ensures that it is known before the run."""
    tree = next((a.value for a in site.inputs if a.parameter.name == name), None)
    if tree is None:
        return default
    value = evaluate(tree, context.job.environment)
    assert isinstance(value, int), "the checker refuses others"
    return value
