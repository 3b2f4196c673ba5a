"""What a checked program is: names resolved, segments inlined, every call bound to a module's signature.

The checker makes it; `graph` builds the program graph from it and `runtime` projects it onto ranks. Names
of tags and scalars are unique in the whole program (a tag inside a segment's second use is
`ring#2.visiting`; `display` is what the user wrote).  Expressions in it name parameters, `procs`,
partitions, loop counters and scalar tags by these unique names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Expression, Value
from pse.language.types._types import Element, Parameter, Signature, Type


@dataclass(frozen=True)
class Tag:
    """A name that stands for a buffer or scalar."""

    name: str
    type: Type
    span: Span
    display: str = ""
    loop_counter: bool = False


@dataclass(frozen=True)
class ModuleReference:
    """A module as the program found it: enough for `modules` to build and load it, never executed here.

    `source` is the resolved file (None for `pse.std`), `path` the one to print.
    """

    name: str
    signature: Signature
    source: str | None
    path: str
    line: int
    language: str  # "c", "c++", "cython", "fortran", "python", "std"


@dataclass(frozen=True)
class Argument:
    """One input or in-out of a call: a tag, or an expression over scalars."""

    parameter: Parameter
    value: Expression
    tag: str | None  # unique name when the argument is a tag passed whole (array, or inout scalar)
    span: Span


@dataclass(frozen=True)
class Reduction:
    """`e reduce total(sum)`: the per-partition scalar of one output, combined into a replicated scalar."""

    target: str
    operation: str  # sum, prod, min, max, all, any
    span: Span


@dataclass(frozen=True)
class Output:
    """One output of a call: the tag that it defines (its type is the tag's at this point)."""

    parameter: Parameter
    tag: str
    type: Type
    span: Span
    reduction: Reduction | None = None


@dataclass(frozen=True)
class CallSite:
    """One module call of the program.

    `id` counts call sites from 0 in textual order (inlined segments: in order of expansion).
    `dimensions` gives each dimension name of the signature as an expression over program names where it is
    known statically (a distributed axis gives the *global* extent).
    `thread` is the label as written, None where the engine is to choose.  `parallel` says whether it stands
    inside PARALLEL; `partition` over which partition.
    """

    id: int
    module: ModuleReference
    inputs: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    thread: str | None
    parallel: bool
    partition: str | None
    dimensions: Mapping[str, Expression]
    span: Span
    label: str  # as written: `fft.rows`


@dataclass(frozen=True)
class Assign:
    """`let x = …`, `var f64 x = …`, `x = …`: a scalar computed alike by every rank that needs it.

    `let visiting = copy(xm)` is a CallSite, not an Assign.
    """

    tag: str
    value: Expression
    span: Span


@dataclass(frozen=True)
class Swap:
    """`swap(u, v)`: exchanges what two names stand for; no data moves."""

    left: str
    right: str
    span: Span


@dataclass(frozen=True)
class For:
    """`for k in lower .. upper [inflight n]`; the upper bound is exclusive."""

    counter: str
    lower: Expression
    upper: Expression
    inflight: Expression | None
    body: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class While:
    """`while condition max limit`."""

    condition: Expression
    limit: Expression
    body: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class If:
    """`if … { } else { }`."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class Parallel:
    """`PARALLEL over P`: the body runs once for each partition."""

    partition: str
    body: tuple[Statement, ...]
    span: Span


Statement = CallSite | Assign | Swap | For | While | If | Parallel


@dataclass(frozen=True)
class PartitionDeclaration:
    """`partition P = 4 * procs as grid(2 * procs, 2)`."""

    name: str
    count: Expression
    grid: tuple[Expression, ...] | None
    span: Span


@dataclass(frozen=True)
class ParameterDeclaration:
    """`param i64 N = 1024 where N % procs == 0`."""

    name: str
    element: Element
    default: Expression | None
    where: Expression | None
    span: Span


@dataclass(frozen=True)
class Option:
    """One entry of `options { … }`; `thread` for a per-thread one (`queue_depth thread_C = 4`)."""

    name: str
    value: Value
    thread: str | None
    span: Span


@dataclass(frozen=True)
class ResolvedProgram:
    """A program that passed every static check.

    `tags` has every tag by unique name.  Options hold what the program says, not the defaults.
    """

    name: str
    path: str
    text: str
    parameters: tuple[ParameterDeclaration, ...]
    partitions: tuple[PartitionDeclaration, ...]
    options: tuple[Option, ...]
    tags: Mapping[str, Tag]
    body: tuple[Statement, ...]
    modules: tuple[ModuleReference, ...] = field(default=())
