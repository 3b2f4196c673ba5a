"""Lowering of the operations on distributed tags: scatter, gather, transpose, redistribute.

All have one form: whoever has a piece offers it to every partition that needs some of it, and the receiver
assembles what comes. On a node it gets the piece itself and copies what it needs, once; gather not even that
where the pieces already lie side by side. Between nodes only the part that is needed travels. `neighbours`
has the operations between neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pse.language.check import CallSite, Output
from pse.language.types import Type
from pse.runtime.distribution._strided_copies import Move, Piece, between, extents, unpacking
from pse.runtime.plan._edges import Edge, Role
from pse.runtime.plan._handover import Engine, Push
from pse.runtime.plan._shapes import element_of
from pse.runtime.plan._tables import CallKind, itemsize

if TYPE_CHECKING:
    from pse.runtime.plan._call_lowering import CallLowering


def scatter(lowering: CallLowering, site: CallSite) -> None:
    """Cut a root array into pieces, one for each partition."""
    source, output = source_of(site), site.outputs[0]
    edge = Edge(site.id, output.tag, Role.VALUE)
    readers = lowering.handover.readers(site, edge)
    whole = lowering.shapes.whole(output.type)
    pushes = []
    for partition, owner in enumerate(lowering.job.owners(lowering.job.set_of(output.type))):
        piece = lowering.shapes.piece(output.type, partition)
        part = store(lowering, output.type, moves(output.type, whole, piece), extents(piece))
        for key in readers:
            rank = lowering.placement.rank_of(key, owner)
            index, lane = (0, partition) if key.region == "parallel" else (partition, None)
            depth = lowering.job.depths(key.label)
            pushes.append(Push(source, edge, rank, index, lane, part, contiguous=True, depth=depth))
    engine = Engine(source=source, alias=lowering.live.last_use_everywhere(site, source))
    releases = lowering.given_up(site, source)
    lowering.call(site, CallKind.PUBLISH, lowering.arguments.count(), pushes, releases, engine)
    if lowering.key in readers:
        lowering.expect(output.tag, edge, lowering.job.pieces(output.type))


def gather(lowering: CallLowering, site: CallSite) -> None:
    """Put all pieces together at a root thread."""
    source = source_of(site)
    array = lowering.shapes.type_of(site, source)
    whole, parts = lowering.shapes.whole(array), []
    for partition in range(lowering.job.pieces(array)):
        piece = lowering.shapes.piece(array, partition)
        parts.append(store(lowering, array, moves(array, piece, whole), extents(piece)))
    alias = lowering.live.last_use_everywhere(site, source)
    _assemble(lowering, site, source, lowering.given_up(site, source), parts, alias)


def exchange(lowering: CallLowering, site: CallSite) -> None:
    """Transpose or redistribute: every partition gets from every other what it needs."""
    source, output = source_of(site), site.outputs[0]
    array, edge = lowering.shapes.type_of(site, source), Edge(site.id, source, Role.PIECES)
    axes = _axes(len(array.shape or ()), site.module.name == "transpose")
    _publish(lowering, site, edge, array, output.type, axes)
    here, target = lowering.here.partition or 0, lowering.shapes.mine(output.type)
    sources = lowering.shapes.sources(array, output.type, axes)[here]
    parts = [_place(lowering, array, q, target, axes) for q in sources]
    gathered = f"%pieces{site.id}"
    if not sources:
        _assemble(lowering, site, None, [], parts, alias=False)
        return
    lane = None if lowering.here.partition is None else here
    lowering.expect(gathered, edge, len(sources), lane)
    _assemble(lowering, site, gathered, [gathered], parts, alias=False)


def source_of(site: CallSite) -> str:
    """Name the tag that an operation works on."""
    tag = next(argument.tag for argument in site.inputs if argument.tag)
    assert tag is not None
    return tag


def rank_with(lowering: CallLowering, array: Type, partition: int) -> int:
    """Give the rank, of the thread at hand, that has a partition's piece of a tag."""
    if lowering.processor is None:
        return lowering.rank
    owner = lowering.job.owners(lowering.job.set_of(array))[partition]
    return lowering.placement.rank_of(lowering.key, owner)


def moves(array: Type, source: Piece, target: Piece, axes: Sequence[int] | None = None) -> list[Move]:
    """List the moves from one piece of an array to another."""
    return between(source, target, itemsize(element_of(array)), axes)


def store(lowering: CallLowering, array: Type, found: Sequence[Move], shape: Sequence[int]) -> int:
    """Write a part into the plan; the shape is that of the array that travels."""
    return lowering.tables.part(found, element_of(array), shape)


def elements(found: Sequence[Move]) -> int:
    """Count what moves."""
    return sum(move.elements for move in found)


def _publish(
    lowering: CallLowering, site: CallSite, edge: Edge, array: Type, result: Type, axes: tuple[int, ...]
) -> None:
    """Offer this partition's piece to everyone whose result needs some of it."""
    mine, here, pushes = lowering.shapes.mine(array), lowering.here.partition, []
    for partition, sources in enumerate(lowering.shapes.sources(array, result, axes)):
        if (here or 0) not in sources:
            continue
        found = moves(array, mine, lowering.shapes.piece(result, partition), axes)
        part = store(lowering, array, found, (elements(found),))
        index = sources.index(here or 0)
        lane = None if here is None else partition
        pushes.append(Push(edge.tag, edge, rank_with(lowering, result, partition), index, lane, part))
    engine = Engine(source=edge.tag, silent=True)
    first = lowering.arguments.count()
    lowering.arguments.expected(site, edge.tag)
    lowering.call(site, CallKind.PUBLISH, first, pushes, lowering.given_up(site, edge.tag), engine)


def _place(lowering: CallLowering, array: Type, partition: int, target: Piece, axes: Sequence[int]) -> int:
    """Where a partition's piece, or what comes of it from another node, goes in this one's result."""
    piece = lowering.shapes.piece(array, partition)
    found = moves(array, piece, target, axes)
    if not lowering.job.is_remote(lowering.rank, rank_with(lowering, array, partition)):
        return store(lowering, array, found, extents(piece))
    return store(lowering, array, unpacking(found, itemsize(element_of(array))), (elements(found),))


def _assemble(
    lowering: CallLowering,
    site: CallSite,
    source: str | None,
    releases: Sequence[str],
    parts: Sequence[int],
    alias: bool,
) -> None:
    output: Output = site.outputs[0]
    first = lowering.arguments.count()
    lowering.arguments.output(site, output)
    pushes = lowering.handover.value(site, Edge(site.id, output.tag, Role.VALUE))
    dead = sorted(lowering.live.dead_outputs(site))
    rows = (parts[0], len(parts)) if parts else (0, 0)
    clear = output.type.distribution.halo is not None
    engine = Engine(source=source, parts=rows, alias=alias, clear=clear)
    lowering.call(site, CallKind.ASSEMBLE, first, pushes, [*releases, *dead], engine)


def _axes(ndim: int, swap: bool) -> tuple[int, ...]:
    """The order of axes that swaps the last two (or doesn't); it is its own inverse."""
    order = list(range(ndim))
    if swap and ndim >= 2:
        order[-2:] = reversed(order[-2:])
    return tuple(order)
