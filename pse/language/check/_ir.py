"""What a checked program is: names resolved, segments inlined, every call bound to a module's signature.

The checker makes it; `pse.program` builds the graph from it and the runtime projects it onto ranks.  Names
of tags and scalars are unique in the whole program (a tag inside a segment's second use is
`ring#2.visiting`; `display` is what the user wrote).  Expressions in it name parameters, `procs`,
partitions, loop counters and scalar tags by these unique names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from pse.language.diagnostics._source import Span
from pse.language.types._expressions import Apply, Expression, Number, Value
from pse.language.types._types import Element, Parameter, Signature, Type
from pse.records import dataclass

_WRITTEN = re.compile(r"(?:\w+\s*=\s*)?([A-Za-z_]\w*)(?:\s*@.*)?")
"""A tag where it is read or written: an input, perhaps given by name, or an output with its distribution."""


@dataclass(frozen=True)
class Tag:
    """A name that stands for a buffer or scalar.

    Attributes
    ----------
    name : str
        Unique in the whole program.
    type : Type
        As declared, or as its first definition gives it.
    span : Span
        Where it is declared.
    display : str
        What the user wrote.
    loop_counter : bool
        Whether it is the counter of a loop.
    internal : bool
        Whether it stands for no name of the program, but for what the checker adds.

    Examples
    --------
    >>> from pse.language.types import render_distribution
    >>> tag = program.tags["u"]
    >>> tag.display, str(tag.span), render_distribution(tag.type.distribution)
    ('u', 'heat.coven:8:41', '@ block(0, 1) halo(1)')
    """

    name: str
    type: Type
    span: Span
    display: str = ""
    loop_counter: bool = False
    internal: bool = False

    def name_at(self, span: Span, texts: Mapping[str, str]) -> str:
        """Give the name that is written at a place of a program's files: in a segment it is the segment's."""
        lines = texts.get(span.path, "").split("\n")
        line = lines[span.line - 1] if span.line == span.end_line <= len(lines) else ""
        found = _WRITTEN.fullmatch(line[span.column - 1 : span.end_column - 1])
        return found[1] if found else self.display or self.name


@dataclass(frozen=True)
class ModuleReference:
    """A module as the program found it: enough to build and load it; the checker never executes it.

    Attributes
    ----------
    name : str
        The module's name.
    signature : Signature
        What its directive says.
    source : str or None
        The resolved file; None for `pse.std`.
    path : str
        The path to print.
    line : int
        The line of the directive.
    language : str
        "c", "c++", "cython", "fortran", "python" or "std".

    Examples
    --------
    >>> [(module.name, module.path, module.line) for module in program.modules if module.source]
    [('init', 'heat.c', 7), ('step', 'heat.c', 18)]
    """

    name: str
    signature: Signature
    source: str | None
    path: str
    line: int
    language: str


@dataclass(frozen=True)
class Argument:
    """One input or in-out of a call: a tag, or an expression over scalars.

    Attributes
    ----------
    parameter : Parameter
        The module's parameter.
    value : Expression
        What is passed.
    tag : str or None
        Unique name of the tag that is passed whole (an array, or an in-out scalar).
    span : Span
        Its place in the program.

    See Also
    --------
    CallSite
    """

    parameter: Parameter
    value: Expression
    tag: str | None
    span: Span


@dataclass(frozen=True)
class Reduction:
    """`e reduce total(sum)`: the per-partition scalar of one output, combined into a replicated scalar."""

    target: str
    operation: str  # One of `pse._abi.coven.Reduction`, in lower case.
    span: Span


@dataclass(frozen=True)
class Output:
    """One output of a call: the tag that it defines.

    Attributes
    ----------
    parameter : Parameter
        The module's parameter.
    tag : str
        Unique name of the tag.
    type : Type
        The tag's type at this point.
    span : Span
        Its place in the program.
    reduction : Reduction or None
        How a per-partition scalar is combined into one value.

    See Also
    --------
    CallSite
    """

    parameter: Parameter
    tag: str
    type: Type
    span: Span
    reduction: Reduction | None = None


@dataclass(frozen=True)
class CallSite:
    """One module call of the program.

    Attributes
    ----------
    id : int
        Counts call sites from 0 in textual order (inlined segments: in order of expansion).
    module : ModuleReference
        What is called.
    inputs : tuple of Argument
        Inputs and in-outs, in the order of the directive.
    outputs : tuple of Output
        Outputs, in the order of the directive.
    thread : str or None
        The label as written; None where the engine chooses.
    parallel : bool
        Whether the call is inside PARALLEL.
    partition : str or None
        Over which partition, inside PARALLEL.
    dimensions : mapping of str to Expression
        The directive's dimensions that are known statically (of a distributed axis the *global* extent).
    span : Span
        Its place in the program.
    label : str
        The module's name as written, and the values of counters where loops are unrolled: `fft.rows`,
        `smooth [l = 2]`.
    moved : bool
        Whether the call was written outside PARALLEL and works where the pieces of its tag are.

    Examples
    --------
    >>> from pse.program import number_statements
    >>> step = number_statements(program).sites[2]
    >>> step.label, step.thread, step.parallel, [output.tag for output in step.outputs]
    ('step', 'thread_B', True, ['v', 'r'])
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
    label: str
    moved: bool = False

    @property
    def takes_communicator(self) -> bool:
        """Whether its module gets a communicator."""
        return any(parameter.type.element is Element.COMM for parameter in self.module.signature.inputs)


def periodic_axes(site: CallSite) -> frozenset[int]:
    """Give the axes beyond whose edges an `exchange` goes on at the array's other end.

    Parameters
    ----------
    site : CallSite
        A call of `exchange`.

    Returns
    -------
    frozenset of int
        The axes that `periodic` names.

    Examples
    --------
    >>> from pse.program import number_statements
    >>> exchange = number_statements(program).sites[1]
    >>> periodic_axes(exchange)
    frozenset()
    """
    given = next((a.value for a in site.inputs if a.parameter.name == "periodic"), None)
    axes = given.arguments if isinstance(given, Apply) else ()
    return frozenset(int(axis.value) for axis in axes if isinstance(axis, Number))


@dataclass(frozen=True)
class Assign:
    """`let x = …`, `var f64 x = …`, `x = …`: a scalar computed alike by every rank that needs it.

    `let visiting = copy(xm)` is a CallSite, not an Assign.

    Attributes
    ----------
    tag : str
        Unique name of the scalar.
    value : Expression
        Its new value.
    span : Span
        Its place in the program.

    See Also
    --------
    ResolvedProgram
    """

    tag: str
    value: Expression
    span: Span


@dataclass(frozen=True)
class Swap:
    """`swap(u, v)`: exchanges what two names stand for; no data moves.

    Attributes
    ----------
    left, right : str
        Unique names of the tags.
    span : Span
        Its place in the program.

    See Also
    --------
    While
    """

    left: str
    right: str
    span: Span


@dataclass(frozen=True)
class For:
    """`for k in lower .. upper [step s] [inflight n]`.

    Attributes
    ----------
    counter : str
        Unique name of the counter.
    lower, upper : Expression
        The bounds; the upper one is exclusive.
    inflight : Expression or None
        How many iterations may run at a time; None: one after the other.
    body : tuple of Statement
        The statements inside.
    span : Span
        Its place in the program.
    step : Expression or None
        By how much the counter grows, or falls; known before the run. None: by 1.
    stop : str or None
        Unique name of the truth value by which `break` ends the loop; None: no `break` does.
    rounds : tuple of str
        The counters of unrolled loops around it, with their values: `l = 2`.

    See Also
    --------
    While
    """

    counter: str
    lower: Expression
    upper: Expression
    inflight: Expression | None
    body: tuple[Statement, ...]
    span: Span
    step: Expression | None = None
    stop: str | None = None
    rounds: tuple[str, ...] = ()


@dataclass(frozen=True)
class While:
    """`while condition max limit`.

    Attributes
    ----------
    condition : Expression
        Evaluated before each iteration.
    limit : Expression
        After how many iterations the loop gives up.
    body : tuple of Statement
        The statements inside.
    span : Span
        Its place in the program.
    stop : str or None
        Unique name of the truth value by which `break` ends the loop; None: no `break` does.
    own : bool
        Whether the condition differs from partition to partition: each decides for itself.
    rounds : tuple of str
        The counters of unrolled loops around it, with their values: `l = 2`.

    Examples
    --------
    >>> from pse.language.types import render_expression
    >>> loop = next(statement for statement in program.body if isinstance(statement, While))
    >>> render_expression(loop.condition), [type(inner).__name__ for inner in loop.body]
    ('residual > tol', ['Parallel', 'Swap'])
    """

    condition: Expression
    limit: Expression
    body: tuple[Statement, ...]
    span: Span
    stop: str | None = None
    own: bool = False
    rounds: tuple[str, ...] = ()


@dataclass(frozen=True)
class If:
    """`if … { } else { }`.

    Attributes
    ----------
    condition : Expression
        What decides.
    then, otherwise : tuple of Statement
        The two blocks; the second may be empty.
    span : Span
        Its place in the program.
    own : bool
        Whether the condition differs from partition to partition: each decides for itself.

    See Also
    --------
    While
    """

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    span: Span
    own: bool = False


@dataclass(frozen=True)
class Parallel:
    """`PARALLEL over P`: the body runs once for each piece of the partition.

    Attributes
    ----------
    partition : str
        The partition's name.
    body : tuple of Statement
        The statements inside.
    span : Span
        Its place in the program.

    Examples
    --------
    >>> parallel = program.body[1]
    >>> parallel.partition, [call.label for call in parallel.body]
    ('P', ['init'])
    """

    partition: str
    body: tuple[Statement, ...]
    span: Span


Statement = CallSite | Assign | Swap | For | While | If | Parallel


def call_sites(body: Iterable[Statement]) -> Iterator[CallSite]:
    """Yield the call sites of statements, those inside blocks too, in the order of the text."""
    for statement in body:
        match statement:
            case CallSite():
                yield statement
            case For() | While() | Parallel():
                yield from call_sites(statement.body)
            case If(_, then, otherwise):
                yield from call_sites((*then, *otherwise))


@dataclass(frozen=True)
class PartitionDeclaration:
    """`partition P = 4 * procs as grid(2 * procs, 2)`.

    Attributes
    ----------
    name : str
        The partition's name.
    count : Expression
        How many pieces it has.
    grid : tuple of Expression or None
        The extents of its grid; None if it is not laid out as one.
    span : Span
        Its place in the program.

    Examples
    --------
    >>> from pse.language.types import render_expression
    >>> partition, = program.partitions
    >>> render_expression(partition.count), [render_expression(extent) for extent in partition.grid]
    ('4 * procs', ['2 * procs', '2'])
    """

    name: str
    count: Expression
    grid: tuple[Expression, ...] | None
    span: Span


@dataclass(frozen=True)
class ParameterDeclaration:
    """`param f64 dt = 1e-3 live where dt > 0`; one that is `live` may change while the program runs."""

    name: str
    element: Element
    default: Expression | None
    where: Expression | None
    span: Span
    live: bool = False


@dataclass(frozen=True)
class Option:
    """One entry of `options { … }`.

    Attributes
    ----------
    name : str
        The option.
    value : Value
        What it is set to.
    thread : str or None
        The thread for which it is set (`queue_depth thread_C = 4`); None: the whole program.
    span : Span
        Its place in the program.

    See Also
    --------
    ResolvedProgram
    """

    name: str
    value: Value
    thread: str | None
    span: Span


@dataclass(frozen=True)
class ResolvedProgram:
    """A program that passed every static check.

    Attributes
    ----------
    name, path, text : str
        The program's name, its path as the user typed it, and its text.
    parameters : tuple of ParameterDeclaration
        In the order of the text.
    partitions : tuple of PartitionDeclaration
        In the order of the text.
    options : tuple of Option
        What the program says, without defaults.
    tags : mapping of str to Tag
        Every tag by its unique name.
    body : tuple of Statement
        The statements, segments inlined.
    modules : tuple of ModuleReference
        The modules that are called.
    threads : tuple of str
        The labels that the program declares, in the order of the text; none if it declares no threads.
    files : mapping of str to str
        The texts of the `.coven` files that it imports, by path.
    assumed : mapping of str to Value
        Values of parameters without which the check does not hold: its arrays of tags depend on them.

    Examples
    --------
    >>> program.name, sorted(program.tags), [type(statement).__name__ for statement in program.body]
    ('heat', ['field', 'r', 'residual', 'u', 'v'], ['Assign', 'Parallel', 'While', 'CallSite', 'CallSite'])
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
    threads: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    assumed: Mapping[str, Value] = field(default_factory=dict)
