"""The rows of the plan's tables: one type for each table, its fields in the order of cext/engine/plan.h."""

from __future__ import annotations

from typing import NamedTuple

Dimensions = tuple[int, ...]
"""One number per axis, filled up with zeros to the largest number of axes."""


class InstructionRow(NamedTuple):
    """An instruction and its operands."""

    operation: int
    a: int = 0
    b: int = 0
    c: int = 0


class TermRow(NamedTuple):
    """A term of an expression in postfix order."""

    kind: int
    slot: int = 0
    axis: int = 0
    reserved: int = 0
    bits: int = 0


class ExpressionRow(NamedTuple):
    """An expression: a run of terms."""

    first: int
    count: int


class ArgumentRow(NamedTuple):
    """An argument of a call."""

    kind: int
    slot: int
    expression: int
    dtype: int
    ndim: int
    itemsize: int
    shape: Dimensions
    parts: int
    checked: bool
    share_bytes: int
    share_offset: int
    text: int


class MoveRow(NamedTuple):
    """A strided copy, in bytes."""

    source: int
    target: int
    ndim: int
    itemsize: int
    shape: Dimensions
    source_strides: Dimensions
    target_strides: Dimensions


class LayoutRow(NamedTuple):
    """The layout of an array that travels; it is part of a `PartRow`."""

    dtype: int
    ndim: int
    reserved: int
    itemsize: int
    shape: Dimensions
    strides: Dimensions


class PartRow(NamedTuple):
    """What one buffer gives to another: a run of moves."""

    first_move: int
    moves: int
    bytes: int
    layout: LayoutRow


class PushRow(NamedTuple):
    """A hand-over to one rank."""

    slot: int
    edge: int
    rank: int
    index: int
    part: int
    remote: bool
    throttled: bool
    contiguous: bool
    again: bool
    depth: int
    sharers: int


class CallRow(NamedTuple):
    """A call, of a module or of the engine's own operations."""

    kind: int
    site: int
    first_argument: int
    arguments: int
    first_push: int
    pushes: int
    first_release: int
    releases: int
    source: int
    target: int
    first_part: int
    parts: int
    combination: int
    alias: bool
    silent: bool
    ordered: bool
    region: int
    clear: bool
    lend: bool
    function: int
    text: int


class LoopRow(NamedTuple):
    """An `inflight` loop."""

    id: int
    counter: int
    lower: int
    upper: int
    inflight: int
    body: int
    nested: bool


class CountingRow(NamedTuple):
    """How a rank learns how many iterations of a loop are complete everywhere."""

    first: int
    watched: int
    counted: int
    told: int
    relayed: int
    speaker: int
    top: int


class RegionRow(NamedTuple):
    """A set of partitions, and where the list of their ranks begins."""

    partitions: int
    first_owner: int


class FiberRow(NamedTuple):
    """A fiber: where its code begins, its partition, and where its CPU time is counted."""

    body: int
    partition: int
    load: int
    reserved: int = 0


Row = (
    InstructionRow | TermRow | ExpressionRow | ArgumentRow | MoveRow | PartRow | PushRow | CallRow | LoopRow
    | CountingRow | RegionRow | FiberRow
)  # fmt: skip

TABLES: dict[type, str] = {
    InstructionRow: "instructions",
    TermRow: "terms",
    ExpressionRow: "expressions",
    ArgumentRow: "arguments",
    MoveRow: "moves",
    PartRow: "parts",
    PushRow: "pushes",
    CallRow: "calls",
    LoopRow: "loops",
    CountingRow: "countings",
    RegionRow: "regions",
    FiberRow: "fibers",
}
"""The table in which rows of a type are stored."""
