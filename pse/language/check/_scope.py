"""What names stand for: parameters, partitions, modules, segments and tags, and where each is visible.

`Globals` is the file; a `Frame` is the program's body or one use of a segment, with blocks inside.  `let`,
`var` and loop counters live in their block; a tag that a call produces lives in its frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import PurePath

from pse.language.check._ir import ModuleReference, Tag
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.types._expressions import Expression, Number, Value
from pse.language.types._types import Distribution, Element, Type
from pse.records import dataclass

PROCS = "procs"
"""The number of processors: an integer that every program can use, and its partitions if it declares none."""
DEFAULT_LABEL = "thread_A"
"""The thread of calls without a label, in a program that declares no threads."""


@dataclass
class ParameterEntity:
    """A parameter of the program, whose name `unique` is in all of its files."""

    name: str
    element: Element | None
    span: Span
    unique: str


@dataclass
class PartitionEntity:
    """A partition; `grid` has the extents of its grid, if it has one; `unique` is its name in all files."""

    name: str
    count: Expression | None
    grid: tuple[Expression | None, ...]
    span: Span
    unique: str


@dataclass
class ModuleEntity:
    """A module that can be called; `reference` is None if its import failed (which was reported)."""

    name: str
    reference: ModuleReference | None
    span: Span


@dataclass
class AliasEntity:
    """`fft` of `import "kernels/fft.c" as fft`; `modules` is None if the import failed.

    Those of a `.coven` file are its segments; `records` are the record types of the file.
    """

    name: str
    modules: dict[str, ModuleEntity] | dict[str, SegmentEntity] | None
    path: str
    language: str
    span: Span
    records: dict[str, Element | None] = field(default_factory=dict)


@dataclass
class SegmentEntity:
    """A segment; `home` has the names of its file."""

    name: str
    node: sx.Segment
    span: Span
    home: Globals


@dataclass
class BundleEntity:
    """A bundle; `home` has the names of its file."""

    name: str
    node: sx.Bundle
    span: Span
    home: Globals


@dataclass
class RecordEntity:
    """A record type; `element` is None if it is wrong (which was reported)."""

    name: str
    element: Element | None
    span: Span


@dataclass
class BundledTags:
    """What a name stands for that is declared with the type of a bundle: a tag for each of its members."""

    display: str
    span: Span
    bundle: sx.Bundle

    @property
    def members(self) -> list[str]:
        """The names of the tags: `fluid.rho`."""
        return [f"{self.display}.{member.name.id}" for member in self.bundle.members]


@dataclass
class TagArray:
    """What a name stands for that is declared with indices: a tag for each of them."""

    display: str
    span: Span
    indices: range

    def member(self, index: int) -> str:
        """Name one of the tags: `levels[2]`."""
        return f"{self.display}[{index}]"

    @property
    def members(self) -> list[str]:
        """The names of the tags."""
        return [self.member(index) for index in self.indices]


@dataclass
class TagEntity:
    """A tag or scalar.

    `type` is None if it could not be worked out (which was reported).  `kind` says who may write it: "let",
    "var", "produced", "counter", "input" or "output" (of a segment).  `constant` is the value of
    the counter of a loop that is unrolled.
    """

    unique: str
    display: str
    span: Span
    type: Type | None
    kind: str
    constant: Number | None = None


Entity = (
    ParameterEntity
    | PartitionEntity
    | ModuleEntity
    | AliasEntity
    | SegmentEntity
    | BundleEntity
    | RecordEntity
    | BundledTags
    | TagArray
    | TagEntity
)


def kind_of(entity: Entity) -> str:
    """Say in a word or two what a name stands for."""
    words = {
        ParameterEntity: "a parameter",
        PartitionEntity: "a partition",
        ModuleEntity: "a module",
        AliasEntity: "an import",
        SegmentEntity: "a segment",
        BundleEntity: "a bundle",
        RecordEntity: "a record type",
        BundledTags: "a bundle of tags",
        TagArray: "an array of tags",
    }
    if isinstance(entity, TagEntity):
        return "a loop counter" if entity.kind == "counter" else "a tag"
    return words[type(entity)]


class Reads:
    """What the check of a statement reads and does, while that is noted down.

    Parameters
    ----------
    tags : mapping of str to Tag
        The program's tags so far, by their unique names.
    constants : mapping of str to Expression
        What names stand for that have a value before the run.

    Attributes
    ----------
    names : dict
        What each name that was looked up meant, without its place; None for what the file's head says.
    entities : dict
        What was found.
    values : dict
        The constants that were asked for; None for what has none.
    uses : dict of str to int
        How many tags of a name there were before the statement made one.
    declared, located : list
        The tags that were made, and those of other statements to which it gave a distribution.
    """

    def __init__(self, tags: Mapping[str, Tag], constants: Mapping[str, Expression]) -> None:
        self._tags, self._constants = tags, constants
        self.names: dict[str, object] = {}
        self.entities: dict[str, Entity | None] = {}
        self.values: dict[str, Expression | None] = {}
        self.uses: dict[str, int] = {}
        self.declared: list[TagEntity] = []
        self.located: list[tuple[TagEntity, Distribution]] = []

    def name(self, name: str, entity: Entity | None) -> None:
        """Note what a name means before the statement does anything to it."""
        if name not in self.names:
            self.names[name], self.entities[name] = self.meaning(entity), entity

    def value(self, name: str) -> None:
        """Note a constant."""
        self.values.setdefault(name, self._constants.get(name))

    def meaning(self, entity: Entity | None) -> object:
        """Give what a check can learn from an entity in a frame, wherever that is declared."""
        if isinstance(entity, BundledTags):
            return entity.bundle
        if isinstance(entity, TagArray):
            return entity.indices
        if not isinstance(entity, TagEntity):
            return None
        tag = self._tags.get(entity.unique)
        known = (tag.type, tag.loop_counter) if tag is not None else None
        constant = self._constants.get(entity.unique)
        return entity.unique, entity.type, entity.kind, constant, known, entity.constant


@dataclass
class Files:
    """What all files of a program share.

    `read` has the names of the imported files, None for those that are wrong; `open` are the files that are
    being read, each imported by the one before; `used` are the names that were used, by the place of their
    declaration; `taken` are the unique names of parameters and partitions, `sets` the partitions by them,
    `live` the parameters that may change while the program runs; `reads` notes what a statement reads;
    `given` are values that the user gives to parameters, `values` those that parameters have, by their unique
    names, and `valueless` the parameters without one.
    """

    read: dict[str, Globals | None] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    used: set[Span] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    sets: dict[str, PartitionEntity] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    reads: Reads | None = None
    given: Mapping[str, str | Value] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    valueless: set[str] = field(default_factory=set)

    def unique(self, name: str, path: str) -> str:
        """Make a name that no other file has taken."""
        stem = re.sub(r"\W", "_", PurePath(path).stem)
        choices = (name, f"{stem}.{name}", *(f"{stem}{n}.{name}" for n in range(2, len(self.taken) + 3)))
        found = next(choice for choice in choices if choice not in self.taken)
        self.taken.add(found)
        return found


@dataclass
class Globals:
    """The names of a file.

    `importer` has the names of the program that imports the file, None in the program itself.  `patterns` are
    names from Python files that are not modules, so perhaps distribution patterns; `unimported` says how a
    module of an imported file, which the import doesn't name, is called or imported; `imported` are the
    places where imports name segments, parameters and partitions of other files; `installed`: the file is
    of an installed package, so that its lines are not the user's to change.
    """

    path: str
    text: str
    files: Files = field(default_factory=Files)
    importer: Globals | None = None
    installed: bool = False
    names: dict[str, Entity] = field(default_factory=dict)
    standard: Mapping[str, ModuleEntity] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)
    unimported: dict[str, str] = field(default_factory=dict)
    imported: set[Span] = field(default_factory=set)

    @property
    def used(self) -> set[Span]:
        """The places of the declarations of names that were used."""
        return self.files.used

    def find(self, name: str) -> Entity | None:
        """Look a name up among the file's own names, then in the standard library."""
        return self.names.get(name) or self.standard.get(name)

    def is_missing(self, name: str) -> bool:
        """Whether a name is one that an import could not give, which was reported."""
        match self.names.get(name, self.names.get(name.partition(".")[0])):
            case ModuleEntity() as module:
                return module.reference is None
            case AliasEntity() as alias:
                return alias.modules is None
        return False

    def partitions(self) -> list[PartitionEntity]:
        """Give the partitions that the file has; without one it has those of the program."""
        own = [entity for entity in self.names.values() if isinstance(entity, PartitionEntity)]
        return own or (self.importer.partitions() if self.importer is not None else [])

    def records(self) -> dict[str, Element | None]:
        """Give the record types that the file knows, as it writes them: `Body`, `drift.Body`."""
        found: dict[str, Element | None] = {}
        for entity in self.names.values():
            if isinstance(entity, RecordEntity):
                found[entity.name] = entity.element
            elif isinstance(entity, AliasEntity):
                found |= {f"{entity.name}.{name}": element for name, element in entity.records.items()}
        return found

    def callables(self) -> Iterator[str]:
        """Give every name that a call could mean."""
        yield from self.standard
        for name, entity in self.names.items():
            if isinstance(entity, ModuleEntity | SegmentEntity):
                yield name
            elif isinstance(entity, AliasEntity):
                yield from (f"{name}.{module}" for module in entity.modules or ())


class Frame:
    """The names inside the program's body, or inside one use of a segment.

    Parameters
    ----------
    globals : Globals
        The file's names.
    prefix : str
        Put before unique names: ``ring#2.``.
    body : Block or None
        The statements, to say of an unknown name where it is made further down.
    partition : str or None
        What a segment that names no partition works over: the one of the arrays that it is given.
    """

    def __init__(
        self,
        globals: Globals,
        prefix: str = "",
        body: sx.Block | None = None,
        partition: str | None = None,
    ) -> None:
        self.globals = globals
        self.partition = partition
        self._body = body
        self.prefix = prefix
        self.blocks: list[dict[str, TagEntity | BundledTags | TagArray]] = [{}]
        self.retired: dict[str, TagEntity] = {}
        self._uses: dict[str, int] = {}

    def is_head(self, name: sx.Identifier) -> bool:
        """Whether a name stands at the top of the file or in a segment's head, where nothing is computed."""
        return self._body is None or _start(name.span) < _start(self._body.span)

    def has_loop_around(self, name: sx.Identifier) -> bool:
        """Whether a name stands in a loop of the frame."""
        loops = _loops_in(self._body) if self._body else ()
        return any(_start(span) < _start(name.span) < (span.end_line, span.end_column) for span in loops)

    def find(self, name: str) -> Entity | None:
        """Look a name up: the innermost block first, the file last."""
        found, reads = self._found(name), self.globals.files.reads
        if reads is not None:
            reads.name(name, found)
        return found

    def _found(self, name: str) -> Entity | None:
        for block in reversed(self.blocks):
            if name in block:
                return block[name]
        return self.globals.find(name)

    def counters(self) -> set[str]:
        """Give the unique names of the counters of open loops: each is the first in its block."""
        first = (next(iter(block.values()), None) for block in self.blocks)
        return {tag.unique for tag in first if isinstance(tag, TagEntity) and tag.kind == "counter"}

    def unique(self, display: str) -> str:
        """Make a name that is unique in the frame: `x`, then `x#2`."""
        before = self.uses(display)
        if self.globals.files.reads is not None:
            self.globals.files.reads.uses.setdefault(display, before)
        count = self._uses[display] = before + 1
        return f"{self.prefix}{display}" + (f"#{count}" if count > 1 else "")

    def uses(self, display: str) -> int:
        """Give how many unique names were made of a name."""
        return self._uses.get(display, 0)

    def known_counters(self) -> Iterator[tuple[str, int]]:
        """Give the counters of the loops around that are unrolled, and their values."""
        for entity in (entity for block in self.blocks for entity in block.values()):
            if isinstance(entity, TagEntity) and entity.constant is not None:
                yield entity.display, int(entity.constant.value)

    def declare(self, entity: TagEntity | BundledTags | TagArray, *, in_frame: bool = False) -> None:
        """Make a tag visible: in the innermost block, or in the whole frame."""
        self.blocks[0 if in_frame else -1][entity.display] = entity

    def enter(self) -> None:
        """Begin a block."""
        self.blocks.append({})

    def leave(self) -> None:
        """End a block."""
        gone = self.blocks.pop()
        self.retired |= {name: entity for name, entity in gone.items() if isinstance(entity, TagEntity)}

    def made_below(self, name: sx.Identifier) -> Span | None:
        """Give the first place after a name where the frame's statements make a tag of that name."""
        places = [made.span for made in _made_in(self._body) if made.id == name.id] if self._body else []
        return next((span for span in places if _start(span) > _start(name.span)), None)

    def visible(self) -> Iterator[str]:
        """Give all names that an expression could mean."""
        yield PROCS
        yield from self.globals.names
        for block in self.blocks:
            yield from block


def _start(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _loops_in(block: sx.Block) -> Iterator[Span]:
    """Give the places of loops, nested ones too."""
    for statement in block.statements:
        match statement:
            case sx.For() | sx.While():
                yield statement.span
                yield from _loops_in(statement.body)
            case sx.Parallel():
                yield from _loops_in(statement.body)
            case sx.If():
                yield from _loops_in(statement.then)
                yield from _loops_in(statement.otherwise) if statement.otherwise is not None else ()


def _made_in(block: sx.Block) -> Iterator[sx.Identifier]:
    """Give the names that statements declare or make, in textual order."""
    for statement in block.statements:
        match statement:
            case sx.Call():
                for output in statement.outputs:
                    yield output.name
                    if output.reduction is not None:
                        yield output.reduction.target
            case sx.Let() | sx.Var():
                yield statement.name
            case sx.If():
                yield from _made_in(statement.then)
                yield from _made_in(statement.otherwise) if statement.otherwise is not None else ()
            case sx.For() | sx.While() | sx.Parallel():
                yield from _made_in(statement.body)
            case sx.Assignment():
                pass
