"""Tags on the paths of a program: read before written, carried around a loop, written without order.

A single forward pass over the resolved statements.  The state of each tag is a small record; branches are
taken one after the other from the same state, which a journal brings back, and joined.  Loops need no second
pass: what an iteration meets first is noted while it is walked, and compared with what the iteration leaves
behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import takewhile
from operator import is_
from typing import NamedTuple

from pse.language.check._ir import (
    Assign,
    CallSite,
    For,
    If,
    Output,
    Parallel,
    Statement,
    Swap,
    Tag,
    While,
)
from pse.language.diagnostics._diagnostic import Diagnostic, error_at
from pse.language.diagnostics._source import Span
from pse.language.types._elements import COMPLEX, INTEGERS
from pse.language.types._evaluation import evaluate
from pse.language.types._expressions import Expression, Name, names_in, walk
from pse.language.types._types import Direction, Element
from pse.records import dataclass

ZEROS = {
    **dict.fromkeys((*INTEGERS, *COMPLEX), "0"),
    **dict.fromkeys((Element.F32, Element.F64), "0.0"),
    Element.BOOL: "false",
    Element.STRING: '""',
}
"""A first value for each type of element that has one."""

Writer = tuple[str, bool, Span]
"""Thread label, whether inside PARALLEL, and place of an output."""


class _State(NamedTuple):
    """What is known of one tag at a point of the program.

    `written` on every path, `perhaps` on some path.  `writers` wrote it and nobody has read it
    since.  `ambiguous` is the inflight loop whose iterations wrote it.  `touched` and `wrote` are the times
    of the last event and the last write that happened on every path.
    """

    written: bool = False
    perhaps: bool = False
    writers: tuple[Writer, ...] = ()
    ambiguous: Span | None = None
    touched: int = 0
    wrote: int = 0


_UNKNOWN = _State()


def _runs(loop: For) -> bool:
    """Whether a loop has an iteration whatever the parameters are."""
    first, last, step = (_constant(tree) for tree in (loop.lower, loop.upper, loop.step))
    if first is None or last is None or (step is None and loop.step is not None):
        return False
    return first < last if step is None or step > 0 else first > last


def _constant(tree: Expression | None) -> int | None:
    value = evaluate(tree, {}) if tree is not None and not names_in(tree) else None
    return value if isinstance(value, int) else None


def _join(left: _State, right: _State) -> _State:
    return _State(
        left.written and right.written,
        left.perhaps or right.perhaps,
        tuple(dict.fromkeys((*left.writers, *right.writers)))[:8],
        left.ambiguous or right.ambiguous,
        min(left.touched, right.touched),
        min(left.wrote, right.wrote),
    )


@dataclass
class _Loop:
    """An open loop: when its iteration began, and what the iteration meets first."""

    start: int
    inflight: bool
    first_writes: dict[str, list[Writer]] = field(default_factory=dict)
    first_reads: dict[str, Span] = field(default_factory=dict)
    writes: dict[str, Span] = field(default_factory=dict)


@dataclass(frozen=True)
class Followed:
    """The paths of an earlier text, on which nothing was wrong.

    Attributes
    ----------
    body : sequence of Statement
        Its statements.
    marks : list of (int, int)
        How long the journal was before each of them, and what the time was.
    time : int
        The time at the end.
    states : dict
        The states of its tags at the end.
    journal : list
        What they were before each event.
    """

    body: Sequence[Statement]
    marks: list[tuple[int, int]]
    time: int
    states: dict[str, _State]
    journal: list[tuple[str, _State]]


def check_flow(
    body: Sequence[Statement],
    tags: Mapping[str, Tag],
    texts: Mapping[str, str],
    defined: Iterable[str] = (),
    before: Followed | None = None,
) -> tuple[list[Diagnostic], Followed | None]:
    """Check all paths of a resolved program; give what is wrong, and what a later check can begin with.

    Parameters
    ----------
    body : sequence of Statement
        The resolved statements.
    tags : mapping of str to Tag
        All tags of the program.
    texts : mapping of str to str
        The texts of its files by path, from which messages take the names.
    defined : iterable of str
        Tags that have a value from the start (the inputs of a segment that is checked alone).
    before : Followed, optional
        The paths of an earlier text: through the statements with which it begins, too, they are not
        followed again.
    """
    flow = _Flow(tags, texts)
    for tag in defined:
        flow.write(tag, tags[tag].span, None)
    followed = flow.program(body, before)
    return flow.diagnostics, None if flow.diagnostics else followed


class _Flow:
    def __init__(self, tags: Mapping[str, Tag], texts: Mapping[str, str]) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._tags, self._texts = tags, texts
        self._states: dict[str, _State] = {}
        self._journal: list[tuple[str, _State]] = []
        self._loops: list[_Loop] = []
        self._time = 0

    # Events.

    def _state(self, tag: str) -> _State:
        return self._states.get(tag, _UNKNOWN)

    def _set(self, tag: str, before: _State, state: _State) -> None:
        self._journal.append((tag, before))
        self._states[tag] = state

    def _tick(self) -> int:
        self._time += 1
        return self._time

    def read(self, tag: str, span: Span) -> None:
        """A tag is read."""
        if tag not in self._tags:
            return
        state = self._state(tag)
        if not state.written:
            self._unwritten(tag, span, state)
        elif state.ambiguous is not None:
            self._ambiguous(tag, span, state.ambiguous)
        for loop in reversed(self._loops):
            if state.wrote >= loop.start:
                break
            loop.first_reads.setdefault(tag, span)
        # Reported once: afterwards the tag counts as written.
        self._set(tag, state, _State(True, True, (), None, self._tick(), state.wrote))

    def write(self, tag: str, span: Span, writer: Writer | None) -> None:
        """A tag gets a new value; `writer` is given where the order of threads matters."""
        state = self._state(tag)
        if writer is not None:
            self._ordered(tag, writer, state.writers)
        for loop in reversed(self._loops):
            loop.writes.setdefault(tag, span)
            if writer is not None and state.touched < loop.start:
                loop.first_writes.setdefault(tag, []).append(writer)
        now = self._tick()
        self._set(tag, state, _State(True, True, (writer,) if writer else (), None, now, now))

    # Statements.

    def program(self, body: Sequence[Statement], before: Followed | None) -> Followed:
        """Walk all statements but those with which an earlier text begins, too."""
        marks = self._resume(body, before) if before is not None else []
        for statement in body[len(marks) :]:
            marks.append((len(self._journal), self._time))
            self._statement(statement)
        return Followed(body, marks, self._time, self._states, self._journal)

    def _resume(self, body: Sequence[Statement], before: Followed) -> list[tuple[int, int]]:
        """Go to where an earlier text begins to differ; give the marks up to there.

        A statement is the same object only where all that it names means the same.
        """
        same = len([*takewhile(bool, map(is_, body, before.body))])
        ends = [*before.marks, (len(before.journal), before.time)]
        length, time = ends[same]
        states = dict(before.states)
        for tag, state in reversed(before.journal[length:]):
            states[tag] = state
        self._states, self._journal, self._time = states, before.journal[:length], time
        return before.marks[:same]

    def block(self, body: Sequence[Statement]) -> None:
        """Walk statements one after the other."""
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case CallSite():
                self._call(statement)
            case Assign(tag, value, span):
                self._reads(value, span)
                self.write(tag, span, None)
            case Swap(left, right, span):
                for tag in (left, right):
                    self.read(tag, span)
                for tag in (left, right):
                    self.write(tag, span, None)
            case If(condition, then, otherwise, span):
                self._reads(condition, span)
                self._branches(lambda: self.block(then), lambda: self.block(otherwise))
            case Parallel(_, body, _):
                self.block(body)
            case While():
                self._while(statement)
            case For():
                self._for(statement)

    def _reads(self, expression: Expression, span: Span) -> None:
        if isinstance(expression, Name):  # Most are.
            self.read(expression.id, expression.span or span)
            return
        for node in walk(expression):
            if isinstance(node, Name):
                self.read(node.id, node.span or span)

    def _call(self, site: CallSite) -> None:
        for argument in site.inputs:
            self._reads(argument.value, argument.span)
        for argument in site.inputs:
            if argument.parameter.direction is Direction.INOUT and argument.tag is not None:
                self.write(argument.tag, argument.span, None)
        for output in site.outputs:
            self._output(site, output)

    def _output(self, site: CallSite, output: Output) -> None:
        writer = (site.thread, site.parallel, output.span) if site.thread is not None else None
        self.write(output.tag, output.span, writer)
        if output.reduction is not None:
            reduced = (writer[0], writer[1], output.reduction.span) if writer is not None else None
            self.write(output.reduction.target, output.reduction.span, reduced)

    def _while(self, loop: While) -> None:
        self._reads(loop.limit, loop.span)
        self._reads(loop.condition, loop.span)

        def body() -> None:
            self.block(loop.body)
            self._reads(loop.condition, loop.span)

        self._loop(body, loop.span, False, False)

    def _for(self, loop: For) -> None:
        for bound in (loop.lower, loop.upper, *((loop.inflight,) if loop.inflight is not None else ())):
            self._reads(bound, loop.span)

        def body() -> None:
            self.write(loop.counter, loop.span, None)
            self.block(loop.body)

        self._loop(body, loop.span, loop.inflight is not None, _runs(loop))

    # Paths.

    def _branches(self, first: Callable[[], object], second: Callable[[], object]) -> None:
        """Take two paths from here and join them."""
        one, two = self._path(first), self._path(second)
        for tag in one.keys() | two.keys():
            before = self._state(tag)
            self._set(tag, before, _join(one.get(tag, before), two.get(tag, before)))

    def _path(self, walk: Callable[[], object]) -> dict[str, _State]:
        """Walk a path, give the states that it changes, and go back to where it began."""
        mark = len(self._journal)
        walk()
        changed = {tag: self._states[tag] for tag, _ in self._journal[mark:]}
        for tag, state in reversed(self._journal[mark:]):
            self._states[tag] = state
        del self._journal[mark:]
        return changed

    def _loop(self, body: Callable[[], object], span: Span, inflight: bool, runs: bool) -> None:
        """Walk a loop's body once; the loop may run zero times unless `runs`."""
        loop = _Loop(self._tick(), inflight)
        self._loops.append(loop)
        after = self._path(body)
        self._loops.pop()
        for tag, writers in loop.first_writes.items():
            for writer in writers:
                self._ordered(tag, writer, after[tag].writers)
        if inflight:
            self._carried(loop)
        else:
            self._next_round(loop, after)
        for tag, state in after.items():
            unclear = inflight and tag in loop.writes and tag not in loop.first_reads
            left, before = state._replace(ambiguous=span) if unclear else state, self._state(tag)
            self._set(tag, before, left if runs else _join(left, before))

    # Reports.

    def _display(self, tag: str, span: Span) -> str:
        return self._tags[tag].name_at(span, self._texts)

    def _unwritten(self, tag: str, span: Span, state: _State) -> None:
        name = self._display(tag, span)
        message = f"`{name}` is read before anything has written it"
        help = self._value_before(tag, name)
        if state.perhaps:
            message = f"`{name}` may be read before it is written: on some path nothing writes it"
            help = "a loop may run zero times and a branch may be skipped: give it a value before"
        self.diagnostics.append(error_at("E0401", message, span, help=help))

    def _value_before(self, tag: str, name: str) -> str:
        """Say how a tag gets its first value."""
        type, span = self._tags[tag].type, self._tags[tag].span
        head = self._texts[span.path].split("\n")[span.line - 1][: span.column - 1]
        zero = ZEROS.get(type.element or Element.OBJECT)
        if zero is None:
            return f"write it before, by the call that makes it:  … -> {name}"
        if not type.scalar:
            return f"write it before, for example:  fill({zero}) -> {name}"
        declared = re.search(r"\bvar\s+\w+\s+$", head)
        return f"give it a value {'where it is declared' if declared else 'before'}:  " + (
            f"var {type.element.label} {name} = {zero}" if type.element is not None else f"{name} = {zero}"
        )

    def _ambiguous(self, tag: str, span: Span, loop: Span) -> None:
        name = self._display(tag, span)
        message = f"`{name}` is read, but each iteration in flight writes its own value: none is the last"
        notes = [(loop, "the loop with `inflight` is here")]
        help = "remove `inflight`, or use the value inside the loop"
        self.diagnostics.append(error_at("E0405", message, span, notes=notes, help=help))

    def _next_round(self, loop: _Loop, after: Mapping[str, _State]) -> None:
        """What an iteration reads first may be what iterations in flight wrote in the round before."""
        for tag, span in loop.first_reads.items():
            inner = after[tag].ambiguous
            if inner is not None:
                self._ambiguous(tag, span, inner)

    def _carried(self, loop: _Loop) -> None:
        for tag, span in loop.first_reads.items():
            if tag not in loop.writes:
                continue
            name = self._display(tag, span)
            message = f"`{name}` is carried from one iteration to the next, but the loop has `inflight`"
            notes = [(loop.writes[tag], "written here, for the next iteration to read")]
            help = "remove `inflight`, or write the tag in each iteration before it is read"
            self.diagnostics.append(error_at("E0402", message, span, notes=notes, help=help))

    def _ordered(self, tag: str, writer: Writer, before: tuple[Writer, ...]) -> None:
        """Two threads of one region write a tag, and nothing between the writes orders them."""
        for thread, parallel, span in before:
            if parallel == writer[1] and thread != writer[0]:
                both = f"`{self._display(tag, writer[2])}` is written by {thread} and {writer[0]}"
                message = f"{both}, and nothing decides which of them is last"
                notes = [(span, f"written by {thread} here, and not read after that")]
                help = "run both calls on the same thread, or read the tag in between"
                self.diagnostics.append(error_at("E0404", message, writer[2], notes=notes, help=help))
                return
