"""What the checker carries along while it walks a program, and through what it reports.

There is one `Context` for each check: names, tags, the place reached, and what is wrong so far.  A
`CallContext` is one call in it, whose errors show the module's directive as a second place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Protocol

from pse.errors import EvaluationError
from pse.language.check._ir import ModuleReference, Statement, Tag
from pse.language.check._scope import PROCS, BundledTags, Entity, Frame, Globals, Reads, TagEntity, kind_of
from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types import _symbolic_extents as extents
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import (
    DYNAMIC,
    Expression,
    Name,
    Number,
    Text,
    Value,
    is_dynamic,
    names_in,
    render_expression,
    substitute,
)
from pse.language.types._shape_unification import Matcher
from pse.language.types._symbolic_extents import Atom, Extent, Piece
from pse.language.types._types import (
    DIRECTIVE_MARKS,
    Direction,
    Distribution,
    Parameter,
    Pattern,
    Type,
    render_signature,
    render_type,
)
from pse.records import dataclass, replace
from pse.text import count_text, did_you_mean

REPLICATED = Distribution(Pattern.REPLICATED)
ROOT = Distribution(Pattern.ROOT)


def no_such_axis(axis: int, rank: int, place: Span) -> Diagnostic:
    """Report that an array of so many axes has no such axis."""
    message = f"axis {axis} does not exist: the array has {count_text(rank, 'axis', 'axes')}, counted from 0"
    last = "axis 0" if rank == 1 else f"axes from 0 to {rank - 1}"
    help = f"name {last}" if rank else "a scalar is not distributed: leave out the distribution"
    return error_at("E0306", message, place, help=help)


def reserved(place: Span) -> Diagnostic:
    """Report that somebody declares `procs`."""
    message = f"`{PROCS}` is the number of processors, which -p sets: it cannot be declared or written"
    return error_at("E0205", message, place, help="choose another name")


def _outlives(context: Context, gone: TagEntity) -> str:
    """Say how a value that is visible only inside a block can be read after it."""
    if gone.kind == "counter":
        return "copy its value:  before the loop  var i64 last = 0   inside  last = " + gone.display
    if gone.type is None or gone.type.scalar:
        shown = context.show(gone.type) if gone.type is not None else "…"
        return f"declare it before the block, and assign to it inside:  var {shown} {gone.display} = …"
    return f"declare and write it before the block, too:  var {context.show(gone.type)} {gone.display}"


@dataclass
class OpenLoop:
    """A loop that is being walked.

    `partition` is that of the PARALLEL block around it, None outside; `own` the place of the condition by
    which partitions decide for themselves whether they run its body, if they do; `stop` the truth value by
    which a `break` ends it, None as long as there is no `break`.
    """

    partition: str | None
    inflight: bool
    own: Span | None
    stop: str | None = None


def tag_of(entity: TagEntity) -> Tag:
    """Give the tag of the program that a name means, whose type is known."""
    assert entity.type is not None, "checked by the caller"
    return Tag(entity.unique, entity.type, entity.span, entity.display, entity.kind == "counter")


class Run(Protocol):
    """Statements behind each other, and what they make."""

    @property
    def nodes(self) -> tuple[sx.Statement, ...]:
        """The statements."""

    @property
    def made(self) -> list[Statement]:
        """What they make."""


class Kept(Protocol):
    """What is known of statements that hold no others, by the check of an earlier text."""

    def run(self, items: tuple[sx.Statement, ...], index: int, most_calls: int) -> Run | None:
        """Do again what the check of several statements of a block did; None if that is not known."""

    def check(self, node: sx.Statement, check: Callable[[], list[Statement]]) -> list[Statement]:
        """Check a statement, or do again what its check did before."""


@dataclass
class Context:
    """State of one check.

    `frame` has the names of the place that is being walked, and of its file; `partition` is the partition of
    the PARALLEL block there, None outside; `loop` the
    innermost loop of the program or segment that is being walked; `own` the place of the condition around
    that differs from partition to partition, None where all do the same; `segments` the
    segments that are being inlined, `called` the places of their calls, `depth` how many
    blocks are open in all of them; `root_thread` is the label, with a space, of the last labelled call
    outside PARALLEL: what suggestions are written with; `references` has one object for all calls of a
    standard module with the same types; `kept` checks statements that hold no others, by
    what is known of an earlier text; `open_inputs` are the unique names of the scalar inputs of segments that
    nobody calls, so that they can have any value; `rounds` are the counters of the loops around that are
    unrolled, with their values, `iterations` how many iterations such loops had so far.
    """

    frame: Frame
    diagnostics: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)
    tags: dict[str, Tag] = field(default_factory=dict)
    uncalled: dict[str, Tag] = field(default_factory=dict)
    constants: dict[str, Expression] = field(default_factory=dict)
    partition: str | None = None
    loop: OpenLoop | None = None
    own: Span | None = None
    segments: tuple[sx.Segment, ...] = ()
    called: tuple[tuple[str, int, int], ...] = ()
    segment_uses: dict[str, int] = field(default_factory=dict)
    depth: int = 0
    calls: int = 0
    root_thread: str = ""
    threads: dict[str, set[Span]] = field(default_factory=dict)
    declared_threads: dict[str, Span] = field(default_factory=dict)
    calls_without_label: bool = False
    references: dict[ModuleReference, ModuleReference] = field(default_factory=dict)
    kept: Kept | None = None
    open_inputs: set[str] = field(default_factory=set)
    rounds: tuple[str, ...] = ()
    iterations: int = 0

    def report(self, diagnostic: Diagnostic) -> None:
        """Take a diagnostic."""
        self.diagnostics.append(diagnostic)

    @property
    def globals(self) -> Globals:
        """The names of the file that is being walked."""
        return self.frame.globals

    @property
    def path(self) -> str:
        """Its path, as diagnostics have it."""
        return self.globals.path

    @property
    def text(self) -> str:
        """Its text."""
        return self.globals.text

    @property
    def reads(self) -> Reads | None:
        """What takes note of what is read; None where nobody does."""
        return self.globals.files.reads

    @property
    def spread(self) -> Distribution:
        """Where scalars of the place reached are: the same everywhere, or one for each partition."""
        return REPLICATED if self.own is None else Distribution(Pattern.BLOCK, partition=self.partition)

    def reached(self, span: Span) -> Span:
        """Give a place together with the calls of the segments that are being inlined."""
        return replace(span, calls=self.called) if self.called else span

    # Names.

    def use(self, name: sx.Identifier) -> Entity | None:
        """Look up a name that is read; an unknown one is reported and gives None."""
        entity = self.frame.find(name.id)
        if entity is None:
            self.unknown(name)
        else:
            self.globals.used.add(entity.span)
        return entity

    def unknown(self, name: sx.Identifier) -> None:
        """Report an unknown name, unless it follows from what was reported."""
        of = self.frame.find(name.id.partition(".")[0])
        if self.globals.is_missing(name.id) or (isinstance(of, TagEntity) and of.type is None):
            return
        from pse.language.syntax._foreign_names import value_help  # Ranks have no use for it.

        help = value_help(name.id) or did_you_mean(name.id, self.frame.visible())
        if help is None and isinstance(of, BundledTags):
            help = f"`{of.display}` has the members {', '.join(of.members)}"
        head = self.frame.is_head(name)
        if help is None and head:
            help = f"declare it above:  param i64 {name.id} = …"
        help = help or f"declare it above:  let {name.id} = …;  tags are made by calls:  … -> {name.id}"
        message, notes = f"unknown name `{name.id}`", []
        below = None if head else self.frame.made_below(name)
        if below is not None:
            message = f"`{name.id}` is used before the statement that makes it"
            notes = [(below, f"`{name.id}` is made here")]
            help = "move that statement up"
            if self.frame.has_loop_around(name):
                help += f", or write the tag before the loop, too:  … -> {name.id}"
        if name.id in self.frame.retired:
            gone = self.frame.retired[name.id]
            where = "inside its loop" if gone.kind == "counter" else "in the block where it is declared"
            notes = [(gone.span, f"`{name.id}` is visible only {where}")]
            help = _outlives(self, gone)
        self.report(error_at("E0201", message, name.span, notes=notes, help=help))

    def refuse_collective(self, what: str, span: Span) -> None:
        """Report what all partitions do together, where a condition may hold in some of them only."""
        assert self.own is not None, "checked by the caller"
        message = f"{what} is not allowed here: all partitions take part in it, but not all may come to it"
        notes = [(self.own, "this condition differs from partition to partition")]
        help = "move it out of the block, or combine the condition where it is made:  -> e reduce total(max)"
        self.report(error_at("E0409", message, span, notes=notes, help=help))

    def misused(self, name: sx.Identifier, entity: Entity, wanted: str, help: str) -> None:
        """Report a name that stands for the wrong kind of thing, if it is known what it stands for."""
        if self.globals.is_missing(name.id):
            return
        message = f"`{name.id}` is {kind_of(entity)}; {wanted} is expected here"
        notes = [(entity.span, "declared here")]
        self.report(error_at("E0210", message, name.span, notes=notes, help=help))

    def declare(self, entity: TagEntity, *, in_frame: bool = False) -> TagEntity:
        """Make a new tag visible and record it in the program."""
        self.frame.declare(entity, in_frame=in_frame)
        if self.reads is not None:
            self.reads.declared.append(entity)
        if entity.type is not None:
            self.tags[entity.unique] = tag_of(entity)
        return entity

    def new_tag(self, name: sx.Identifier, type: Type | None, kind: str) -> TagEntity:
        """Declare a tag under a name that must not be taken."""
        self.refuse_taken(name, kind)
        entity = TagEntity(self.frame.unique(name.id), name.id, name.span, type, kind)
        return self.declare(entity, in_frame=kind == "produced")

    def refuse_taken(self, name: sx.Identifier, kind: str) -> None:
        """Report a name that stands for something else already."""
        taken = self.frame.find(name.id)
        if name.id == PROCS:
            self.report(reserved(name.span))
        elif taken is not None and taken.span != name.span and name.id not in self.globals.standard:
            notes = [(taken.span, f"`{name.id}` is {kind_of(taken)} declared here")]
            message = f"`{name.id}` is declared twice"
            help = "choose another name"
            if (
                kind == "let"
                and isinstance(taken, TagEntity)
                and taken.kind not in ("let", "counter", "input")
            ):
                help = f"leave out `let`, which declares a new name:  {name.id} = …"
            self.report(error_at("E0203", message, name.span, notes=notes, help=help))

    def display(self, unique: str) -> str:
        """Give what the user wrote for a resolved name."""
        return self.tags[unique].display if unique in self.tags else unique

    def show(self, type: Type) -> str:
        """Write a type for a message."""
        return render_type(type, display=self.display)

    def locate(self, entity: TagEntity, distribution: Distribution) -> Type:
        """Say where a tag lies whose type is stated without a distribution; gives its type."""
        assert entity.type is not None, "it is stated"
        if self.reads is not None:
            self.reads.located.append((entity, distribution))
        entity.type = replace(entity.type, distribution=distribution)
        self.tags[entity.unique] = replace(self.tags[entity.unique], type=entity.type)
        return entity.type

    # Blocks.

    @property
    def unrolled(self) -> bool:
        """Whether the place that is walked is in a loop that is unrolled, or in a segment called there."""
        return bool(self.rounds)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Walk a block."""
        self.frame.enter()
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.frame.leave()

    # Extents.

    def lookup(self, name: str) -> Extent:
        """Give the extent that a resolved name stands for; partitions count as their number."""
        if self.reads is not None:
            self.reads.value(name)
        if name in self.constants:
            return extents.extent_of(self.constants[name], self.lookup)
        entity = self.globals.files.sets.get(name)
        if entity is not None and entity.count is not None and entity.count != Name(name):
            return extents.extent_of(entity.count, self.lookup)
        return extents.atom(name)

    def blocks(self, distribution: Distribution, index: int) -> Extent | None:
        """Give into how many blocks a distribution cuts the axis of an index; None if that is not known."""
        partition = distribution.partition
        if partition is None:
            return None
        if len(distribution.axes) == 1:
            return self.lookup(partition)
        entity = self.globals.files.sets.get(partition)
        extent = entity.grid[index] if entity is not None else None
        return self.extent(extent) if extent is not None else None

    def extent(self, expression: Expression) -> Extent:
        """Normalise an extent."""
        return extents.extent_of(expression, self.lookup)

    def shape(self, type: Type) -> list[Extent]:
        """Normalise a shape; extents that modules decide are alike, whatever they are called."""
        anyhow = Name(DYNAMIC)
        trees = [
            substitute(tree, lambda name: anyhow if is_dynamic(name) else name) for tree in type.shape or ()
        ]
        return [self.extent(tree) for tree in trees]

    def constant(self, expression: Expression) -> Expression | None:
        """Write an expression over parameters, `procs`, partitions, loop counters; None if it needs more."""
        unknown = False

        def replaced(name: Name) -> Expression:
            nonlocal unknown
            tag = self.tags.get(name.id)
            unknown |= tag is not None and not tag.loop_counter and name.id not in self.constants
            unknown |= name.id in self.globals.files.live
            if self.reads is not None:
                self.reads.value(name.id)
            return self.constants.get(name.id, name)

        result = substitute(expression, replaced)
        return None if unknown or extents.is_large(result) else result

    def value(self, expression: Expression) -> Value | None:
        """Work out a value before the run; the check then holds for these values of parameters only."""
        known, values = self.constant(expression), self.globals.files.values
        if known is None or names_in(known) - values.keys():
            return None
        try:
            found = evaluate(known, values)
        except EvaluationError:
            return None
        for name in names_in(known):
            value = values[name]
            self.constants[name] = Text(value) if isinstance(value, str) else Number(value)  # type: ignore[arg-type]
        return found

    def known_help(self, expression: Expression) -> str:
        """Say what may be used where a value must be known before the run."""
        for name in sorted(names_in(expression) & self.globals.files.live):
            return f"`{name}` may change while the program runs: leave out its `live`"
        return "use parameters, `procs`, partitions, loop counters, and `let` of these"


class CallContext:
    """A call that is checked, and whether something was wrong with it.

    Parameters
    ----------
    context : Context
        Where the call stands.
    node : Call
        The call as written.
    reference : ModuleReference
        The module that it means.
    """

    def __init__(self, context: Context, node: sx.Call, reference: ModuleReference) -> None:
        self.context = context
        self.node = node
        self.reference = reference
        self.signature = reference.signature
        self.matcher = Matcher(context.blocks)
        self.failed = False

    def fail(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        label: str = "",
        help: str | None = None,
        notes: Sequence[tuple[Span, str]] = (),
        directive: bool = True,
    ) -> None:
        """Report an error, with the module's directive as a second place."""
        self.failed = True
        second = self.directive_note() if directive else []
        self.context.report(error_at(code, message, span, label=label, help=help, notes=[*notes, *second]))

    def directive_note(self) -> list[tuple[Span, str]]:
        """Give the module's directive as a note; the standard library's needs none."""
        if self.reference.language == "std" or self.signature.span is None:
            return []
        mark = DIRECTIVE_MARKS.get(self.reference.language, "")
        return [(self.signature.span, f"{mark} {render_signature(self.signature)}".lstrip())]

    def show_extent(self, extent: Extent) -> str:
        """Write an extent for a message."""
        if isinstance(extent.atom, Piece):
            return f"a partition's piece of {self.show_extent(extent.atom.extent)}"
        pieces = extents.rewrite(extent, self._named_piece)
        named = substitute(extents.to_expression(pieces), lambda name: Name(self.context.display(name.id)))
        return render_expression(named)

    def _named_piece(self, base: Atom) -> Extent | None:
        return extents.atom(f"({self.show_extent(extents.atom(base))})") if isinstance(base, Piece) else None

    def named(self, parameter: Parameter) -> str:
        """Name a parameter of the module in messages: input `x` of `use`."""
        kind = "output" if parameter.direction is Direction.OUT else "input"
        return f"{kind} `{parameter.name}` of `{self.node.callee.text}`"

    @property
    def thread(self) -> str:
        """The thread's label, if there is such a thread, with a space: to be put before a suggested call."""
        label, declared = self.node.label, self.context.declared_threads
        return f"{label.id} " if label is not None and (not declared or label.id in declared) else ""
