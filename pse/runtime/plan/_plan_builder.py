"""The builder of a rank's plan: it turns what lowering gives into rows, and numbers slots and edges."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from pse._abi.elements import ELEMENT_CODES
from pse._abi.memory import LayoutRow
from pse._abi.plan import (
    ArgumentKind,
    ArgumentRow,
    CallKind,
    CallRow,
    ExpressionRow,
    InstructionRow,
    MoveRow,
    Operation,
    PartRow,
    PushRow,
    RegionRow,
    TermRow,
)
from pse.language.diagnostics import Span
from pse.language.types import Expression, Number, evaluate, names_in, record_of
from pse.runtime.distribution._strided_copies import StridedCopy, strides
from pse.runtime.plan._communicators import waits_for_turn
from pse.runtime.plan._expression_lowering import ExpressionLowering
from pse.runtime.plan._lowered import Argument, Assignment, Call, Drop, Exchange, Expect, Lowered, Part, Push
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._slots import Slots
from pse.runtime.plan._tables import Tables, element_code, itemsize, padded

_ASSEMBLING = (CallKind.ASSEMBLE, CallKind.FILL)


class PlanBuilder:
    """The plan of one rank under construction.

    Attributes
    ----------
    tables : Tables
        All rows but the instructions.
    slots : Slots
        The numbers of slots so far.
    code : list of InstructionRow
        The instructions so far.
    spans : list of Span or None
        The place in the program of every instruction.
    span : Span or None
        The place in the program of what is appended next.
    """

    def __init__(self, position: Position) -> None:
        self.job, self.rank, self.key = position.job, position.rank, position.key
        self.tables, self.slots = Tables(), Slots(position)
        self.code: list[InstructionRow] = []
        self.spans: list[Span | None] = []
        self.span: Span | None = None
        self._constants: dict[int, int] = {}
        self._regions: dict[str, int] = {}

    def emit(self, operation: Operation, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Append an instruction; gives its index."""
        self.code.append(InstructionRow(operation, a, b, c))
        self.spans.append(self.span)
        return len(self.code) - 1

    def set_target(self, jump: int) -> None:
        """Let a jump that was emitted before lead to what is appended next."""
        self.code[jump] = self.code[jump]._replace(a=len(self.code))

    def set_operands(self, instruction: int, a: int, b: int) -> None:
        """Give an instruction that was emitted before its first two operands."""
        self.code[instruction] = self.code[instruction]._replace(a=a, b=b)

    def append(self, lowered: Iterable[Lowered]) -> None:
        """Append what a lowering step gave."""
        for item in lowered:
            match item:
                case Call():
                    self._call(item)
                case Expect():
                    slot = self.slots.of(item.tag, item.partition)
                    self.emit(Operation.EXPECT, slot, self.job.edges.number(item.edge, item.lane), item.count)
                case Assignment():
                    self._assign(item)
                case Drop():
                    self.emit(Operation.DROP, self.slots.of(item.tag, item.partition))
                case Exchange():
                    left, right = (self.slots.of(tag, item.partition) for tag in (item.left, item.right))
                    self.emit(Operation.SWAP, left, right)

    def expression(self, tree: Expression, partition: int | None) -> int:
        """Add an expression; gives its index."""
        operand = functools.partial(self.slots.operand, partition=partition)
        terms = ExpressionLowering(operand, self.job.element, self.tables.text).terms(tree)
        return self.tables.add(ExpressionRow(*self.tables.extend(TermRow, terms)))

    def constant(self, value: int | float) -> int:
        """Add an expression that is a number, each integer once; gives its index."""
        if isinstance(value, float):
            return self.expression(Number(value), None)
        if value not in self._constants:
            self._constants[value] = self.expression(Number(value), None)
        return self._constants[value]

    def folded(self, tree: Expression, partition: int | None) -> int:
        """Add an expression, as a number where it is constant in this run; gives its index."""
        if names_in(tree) <= self.job.environment.keys():
            value = evaluate(tree, self.job.environment)
            if isinstance(value, int | float):
                return self.constant(value)
        return self.expression(tree, partition)

    def _assign(self, item: Assignment) -> None:
        slot = self.slots.of(item.tag, item.partition)
        add = self.folded if item.folded else self.expression
        self.emit(Operation.ASSIGN, slot, add(item.value, item.partition))

    def _call(self, call: Call) -> None:
        """Append a call, after the rows of its arguments, parts and hand-overs."""
        site, position, operation = call.site, call.position, call.operation
        partition = position.partition
        arguments = self.tables.extend(ArgumentRow, [self._argument(a, partition) for a in call.arguments])
        parts = self._parts(call.parts)
        where = f", partition {partition}" if position.fiber else ""
        text = self.tables.text(f"module {site.label}, {site.span}{where}")
        source, target = (
            -1 if tag is None else self.slots.of(tag, partition)
            for tag in (operation.source, operation.target)
        )
        pushes = self._pushes(call, parts[0])
        releases = self.tables.release([self.slots.of(tag, partition) for tag in call.releases])
        row = CallRow(
            call.kind, site.id, *arguments, *pushes, *releases, source, target,
            *(parts if call.kind in _ASSEMBLING and call.parts else (0, 0)),
            operation.combination, operation.alias, operation.silent, waits_for_turn(site, call.kind),
            self._region(call), operation.clear, operation.lend, self.job.liveness.walk.is_apart(site),
            call.function, text,
        )  # fmt: skip
        self.emit(Operation.CALL, self.tables.add(row))

    def _argument(self, argument: Argument, partition: int | None) -> ArgumentRow:
        slot = -1
        if argument.tag is not None and argument.kind not in (ArgumentKind.MAKE, ArgumentKind.LATER):
            slot = self.slots.of(argument.tag, partition)
        shape = tuple([self.folded(extent, partition) for extent in argument.shape])
        if argument.tag is not None:  # What an array is made from has the lower number.
            slot = self.slots.of(argument.tag, partition)
        element, block = argument.element, argument.block
        known = element in ELEMENT_CODES or record_of(element) is not None
        return ArgumentRow(
            argument.kind, slot, -1 if argument.value is None else self.folded(argument.value, partition),
            element_code(element), argument.ndim, itemsize(element) if known else 0,
            padded(shape), block.parts, argument.checked, argument.filled, 0, block.size, block.offset,
            argument.address if argument.text is None else self.tables.text(argument.text),
        )  # fmt: skip

    def _parts(self, parts: Sequence[Part]) -> tuple[int, int]:
        return self.tables.extend(PartRow, [self._part(part) for part in parts])

    def _part(self, part: Part) -> PartRow:
        size = itemsize(part.element)
        moves = self.tables.extend(MoveRow, [_move(copy, size) for copy in part.copies])
        layout = LayoutRow(
            element_code(part.element), len(part.shape), 0, size,
            padded(part.shape), padded(strides(part.shape, size)),
        )  # fmt: skip
        return PartRow(*moves, size * sum(copy.elements for copy in part.copies), layout)

    def _pushes(self, call: Call, first_part: int) -> tuple[int, int]:
        pushes, partition = call.pushes, call.position.partition
        remote = [self.job.is_remote(self.rank, push.rank) for push in pushes]
        again = [_shares_before(pushes, remote, place) for place in range(len(pushes))]
        sharers = _run_lengths(again)
        return self.tables.extend(PushRow, [
            PushRow(
                self.slots.of(push.tag, partition), self.job.edges.number(push.edge, push.lane), push.rank,
                push.index, push.part if push.part < 0 or push.blocks else first_part + push.part,
                remote[place], push.depth is not None, push.contiguous, again[place], push.depth or 0,
                sharers[place], push.blocks,
            )
            for place, push in enumerate(pushes)
        ])  # fmt: skip

    def _region(self, call: Call) -> int:
        """Give the number of the set of partitions that a call works in; 0 outside PARALLEL.

        It is the same on every rank: the first call in PARALLEL adds all sets.
        """
        if not call.site.parallel or call.site.partition is None:
            return 0
        for name in self.job.sets if not self._regions else ():
            owners, first = self.job.owners(name), len(self.tables.owners)
            placement = self.job.liveness.placement
            self.tables.owners.extend(placement.rank_of(self.key, owner) for owner in owners)
            self._regions[name] = (
                self.tables.add(RegionRow(len(owners), first, padded(self.job.grid(name)))) + 1
            )
        return self._regions[call.site.partition]


def _move(copy: StridedCopy, size: int) -> MoveRow:
    dimensions = map(padded, (copy.shape, copy.source_strides, copy.target_strides))
    return MoveRow(copy.source, copy.target, len(copy.shape), size, *dimensions)


def _shares_before(pushes: Sequence[Push], remote: Sequence[bool], place: int) -> bool:
    """Whether a push hands over the same part, on this node, as the one before it."""
    if place == 0 or pushes[place].part < 0 or pushes[place - 1].part != pushes[place].part:
        return False
    return not (remote[place - 1] or remote[place])


def _run_lengths(again: Sequence[bool]) -> list[int]:
    """Count, from each push on, how many share its part.

    Examples
    --------
    >>> _run_lengths([False, True, True, False])
    [3, 2, 1, 1]
    """
    lengths = [1] * len(again)
    for place in range(len(again) - 2, -1, -1):
        if again[place + 1]:
            lengths[place] += lengths[place + 1]
    return lengths
