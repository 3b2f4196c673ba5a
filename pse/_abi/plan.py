"""The plan of one rank: the rows of its tables, and their codes.

Made from cext/abi/plan.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from pse._abi.memory import LAYOUT_DTYPE, LayoutRow

NO_LOAD = 0xFFFFFFFF  # Where a fiber's CPU time is counted that belongs to no partition.

# An instruction and its operands.
INSTRUCTION_DTYPE = np.dtype(
    [
        ("operation", "<i4"),  # pse_operation
        ("a", "<i4"),
        ("b", "<i4"),
        ("c", "<i4"),
    ]
)

# A term of a scalar expression.
TERM_DTYPE = np.dtype(
    [
        ("kind", "<i4"),
        ("slot", "<i4"),
        ("axis", "<i4"),
        ("reserved", "<i4"),
        ("value", "<i8"),  # INTEGER, REAL, IMAGINARY, TEXT
    ]
)

# An expression: a run of terms.
EXPRESSION_DTYPE = np.dtype(
    [
        ("first", "<i4"),
        ("count", "<i4"),
    ]
)

# An argument of a call.
ARGUMENT_DTYPE = np.dtype(
    [
        ("kind", "<i4"),
        ("slot", "<i4"),
        ("expression", "<i4"),
        ("dtype", "<u2"),
        ("ndim", "<u2"),
        ("itemsize", "<u4"),
        ("shape", "<i4", 8),  # MAKE: an expression for each axis
        # MAKE, where the result is later gathered on the node: it is a part of one block shared by `parts`
        # partitions
        ("parts", "<u4"),
        ("checked", "<u4"),  # READ, CHANGE: what comes must have this shape (an expression for each axis)
        # MAKE: which argument of the call, a COUNT, says how many rows are filled; -1: all are
        ("filled", "<i4"),
        ("reserved", "<u4"),
        ("share_bytes", "<u8"),
        ("share_offset", "<u8"),
        ("text", "<u8"),
    ],
    align=True,
)

# A strided copy from one buffer to another; all in bytes.
MOVE_DTYPE = np.dtype(
    [
        ("source", "<u8"),  # offset of the first byte
        ("target", "<u8"),
        ("ndim", "<u4"),
        ("itemsize", "<u4"),
        ("shape", "<i8", 8),
        ("source_strides", "<i8", 8),
        ("target_strides", "<i8", 8),
    ]
)

# What one buffer gives to another. In a push, `layout` is the array that the moves make where the part
# travels by itself; in an ASSEMBLE or FILL it is the array that they take it from.
PART_DTYPE = np.dtype(
    [
        ("first_move", "<i4"),
        ("moves", "<i4"),
        ("bytes", "<u8"),  # that are moved; a push clears what they leave out of its layout (a halo)
        ("layout", LAYOUT_DTYPE),
    ]
)

# One hand-over after a call: the value of `slot` (or a part of it) goes to `rank` along `edge`.
PUSH_DTYPE = np.dtype(
    [
        ("slot", "<i4"),
        ("edge", "<u4"),
        ("rank", "<u4"),
        ("index", "<u4"),  # which piece, for edges with one piece for each partition
        ("part", "<i4"),  # -1: the whole; where `blocks` is not 0: which of the blocks
        ("remote", "u1"),  # through MPI
        ("throttled", "u1"),  # counts against the queue's depth
        # the part must arrive as a C-ordered array; else, on the node, the whole buffer does
        ("contiguous", "u1"),
        # the same part as the push before, to another rank of this node: they share one block
        ("again", "u1"),
        ("depth", "<u4"),  # places in the queue to that rank
        ("sharers", "<u4"),  # how many pushes to this node, from this one on, share the part's block
        # into how many even blocks the rows are cut that there are when it runs; 0: the plan has the part
        ("blocks", "<u4"),
    ]
)

# A call of a module, or an operation of the engine.
CALL_DTYPE = np.dtype(
    [
        ("kind", "<i4"),
        ("site", "<u4"),
        ("first_argument", "<i4"),
        ("arguments", "<i4"),
        ("first_push", "<i4"),
        ("pushes", "<i4"),
        ("first_release", "<i4"),  # slots given up after the call
        ("releases", "<i4"),
        ("source", "<i4"),  # slots of operations of the engine
        ("target", "<i4"),
        ("first_part", "<i4"),  # ASSEMBLE: where each piece goes in the target
        ("parts", "<i4"),
        ("combination", "<i4"),  # COMBINE: a coven_op
        ("alias", "u1"),  # PUBLISH, ASSEMBLE, DUPLICATE: nobody else reads the source, so views will do
        ("silent", "u1"),  # a first half of a call site: the second half accounts for both
        ("ordered", "u1"),  # has a communicator of several ranks
        ("region", "u1"),  # set of partitions that it works in, from 1; 0: outside PARALLEL
        ("clear", "u1"),  # ASSEMBLE: the pieces leave cells out (a halo), which are zero
        # PUBLISH: two tags stand for the buffer from now on; whoever changes one takes a copy
        ("lend", "u1"),
        ("apart", "u1"),  # where partitions decide for themselves: not all of them may come to it
        ("function", "<u8"),
        ("text", "<u8"),  # 'module fft.rows, fft2d.coven:15:7': for the fault handler
    ],
    align=True,
)

# An `inflight` loop.
LOOP_DTYPE = np.dtype(
    [
        ("id", "<u4"),
        ("counter", "<i4"),  # slot of the iteration's counter
        ("lower", "<i4"),  # expressions
        ("upper", "<i4"),
        ("inflight", "<i4"),
        ("body", "<i4"),  # first instruction
        ("step", "<i8"),  # by how much the counter grows, or falls; not 0
        ("nested", "u1"),  # inside another inflight loop: only this rank's own limit holds
    ],
    align=True,
)

# How this rank's node learns how many iterations of a loop are complete, and lets others know. Four runs of
# ranks in `participants`, one after the other.
COUNTING_DTYPE = np.dtype(
    [
        ("first", "<u4"),
        ("watched", "<u4"),  # of these, the least that anyone has completed is complete everywhere
        ("counted", "<u4"),  # ... is what this node tells, as the count of `speaker`
        ("told", "<u4"),  # ... to these, on other nodes
        ("relayed", "<u4"),  # who are told by this rank what it hears from `top`
        ("speaker", "<u4"),
        ("top", "<u4"),
    ]
)

# One partition's way through a PARALLEL region, where a processor may have several of them or none.
FIBER_DTYPE = np.dtype(
    [
        ("body", "<i4"),  # first instruction
        ("partition", "<u4"),
        ("load", "<u4"),  # where its CPU time is counted; PSE_NO_LOAD: nowhere
        ("reserved", "<u4"),
    ]
)

# Where the partitions of a set live: ranks of this rank's thread, from `first_owner` on in `owners`.
REGION_DTYPE = np.dtype(
    [
        ("partitions", "<u4"),
        ("first_owner", "<u4"),
        ("grid", "<i4", 8),  # extents of their grid; 0 beyond its last axis
    ]
)

# The tables, and numbers about the rank.
PLAN_DTYPE = np.dtype(
    [
        ("rank", "<u4"),
        ("ranks", "<u4"),
        ("partition", "<u4"),
        ("slots", "<u4"),
        ("edges", "<u4"),
        ("loops_count", "<u4"),
        ("pushes_count", "<u4"),
        ("instructions_count", "<u4"),
        ("loads_count", "<u4"),  # partitions whose CPU time is counted
        ("instructions", "<u8"),
        ("terms", "<u8"),
        ("expressions", "<u8"),
        ("arguments", "<u8"),
        ("parts", "<u8"),
        ("moves", "<u8"),
        ("pushes", "<u8"),
        ("releases", "<u8"),
        ("calls", "<u8"),
        ("loops", "<u8"),
        ("fibers", "<u8"),
        ("regions", "<u8"),
        ("owners", "<u8"),
        ("countings", "<u8"),  # per loop
        ("participants", "<u8"),
        ("edge_depths", "<u8"),  # per edge: places in its queue at this rank; 0: not bounded
        ("edge_sites", "<u8"),  # per edge: call site that defines it
        # per edge, and one more: first row of `forwards`, ranks that get from this one what comes along it
        ("forward_first", "<u8"),
        ("forwards", "<u8"),
        # per edge, and one more: first row of `credits`; if it has any: the rank that is told what was taken
        # on this node, the rank as whose count, and the ranks of which the one that has taken least counts
        ("credit_first", "<u8"),
        ("credits", "<u8"),
        ("remote", "<u8"),  # per rank: reached through MPI
        ("ensemble", "<u8"),  # this thread's rank on every processor
        ("ensemble_count", "<u4"),  # how many; which of them is this rank
        ("place", "<u4"),
        ("local_limit", "<u8"),  # bytes: smaller buffers stay private to the rank
        ("shared", "u1"),  # shared_memory = on
        ("has_remote", "u1"),  # some peer is reached through MPI
    ],
    align=True,
)


class Operation(IntEnum):
    """Instructions. Control flow is the same on every rank that takes part in it."""

    CALL = 0  # a: call
    EXPECT = 1  # a: slot, b: edge, c: pieces (0: a single value); the slot's value is on its way
    ASSIGN = 2  # a: slot, b: expression
    DROP = 3  # a: slot; its value is not needed any more
    SWAP = 4  # a, b: slots
    JUMP = 5  # a: instruction
    JUMP_UNLESS = 6  # a: instruction, b: expression
    FORK = 7  # a: loop; start its iterations, go on when all are complete
    END = 8  # the context is complete
    SPREAD = 9  # a: first fiber, b: fibers; run them side by side, go on when all have ended
    PAUSE = 10  # a: point, b: always due if any is; if due, wait for what is under way, return to the caller


class TermKind(IntEnum):
    """Scalar expressions in postfix order; one flat table, each expression a range of it."""

    INTEGER = 0
    REAL = 1
    SLOT = 2
    EXTENT = 3  # slot, axis of its buffer
    NEGATE = 4
    NOT = 5
    ADD = 6
    SUBTRACT = 7
    MULTIPLY = 8
    DIVIDE = 9
    MODULO = 10
    POWER = 11
    LESS = 12
    LESS_EQUAL = 13
    GREATER = 14
    GREATER_EQUAL = 15
    EQUAL = 16
    NOT_EQUAL = 17
    AND = 18
    OR = 19
    MINIMUM = 20
    MAXIMUM = 21
    ABSOLUTE = 22
    SQUARE_ROOT = 23
    FLOOR = 24
    CEILING = 25
    LOG2 = 26
    TO_INTEGER = 27
    TO_REAL = 28
    SKIP_UNLESS = 29  # `slot` terms, if what is left of `and` is false already
    SKIP_WHEN = 30  # `slot` terms, if what is left of `or` is true already
    IMAGINARY = 31  # a complex number without a real part: `value` is its imaginary part
    TEXT = 32  # a constant string: `value` is its address
    FORMAT = 33  # a number as a string; `slot`: the element type that the program gives it
    JOIN = 34  # two strings as one


class ArgumentKind(IntEnum):
    """Arguments of a call, in the order of the trampoline."""

    READ = 0  # array, not changed
    CHANGE = 1  # array, changed in place
    MAKE = 2  # array, allocated by the engine, written by the module
    SCALAR = 3  # scalar passed in: `expression`
    RESULT = 4  # scalar written by the module into `slot`
    UPDATE = 5  # scalar read and written: `slot`
    DIMENSION = 6  # int64_t: `expression`
    TEXT = 7  # string: a constant, or what `slot` holds
    COMM = 8  # communicator: `text` is the address of its handle
    LATER = 9  # array, allocated when the module has said how many rows it has; `shape` has the most
    # int64_t that the module changes: how many rows outputs can have (`expression`), then how many they have
    COUNT = 10


class CallKind(IntEnum):
    """Who executes a call."""

    NATIVE = 0  # a compiled module
    PYTHON = 1  # handed to Python
    PUBLISH = 2  # pushes only (scatter, replicate, the sending half of transpose)
    ASSEMBLE = 3  # pieces of `source` -> array in `target`, placed by `parts`
    DUPLICATE = 4  # copy `source` -> `target`
    ZERO = 5  # `target` filled with zeros
    COMBINE = 6  # per-partition scalars or arrays of `source`, reduced in order of index -> `target`
    FILL = 7  # pieces of `source` (-1: none) -> cells of the array in `target`, placed by `parts`
    CONCATENATE = 8  # pieces of `source` -> array in `target`, one behind the other along the first axis


class RunResult(IntEnum):
    """Why the engine returns to its caller."""

    DONE = 0
    PYTHON = 1  # call the Python module of `pse_engine_pending`, then pse_engine_complete
    POLL = 2  # look after MPI (outbox, arrivals), then run again
    SIGNAL = 3  # a signal came while asleep: let Python see it, then run again
    MODULE_FAILED = 4  # a compiled module returned a code other than 0
    ARITHMETIC = 5  # an expression divides by zero or leaves its domain
    TOO_LARGE = 6  # an output is larger than the whole arena
    NO_SPACE = 7  # the arena is full and nobody can ever free
    MEMORY = 8  # the system has no memory left
    BROKEN = 9  # the plan reads a slot that holds nothing: a fault of ours
    MESSAGING = 10  # messages among partitions went wrong: pse_engine_messaging_fault
    DEADLOCK = 11  # nothing will ever move again: pse_engine_waits
    NOT_FINITE = 15  # `-o check=nan` has found an output with a NaN or infinity: see pse_engine_not_finite
    UNDERRUN = 16  # `--debug` has found that a module wrote before one of its arrays: see pse_engine_underrun
    # a module has filled more rows of an output than there are, or says so: see pse_engine_misfilled
    ROWS = 17
    DESCRIPTOR = 18  # a module has closed the descriptor of pse_engine_watch_descriptor
    SHAPE = 12  # an array has another shape than the call expects: see pse_engine_misfit
    RELEASED = 14  # a buffer was released more often than it was held: a fault of ours
    PAUSE = 13  # a pause is due and everything expected has come: see pause.c, then run again


class InstructionRow(NamedTuple):
    """An instruction and its operands."""

    operation: int
    a: int = 0
    b: int = 0
    c: int = 0


class TermRow(NamedTuple):
    """A term of a scalar expression."""

    kind: int
    slot: int = 0
    axis: int = 0
    reserved: int = 0
    value: int = 0


class ExpressionRow(NamedTuple):
    """An expression: a run of terms."""

    first: int
    count: int  # type: ignore[assignment]


class ArgumentRow(NamedTuple):
    """An argument of a call."""

    kind: int
    slot: int
    expression: int
    dtype: int
    ndim: int
    itemsize: int
    shape: tuple[int, ...]
    parts: int
    checked: int
    filled: int
    reserved: int
    share_bytes: int
    share_offset: int
    text: int


class MoveRow(NamedTuple):
    """A strided copy from one buffer to another; all in bytes."""

    source: int
    target: int
    ndim: int
    itemsize: int
    shape: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_strides: tuple[int, ...]


class PartRow(NamedTuple):
    """What one buffer gives to another.

    In a push, `layout` is the array that the moves make where the part travels by itself; in an ASSEMBLE or
    FILL it is the array that they take it from.
    """

    first_move: int
    moves: int
    bytes: int
    layout: LayoutRow


class PushRow(NamedTuple):
    """One hand-over after a call: the value of `slot` (or a part of it) goes to `rank` along `edge`."""

    slot: int
    edge: int
    rank: int
    index: int  # type: ignore[assignment]
    part: int
    remote: int
    throttled: int
    contiguous: int
    again: int
    depth: int
    sharers: int
    blocks: int


class CallRow(NamedTuple):
    """A call of a module, or an operation of the engine."""

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
    alias: int
    silent: int
    ordered: int
    region: int
    clear: int
    lend: int
    apart: int
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
    step: int
    nested: int


class CountingRow(NamedTuple):
    """How this rank's node learns how many iterations of a loop are complete, and lets others know.

    Four runs of ranks in `participants`, one after the other.
    """

    first: int
    watched: int
    counted: int
    told: int
    relayed: int
    speaker: int
    top: int


class FiberRow(NamedTuple):
    """One partition's way through a PARALLEL region, where a processor may have several of them or none."""

    body: int
    partition: int
    load: int
    reserved: int = 0


class RegionRow(NamedTuple):
    """Where the partitions of a set live: ranks of this rank's thread, from `first_owner` on in `owners`."""

    partitions: int
    first_owner: int
    grid: tuple[int, ...]


Row = (
    InstructionRow
    | TermRow
    | ExpressionRow
    | ArgumentRow
    | MoveRow
    | PartRow
    | PushRow
    | CallRow
    | LoopRow
    | CountingRow
    | FiberRow
    | RegionRow
)

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
    FiberRow: "fibers",
    RegionRow: "regions",
}
"""The table of each kind of row."""

DTYPES: dict[str, np.dtype[Any]] = {
    "instructions": INSTRUCTION_DTYPE,
    "terms": TERM_DTYPE,
    "expressions": EXPRESSION_DTYPE,
    "arguments": ARGUMENT_DTYPE,
    "moves": MOVE_DTYPE,
    "parts": PART_DTYPE,
    "pushes": PUSH_DTYPE,
    "calls": CALL_DTYPE,
    "loops": LOOP_DTYPE,
    "countings": COUNTING_DTYPE,
    "fibers": FIBER_DTYPE,
    "regions": REGION_DTYPE,
}
"""The rows of each table."""
