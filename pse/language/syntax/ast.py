"""The syntax tree of a ``.coven`` program: frozen, with the span of every node, nothing resolved.

The parser makes it, the checker and the formatter read it.  Expressions are those of `pse.language.types`;
what only a program's text can hold (a call of a module inside an expression, say) is here.
"""

from __future__ import annotations

from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Expression, Value
from pse.records import dataclass


@dataclass(frozen=True)
class Identifier:
    """A name where it is written."""

    id: str
    span: Span


@dataclass(frozen=True)
class Dotted:
    """`rows` or `fft.rows`."""

    parts: tuple[Identifier, ...]
    span: Span

    @property
    def text(self) -> str:
        """The name as written."""
        return self.parts[0].id if len(self.parts) == 1 else ".".join(part.id for part in self.parts)


@dataclass(frozen=True)
class CallArgument:
    """One argument: by position, or `seed = 42`; `inout` says that the program marks it as changed."""

    name: Identifier | None
    inout: bool
    value: SyntaxExpression
    span: Span


@dataclass(frozen=True)
class CallExpression:
    """A call of what is not a built-in function, where an expression stands: `let visiting = copy(xm)`."""

    callee: Dotted
    arguments: tuple[CallArgument, ...]
    span: Span


SyntaxExpression = Expression | CallExpression


@dataclass(frozen=True)
class DistributionNode:
    """`@ block(0, 1) halo(1) over P`."""

    pattern: Dotted
    arguments: tuple[Expression, ...]
    halo: tuple[Expression, ...]
    partition: Identifier | None
    span: Span


@dataclass(frozen=True)
class TypeNode:
    """`f64[N, M] @ block(0)`; `shape` is None for a scalar and `()` for `[...]`."""

    element: Identifier
    shape: tuple[Expression, ...] | None
    distribution: DistributionNode | None
    span: Span


@dataclass(frozen=True)
class IndexRange:
    """`[l in 0 .. L]` behind the name of what is declared: an array of tags, one for each index."""

    name: Identifier
    lower: SyntaxExpression
    upper: SyntaxExpression
    span: Span


@dataclass(frozen=True)
class ReductionNode:
    """`reduce total(sum) @ root`; `index` says which of an array of tags the target is."""

    target: Identifier
    operation: Identifier
    distribution: DistributionNode | None
    span: Span
    index: SyntaxExpression | None = None


@dataclass(frozen=True)
class OutputNode:
    """One name after `->`; `type` is what the program states, with the distribution behind the name.

    `index` says which of an array of tags it is.
    """

    name: Identifier
    distribution: DistributionNode | None
    reduction: ReductionNode | None
    span: Span
    type: TypeNode | None = None
    index: SyntaxExpression | None = None


@dataclass(frozen=True)
class Call:
    """`thread_B fft.rows(rows) -> spectrum`."""

    label: Identifier | None
    callee: Dotted
    arguments: tuple[CallArgument, ...]
    outputs: tuple[OutputNode, ...]
    span: Span


@dataclass(frozen=True)
class Let:
    """`let x = …`."""

    name: Identifier
    value: SyntaxExpression
    span: Span


@dataclass(frozen=True)
class Var:
    """`var f64 x = …`, `var f64[N] @ block(0) u`, `var f64[N / 2 ** l] levels[l in 0 .. 4]`."""

    type: TypeNode
    name: Identifier
    value: SyntaxExpression | None
    span: Span
    indices: IndexRange | None = None


@dataclass(frozen=True)
class Assignment:
    """`x = …`, `norms[l] = …`."""

    name: Identifier
    value: SyntaxExpression
    span: Span
    index: SyntaxExpression | None = None


@dataclass(frozen=True)
class Block:
    """`{ … }`."""

    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class For:
    """`for k in lower .. upper step s inflight n { }`."""

    counter: Identifier
    lower: SyntaxExpression
    upper: SyntaxExpression
    step: SyntaxExpression | None
    inflight: SyntaxExpression | None
    body: Block
    span: Span


@dataclass(frozen=True)
class While:
    """`while condition max limit { }`; `limit` None where it was forgotten."""

    condition: SyntaxExpression
    limit: SyntaxExpression | None
    body: Block
    span: Span


@dataclass(frozen=True)
class If:
    """`if condition { } else { }`; `else if` is an `If` in a block of its own."""

    condition: SyntaxExpression
    then: Block
    otherwise: Block | None
    span: Span


@dataclass(frozen=True)
class Break:
    """`break`: leaves the innermost loop."""

    span: Span


@dataclass(frozen=True)
class Parallel:
    """`PARALLEL over P { }`."""

    partition: Identifier | None
    body: Block
    span: Span


Statement = Call | Let | Var | Assignment | For | While | If | Break | Parallel


@dataclass(frozen=True)
class Version:
    """`coven 1`."""

    number: int
    span: Span


@dataclass(frozen=True)
class ImportName:
    """`load` or `load as load_frame` between the braces of an import."""

    name: Identifier
    alias: Identifier | None
    span: Span


@dataclass(frozen=True)
class Import:
    """`import "kernels.c" as k`, `import "frames.py" { load, save }`, `import pse.std`."""

    path: str
    path_span: Span
    alias: Identifier | None
    names: tuple[ImportName, ...] | None
    span: Span


@dataclass(frozen=True)
class Param:
    """`param f64 dt = 1e-3 live where dt > 0`."""

    element: Identifier
    name: Identifier
    default: SyntaxExpression | None
    where: SyntaxExpression | None
    live: bool
    span: Span


@dataclass(frozen=True)
class PartitionNode:
    """`partition P = 4 * procs as grid(2 * procs, 2)`; `layout` is the word before the parenthesis."""

    name: Identifier
    count: SyntaxExpression
    layout: Identifier | None
    grid: tuple[SyntaxExpression, ...]
    span: Span


@dataclass(frozen=True)
class Threads:
    """`threads thread_A, thread_B`."""

    names: tuple[Identifier, ...]
    span: Span


@dataclass(frozen=True)
class OptionNode:
    """`queue_depth thread_C = 4`; `word` says that the value was written as a bare word, `text` as what."""

    name: Identifier
    thread: Identifier | None
    value: Value
    word: bool
    value_span: Span
    span: Span


@dataclass(frozen=True)
class Options:
    """`options { … }`."""

    entries: tuple[OptionNode, ...]
    span: Span


@dataclass(frozen=True)
class Field:
    """One input or output of a segment, a member of a bundle, or a field of a record."""

    type: TypeNode
    name: Identifier
    span: Span
    indices: IndexRange | None = None


@dataclass(frozen=True)
class Bundle:
    """`bundle Fluid { … }`; members that are written with one type have its node in common."""

    name: Identifier
    members: tuple[Field, ...]
    span: Span


@dataclass(frozen=True)
class Record:
    """`record Body { f64 x, y   i32 kind }`; a field is a scalar."""

    name: Identifier
    members: tuple[Field, ...]
    span: Span


@dataclass(frozen=True)
class Segment:
    """`segment ring(…) -> (…) { }`."""

    name: Identifier
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    body: Block
    span: Span


@dataclass(frozen=True)
class ProgramBody:
    """`program fft2d { }`."""

    name: Identifier
    body: Block
    span: Span


Item = Version | Import | Param | PartitionNode | Threads | Options | Bundle | Record | Segment | ProgramBody


@dataclass(frozen=True)
class Program:
    """A whole file, its items in textual order."""

    items: tuple[Item, ...]
    span: Span


@dataclass(frozen=True)
class DirectiveParameter:
    """`inout c128 a[m, n] @ block(0)` of a module directive."""

    direction: str
    name: Identifier
    type: TypeNode
    default: Expression | None
    span: Span
    interior: bool = False


@dataclass(frozen=True)
class Directive:
    """The text after `coven module`."""

    name: Identifier
    parameters: tuple[DirectiveParameter, ...]
    collective: bool
    span: Span
