"""Liveness of tags per thread, solved: which tags a thread may still read, at every point of a program.

From it the runtime knows to whom a new version of a tag is pushed (`Liveness.readers`), when a thread lets
go of its reference (`last_uses`, `dead_outputs`, `drops_*`), and which statements a thread has to follow at
all (`participates`); ``pse graph`` shows where a tag's buffer is freed (`frees`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from pse.language.check import Assign, CallSite, For, Tag, While
from pse.language.types import Pattern
from pse.program._placement import Placement, ThreadKey
from pse.program._walk import (
    Walk,
    defined_tags,
    outputs_of,
)
from pse.records import dataclass

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
class LoopExit:
    """A tag that is handed over where a loop ends.

    Attributes
    ----------
    loop : int
        The loop's number in the walk.
    tag : str
        The tag's name there.
    site : int
        The call for which it is counted: the last one inside that defines it, maybe under another name.
    maker : ThreadKey
        Who hands it over.
    readers : frozenset of ThreadKey
        Who reads it after the loop and doesn't get it inside.
    origins : frozenset of (int, str)
        The definitions inside that may be the last, each a call's number and a tag's name.

    See Also
    --------
    analyse_run_liveness
    """

    loop: int
    tag: str
    site: int
    maker: ThreadKey
    readers: frozenset[ThreadKey]
    origins: frozenset[tuple[int, str]]


@dataclass(frozen=True)
class Liveness:
    """Where every tag is live at every thread; statements and blocks by their numbers in `walk`.

    Attributes
    ----------
    walk : Walk
        The numbered statements.
    placement : Placement
        The threads.
    tags : mapping of str to Tag
        The program's, by unique name.
    threads : mapping of ThreadKey to ThreadLiveness
        The solution for each thread.
    reads : sequence of frozenset of str
        The tags that each statement itself reads, by number.
    exits : mapping of int to tuple of LoopExit
        What is handed over where each loop ends, by the loop's number.

    See Also
    --------
    analyse_liveness, analyse_run_liveness

    Examples
    --------
    >>> from pse.program import analyse_liveness
    >>> liveness = analyse_liveness(program)
    >>> step = liveness.walk.sites[2]
    >>> sorted(map(str, liveness.readers(step, "v")))
    ['thread_A', 'thread_C in PARALLEL']
    """

    walk: Walk
    placement: Placement
    tags: Mapping[str, Tag]
    threads: Mapping[ThreadKey, ThreadLiveness]
    reads: Sequence[Tags]
    exits: Mapping[int, tuple[LoopExit, ...]]

    def live_before(self, statement: int, thread: ThreadKey) -> Tags:
        """Tags whose version before the statement the thread may still read."""
        return self.threads[thread].before[statement]

    def live_after(self, statement: int, thread: ThreadKey) -> Tags:
        """Tags whose version after the statement the thread may still read."""
        return self.threads[thread].after[statement]

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

    def is_done_with(self, handed: LoopExit) -> bool:
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
        anew = outputs_of(node) if isinstance(node, CallSite) else defined_tags(node)
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
        if owner is None or self.walk.is_inflight(owner):
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
        if owner is None or self.walk.is_inflight(owner):
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
        return tag in defined_tags(site) or tag not in self.live_anywhere("after", step)

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


def _takes_buffer(tag: Tag) -> bool:
    replicated = tag.type.distribution.pattern is Pattern.REPLICATED
    return not tag.loop_counter and not (tag.type.scalar and replicated)
