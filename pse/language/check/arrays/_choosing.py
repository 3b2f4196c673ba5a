"""Which names decide what tags of arrays a block uses: loops over such counters are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

from pse.language.check._scope import AliasEntity, Entity, SegmentEntity
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._expressions import INDEX, Apply, Name

Find = Callable[[str], Entity | None]
"""Looks a name up where a block stands."""


Known = dict[int, set[str]]
"""The inputs of segments on which indices depend, by their nodes; none yet of one that is looked at."""


def is_chosen_by(node: sx.For, find: Find) -> bool:
    """Whether the counter of a loop decides which tags of an array its body uses."""
    return node.counter.id in _choosing(node.body, find, {})


def _choosing(root: object, find: Find, known: Known) -> set[str]:
    """Give the names on which indices of arrays depend, or how many tags they have."""
    nodes = list(_nodes(root))
    found = {name for node in nodes for index in _indices(node, find, known) for name in _names(index)}
    while more := {name for node in nodes for name in _behind(node, found)} - found:
        found |= more
    return found


def _indices(node: object, find: Find, known: Known) -> Iterator[object]:
    """Give what must be known before the run in a node, but not in its parts."""
    match node:
        case Apply(function, (_, index)) if function == INDEX:
            yield index
        case sx.IndexRange():
            yield from (node.lower, node.upper)
        case sx.OutputNode() | sx.Assignment() | sx.ReductionNode() if node.index is not None:
            yield node.index
        case sx.Call() | sx.CallExpression():
            yield from _passed(node, find, known)


def _passed(node: sx.Call | sx.CallExpression, find: Find, known: Known) -> Iterator[object]:
    """Give the inputs of a segment that its indices depend on."""
    entity = _segment(node.callee, find)
    if entity is None or len(entity.node.inputs) != len(node.arguments):
        return
    inside = known.get(id(entity.node))
    if inside is None:
        known[id(entity.node)] = set()  # One that calls itself is refused elsewhere.
        parts = entity.node.inputs, entity.node.outputs, entity.node.body
        inside = known[id(entity.node)] = _choosing(parts, entity.home.find, known)
    for field, argument in zip(entity.node.inputs, node.arguments, strict=True):
        if field.name.id in inside:
            yield argument.value


def _segment(callee: sx.Dotted, find: Find) -> SegmentEntity | None:
    """Find the segment that a call means, if it means one."""
    first, *rest = callee.parts
    entity: object = find(first.id)
    if isinstance(entity, AliasEntity) and rest:
        entity = (entity.modules or {}).get(rest[0].id)
    return entity if isinstance(entity, SegmentEntity) else None


def _behind(node: object, found: set[str]) -> Iterator[str]:
    """Give the names that the value of one of these names is made of."""
    if isinstance(node, sx.Let) and node.name.id in found:
        yield from _names(node.value)
    elif isinstance(node, sx.For) and node.counter.id in found:
        yield from _names((node.lower, node.upper, node.step))


def _names(root: object) -> Iterator[str]:
    return (node.id for node in _nodes(root) if isinstance(node, Name))


def _nodes(root: object) -> Iterator[object]:
    """Give a node of the tree, or nodes, with all parts."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting += node
        elif is_dataclass(node) and not isinstance(node, Span | sx.Identifier):
            yield node
            waiting += [getattr(node, item.name) for item in fields(node)]
