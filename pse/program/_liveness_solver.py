"""Liveness of tags per thread: the analysis.

A thread *r* reads a tag where a call site of *r* does, where *r* evaluates an assignment whose target it
reads later, and where *r* evaluates the bounds or the condition of a loop or branch in which it
participates, because a call site of *r* stands inside or because a definition inside is live at *r*.  Every
definition kills the version before it, at every thread, whoever defines; loops may run zero times, so that
they never kill on the whole.  Bounds and the limit of ``while`` are read once, the condition of ``while``
before each iteration.  What an ``inflight`` body defines stays inside its iteration.  Where one thread hands
over a tag at the exit of a loop (`LoopExit`), it reads the tag there, and for its readers the version is new.

The equations are solved for each thread by passes backwards over `Walk.events` until nothing changes
(backward data-flow analysis: Aho, Lam, Sethi, Ullman, *Compilers*, section 9.2.5).  Names that are not tags
never appear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pse.language.check import CallSite, For, If, Parallel, ResolvedProgram, Swap, Tag, While
from pse.program._liveness import NONE, Liveness, LoopExit, Tags, ThreadLiveness
from pse.program._placement import Placement, ThreadKey, place_threads
from pse.program._walk import (
    Mark,
    Role,
    Walk,
    condition_names,
    defined_tags,
    entry_names,
    number_statements,
    read_names,
)


def analyse_liveness(program: ResolvedProgram, placement: Placement | None = None) -> Liveness:
    """Solve liveness for every thread of a program, where every tag is handed over as it is defined.

    Parameters
    ----------
    program : ResolvedProgram
        A checked program.
    placement : Placement, optional
        Which thread executes what; as the program says if not given.

    Returns
    -------
    Liveness
        Which tags each thread may still read, at every point.

    Examples
    --------
    >>> liveness = analyse_liveness(program)
    >>> save = liveness.walk.sites[-1]
    >>> {str(thread): sorted(liveness.last_uses(save, thread)) for thread in liveness.threads}
    {'thread_A': ['field'], 'thread_B in PARALLEL': [], 'thread_C in PARALLEL': []}
    """
    return solve_liveness(number_statements(program), placement or place_threads(program), program.tags)


def solve_liveness(
    walked: Walk,
    placement: Placement,
    tags: Mapping[str, Tag],
    exits: Iterable[LoopExit] = (),
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
        What is handed over where loops end; `analyse_run_liveness` finds out.
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
        apart = any(isinstance(walked.steps[s].statement, Parallel) or walked.is_inflight(s) for s in around)
        if isinstance(step.statement, For | While) and not apart:
            found |= {step.id, *around}
    return found


class _Facts:
    """What each statement reads and defines, found once for all threads and passes."""

    def __init__(
        self, walked: Walk, placement: Placement, tags: Mapping[str, Tag], exits: Iterable[LoopExit]
    ) -> None:
        known = tags.keys()
        statements = [step.statement for step in walked.steps]
        self.walk = walked
        self.reads = [read_names(statement) & known for statement in statements]
        self.defines = [defined_tags(statement) for statement in statements]
        self.thread = [placement.thread_of(s) if isinstance(s, CallSite) else None for s in statements]
        self.once = {
            i: entry_names(s) & known for i, s in enumerate(statements) if isinstance(s, For | While)
        }
        self.inside = self._defined_inside()
        self.exits: dict[int, tuple[LoopExit, ...]] = {}
        for handed in exits:
            self.exits[handed.loop] = (*self.exits.get(handed.loop, ()), handed)

    def _defined_inside(self) -> dict[int, Tags]:
        """What the bodies of ``inflight`` loops define."""
        loops = {step.id: set[str]() for step in self.walk.steps if self.walk.is_inflight(step.id)}
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
            case For() | While():
                condition = condition_names(statement) & self.facts.reads[step]
                counter = {statement.counter} if isinstance(statement, For) else NONE
                head = (head - counter) | solved.after[step] | (condition if takes_part else NONE)
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
