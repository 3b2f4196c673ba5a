"""Arguments of calls: the rows by which the sequencer binds a module's parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pse._abi.elements import ELEMENT_CODES
from pse.language.check import Argument, CallSite, Output
from pse.language.types import Direction, Element, Expression, Parameter, Text, Type, evaluate, names_in
from pse.runtime.distribution._strided_copies import MAX_DIMS, Move, between, extents
from pse.runtime.plan._communicators import Communicator, members
from pse.runtime.plan._job import Job
from pse.runtime.plan._shapes import Shapes, element_of
from pse.runtime.plan._slots import Slots
from pse.runtime.plan._tables import ArgumentKind, Tables, itemsize

# For a MAKE argument: parts, bytes and offset of the block that the partitions share; none.
_NO_SHARED_HOME = (0, 0, 0)


def bindings(site: CallSite) -> list[tuple[Parameter, Argument | Output | None]]:
    """Pair a module's parameters, in declared order, with what the call gives (None: the default).

    `print` takes any number of values: each of them stands for its one parameter.
    """
    if len(site.inputs) > len(site.module.signature.inputs):
        return [(argument.parameter, argument) for argument in site.inputs]
    given: dict[str, Argument | Output] = {argument.parameter.name: argument for argument in site.inputs}
    given |= {output.parameter.name: output for output in site.outputs}
    return [(parameter, given.get(parameter.name)) for parameter in site.module.signature.parameters]


class Arguments:
    """Writes the argument rows of one rank's calls."""

    def __init__(
        self,
        job: Job,
        tables: Tables,
        slots: Slots,
        shapes: Shapes,
        gathered_here: Callable[[CallSite, Output], bool],
        communicators: Mapping[int, Communicator],
    ) -> None:
        self.job, self.tables, self.slots, self.shapes = job, tables, slots, shapes
        self.gathered_here, self.communicators = gathered_here, communicators
        self._homes: dict[Type, tuple[list[int], int]] = {}

    def count(self) -> int:
        """Number of rows so far."""
        return len(self.tables.rows["arguments"])

    def expression(self, tree: Expression) -> int:
        """Store an expression, folded where it is constant in this run."""
        if names_in(tree) <= self.job.environment.keys():
            value = evaluate(tree, self.job.environment)
            if isinstance(value, int | float):
                return self.tables.constant(value)
        return self.tables.expression(tree, self.slots.load)

    def all_of(self, site: CallSite) -> None:
        """Write a row for every parameter of the module (`bindings`), then one for every dimension."""
        for parameter, given in bindings(site):
            if isinstance(given, Output):
                self.output(site, given)
            else:
                self._input(site, parameter, given)
        extents = self.shapes.dimensions(site)
        for name in site.module.signature.dimensions:
            self._row(ArgumentKind.DIMENSION, -1, self.expression(extents[name]), Element.I64)

    def output(self, site: CallSite, output: Output) -> None:
        """Write the row of an output: a scalar's slot, or an array that the engine allocates."""
        element = element_of(output.type)
        if output.type.scalar:  # An object counts as one: Python code puts its bytes into the slot.
            self._row(ArgumentKind.RESULT, self.slots.of(output.tag), -1, element)
            return
        shape = [self.expression(extent) for extent in self.shapes.made(site, output)]
        self.tables.add(
            "arguments", ArgumentKind.MAKE, self.slots.of(output.tag), -1, ELEMENT_CODES[element], len(shape),
            itemsize(element), tuple(shape) + (0,) * (MAX_DIMS - len(shape)), *self._home(site, output), 0,
        )  # fmt: skip

    def expected(self, site: CallSite, tag: str) -> None:
        """Write the row that makes sure of a tag's shape, where it may be another partition's."""
        if tag in self.shapes.loose:
            array = self.shapes.type_of(site, tag)
            self._array(ArgumentKind.READ, tag, array, self.shapes.local(array))

    def changed(self, site: CallSite, tag: str) -> None:
        """Write the row of an array that the engine changes in place."""
        array = self.shapes.type_of(site, tag)
        due = self.shapes.local(array) if tag in self.shapes.loose else None
        self._array(ArgumentKind.CHANGE, tag, array, due)

    def _array(self, kind: ArgumentKind, tag: str, array: Type, due: Sequence[Expression] | None) -> None:
        """Write the row of an array that is read or changed; `due` is the shape that it must have."""
        element, shape = element_of(array), [self.expression(extent) for extent in due or ()]
        self.tables.add(
            "arguments", kind, self.slots.of(tag), -1, ELEMENT_CODES[element], len(array.shape or ()),
            itemsize(element), (*shape, *(0,) * (MAX_DIMS - len(shape))), 0, due is not None, 0, 0, 0,
        )  # fmt: skip

    def _row(
        self, kind: ArgumentKind, slot: int, expression: int, element: Element, ndim: int = 0, text: int = 0
    ) -> None:
        size = itemsize(element) if element in ELEMENT_CODES else 0
        code = ELEMENT_CODES.get(element, 0)
        self.tables.add(
            "arguments",
            kind,
            slot,
            expression,
            code,
            ndim,
            size,
            (0,) * MAX_DIMS,
            *_home_row(_NO_SHARED_HOME),
            text,
        )

    def _input(self, site: CallSite, parameter: Parameter, argument: Argument | None) -> None:
        element = parameter.type.element
        if element is Element.COMM:
            self._communicator(site)
            return
        value = argument.value if argument else parameter.default
        assert value is not None
        if element is Element.STRING or self._is_text(site, argument):
            self._row(ArgumentKind.TEXT, -1, -1, Element.U8, text=self.tables.text(self.text(value)))
        elif argument and argument.tag:
            self._tag(site, parameter, argument.tag)
        else:
            self._row(ArgumentKind.SCALAR, -1, self.expression(value), element or Element.F64)

    def _communicator(self, site: CallSite) -> None:
        """Write the row of a communicator; in a rehearsal there is none yet, but it must be possible."""
        members(self.job, site)
        made = self.communicators.get(site.id)
        self._row(ArgumentKind.COMM, -1, -1, Element.I64, text=made.address if made else 0)

    def _is_text(self, site: CallSite, argument: Argument | None) -> bool:
        """Whether a module that takes values of any type (`print`) gets a string here."""
        if argument is None or argument.parameter.type.element is not None:
            return False
        value = argument.value
        return isinstance(value, Text) or isinstance(self.job.environment.get(getattr(value, "id", "")), str)

    def text(self, value: Expression) -> str:
        """Give a string argument's value, which is constant in a run."""
        return value.value if isinstance(value, Text) else str(evaluate(value, self.job.environment))

    def _tag(self, site: CallSite, parameter: Parameter, tag: str) -> None:
        array, slot, inout = (
            self.shapes.type_of(site, tag),
            self.slots.of(tag),
            parameter.direction is Direction.INOUT,
        )
        if array.element is Element.OBJECT:
            self._row(ArgumentKind.READ, slot, -1, Element.OBJECT)
        elif array.scalar and inout:
            self._row(ArgumentKind.UPDATE, slot, -1, element_of(array))
        elif array.scalar:
            value = next(a.value for a in site.inputs if a.parameter.name == parameter.name)
            self._row(
                ArgumentKind.SCALAR, -1, self.expression(value), parameter.type.element or element_of(array)
            )
        else:
            kind = ArgumentKind.CHANGE if inout else ArgumentKind.READ
            due = self.shapes.needed(site, parameter) if self.shapes.takes_loose(site) else None
            self._array(kind, tag, array, due)

    def _home(self, site: CallSite, output: Output) -> tuple[int, int, int, int]:
        """Where a root thread will gather the tag, all pieces are made inside one block of the node."""
        array = output.type
        if not (array.distribution.distributed and site.parallel and self.gathered_here(site, output)):
            return _home_row(_NO_SHARED_HOME)
        if array not in self._homes:
            self._homes[array] = self._stretches(array)
        offsets, size = self._homes[array]
        if not offsets:
            return _home_row(_NO_SHARED_HOME)
        return _home_row((len(offsets), size, offsets[self.shapes.here.partition or 0]))

    def _stretches(self, array: Type) -> tuple[list[int], int]:
        """Where each piece lies in the whole array, and its bytes; nothing if not all are stretches."""
        size, whole = itemsize(element_of(array)), self.shapes.whole(array)
        pieces = self.shapes.pieces(array)
        found = [between(piece, whole, size) for piece in pieces]
        bytes_each = [size * math.prod(extents(piece)) for piece in pieces]
        apart = any(
            not _is_stretch(moves, total, size) for moves, total in zip(found, bytes_each, strict=True)
        )
        if apart or min(bytes_each) < max(1, self.job.local_limit):
            return [], 0
        return [moves[0].target for moves in found], sum(bytes_each)


def _is_stretch(moves: Sequence[Move], size: int, itemsize: int) -> bool:
    """Whether a piece of so many bytes is one stretch of the whole array."""
    if len(moves) != 1 or moves[0].elements * itemsize != size:
        return False
    return moves[0].target_strides in ((itemsize,), ())


def _home_row(home: tuple[int, int, int]) -> tuple[int, int, int, int]:
    parts, share_bytes, offset = home
    return parts, 0, share_bytes, offset
