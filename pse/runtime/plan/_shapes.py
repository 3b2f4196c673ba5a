"""Shapes as one rank sees them: its piece of a distributed tag, and the dimensions of its modules."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from pse.errors import ProgramError
from pse.language.check import CallSite, Output
from pse.language.types import (
    Element,
    Expression,
    Name,
    Number,
    Parameter,
    Type,
    evaluate,
    is_dynamic,
    names_in,
    solve_dimensions,
    substitute,
)
from pse.modules import messaging
from pse.modules.std import Pieces
from pse.runtime.distribution import _distributions as distributions
from pse.runtime.distribution._halos import Strip, strips
from pse.runtime.distribution._index_sets import indices
from pse.runtime.distribution._sharing_pieces import sharing
from pse.runtime.distribution._strided_copies import Piece, extents, flattened
from pse.runtime.plan._job import Job
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._ragged_tags import extent_name, ragged_tags


class _Array(NamedTuple):
    """An array of a call: what it is, its tag, and the tag that holds it already, if any."""

    parameter: Parameter
    type: Type
    tag: str
    held: str | None


class Shapes:
    """Pieces and shapes of a job's arrays, and what they are at a position."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._pieces: dict[Type, Sequence[Piece]] = {}
        self._dimensions: dict[tuple[int, tuple[tuple[Expression, ...], ...]], dict[str, Expression]] = {}
        self._sources: dict[tuple[Type, Type, tuple[int, ...] | None], Sequence[Sequence[int]]] = {}
        self._targets: dict[
            tuple[Type, Type, tuple[int, ...] | None], Sequence[Sequence[tuple[int, int]]]
        ] = {}
        self._strips: dict[tuple[Type, frozenset[int]], tuple[list[list[Strip]], list[list[Strip]]]] = {}

    def type_of(self, site: CallSite, tag: str) -> Type:
        """Give the type that a tag has at a call site."""
        outputs = (output.type for output in site.outputs if output.tag == tag)
        return next(outputs, self.job.program.tags[tag].type)

    def whole(self, array: Type) -> Piece:
        """Give the piece that is the whole array.

        Raises
        ------
        ProgramError
            If its shape depends on what is known only while the program runs.
        """
        shape = array.shape or ()
        unknown = sorted(set().union(*(names_in(extent) for extent in shape)) - self.job.environment.keys())
        if unknown:
            raise ProgramError(
                f"the shape of a distributed array depends on {', '.join(unknown)}, known only while "
                "the program runs",
                help="give distributed arrays shapes of parameters, procs and partitions",
            )
        return distributions.whole([self._integer(extent) for extent in shape])

    def pieces(self, array: Type) -> Sequence[Piece]:
        """Give what every partition holds of an array; one that isn't distributed is one piece."""
        if array not in self._pieces:
            how, count = array.distribution, self.job.pieces(array) if array.distribution.distributed else 1
            shape, grid = extents(self.whole(array)), self.job.grid(self.job.set_of(array))
            environment = self.job.environment
            self._pieces[array] = [
                distributions.piece(how, shape, count, grid, partition, environment)
                for partition in range(count)
            ]
        return self._pieces[array]

    def piece(self, array: Type, partition: int) -> Piece:
        """Give what a partition holds of an array."""
        return self.pieces(array)[partition if array.distribution.distributed else 0]

    def sources(self, array: Type, result: Type, axes: tuple[int, ...] | None) -> Sequence[Sequence[int]]:
        """List, for every piece of a result, the partitions that have something of it.

        `axes` is the order of the array's axes in the result; None where only the order of elements counts.
        """
        key = (array, result, axes)
        if key not in self._sources:
            held, targets = self.pieces(array), self.pieces(result)
            if axes is None:
                held, targets = ([flattened(piece) for piece in pieces] for pieces in (held, targets))
            self._sources[key] = sharing(held, targets, axes)
        return self._sources[key]

    def targets(
        self, array: Type, result: Type, axes: tuple[int, ...] | None
    ) -> Sequence[Sequence[tuple[int, int]]]:
        """List, for every piece, the partitions whose result has something of it, and its place there."""
        key = (array, result, axes)
        if key not in self._targets:
            found: list[list[tuple[int, int]]] = [[] for _ in self.pieces(array)]
            for target, sources in enumerate(self.sources(array, result, axes)):
                for place, source in enumerate(sources):
                    found[source].append((target, place))
            self._targets[key] = found
        return self._targets[key]

    def strips(self, array: Type, periodic: frozenset[int]) -> tuple[list[list[Strip]], list[list[Strip]]]:
        """List what every piece's halo shows, and what is shown of every piece."""
        key = (array, periodic)
        if key not in self._strips:
            shown = strips(self.pieces(array), extents(self.whole(array)), periodic)
            seen: list[list[Strip]] = [[] for _ in shown]
            for strip in itertools.chain(*shown):
                seen[strip.source].append(strip)
            self._strips[key] = shown, seen
        return self._strips[key]

    def layout(self, site: CallSite) -> Pieces | None:
        """Say where the pieces lie of the distributed arrays that a standard module works on, if any."""
        tags = [a.tag for a in site.inputs if a.tag] + [o.tag for o in site.outputs]
        types = [self.type_of(site, tag) for tag in tags]
        array = next((one for one in types if one.distribution.distributed and not one.scalar), None)
        if array is None:
            return Pieces((), (), lambda partition: (), messaging) if site.parallel else None
        if self.is_dynamic(array):
            return Pieces.of_unknown_size(len(array.shape or ()), messaging)
        shape, halo = extents(self.whole(array)), tuple(axis.before for axis in self.piece(array, 0))
        return Pieces(
            shape,
            halo,
            lambda partition: [indices(axis.index_set) for axis in self.piece(array, partition)],
            messaging,
        )

    def mine(self, array: Type, position: Position) -> Piece:
        """Give what the partition at hand holds."""
        return self.piece(array, position.partition or 0)

    @cached_property
    def ragged(self) -> frozenset[str]:
        """Tags that may hold pieces of other partitions' sizes."""
        statements = (step.statement for step in self.job.liveness.walk.steps)
        return ragged_tags(statements, self._is_uneven) | self.dynamic

    @cached_property
    def dynamic(self) -> frozenset[str]:
        """Tags of which modules decide how many rows they have."""
        tags = self.job.program.tags
        return frozenset(tag for tag in tags if self.is_dynamic(tags[tag].type))

    @staticmethod
    def is_dynamic(array: Type) -> bool:
        """Whether modules decide, while the program runs, how many rows an array has."""
        return any(is_dynamic(extent) for extent in array.shape or ())

    def _is_uneven(self, tag: str) -> bool:
        array = self.job.program.tags[tag].type
        if self.is_dynamic(array):
            return True
        return len({extents(piece) for piece in self.pieces(array)}) > 1

    def local(self, array: Type, position: Position, tag: str | None = None) -> tuple[Expression, ...]:
        """Give the shape of what this rank holds of an array (of what a tag holds, which may be shifted)."""
        shape, axes = list(array.shape or ()), [0] if self.is_dynamic(array) else []
        if position.is_apart(array) and not axes:
            shape = [Number(extent) for extent in extents(self.mine(array, position))]
            axes = list(array.distribution.axes)
        for axis in axes if tag in self.ragged else ():
            shape[axis] = Name(extent_name(str(tag), axis))
        return tuple(shape)

    def made(self, site: CallSite, output: Output, position: Position) -> tuple[Expression, ...]:
        """Give the shape of an array that a call makes: as long as what it is made from."""
        apart = position.is_apart(output.type) or self.is_dynamic(output.type)
        if output.tag not in self.ragged or not apart:
            return self.local(output.type, position)
        if site.module.language == "std":
            sources = [a.tag for a in site.inputs if a.tag]
            return self.local(output.type, position, sources[0] if sources else None)
        return self.needed(site, output.parameter, position) or self.local(output.type, position)

    def needed(
        self, site: CallSite, parameter: Parameter, position: Position
    ) -> tuple[Expression, ...] | None:
        """Give the shape that a directive asks of a parameter, in this call; None if it takes any."""
        if not parameter.type.shape:  # `print` takes scalars and arrays of any shape.
            return None
        return tuple(self.valued(site, extent, position) for extent in parameter.type.shape)

    def valued(self, site: CallSite, extent: Expression, position: Position) -> Expression:
        """Put what the names of a directive stand for, in this call, into one of its extents."""
        values: dict[str, Expression] = {a.parameter.name: a.value for a in site.inputs}
        values |= self.dimensions(site, position)
        return substitute(extent, lambda name: values.get(name.id, name))

    def is_checked_late(self, site: CallSite) -> bool:
        """Whether a call reads an array of which the shape shows only when it is called."""
        tags = {argument.tag: self.type_of(site, argument.tag) for argument in site.inputs if argument.tag}
        changing = (names_in(extent) for array in tags.values() for extent in array.shape or ())
        return bool(tags.keys() & self.ragged) or not set().union(*changing) <= self.job.environment.keys()

    def check_pieces(self, site: CallSite, position: Position) -> None:
        """Work out the dimensions of a call in every partition, also those of other processors.

        Raises
        ------
        ProgramError
            If no dimension fits an extent.
        """
        types = [one.type for one in self._arrays(site) if position.is_apart(one.type)]
        pieces = [self.pieces(array) for array in types if not self.is_dynamic(array)]
        different = {
            tuple(map(extents, row)): partition for partition, row in enumerate(zip(*pieces, strict=True))
        }
        for partition in different.values():
            self.dimensions(site, position.at(partition))

    def dimensions(self, site: CallSite, position: Position) -> dict[str, Expression]:
        """Give the dimension names of a call's signature, local ones where an axis is distributed.

        Raises
        ------
        ProgramError
            If no dimension fits an extent, as far as extents are known before the run.
        """
        arrays = self._arrays(site)
        shapes = tuple(self.local(one.type, position, one.held) for one in arrays)
        key = (site.id, shapes)
        if key not in self._dimensions:
            self._dimensions[key] = self._solved(site, arrays, shapes, position)
        return self._dimensions[key]

    def _solved(
        self,
        site: CallSite,
        arrays: Sequence[_Array],
        shapes: Sequence[Sequence[Expression]],
        position: Position,
    ) -> dict[str, Expression]:
        given = {a.parameter.name: a.value for a in site.inputs if a.parameter.type.scalar}
        axes = [
            (pattern, extent, functools.partial(self._refuse, site, one, axis, position))
            for one, shape in zip(arrays, shapes, strict=True)
            for axis, (pattern, extent) in enumerate(zip(one.parameter.type.shape or (), shape, strict=False))
            if not is_dynamic(extent)
        ]
        return dict(site.dimensions) | solve_dimensions(axes, given, self.job.environment)

    def _refuse(
        self,
        site: CallSite,
        array: _Array,
        axis: int,
        position: Position,
        actual: int,
        needed: str,
        fits: str,
    ) -> None:
        """Refuse an extent that is known to differ; others are compared when the call is due."""
        is_piece = position.is_apart(array.type) and axis in array.type.distribution.axes
        where = f" in partition {position.partition or 0}" if is_piece else ""
        name = self.job.program.tags[array.tag].display
        raise ProgramError(
            f"{site.span}: axis {axis} of `{name}` is {actual}{where}, but `{site.label}` needs {needed}",
            help="choose other values, by -p and -D, or another shape"
            + (f": extents that fit are {fits}, …" if fits else ""),
        )

    def _arrays(self, site: CallSite) -> list[_Array]:
        inputs = [_Array(a.parameter, self.type_of(site, a.tag), a.tag, a.tag) for a in site.inputs if a.tag]
        outputs = [_Array(o.parameter, o.type, o.tag, None) for o in site.outputs]
        return [entry for entry in [*inputs, *outputs] if not entry.type.scalar]

    def _integer(self, tree: Expression) -> int:
        value = evaluate(tree, self.job.environment)
        assert isinstance(value, int)
        return value


def element_of(array: Type) -> Element:
    """Give the element type of a tag; the checker leaves none open."""
    assert array.element is not None
    return array.element
