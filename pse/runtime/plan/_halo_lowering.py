"""Lowering of the operations between neighbours: exchange (halos) and shift.

`exchange` packs what neighbours show each other into strips: they are small, and whoever writes the array in
place next must not wait until all neighbours have looked at it. `shift` hands the piece itself on; from then
on two tags stand for one buffer, and who changes one of them goes on with a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pse.errors import ProgramError
from pse.language.check import CallSite
from pse.language.types import Type, evaluate, names_in
from pse.runtime.distribution._strided_copies import packing, unpacking
from pse.runtime.plan._edges import Edge, Role
from pse.runtime.plan._handover import Engine, Push
from pse.runtime.plan._redistribution_lowering import elements, moves, rank_with, source_of, store
from pse.runtime.plan._shapes import element_of
from pse.runtime.plan._tables import CallKind, itemsize

if TYPE_CHECKING:
    from pse.runtime.plan._call_lowering import CallLowering


def exchange(lowering: CallLowering, site: CallSite) -> None:
    """Fill the halo of every piece, corners too; beyond the array's own edge it is left as it is."""
    tag = source_of(site)
    array, edge = lowering.shapes.type_of(site, tag), Edge(site.id, tag, Role.PIECES)
    _show(lowering, site, edge, array)
    sources, parts = lowering.shapes.neighbours(array)[lowering.here.partition or 0], []
    framed = lowering.shapes.framed(array)[lowering.here.partition or 0]
    for neighbour in sources:
        found = moves(array, lowering.shapes.piece(array, neighbour), framed)
        strip = unpacking(found, itemsize(element_of(array)))
        parts.append(store(lowering, array, strip, (elements(found),)))
    strips = f"%strips{site.id}" if sources else None
    if strips:
        lowering.expect(strips, edge, len(sources), lowering.here.partition)
    first = lowering.arguments.count()
    lowering.arguments.changed(site, tag)
    pushes = lowering.handover.value(site, Edge(site.id, tag, Role.VALUE))
    engine = Engine(source=strips, target=tag, parts=(parts[0], len(parts)) if parts else (0, 0))
    releases = [*lowering.releases(site), *([strips] if strips else [])]
    lowering.call(site, CallKind.FILL, first, pushes, releases, engine)


def shift(lowering: CallLowering, site: CallSite) -> None:
    """Hand every piece to the partition some places further on, round and round."""
    tag, output = source_of(site), site.outputs[0]
    array, edge = lowering.shapes.type_of(site, tag), Edge(site.id, tag, Role.PIECES)
    here, count = lowering.here.partition, lowering.job.pieces(array)
    target = ((here or 0) + _distance(lowering, site)) % count
    push = Push(tag, edge, rank_with(lowering, array, target), lane=None if here is None else target)
    engine = Engine(source=tag, silent=True, lend=True)
    releases, rows = lowering.given_up(site, tag), lowering.arguments.count()
    lowering.call(site, CallKind.PUBLISH, rows, [push], releases, engine)
    lowering.expect(output.tag, edge, 0, here)
    pushes = lowering.handover.value(site, Edge(site.id, output.tag, Role.VALUE))
    dead = sorted(lowering.live.dead_outputs(site))
    lowering.call(site, CallKind.PUBLISH, rows, pushes, dead, Engine(source=output.tag))


def _show(lowering: CallLowering, site: CallSite, edge: Edge, array: Type) -> None:
    """Send every neighbour the strip of this piece that its halo shows."""
    here, pushes, size = lowering.here.partition, [], itemsize(element_of(array))
    mine, framed = lowering.shapes.mine(array), lowering.shapes.framed(array)
    neighbours = lowering.shapes.neighbours(array)
    for neighbour in neighbours[here or 0]:
        found = moves(array, mine, framed[neighbour])
        part = store(lowering, array, packing(found, size), (elements(found),))
        index = neighbours[neighbour].index(here or 0)
        rank, lane = rank_with(lowering, array, neighbour), None if here is None else neighbour
        pushes.append(Push(edge.tag, edge, rank, index, lane, part, contiguous=True))
    first = lowering.arguments.count()
    lowering.arguments.expected(site, edge.tag)
    lowering.call(site, CallKind.PUBLISH, first, pushes, [], Engine(source=edge.tag, silent=True))


def _distance(lowering: CallLowering, site: CallSite) -> int:
    """How far a shift goes; it must be known before the run, for hand-overs have fixed ends."""
    tree = next((a.value for a in site.inputs if a.parameter.name == "by"), None)
    if tree is None:
        return 1
    unknown = sorted(names_in(tree) - lowering.job.environment.keys())
    if unknown:
        shown = (
            lowering.job.program.tags[unknown[0]].display if unknown[0] in lowering.job.program.tags else ""
        )
        raise ProgramError(
            f"{site.span}: how far to shift depends on {shown or unknown[0]}, known only while "
            "the program runs",
            help="shift by what parameters, procs and partitions say",
        )
    value = evaluate(tree, lowering.job.environment)
    assert isinstance(value, int), "the checker saw to it"
    return value
