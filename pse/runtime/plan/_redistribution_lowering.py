"""Lowering of the operations on distributed tags: scatter, gather, transpose, redistribute, reshape.

All have one form: whoever has a piece offers it to every partition that needs some of it, and the receiver
assembles what arrives. On a node it gets the piece itself and copies what it needs, once; not even that where
the pieces already lie side by side, or stay whole, and nobody reads them any more. Between nodes only the
part that is needed travels.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pse._abi.plan import ArgumentKind, CallKind
from pse.language.check import CallSite
from pse.language.types import Type
from pse.runtime.distribution._strided_copies import (
    Piece,
    StridedCopy,
    extents,
    flattened,
    strided_copies,
    unpacking,
)
from pse.runtime.plan._edges import Edge, Role
from pse.runtime.plan._lowered import Argument, Call, EngineOperation, Expect, Lowered, Part, Push
from pse.runtime.plan._lowering_context import LoweringContext
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._shapes import element_of
from pse.runtime.plan._tables import itemsize


def lower_scatter(context: LoweringContext, site: CallSite, position: Position) -> list[Lowered]:
    """Cut a root array into pieces, one for each partition."""
    source, output = source_of(site), site.outputs[0]
    edge = Edge(site.id, output.tag, Role.VALUE)
    readers = context.handovers.readers(site, edge)
    owners = context.job.owners(context.job.set_of(output.type))
    blocks = len(owners) if context.shapes.is_dynamic(output.type) else 0
    parts = [] if blocks else _cut(context, output.type)
    pushes = []
    for partition, owner in enumerate(owners):
        for key in readers:
            rank = context.placement.rank_of(key, owner)
            index, lane = (0, partition) if key.region == "parallel" else (partition, None)
            depth = context.job.depths(key.label)
            pushes.append(Push(source, edge, rank, index, lane, partition, True, depth, blocks))
    operation = EngineOperation(source=source, alias=context.live.last_use_everywhere(site, source))
    releases = context.given_up(site, source)
    call = Call(site, CallKind.PUBLISH, position, (), pushes, releases, operation, parts)
    if context.key not in readers:
        return [call]
    if context.processor is None:
        return [call, Expect(output.tag, None, edge, count=context.job.pieces(output.type))]
    return [call, *(Expect(output.tag, lane, edge, lane) for lane in position.lanes(output.type))]


def _cut(context: LoweringContext, array: Type) -> list[Part]:
    """Give what each partition gets of an array."""
    whole, pieces = context.shapes.whole(array), context.shapes.pieces(array)
    return [part_of(array, copies_between(array, whole, piece), extents(piece)) for piece in pieces]


def lower_gather(context: LoweringContext, site: CallSite, position: Position) -> list[Lowered]:
    """Put all pieces together at a root thread."""
    source = source_of(site)
    if context.processor is not None:
        return _gather_serially(context, site, position, source)
    array = context.shapes.type_of(site, source)
    if context.shapes.is_dynamic(array):
        return [_concatenate(context, site, position, source, context.given_up(site, source))]
    whole, parts = context.shapes.whole(array), []
    for partition in range(context.job.pieces(array)):
        piece = context.shapes.piece(array, partition)
        parts.append(part_of(array, copies_between(array, piece, whole), extents(piece)))
    alias = context.live.last_use_everywhere(site, source)
    return [_assemble(context, site, position, source, context.given_up(site, source), parts, alias)]


def _gather_serially(
    context: LoweringContext, site: CallSite, position: Position, source: str
) -> list[Lowered]:
    """Put all pieces together on the only rank, which has a slot for each."""
    array, gathered = context.shapes.type_of(site, source), f"%pieces{site.id}"
    edge, releases = Edge(site.id, site.outputs[0].tag, Role.VALUE), context.given_up(site, source)
    operation = EngineOperation(source=source, silent=True)
    lanes = position.lanes(array)
    offers: list[Lowered] = []
    for lane in lanes:
        push = Push(source, edge, context.rank, lane or 0)
        here = position.at(lane)
        offers.append(Call(site, CallKind.PUBLISH, here, (), [push], releases, operation))
    offers.append(Expect(gathered, None, edge, count=len(lanes)))
    if context.shapes.is_dynamic(array):
        return [*offers, _concatenate(context, site, position, gathered, [gathered])]
    whole, pieces = context.shapes.whole(array), [context.shapes.piece(array, lane or 0) for lane in lanes]
    parts = [part_of(array, copies_between(array, piece, whole), extents(piece)) for piece in pieces]
    return [*offers, _assemble(context, site, position, gathered, [gathered], parts)]


def _concatenate(
    context: LoweringContext, site: CallSite, position: Position, source: str, releases: Sequence[str]
) -> Call:
    """Put pieces one behind the other of which each partition decides how many rows they have."""
    output = site.outputs[0]
    made = Argument(
        ArgumentKind.LATER, element_of(output.type), output.tag, ndim=len(output.type.shape or ())
    )
    pushes = context.handovers.value(site, Edge(site.id, output.tag, Role.VALUE), position)
    dead = sorted(context.live.dead_outputs(site))
    operation = EngineOperation(source=source)
    return Call(site, CallKind.CONCATENATE, position, [made], pushes, [*releases, *dead], operation)


def lower_redistribution(context: LoweringContext, site: CallSite, position: Position) -> list[Lowered]:
    """Transpose, redistribute or reshape: every partition gets from every other what it needs."""
    source, output = source_of(site), site.outputs[0]
    array, edge = context.shapes.type_of(site, source), Edge(site.id, source, Role.PIECES)
    axes = _axes(len(array.shape or ()), site.module.name)
    publish = _publish(context, site, position, edge, array, output.type, axes)
    here, target = position.partition or 0, context.shapes.mine(output.type, position)
    sources = context.shapes.sources(array, output.type, axes)[here]
    parts = [_place(context, array, q, target, axes) for q in sources]
    if not sources:
        return [publish, _assemble(context, site, position, None, [], parts)]
    gathered = f"%pieces{site.id}"
    alias = context.live.last_use_everywhere(site, source) and _only_renames(context, site, array, axes)
    return [
        publish,
        Expect(gathered, position.partition, edge, position.partition, len(sources)),
        _assemble(context, site, position, gathered, [gathered], parts, alias),
    ]


def _only_renames(
    context: LoweringContext, site: CallSite, array: Type, axes: tuple[int, ...] | None
) -> bool:
    """Whether every piece of a result is one whole piece, so that all may be handed on as they are.

    If only some were, each would keep the memory of an array of which all are views.
    """
    result = site.outputs[0].type
    shared = context.shapes.sources(array, result, axes), context.shapes.targets(array, result, axes)
    is_partial = _is_cleared(site) or bool(array.distribution.halo)
    return not is_partial and all(len(partners) <= 1 for partners in itertools.chain(*shared))


def _is_cleared(site: CallSite) -> bool:
    """Whether a result has elements that come from nowhere."""
    return bool(site.outputs[0].type.distribution.halo) or site.module.name == "resize"


def source_of(site: CallSite) -> str:
    """Name the tag that an operation works on."""
    tag = next(argument.tag for argument in site.inputs if argument.tag)
    assert tag is not None
    return tag


def rank_with(context: LoweringContext, array: Type, partition: int) -> int:
    """Give the rank, of the thread at hand, that has a partition's piece of a tag."""
    if context.processor is None:
        return context.rank
    owner = context.job.owners(context.job.set_of(array))[partition]
    return context.placement.rank_of(context.key, owner)


def copies_between(
    array: Type, source: Piece, target: Piece, axes: Sequence[int] | None = None
) -> list[StridedCopy]:
    """List the strided copies from one piece of an array to another."""
    return strided_copies(source, target, itemsize(element_of(array)), axes)


def part_of(array: Type, copies: Sequence[StridedCopy], shape: Sequence[int] | None = None) -> Part:
    """Give a part of an array that travels in a shape, or packed (None)."""
    packed = (sum(copy.elements for copy in copies),)
    return Part(copies, element_of(array), packed if shape is None else shape)


def _publish(
    context: LoweringContext,
    site: CallSite,
    position: Position,
    edge: Edge,
    array: Type,
    result: Type,
    axes: tuple[int, ...] | None,
) -> Call:
    """Offer this partition's piece to everyone whose result needs some of it."""
    mine, here = context.shapes.mine(array, position), position.partition
    parts: list[Part] = []
    pushes: list[Push] = []
    for partition, index in context.shapes.targets(array, result, axes)[here or 0]:
        lane = None if here is None else partition
        rank = rank_with(context, result, partition)
        pushes.append(Push(edge.tag, edge, rank, index, lane, len(parts)))
        copies = _shared(array, mine, context.shapes.piece(result, partition), axes)
        parts.append(part_of(array, copies))
    operation = EngineOperation(source=edge.tag, silent=True)
    checked = context.arguments.expected(site, edge.tag, position)
    releases = context.given_up(site, edge.tag)
    return Call(site, CallKind.PUBLISH, position, checked, pushes, releases, operation, parts)


def _shared(array: Type, source: Piece, target: Piece, axes: Sequence[int] | None) -> list[StridedCopy]:
    """List the copies from a piece to one of the result; without `axes` only the order of elements counts."""
    if axes is None:
        source, target = flattened(source), flattened(target)
    return copies_between(array, source, target, axes)


def _place(
    context: LoweringContext, array: Type, partition: int, target: Piece, axes: Sequence[int] | None
) -> Part:
    """Say where a partition's piece, or what comes of it from another node, goes in this one's result."""
    piece = context.shapes.piece(array, partition)
    copies = _shared(array, piece, target, axes)
    if not context.job.is_remote(context.rank, rank_with(context, array, partition)):
        return part_of(array, copies, extents(piece))
    return part_of(array, unpacking(copies, itemsize(element_of(array))))


def _assemble(
    context: LoweringContext,
    site: CallSite,
    position: Position,
    source: str | None,
    releases: Sequence[str],
    parts: Sequence[Part],
    alias: bool = False,
) -> Call:
    """Put parts together to a call's output."""
    output = site.outputs[0]
    made = context.arguments.output(site, output, position)
    pushes = context.handovers.value(site, Edge(site.id, output.tag, Role.VALUE), position)
    dead = sorted(context.live.dead_outputs(site))
    operation = EngineOperation(source=source, alias=alias, clear=_is_cleared(site))
    return Call(site, CallKind.ASSEMBLE, position, [made], pushes, [*releases, *dead], operation, parts)


def _axes(ndim: int, name: str) -> tuple[int, ...] | None:
    """Give the order of axes of a result, which is its own inverse; None if it may have other axes."""
    if name in ("reshape", "resize"):
        return None
    order = list(range(ndim))
    if name == "transpose" and ndim >= 2:
        order[-2:] = reversed(order[-2:])
    return tuple(order)
