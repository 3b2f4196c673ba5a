"""Liveness per thread: which tags a thread may still read, at every point of a program.

From it the runtime knows to whom a new version of a tag is pushed (`Liveness.readers`), when a thread lets
go of its reference (`last_uses`, `dead_outputs`, `drops_*`), and which statements a thread has to follow at
all (`participates`); ``pse graph`` shows where a tag's buffer is freed (`frees`).

A thread *r* reads a tag where a call site of *r* does, where *r* evaluates an assignment whose target it
reads later, and where *r* evaluates the bounds or the condition of a loop or branch in which it
participates, because a call site of *r* stands inside or because a definition inside is live at *r*.  Every
definition kills the version before it, at every thread, whoever defines; loops may run zero times, so that
they never kill on the whole.  Bounds and the limit of ``while`` are read once, the condition of ``while``
before each iteration.  What an ``inflight`` body defines stays inside its iteration.  Where one thread hands
over a tag at the exit of a loop (`exits`), it reads the tag there, and for its readers the version is new.

The equations are solved for each thread by passes backwards over `Walk.events` until nothing changes
(backward data-flow analysis: Aho, Lam, Sethi, Ullman, *Compilers*, section 9.2.5).  Names that are no tags
never appear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pse.language.check import Assign, CallSite, For, If, Parallel, ResolvedProgram, Swap, Tag, While
from pse.language.types import Pattern
from pse.program._placement import Placement, ThreadKey, place
from pse.program._walk import (
    Mark,
    Role,
    Walk,
    condition_names,
    defined,
    entry_names,
    number,
    outputs_of,
    read_names,
)

if TYPE_CHECKING:
    from pse.program._loop_exits import Exit

Tags = frozenset[str]
NONE: Tags = frozenset()


@dataclass
class ThreadLiveness:
    """The solution for one thread; grows while it is being solved.

    Indices are the numbers of `walk`: `before`, `after` and `head` by statement, `entry` by block.  `head`
    is the point that a loop comes back to before every iteration, and the point after the condition of an
    ``if``.  `settled` is the point after the hand-overs at a loop's exit, where there are any.
    """

    before: dict[int, Tags] = field(default_factory=dict)
    after: dict[int, Tags] = field(default_factory=dict)
    settled: dict[int, Tags] = field(default_factory=dict)
    head: dict[int, Tags] = field(default_factory=dict)
    entry: dict[int, Tags] = field(default_factory=dict)
    participates: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Liveness:
    """Where every tag is live at every thread; statements and blocks by their numbers in `walk`.

    `reads` are the tags that each statement itself reads, by number; `exits` is what is handed over where
    each loop ends, by the loop's number.
    """

    walk: Walk
    placement: Placement
    tags: Mapping[str, Tag]
    threads: Mapping[ThreadKey, ThreadLiveness]
    reads: Sequence[Tags]
    exits: Mapping[int, tuple[Exit, ...]]

    def live_before(self, statement: int, thread: ThreadKey) -> Tags:
        """Tags whose version before the statement the thread may still read."""
        return self.threads[thread].before[statement]

    def live_after(self, statement: int, thread: ThreadKey) -> Tags:
        """Tags whose version after the statement the thread may still read."""
        return self.threads[thread].after[statement]

    def live_at_entry(self, block: int, thread: ThreadKey) -> Tags:
        """Tags that the thread may still read once it has entered a block."""
        return self.threads[thread].entry[block]

    def live_at_head(self, statement: int, thread: ThreadKey) -> Tags:
        """Tags that the thread may still read where a loop decides about one more iteration."""
        return self.threads[thread].head[statement]

    def live_anywhere(self, point: str, number: int) -> Tags:
        """Tags that any thread may still read at a point: ``before``, ``after``, ``head`` or ``entry``."""
        return NONE.union(*(getattr(solved, point).get(number, NONE) for solved in self.threads.values()))

    def participates(self, thread: ThreadKey, statement: int) -> bool:
        """Tell whether the thread has to follow a statement: to execute it, or to expect what it defines."""
        return statement in self.threads[thread].participates

    def readers(self, site: CallSite, tag: str) -> frozenset[ThreadKey]:
        """Threads that may read the version of `tag` which the site defines: to whom it is pushed."""
        step = self.walk.step_of_site[site.id]
        return frozenset(key for key, solved in self.threads.items() if tag in solved.after[step])

    def readers_at_exits(self, site: CallSite, tag: str) -> frozenset[ThreadKey]:
        """Threads to whom that version may go later, where a loop around the site ends."""
        exits = (e for handed in self.exits.values() for e in handed if (site.id, tag) in e.origins)
        return frozenset[ThreadKey]().union(*(e.readers for e in exits))

    def is_done_with(self, handed: Exit) -> bool:
        """Tell whether the thread that hands over a tag at a loop's exit doesn't read it itself any more."""
        return handed.tag not in self.threads[handed.maker].settled[handed.loop]

    def last_uses(self, statement: int | CallSite, thread: ThreadKey) -> Tags:
        """Tags whose version from before the statement the thread has read there for the last time.

        For a call of the thread and for an assignment that it evaluates; empty for every other statement.  An
        in-out that stays live is not among them (the reference now stands for the new version); a tag that
        is both read and defined anew is: it is the old version's reference that goes.
        """
        step = self._step(statement)
        solved = self.threads[thread]
        if not self._executes(step, thread):
            return NONE
        node = self.walk.steps[step].statement
        anew = outputs_of(node) if isinstance(node, CallSite) else defined(node)
        return (self.reads[step] - solved.after[step]) | (self.reads[step] & anew)

    def dead_outputs(self, site: CallSite) -> Tags:
        """Tags that the site defines anew and its own thread never reads: released once they are pushed."""
        step = self.walk.step_of_site[site.id]
        return outputs_of(site) - self.threads[self.placement.thread_of(site)].after[step]

    def drops_at_header(self, statement: int, thread: ThreadKey) -> Tags:
        """Tags that the thread lets go once it has read a loop's bounds or limit, or a condition."""
        solved = self.threads[thread]
        return solved.before[statement] - solved.head[statement] if statement in solved.head else NONE

    def drops_at_entry(self, block: int, thread: ThreadKey) -> Tags:
        """Tags that the thread lets go on entering a block: live before the decision, dead on this path."""
        solved, owner = self.threads[thread], self.walk.blocks[block].owner
        if owner is None or _inflight(self.walk, owner):
            return NONE
        return solved.head[owner] - solved.entry[block]

    def drops_at_exit(self, statement: int, thread: ThreadKey) -> Tags:
        """Tags that the thread lets go on leaving a loop: a further iteration would have read them."""
        solved = self.threads[thread]
        if not isinstance(self.walk.steps[statement].statement, For | While):
            return NONE
        return solved.head[statement] - solved.after[statement]

    def frees(self, site: CallSite) -> Tags:
        """Buffers that nobody needs after the site: it reads or defines their last version that is read."""
        step = self.walk.step_of_site[site.id]
        reads, outputs = self.reads[step], outputs_of(site)
        return self._buffers(((reads | outputs) - self.live_anywhere("after", step)) | (reads & outputs))

    def frees_at_entry(self, block: int) -> Tags:
        """Buffers that nobody needs on the path into this block, though another path would."""
        owner = self.walk.blocks[block].owner
        if owner is None or _inflight(self.walk, owner):
            return NONE
        return self._buffers(self.live_anywhere("head", owner) - self.live_anywhere("entry", block))

    def frees_at_exit(self, statement: int) -> Tags:
        """Buffers that nobody needs after a loop, though a further iteration would have."""
        if not isinstance(self.walk.steps[statement].statement, For | While):
            return NONE
        return self._buffers(self.live_anywhere("head", statement) - self.live_anywhere("after", statement))

    def last_use_everywhere(self, site: CallSite, tag: str) -> bool:
        """Tell whether no thread reads, after the site in program order, the version of `tag` it reads.

        A thread that stands earlier in program order may still be busy with it: who writes in place waits
        for the other references all the same.
        """
        step = self.walk.step_of_site[site.id]
        return tag in defined(site) or tag not in self.live_anywhere("after", step)

    def _step(self, statement: int | CallSite) -> int:
        return self.walk.step_of_site[statement.id] if isinstance(statement, CallSite) else statement

    def _executes(self, step: int, thread: ThreadKey) -> bool:
        node = self.walk.steps[step].statement
        if isinstance(node, CallSite):
            return self.placement.thread_of(node) == thread
        return isinstance(node, Assign) and self.participates(thread, step)

    def _buffers(self, tags: Iterable[str]) -> Tags:
        """Leave out what takes no buffer: loop counters and replicated scalars."""
        return frozenset(name for name in tags if _takes_buffer(self.tags[name]))


def analyse(program: ResolvedProgram) -> Liveness:
    """Solve liveness for every thread of a program, where every tag is handed over as it is defined."""
    return solve(number(program), place(program), program.tags)


def solve(
    walked: Walk,
    placement: Placement,
    tags: Mapping[str, Tag],
    exits: Iterable[Exit] = (),
    *,
    together: bool = False,
) -> Liveness:
    """Solve liveness for every thread.

    Parameters
    ----------
    walked : Walk
    placement : Placement
    tags : mapping
        The program's, by name.
    exits : iterable of Exit
        What is handed over where loops end; `exits.analyse_run` finds out.
    together : bool
        Whether every thread follows the loops of the program itself, even those it needs nothing of, so that
        all are at the same point whenever one of them comes back to its head.
    """
    facts = _Facts(walked, placement, tags, exits)
    attended = _own_loops(walked) if together else set()
    threads = {key: _solve(facts, key, attended) for key in placement.keys}
    return Liveness(walked, placement, tags, threads, facts.reads, facts.exits)


def _own_loops(walked: Walk) -> set[int]:
    """Find the loops outside PARALLEL and outside loops in flight, and what stands around them."""
    found: set[int] = set()
    for step in walked.steps:
        around = list(walked.ancestors(step.id))
        apart = any(isinstance(walked.steps[s].statement, Parallel) or _inflight(walked, s) for s in around)
        if isinstance(step.statement, For | While) and not apart:
            found |= {step.id, *around}
    return found


def _inflight(walked: Walk, step: int) -> bool:
    statement = walked.steps[step].statement
    return isinstance(statement, For) and statement.inflight is not None


def _takes_buffer(tag: Tag) -> bool:
    replicated = tag.type.distribution.pattern is Pattern.REPLICATED
    return not tag.loop_counter and not (tag.type.scalar and replicated)


class _Facts:
    """What each statement reads and defines, found once for all threads and passes."""

    def __init__(
        self, walked: Walk, placement: Placement, tags: Mapping[str, Tag], exits: Iterable[Exit]
    ) -> None:
        known = tags.keys()
        statements = [step.statement for step in walked.steps]
        self.walk = walked
        self.reads = [read_names(statement) & known for statement in statements]
        self.defines = [defined(statement) for statement in statements]
        self.thread = [placement.thread_of(s) if isinstance(s, CallSite) else None for s in statements]
        self.once = {
            i: entry_names(s) & known for i, s in enumerate(statements) if isinstance(s, For | While)
        }
        self.inside = self._defined_inside()
        self.exits: dict[int, tuple[Exit, ...]] = {}
        for handed in exits:
            self.exits[handed.loop] = (*self.exits.get(handed.loop, ()), handed)

    def _defined_inside(self) -> dict[int, Tags]:
        """What the bodies of ``inflight`` loops define."""
        loops = {step.id: set[str]() for step in self.walk.steps if _inflight(self.walk, step.id)}
        if loops:
            for step in self.walk.steps:
                for around in loops.keys() & set(self.walk.ancestors(step.id)):
                    loops[around] |= self.defines[step.id]
        return {loop: frozenset(names) for loop, names in loops.items()}


def _solve(facts: _Facts, key: ThreadKey, attended: set[int]) -> ThreadLiveness:
    """Pass backwards over the program until neither a live set nor participation grows."""
    solved = ThreadLiveness(participates=set(attended))
    before: tuple[object, ...] = ()
    while True:
        _Pass(facts, key, solved).run()
        reached = (len(solved.participates), tuple(map(len, solved.head.values())))
        if reached == before:
            return solved
        before = reached


class _Pass:
    """One pass backwards over the events; `live` is the set at the point reached."""

    def __init__(self, facts: _Facts, key: ThreadKey, solved: ThreadLiveness) -> None:
        self.facts, self.key, self.solved = facts, key, solved
        self.live: Tags = NONE

    def run(self) -> None:
        for event in reversed(self.facts.walk.events):
            match event.mark:
                case Mark.STEP_LEAVE:
                    self.live = self.solved.after[event.id] = self._after(event.id)
                case Mark.BLOCK_LEAVE:
                    self.live = self._at_end_of(event.id)
                case Mark.BLOCK_ENTER:
                    self.solved.entry[event.id] = self.live
                case Mark.STEP_ENTER:
                    self.live = self.solved.before[event.id] = self._before(event.id)

    def _after(self, step: int) -> Tags:
        """At a loop's exit, what is handed over is read by the one and new to the others."""
        handed = self.facts.exits.get(step)
        if handed is None:
            return self.live
        self.solved.settled[step] = self.live
        news = frozenset(e.tag for e in handed if self.key in e.readers)
        if news & self.live:
            self._follow(step)
        return (self.live - news) | frozenset(e.tag for e in handed if self.key == e.maker)

    def _at_end_of(self, block: int) -> Tags:
        """The end of a loop's body leads to its head, of any other block to what follows its owner."""
        role, owner = self.facts.walk.blocks[block].role, self.facts.walk.blocks[block].owner
        if owner is None:
            return NONE
        if role is not Role.BODY:
            return self.solved.after[owner]
        return self.solved.head.get(owner, self.solved.after[owner]) - self.facts.inside.get(owner, NONE)

    def _before(self, step: int) -> Tags:
        statement = self.facts.walk.steps[step].statement
        if isinstance(statement, For | While | If | Parallel):
            return self._before_compound(step)
        after, defines = self.solved.after[step], self.facts.defines[step]
        runs = self.facts.thread[step] == self.key
        if not runs and not defines & after:
            return after
        self._participate(step)
        if isinstance(statement, Swap):
            return _renamed(after, statement)
        return (after - defines) | (NONE if _elsewhere(statement, runs) else self.facts.reads[step])

    def _before_compound(self, step: int) -> Tags:
        solved, statement = self.solved, self.facts.walk.steps[step].statement
        takes_part = step in solved.participates
        head = NONE.union(*(solved.entry[block] for block in self.facts.walk.steps[step].blocks))
        match statement:
            case For():
                head = (head - {statement.counter}) | solved.after[step]
            case While():
                condition = condition_names(statement) & self.facts.reads[step]
                head |= solved.after[step] | (condition if takes_part else NONE)
        solved.head[step] = head
        return head | (self._read_once(step) if takes_part else NONE)

    def _read_once(self, step: int) -> Tags:
        return self.facts.once.get(step, self.facts.reads[step])

    def _participate(self, step: int) -> None:
        """Enter a statement and those around it."""
        self.solved.participates.add(step)
        self._follow(step)

    def _follow(self, step: int) -> None:
        """Enter what stands around a statement."""
        for around in self.facts.walk.ancestors(step):
            if around in self.solved.participates:
                return
            self.solved.participates.add(around)


def _elsewhere(statement: object, runs: bool) -> bool:
    """Whether another thread executes this call; everyone who needs it evaluates an assignment."""
    return isinstance(statement, CallSite) and not runs


def _renamed(after: Tags, swap: Swap) -> Tags:
    """Undo a swap: what is live under one name afterwards was live under the other."""
    other = {swap.left: swap.right, swap.right: swap.left}
    return frozenset(other.get(tag, tag) for tag in after)
