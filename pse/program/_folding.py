"""Threads that can't overlap: all calls of the one come before, or after, every call of the other.

Between such threads a tag travels for nothing: the one that hands it over has nothing to do until it comes
back.  So the calls of both may run on one of them, in the order of the program.

The order is that of data: a call begins once the calls that made what it reads, or what the conditions
around it read, are complete.  Loops count as three rounds: what holds between two rounds holds between
any two.  Nothing is concluded from buffers that a call waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pse.language.check import Assign, CallSite, For, If, Parallel, ResolvedProgram, Statement, Swap, While
from pse.program._placement import PARALLEL, ROOT, Placement, ThreadKey
from pse.program._walk import (
    Walk,
    condition_names,
    defined_tags,
    entry_names,
    number_statements,
    read_names,
)

_ROUNDS = 3
_MOST_CALLS = 1000
"""Calls in all rounds of a program that is looked at; larger ones keep their threads."""


def fold_threads(program: ResolvedProgram, placement: Placement, *, parallel: bool) -> Placement:
    """Let threads that can't overlap be one.

    Parameters
    ----------
    program : ResolvedProgram
        A checked program.
    placement : Placement
        Its threads.
    parallel : bool
        Whether threads in PARALLEL count too: where a processor has several partitions, the calls of one
        overlap those of another.

    Returns
    -------
    Placement
        With `Placement.folded`; the ranks stay the same.

    Examples
    --------
    >>> from pse.program import place_threads
    >>> placement = fold_threads(program, place_threads(program), parallel=True)
    >>> [f"{key} runs on {onto}" for key, onto in placement.folded.items()]
    ['thread_C in PARALLEL runs on thread_B in PARALLEL']
    """
    walk = number_statements(program)
    if placement.serial or _calls_in_all(walk) > _MOST_CALLS:
        return placement
    overlapping = _Order(program).overlapping()
    folded: dict[ThreadKey, ThreadKey] = {}
    for region in (ROOT, PARALLEL) if parallel and _is_uniform(walk) else (ROOT,):
        keys = [key for key in placement.keys if key.region == region]
        sites = {key: [site.id for site in walk.sites if placement.thread_of(site) == key] for key in keys}
        folded |= _fold(sites, overlapping)
    return replace(placement, folded=folded)


def _calls_in_all(walk: Walk) -> int:
    """Count the calls in all rounds."""
    loops = (
        sum(isinstance(walk.steps[around].statement, For | While) for around in walk.ancestors(step))
        for step in walk.step_of_site.values()
    )
    return sum(_ROUNDS**depth for depth in loops)


def _is_uniform(walk: Walk) -> bool:
    """Whether all calls in PARALLEL are over the same partition: order is that within one of its pieces."""
    parallel = [site for site in walk.sites if site.parallel or site.moved]
    return len({site.partition for site in parallel}) == 1 and not any(site.moved for site in parallel)


def _fold(sites: dict[ThreadKey, list[int]], overlapping: set[frozenset[int]]) -> dict[ThreadKey, ThreadKey]:
    """Join each thread with the first one that it never overlaps."""
    folded: dict[ThreadKey, ThreadKey] = {}
    for key, own in list(sites.items()):
        for onto, others in sites.items():
            if onto == key:
                break
            if not any(frozenset((one, other)) in overlapping for one in own for other in others):
                folded[key] = onto
                others += sites.pop(key)
                break
    return folded


class _State:
    """Which calls may still run, as sets of bits: when a tag is there, and when a condition is known.

    A call is in a set if there is a path through the program on which it has begun and need not be over.
    """

    def __init__(self, begun: int, tags: dict[str, int], conditions: int) -> None:
        self.begun, self.tags, self.conditions = begun, tags, conditions

    def copy(self) -> _State:
        return _State(self.begun, dict(self.tags), self.conditions)

    def when_known(self, names: Iterable[str]) -> int:
        """Give what may run when all of some names have their values; parameters always have."""
        running = self.begun
        for name in names:
            running &= self.tags.get(name, self.begun)
        return running

    def begin(self, call: int) -> None:
        """Note that a call may run from here on."""
        self.begun |= call
        self.conditions |= call
        self.tags = {name: running | call for name, running in self.tags.items()}

    def join(self, other: _State) -> None:
        """Add another path to the same point."""
        self.tags = {
            name: self.tags.get(name, self.begun) | other.tags.get(name, other.begun)
            for name in self.tags.keys() | other.tags.keys()
        }
        self.begun |= other.begun
        self.conditions |= other.conditions


class _Order:
    """A pass over all rounds of the program, call by call."""

    def __init__(self, program: ResolvedProgram) -> None:
        self.body = program.body
        self.calls: list[int] = []  # the call site of every call
        self.found: set[frozenset[int]] = set()

    def overlapping(self) -> set[frozenset[int]]:
        """Give the pairs of call sites of which calls may overlap."""
        self._pass(self.body, _State(0, {}, 0))
        return self.found

    def _pass(self, body: Iterable[Statement], state: _State) -> None:
        for statement in body:
            match statement:
                case CallSite():
                    self._call(statement, state)
                case Assign(tag=tag):
                    state.tags[tag] = state.when_known(read_names(statement))
                case Swap(left=left, right=right):
                    first, second = (state.tags.get(name, state.begun) for name in (left, right))
                    state.tags |= {left: second, right: first}
                case Parallel():
                    self._pass(statement.body, state)
                case If():
                    self._branch(statement, state)
                case For() | While():
                    self._loop(statement, state)

    def _call(self, site: CallSite, state: _State) -> None:
        running = state.conditions & state.when_known(read_names(site))
        self.found |= {frozenset((site.id, self.calls[other])) for other in _bits(running)}
        state.begin(1 << len(self.calls))
        self.calls.append(site.id)
        state.tags |= dict.fromkeys(defined_tags(site), running)

    def _branch(self, statement: If, state: _State) -> None:
        before = state.conditions
        known = state.when_known(read_names(statement))
        otherwise = state.copy()
        for body, path in ((statement.then, state), (statement.otherwise, otherwise)):
            begun = path.begun
            path.conditions = before & known
            self._pass(body, path)
            path.conditions = before | (path.begun & ~begun)
        state.join(otherwise)

    def _loop(self, loop: For | While, state: _State) -> None:
        """Follow a loop through its rounds; it may end before each of them, and after the last."""
        in_flight = isinstance(loop, For) and loop.inflight is not None
        entry, before, begun = dict(state.tags), state.conditions, state.begun
        once = state.when_known(entry_names(loop))
        ends = state.copy()
        for _ in range(_ROUNDS):
            new = state.begun & ~begun
            if in_flight:  # Nothing comes from one round to the next.
                state.tags = {name: running | new for name, running in entry.items()}
            state.conditions = (before & once | new) & state.when_known(condition_names(loop))
            self._pass(loop.body, state)
            state.conditions = before | (state.begun & ~begun)
            ends.join(state)
        state.begun, state.tags, state.conditions = ends.begun, ends.tags, ends.conditions


def _bits(numbers: int) -> Iterator[int]:
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest
