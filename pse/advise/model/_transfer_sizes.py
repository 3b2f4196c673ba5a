"""How many bytes move: of a tag, of a piece of it, and among partitions in the standard operations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod

import numpy as np

from pse.errors import EvaluationError
from pse.language.check import CallSite, PartitionDeclaration, ResolvedProgram, periodic_axes
from pse.language.types import Element, Expression, Type, Value, evaluate

OPAQUE = 64.0
"""Bytes of what has no size in a program: strings, objects."""

Environment = Mapping[str, Value]


def number(expression: Expression | None, environment: Environment) -> int | None:
    """Work out a whole number; None where the program alone doesn't tell."""
    if expression is None:
        return None
    try:
        value = evaluate(expression, environment)
    except EvaluationError:
        return None
    return int(value) if isinstance(value, int | float) else None


def whole(array: Type, environment: Environment) -> float:
    """Bytes of all of a tag; 0 where the program alone doesn't tell."""
    if array.element is None or array.element in (Element.STRING, Element.OBJECT, Element.COMM):
        return OPAQUE
    extents = [number(extent, environment) for extent in array.shape or ()]
    item = np.dtype(array.element.value).itemsize
    return float(item * prod(extent or 0 for extent in extents))


def pieces(
    site: CallSite, program: ResolvedProgram, partition: int, count: int, environment: Environment
) -> Iterator[tuple[int, float]]:
    """Give the partitions whose pieces a partition gets in an exchanging operation, and their bytes."""
    tag = next(argument.tag for argument in site.inputs if argument.tag)
    kind = program.tags[tag].type
    size = whole(kind, environment)
    match site.module.name:
        case "shift":
            given = {a.parameter.name: number(a.value, environment) for a in site.inputs if a.tag is None}
            by, axis = given.get("by") or 0, given.get("axis", -1)
            grid = (count,) if axis in (None, -1) else _grid_of(program, kind, count, environment)
            place = list(np.unravel_index(partition, grid))
            place[axis or 0] = (place[axis or 0] - by) % grid[axis or 0]
            yield int(np.ravel_multi_index(place, grid)), size / count
        case "exchange":
            grid = _grid(program, kind, count, environment)
            yield from _neighbours(kind, size, grid, partition, periodic_axes(site), environment)
        case _:
            yield from ((other, size / count**2) for other in range(count))


def _grid(program: ResolvedProgram, kind: Type, count: int, environment: Environment) -> tuple[int, ...]:
    """How many partitions there are along each cut axis."""
    if len(kind.distribution.axes) < 2:
        return (count,)
    return _grid_of(program, kind, count, environment)


def _grid_of(program: ResolvedProgram, kind: Type, count: int, environment: Environment) -> tuple[int, ...]:
    """The grid of the partitions, in a row where they have none."""
    declared = _declaration(program.partitions, kind.distribution.partition)
    if declared is None or declared.grid is None:
        return (count,)
    return tuple(number(extent, environment) or 1 for extent in declared.grid)


def _declaration(partitions: Sequence[PartitionDeclaration], name: str | None) -> PartitionDeclaration | None:
    return next((partition for partition in partitions if partition.name == name), None)


def _neighbours(
    kind: Type,
    size: float,
    grid: tuple[int, ...],
    partition: int,
    periodic: Collection[int],
    environment: Environment,
) -> Iterator[tuple[int, float]]:
    """Give the partitions beside one, with the bytes of the strip that its halo shows of each."""
    place = np.unravel_index(partition, grid)
    halo = [number(width, environment) or 0 for width in kind.distribution.widths] or [0] * len(grid)
    shape = kind.shape or ()
    for dimension, axis in enumerate(kind.distribution.axes[: len(grid)]):
        extent = number(shape[axis], environment) or 1
        strip = size / prod(grid) * min(1.0, halo[dimension] * grid[dimension] / max(extent, 1))
        for step in (-1, 1):
            beside = [int(index) for index in place]
            beside[dimension] += step
            if axis in periodic:
                beside[dimension] %= grid[dimension]
            if 0 <= beside[dimension] < grid[dimension]:
                yield int(np.ravel_multi_index(beside, grid)), strip
