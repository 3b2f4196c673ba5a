"""Lowering of arguments: how the engine binds the parameters of a call's module."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pse._abi.plan import ArgumentKind
from pse.language.check import Argument as Given, CallSite, Output
from pse.language.types import (
    Direction,
    Element,
    Expression,
    Number,
    Parameter,
    Type,
    evaluate,
    names_in,
)
from pse.runtime.distribution._strided_copies import StridedCopy, extents, strided_copies
from pse.runtime.plan._communicators import Communicator, members
from pse.runtime.plan._lowered import Argument, SharedBlock
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._shapes import Shapes, element_of
from pse.runtime.plan._slots import HIDDEN
from pse.runtime.plan._tables import itemsize


def bindings(site: CallSite) -> list[tuple[Parameter, Given | Output | None]]:
    """Pair a module's parameters, in declared order, with what the call gives (None: the default).

    `print` takes any number of values: each of them stands for its one parameter.
    """
    if len(site.inputs) > len(site.module.signature.inputs):
        return [(argument.parameter, argument) for argument in site.inputs]
    given: dict[str, Given | Output] = {argument.parameter.name: argument for argument in site.inputs}
    given |= {output.parameter.name: output for output in site.outputs}
    return [(parameter, given.get(parameter.name)) for parameter in site.module.signature.parameters]


_NO_LIMIT = (1 << 63) - 1
"""How many rows a Python module may give that names no capacity."""


class ArgumentLowering:
    """Lowers the arguments of one rank's calls."""

    def __init__(self, position: Position, shapes: Shapes, communicators: Mapping[int, Communicator]) -> None:
        self.job, self.rank, self.key = position.job, position.rank, position.key
        self.shapes, self.communicators = shapes, communicators
        self._blocks: dict[Type, Sequence[SharedBlock]] = {}

    def all_of(self, site: CallSite, position: Position, native: bool) -> list[Argument]:
        """Lower every parameter of the module (`bindings`), then every dimension."""
        given = [
            self._decided(site, value, position, native)
            if isinstance(value, Output) and parameter.decided
            else self.output(site, value, position)
            if isinstance(value, Output)
            else self._input(site, place, parameter, value, position)
            for place, (parameter, value) in enumerate(bindings(site))
        ]
        sizes = {
            name: Argument(ArgumentKind.DIMENSION, Element.I64, value=value)
            for name, value in self.shapes.dimensions(site, position).items()
        }
        for name, capacity in self._capacities(site, position).items():
            sizes[name] = Argument(ArgumentKind.COUNT, Element.I64, value=capacity)
        names = site.module.signature.dimensions if native else ()
        return given + [sizes[name] for name in names]

    def _capacities(self, site: CallSite, position: Position) -> dict[str, Expression]:
        """Give the most rows of each extent that the module decides, where it names a capacity."""
        decided = [(p.decided, p.capacity) for p in site.module.signature.outputs]
        return {
            name: self.shapes.valued(site, capacity, position)
            for name, capacity in decided
            if name is not None and capacity is not None
        }

    def _decided(self, site: CallSite, output: Output, position: Position, native: bool) -> Argument:
        """Lower an output of which the module decides how many rows it has, at most its capacity.

        What a compiled module fills is allocated before the call; what a Python module returns, after it.
        """
        parameter, signature = output.parameter, site.module.signature
        name, (_, *others) = str(parameter.decided), parameter.type.shape or ()
        most = self._capacities(site, position).get(name, Number(_NO_LIMIT))
        shape = [most, *(self.shapes.valued(site, other, position) for other in others)]
        made = Argument(ArgumentKind.LATER, element_of(output.type), output.tag, ndim=len(shape), shape=shape)
        if not native:
            return made
        place = len(signature.parameters) + signature.dimensions.index(name)
        return made._replace(kind=ArgumentKind.MAKE, filled=place)

    def output(self, site: CallSite, output: Output, position: Position) -> Argument:
        """Lower an output: a scalar, or an array that the engine allocates."""
        element = element_of(output.type)
        if output.type.scalar:  # An object counts as one: Python code puts its bytes into the slot.
            return Argument(ArgumentKind.RESULT, element, output.tag)
        shape = self.shapes.made(site, output, position)
        block = self._block(site, output, position)
        return Argument(ArgumentKind.MAKE, element, output.tag, ndim=len(shape), shape=shape, block=block)

    def expected(self, site: CallSite, tag: str, position: Position) -> list[Argument]:
        """Give the argument that checks a tag's shape, where it may be another partition's."""
        if tag not in self.shapes.ragged:
            return []
        array = self.shapes.type_of(site, tag)
        return [_array(ArgumentKind.READ, tag, array, self.shapes.local(array, position))]

    def changed(self, site: CallSite, tag: str, position: Position) -> Argument:
        """Give the argument that is an array which the engine changes in place."""
        array = self.shapes.type_of(site, tag)
        due = self.shapes.local(array, position) if tag in self.shapes.ragged else None
        return _array(ArgumentKind.CHANGE, tag, array, due)

    def _input(
        self, site: CallSite, place: int, parameter: Parameter, argument: Given | None, position: Position
    ) -> Argument:
        element = parameter.type.element
        if element is Element.COMM:
            return self._communicator(site)
        value = argument.value if argument else parameter.default
        assert value is not None
        if self.is_text(parameter, value):
            return self._text(f"{HIDDEN}text{site.id}.{place}", value)
        if argument and argument.tag:
            return self._tag(site, parameter, argument, position)
        return Argument(ArgumentKind.SCALAR, element or Element.F64, value=value)

    def _communicator(self, site: CallSite) -> Argument:
        """Lower a communicator; in a dry run there is none yet, but it must be possible."""
        members(self.job, site)
        made = self.communicators.get(site.id)
        return Argument(ArgumentKind.COMM, Element.I64, address=made.address if made else 0)

    def is_text(self, parameter: Parameter, value: Expression) -> bool:
        """Whether a parameter gets a string: it is one, or it takes values of any type (`print`)."""
        if parameter.type.element is not None:
            return parameter.type.element is Element.STRING
        return parameter.type.scalar and self.job.element(value) is Element.STRING

    def _text(self, tag: str, value: Expression) -> Argument:
        """Lower a string: a constant of the run, or what is assigned to a hidden tag before the call."""
        if names_in(value) <= self.job.environment.keys():
            text = str(evaluate(value, self.job.environment))
            return Argument(ArgumentKind.TEXT, Element.STRING, text=text)
        return Argument(ArgumentKind.TEXT, Element.STRING, tag, value)

    def _tag(self, site: CallSite, parameter: Parameter, argument: Given, position: Position) -> Argument:
        tag = str(argument.tag)
        array, is_changed = self.shapes.type_of(site, tag), parameter.direction is Direction.INOUT
        if array.element is Element.OBJECT:
            return Argument(ArgumentKind.READ, Element.OBJECT, tag)
        if array.scalar and is_changed:
            return Argument(ArgumentKind.UPDATE, element_of(array), tag)
        if array.scalar:
            element = parameter.type.element or element_of(array)
            return Argument(ArgumentKind.SCALAR, element, value=argument.value)
        kind = ArgumentKind.CHANGE if is_changed else ArgumentKind.READ
        due = self.shapes.needed(site, parameter, position) if self.shapes.is_checked_late(site) else None
        name = None if is_changed or not self.job.build.debug else parameter.name
        return _array(kind, tag, array, due)._replace(text=name)

    def _block(self, site: CallSite, output: Output, position: Position) -> SharedBlock:
        """Give the place of a piece that is made in one block with the others, to be gathered there."""
        array = output.type
        apart = array.distribution.distributed and site.parallel
        if not (apart and self._is_gathered_here(site, output)) or self.shapes.is_dynamic(array):
            return SharedBlock()
        if self.job.liveness.walk.is_apart(site):
            return SharedBlock()  # Not all parts of the block may come to be.
        if array not in self._blocks:
            self._blocks[array] = self._shared_blocks(array)
        blocks = self._blocks[array]
        return blocks[position.partition or 0] if blocks else SharedBlock()

    def _is_gathered_here(self, site: CallSite, output: Output) -> bool:
        """Whether a root thread may read the pieces of an output, and all partitions live on this node."""
        live = self.job.liveness
        readers = live.readers(site, output.tag) | live.readers_at_exits(site, output.tag)
        peers = (live.placement.rank_of(self.key, processor) for processor in range(self.job.processors))
        near = self.job.shared_memory and not any(self.job.is_remote(self.rank, peer) for peer in peers)
        return near and any(key.region == "root" for key in readers)

    def _shared_blocks(self, array: Type) -> list[SharedBlock]:
        """Give the place of each piece in the whole array; none if some piece is not contiguous there."""
        size, whole = itemsize(element_of(array)), self.shapes.whole(array)
        pieces = self.shapes.pieces(array)
        found = [strided_copies(piece, whole, size) for piece in pieces]
        sizes = [size * math.prod(extents(piece)) for piece in pieces]
        apart = any(not _is_contiguous(block, total, size) for block, total in zip(found, sizes, strict=True))
        if apart or min(sizes) < max(1, self.job.local_limit):
            return []
        return [SharedBlock(len(pieces), sum(sizes), copies[0].target) for copies in found]


def _array(kind: ArgumentKind, tag: str, array: Type, due: Sequence[Expression] | None) -> Argument:
    """Give the argument that is an array; `due` is the shape that it must have."""
    ndim = len(array.shape or ())
    return Argument(kind, element_of(array), tag, ndim=ndim, shape=due or (), checked=due is not None)


def _is_contiguous(copies: Sequence[StridedCopy], size: int, itemsize: int) -> bool:
    """Whether a piece of so many bytes is one run of bytes of the whole array."""
    if len(copies) != 1 or copies[0].elements * itemsize != size:
        return False
    return copies[0].target_strides in ((itemsize,), ())
