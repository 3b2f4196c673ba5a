"""Statements whose check is taken over from that of an earlier text.

The check of a statement that holds no others depends on the statement, on what its names mean where it stands
(`Reads`) and on the file's head; it changes the context.  Where these are as they were, the changes are made
again without the check.  What is wrong is always checked anew, and so are calls of segments and declarations
of bundles; the statements of a segment are kept one by one, for each call.

Statements behind each other in a block are kept as a run, too (`_Run`): what they read of others is looked at
once for all of them, and their changes are made in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cached_property
from itertools import islice
from operator import is_, sub
from typing import Any

from pse.language.check._call_resolution import use_thread
from pse.language.check._context import Context, tag_of
from pse.language.check._dataflow_check import Followed
from pse.language.check._ir import ModuleReference, Statement, Tag
from pse.language.check._scope import (
    AliasEntity,
    BundleEntity,
    Entity,
    Frame,
    Globals,
    ModuleEntity,
    ParameterEntity,
    PartitionEntity,
    Reads,
    RecordEntity,
    SegmentEntity,
    TagEntity,
)
from pse.language.diagnostics._source import Span
from pse.language.syntax import ast as sx
from pse.language.syntax._pieces import Move, Pieces
from pse.language.types._expressions import Expression
from pse.language.types._types import Distribution, Parameter
from pse.records import dataclass, replace

_LONGEST = 32
"""Statements in a run: so many are checked one by one where one of them is edited."""

_ELSEWHERE = frozenset({ModuleReference, Parameter})
"""What has no places in the program."""


@dataclass(frozen=True)
class _Kept:
    """A statement, what its check read, and what it made and did.

    `place` is what is around it, as far as it matters;
    `used` are the names whose declarations count as used; `declared` the tags as they were behind it;
    `tags` those that no name of the program means.
    """

    node: sx.Statement
    place: object
    names: dict[str, object]
    values: dict[str, Expression | None]
    uses: dict[str, int]
    made: list[Statement]
    used: list[str]
    declared: list[TagEntity]
    located: list[tuple[str, Distribution]]
    tags: list[Tag]
    constants: dict[str, Expression]
    calls: int


class _Run:
    """Kept statements behind each other in a block of the program, or of a use of a segment."""

    def __init__(self, keyed: list[tuple[Hashable, _Kept]]) -> None:
        self.keyed, self.all = keyed, [kept for _, kept in keyed]
        self.nodes = tuple([kept.node for kept in self.all])
        self.calls = sum(kept.calls for kept in self.all)

    def is_at(self, items: tuple[sx.Statement, ...], index: int) -> bool:
        """Whether these very statements are in a block from one on."""
        return index + len(self.nodes) <= len(items) and all(map(is_, self.nodes, items[index:]))

    @cached_property
    def made(self) -> list[Statement]:
        """What they make."""
        return [statement for kept in self.all for statement in kept.made]

    @cached_property
    def joined(self) -> _Joined:
        """What they read and do together, which is needed only where they are found again."""
        return _Joined(self.all)


class _Joined:
    """What kept statements read of others, and what they do.

    Its attributes are those of `_Kept` for all of them together; `spans` are the places of tags that they
    make and use, `labels` those of threads.
    """

    def __init__(self, all: list[_Kept]) -> None:
        self.names: dict[str, object] = {}
        self.values: dict[str, Expression | None] = {}
        self.uses: dict[str, int] = {}
        self.used: dict[str, None] = {}
        self.spans: set[Span] = set()
        self.declared: list[TagEntity] = []
        self.located: list[tuple[str, Distribution]] = []
        self.tags: dict[str, Tag] = {}
        self.constants: dict[str, Expression] = {}
        self.labels: dict[str, set[Span]] = {}
        self.root_thread, self.without_label, self.calls = "", False, sum(kept.calls for kept in all)
        self._made: dict[str, TagEntity] = {}
        for kept in all:
            self._read(kept)
            self._change(kept)
            self._call(kept)

    def _read(self, kept: _Kept) -> None:
        elsewhere = {*self._made, *(name for name, _ in self.located)}
        for name, meaning in kept.names.items():
            if name not in elsewhere:
                self.names.setdefault(name, meaning)
        for name, value in kept.values.items():
            if name not in self.constants:
                self.values.setdefault(name, value)
        for name, count in kept.uses.items():
            self.uses.setdefault(name, count)
        for name in kept.used:
            if name in self._made:
                self.spans.add(self._made[name].span)
            else:
                self.used[name] = None

    def _change(self, kept: _Kept) -> None:
        for tag in map(replace, kept.declared):
            self.declared.append(tag)
            self._made[tag.display] = tag
            if tag.type is not None:
                self.tags[tag.unique] = tag_of(tag)
        for name, distribution in kept.located:
            own = self._made.get(name)
            if own is None:
                self.located.append((name, distribution))
            else:
                assert own.type is not None, "it is what was located"
                own.type = replace(own.type, distribution=distribution)
                self.tags[own.unique] = tag_of(own)
        self.tags.update({tag.name: tag for tag in kept.tags})
        self.constants.update(kept.constants)

    def _call(self, kept: _Kept) -> None:
        label = kept.node.label if isinstance(kept.node, sx.Call) else None
        if label is None:
            self.without_label |= kept.calls > 0
            return
        self.labels.setdefault(label.id, set()).add(label.span)
        if kept.calls:
            self.root_thread = f"{label.id} "


class KeptStatements:
    """The statements of one check, by where they stand, for the check of a later text.

    Parameters
    ----------
    before : KeptStatements, optional
        Those of an earlier text of the program.

    Attributes
    ----------
    followed : Followed or None
        The paths through the statements, or through those of the last text that had no mistake.
    """

    def __init__(self, before: KeptStatements | None = None) -> None:
        self._before, self._head = before, object()
        self.followed: Followed | None = before.followed if before is not None else None
        self._pieces = Pieces[Hashable, _Kept](_moved, None)
        self._lines: dict[str, list[str]] = {}
        self._names: dict[str, dict[Span, str]] = {}
        self._now = Reads({}, {})
        self._runs: dict[tuple[int, str], _Run] = {}
        self._open: list[tuple[Hashable, _Kept]] = []
        self._at: tuple[tuple[sx.Statement, ...], int, str] = ((), 0, "")
        self._known: dict[tuple[int, str], _Run] = {}

    def begin(self, context: Context) -> None:
        """Take over what an earlier text has, if the file's head, which has been read, says the same."""
        self._context = context
        self._head, self._now = _head(context), Reads(context.tags, context.constants)
        if self._before is not None and self._before._head == self._head:
            self._pieces = Pieces(_moved, self._before._pieces)
            self._known = self._before._runs

    def end(self) -> None:
        """Forget the earlier text."""
        self._close()
        del self._context
        self._before, self._known, self._at = None, {}, ((), 0, "")
        self._pieces.end()

    def run(self, items: tuple[sx.Statement, ...], index: int, most_calls: int) -> _Run | None:
        """Do again what the check of several statements of a block did; None if that is not known."""
        context, around, place = self._context, self._at[0], self._at[1]
        if items is not around or index != place or len(self._open) == _LONGEST:
            self._close()
        key = id(items[index]), context.frame.prefix
        self._at = items, index + 1, context.frame.prefix
        run = self._known.get(key)
        if run is None or not run.is_at(items, index) or context.calls + run.calls > most_calls:
            return None
        same = run.all[0].place == _place(context, items[index])
        entities = _read_again(context, run.joined, self._now) if same else None
        if entities is None:
            return None
        self._close()
        self._at = items, index + len(run.nodes), context.frame.prefix
        self._runs[key] = run
        for known_as, kept in run.keyed:
            self._pieces.keep(known_as, kept.node.span.line, kept)
        _do_all_again(context, run.joined, entities)
        return run

    def _close(self) -> None:
        """End a run of statements."""
        if len(self._open) > 1:
            self._runs[id(self._open[0][1].node), self._at[2]] = _Run(self._open)
        self._open = []

    def check(self, node: sx.Statement, check: Callable[[], list[Statement]]) -> list[Statement]:
        """Check a statement, or do again what its check did before."""
        context = self._context
        key, place, line = self._key(context, node), _place(context, node), node.span.line
        kept = self._pieces.find(key, line)
        if kept is not None and kept.place == place and (kept.node is node or kept.node == node):
            entities = _read_again(context, kept, self._now)
            if entities is not None:
                _do_again(context, kept, entities)
                self._open.append((key, kept))
                return kept.made
        made, known = self._noted(context, node, check)
        if known is None:
            self._close()
        else:
            self._open.append((key, self._pieces.keep(key, line, known)))
        return made

    def _key(self, context: Context, node: sx.Statement) -> Hashable:
        """Give the text of a statement, and which use of a segment it is in."""
        names, span = context.globals, node.span
        lines = self._lines.get(names.path) or self._lines.setdefault(names.path, names.text.split("\n"))
        one = span.line == span.end_line
        text = lines[span.line - 1] if one else "\n".join(lines[span.line - 1 : span.end_line])
        return text, context.frame.prefix

    def _noted(
        self, context: Context, node: sx.Statement, check: Callable[[], list[Statement]]
    ) -> tuple[list[Statement], _Kept | None]:
        """Check a statement; give also what is to be kept of it: nothing of one with something wrong."""
        files, before = context.globals.files, _sizes(context)
        around, used = files.reads, files.used
        files.reads, files.used = reads, new = Reads(context.tags, context.constants), set[Span]()
        try:
            made = check()
        finally:
            files.reads, files.used = around, used
            used |= new
        wrong, tags, constants, calls = map(sub, _sizes(context), before)
        names = self._names_of(context.globals, reads, new)
        if wrong or names is None or not _is_simple(context.frame, reads):
            return made, None
        own = {tag.unique for tag in reads.declared}
        return made, _Kept(
            node=node,
            place=_place(context, node),
            names=reads.names,
            values=reads.values,
            uses=reads.uses,
            made=made,
            used=names,
            declared=[replace(tag) for tag in reads.declared],
            located=[(tag.display, how) for tag, how in reads.located if tag.unique not in own],
            tags=[context.tags[tag] for tag in _last(context.tags, tags) if tag not in own],
            constants={name: context.constants[name] for name in _last(context.constants, constants)},
            calls=calls,
        )

    def _names_of(self, names: Globals, reads: Reads, used: Iterable[Span]) -> list[str] | None:
        """Give names by which the declarations that were used can be found; None if there are none."""
        if names.path not in self._names:
            self._names[names.path] = {entity.span: name for name, entity in names.names.items()}
        looked_up = {entity.span: name for name, entity in reads.entities.items() if entity is not None}
        found = [looked_up.get(span) or self._names[names.path].get(span) for span in used]
        return [name for name in found if name is not None] if None not in found else None


def _place(context: Context, node: sx.Statement) -> object:
    """Give what, beside its text and its names, decides what a statement means."""
    around = context.partition, context.own, context.frame.counters()
    return context.path, node.span.column, context.called, context.rounds, around


def _moved(kept: _Kept, by: int) -> _Kept:
    """Move the places of a statement, not those of others that it mentions."""
    move = Move(by, kept.node.span, _ELSEWHERE)
    return replace(
        kept,
        node=move(kept.node),
        made=[move(statement) for statement in kept.made],
        declared=[move(tag) for tag in kept.declared],
        tags=[move(tag) for tag in kept.tags],
        constants={name: move(value) for name, value in kept.constants.items()},
    )


def _read_again(context: Context, kept: _Kept | _Joined, now: Reads) -> dict[str, Entity | None] | None:
    """Give what the names of a statement stand for; None if its check would not read what it read before."""
    frame, found = context.frame, dict[str, Entity | None]()
    for name, meaning in kept.names.items():
        entity = found[name] = frame.find(name)
        if now.meaning(entity) != meaning:
            return None
    for name, value in kept.values.items():
        if context.constants.get(name) != value:
            return None
    return found if all(frame.uses(name) == before for name, before in kept.uses.items()) else None


def _do_again(context: Context, kept: _Kept, entities: Mapping[str, Entity | None]) -> None:
    """Change the context as the check of a statement did."""
    frame = context.frame
    for name in kept.used:
        entity = entities.get(name) or frame.find(name)
        assert entity is not None, "it is what was used"
        context.globals.used.add(entity.span)
    for tag in kept.declared:
        frame.unique(tag.display)
        context.declare(replace(tag), in_frame=tag.kind == "produced")
    for name, distribution in kept.located:
        located = frame.find(name)
        assert isinstance(located, TagEntity), "it is what was located"
        context.locate(located, distribution)
    context.tags.update({tag.name: tag for tag in kept.tags})
    context.constants.update(kept.constants)
    _call_again(context, kept)


def _do_all_again(context: Context, joined: _Joined, entities: Mapping[str, Entity | None]) -> None:
    """Change the context as the check of several statements did."""
    frame = context.frame
    for name in joined.used:
        entity = entities.get(name) or frame.find(name)
        assert entity is not None, "it is what was used"
        context.globals.used.add(entity.span)
    context.globals.used.update(joined.spans)
    for name, distribution in joined.located:
        located = frame.find(name)
        assert isinstance(located, TagEntity), "it is what was located"
        context.locate(located, distribution)
    for tag in joined.declared:
        frame.unique(tag.display)
        frame.declare(replace(tag), in_frame=tag.kind == "produced")
    context.tags.update(joined.tags)
    context.constants.update(joined.constants)
    for label, spans in joined.labels.items():
        context.threads.setdefault(label, set()).update(spans)
    context.calls += joined.calls
    context.calls_without_label |= joined.without_label
    if joined.root_thread and context.partition is None:
        context.root_thread = joined.root_thread


def _call_again(context: Context, kept: _Kept) -> None:
    """Note the thread of a call."""
    label = kept.node.label if isinstance(kept.node, sx.Call) else None
    context.calls += kept.calls
    if label is None:
        context.calls_without_label |= kept.calls > 0
        return
    use_thread(context, label)
    if kept.calls and context.partition is None:
        context.root_thread = f"{label.id} "


def _sizes(context: Context) -> tuple[int, int, int, int]:
    """Count what is wrong, tags, constants and calls."""
    wrong = len(context.diagnostics) + len(context.warnings)
    return wrong, len(context.tags), len(context.constants), context.calls


def _last(names: dict[str, Any], count: int) -> list[str]:
    return list(islice(reversed(names), count))[::-1]


def _is_simple(frame: Frame, reads: Reads) -> bool:
    """Whether a statement is neither a call of a segment nor declares a bundle, and its tags can be found."""
    compound = any(isinstance(found, BundleEntity | SegmentEntity) for found in reads.entities.values())
    return not compound and all(frame.find(tag.display) is tag for tag, _ in reads.located)


# The head.


def _head(context: Context) -> object:
    """Give what the statements of a program can read of its head and its imports, wherever that stands."""
    files = context.globals.files
    imported = {path: names for path, names in files.read.items() if names is not None}
    known = {path: _known(names) for path, names in {**imported, "": context.globals}.items()}
    sets = {name: _meaning(entity) for name, entity in files.sets.items()}
    values = dict(files.values), set(files.valueless)
    return context.path, known, sets, set(files.live), values, list(context.declared_threads)


def _known(names: Globals) -> object:
    found = {name: _meaning(entity) for name, entity in {**names.standard, **names.names}.items()}
    partitions = [entity.unique for entity in names.partitions()]
    return found, dict(names.patterns), dict(names.unimported), partitions


def _meaning(entity: Entity) -> object:
    """Give what a name of a file's head means, without its place."""
    match entity:
        case ParameterEntity():
            return "parameter", entity.element, entity.unique
        case PartitionEntity():
            return "partition", entity.count, entity.grid, entity.unique
        case ModuleEntity():
            return "module", entity.reference
        case AliasEntity():
            members = {name: _meaning(member) for name, member in (entity.modules or {}).items()}
            return "import", entity.modules is None, members, dict(entity.records), entity.path
        case RecordEntity():
            return "record", entity.element
        case _:
            return type(entity).__name__
