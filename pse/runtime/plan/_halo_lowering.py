"""Lowering of the operations between neighbours: exchange (halos) and shift.

`exchange` packs what neighbours show each other into strips: they are small, and whoever writes the array in
place next must not wait until all neighbours have looked at it. `shift` hands the piece itself on; from then
on two tags stand for one buffer, and whoever changes one of them gets a copy.
"""

from __future__ import annotations

from pse._abi.plan import CallKind
from pse.errors import ProgramError
from pse.language.check import CallSite
from pse.language.types import Type, evaluate, names_in
from pse.runtime.distribution._strided_copies import packing, unpacking
from pse.runtime.plan._edges import Edge, Role
from pse.runtime.plan._lowered import Call, EngineOperation, Expect, Lowered, Push
from pse.runtime.plan._lowering_context import LoweringContext
from pse.runtime.plan._position import Position
from pse.runtime.plan._redistribution_lowering import copies_between, part_of, rank_with, source_of
from pse.runtime.plan._shapes import element_of
from pse.runtime.plan._tables import itemsize


def lower_exchange(context: LoweringContext, site: CallSite, position: Position) -> list[Lowered]:
    """Fill the halo of every piece, corners too; beyond the array's own edge it is left as it is."""
    tag, here = source_of(site), position.partition
    array, edge = context.shapes.type_of(site, tag), Edge(site.id, tag, Role.PIECES)
    sources, parts = context.shapes.neighbours(array)[here or 0], []
    framed = context.shapes.framed(array)[here or 0]
    for neighbour in sources:
        copies = copies_between(array, context.shapes.piece(array, neighbour), framed)
        parts.append(part_of(array, unpacking(copies, itemsize(element_of(array)))))
    strips = f"%strips{site.id}" if sources else None
    expected = [Expect(strips, here, edge, here, len(sources))] if strips else []
    changed = context.arguments.changed(site, tag, position)
    pushes = context.handovers.value(site, Edge(site.id, tag, Role.VALUE), position)
    releases = [*context.releases(site, position), *([strips] if strips else [])]
    operation = EngineOperation(source=strips, target=tag)
    fill = Call(site, CallKind.FILL, position, [changed], pushes, releases, operation, parts)
    return [_show(context, site, position, edge, array), *expected, fill]


def lower_shift(context: LoweringContext, site: CallSite, position: Position) -> list[Lowered]:
    """Hand every piece to the partition some places further on, round and round."""
    tag, output, here = source_of(site), site.outputs[0], position.partition
    array, edge = context.shapes.type_of(site, tag), Edge(site.id, tag, Role.PIECES)
    target = ((here or 0) + _distance(context, site)) % context.job.pieces(array)
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


def _show(context: LoweringContext, site: CallSite, position: Position, edge: Edge, array: Type) -> Call:
    """Send every neighbour the strip of this piece that its halo shows."""
    here, size = position.partition, itemsize(element_of(array))
    mine, framed = context.shapes.mine(array, position), context.shapes.framed(array)
    neighbours = context.shapes.neighbours(array)
    parts, pushes = [], []
    for part, neighbour in enumerate(neighbours[here or 0]):
        parts.append(part_of(array, packing(copies_between(array, mine, framed[neighbour]), size)))
        index = neighbours[neighbour].index(here or 0)
        rank, lane = rank_with(context, array, neighbour), None if here is None else neighbour
        pushes.append(Push(edge.tag, edge, rank, index, lane, part, contiguous=True))
    checked = context.arguments.expected(site, edge.tag, position)
    operation = EngineOperation(source=edge.tag, silent=True)
    return Call(site, CallKind.PUBLISH, position, checked, pushes, (), operation, parts)


def _distance(context: LoweringContext, site: CallSite) -> int:
    """Give how far a shift goes; it must be known before the run, for hand-overs have fixed ends."""
    tree = next((a.value for a in site.inputs if a.parameter.name == "by"), None)
    if tree is None:
        return 1
    unknown = sorted(names_in(tree) - context.job.environment.keys())
    if unknown:
        shown = context.shown(unknown[0]) if unknown[0] in context.job.program.tags else unknown[0]
        raise ProgramError(
            f"{site.span}: the distance of `shift` depends on {shown}, which is known only while "
            "the program runs",
            help="use a distance that follows from parameters, procs and partitions alone",
        )
    value = evaluate(tree, context.job.environment)
    assert isinstance(value, int), "the checker ensures it"
    return value
