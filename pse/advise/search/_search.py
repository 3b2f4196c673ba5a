"""Looking for a better assignment: threads first, then iterations in flight, then queue depths.

With few units all ways to put them on two threads are tried, with many those that move one or two; a third
thread and all else is tried from the best of these.  What is proposed is the simplest of those that are about
as good as the best.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pse.advise.model._movable_groups import MovableGroup
from pse.advise.model._operations import Unrolled
from pse.advise.simulate._assignment import Assignment, Machine
from pse.advise.simulate._simulation import Simulation, SimulationDeadlock

NOISE = 0.08
"""Of two assignments, one that is better by less than this part of the run time may not be."""
CROWDED = 0.1
"""What each rank beyond two on a core adds to a run with transfers between nodes: all poll and are woken.

Measured on emulated nodes of one core: a third rank takes 12 to 20 % more than the simulation has it.
"""
LEAST_WEIGHT = 0.005
"""Units that take less than this part of all time stay where they are."""
MOST_SUBSETS = 6
"""With so many units at most, all ways to part them are tried."""
WINDOWS = (2, 3, 4)
DEPTHS = (4, 8)
MOST_CHECKED = 24
"""Assignments that are checked at most to find some that may be."""
PATIENCE = 10.0
"""Seconds after which the search makes do with what it has."""


@dataclass(frozen=True)
class Candidate:
    """An assignment that was simulated; `cost` is how much it asks of a reader.

    That is threads and other changes, calls that move, and how much these compute: to part what waits from
    what computes, the former moves.
    """

    assignment: Assignment
    seconds: float
    cost: tuple[int, int, float]


@dataclass
class Study:
    """Simulates assignments of one program in one setting, each once.

    Parameters
    ----------
    unrolled : Unrolled
        What a run does.
    machine : Machine
        On what.
    present : Assignment
        The program as it is.
    """

    unrolled: Unrolled
    machine: Machine
    present: Assignment
    known: dict[object, Candidate] = field(default_factory=dict)

    @cached_property
    def cpu(self) -> dict[int, float]:
        """CPU seconds of every call site."""
        totals: dict[int, float] = {}
        for operation in self.unrolled.operations:
            totals[operation.site] = totals.get(operation.site, 0.0) + operation.cpu
        return totals

    def candidate(self, assignment: Assignment) -> Candidate:
        """Simulate an assignment."""
        key = (
            tuple(sorted(assignment.threads.items())),
            tuple(sorted(assignment.inflight.items(), key=str)),
            assignment.depth,
            tuple(sorted(assignment.depths.items())),
        )
        if key not in self.known:
            try:
                seconds = Simulation(self.unrolled, assignment, self.machine).run().seconds * self._crowding(
                    assignment
                )
            except SimulationDeadlock:
                seconds = float("inf")
            self.known[key] = Candidate(assignment, seconds, self._cost(assignment))
        return self.known[key]

    @cached_property
    def _places(self) -> list[tuple[int | None, int]]:
        """Processors, and call sites that they execute."""
        return list({(operation.processor, operation.site) for operation in self.unrolled.operations})

    def _crowding(self, assignment: Assignment) -> float:
        """Give what a run takes longer as many ranks share a core and serve transfers, as a factor."""
        if len(set(self.machine.hosts.values())) == 1:
            return 1.0
        cores = self.machine.cores
        ranks = {(cores[place], place, assignment.threads[site]) for place, site in self._places}
        most = max((n / max(core.amount, 1.0) for core, n in Counter(r[0] for r in ranks).items()), default=0)
        return 1.0 + CROWDED * max(0.0, most - 2)

    def _cost(self, assignment: Assignment) -> tuple[int, int, float]:
        now = self.present
        moved = [site for site, label in assignment.threads.items() if now.threads[site] != label]
        computing = sum(self.cpu.get(site, 0.0) for site in moved)
        others = sum(now.inflight.get(step) != window for step, window in assignment.inflight.items())
        return (
            len(set(assignment.threads.values())) + others + (assignment.depth != now.depth),
            len(moved),
            computing,
        )


def search(
    study: Study,
    units: Iterable[MovableGroup],
    is_legal: Callable[[Assignment], bool],
    windows: Mapping[int, int | None],
) -> Candidate:
    """Find a better assignment than the present one; the present one if there is none.

    Parameters
    ----------
    study : Study
        Where assignments are simulated.
    units : iterable of MovableGroup
        What can change threads.
    is_legal : callable
        Says whether a program may be changed so.
    windows : mapping of int to (int or None)
        Loops whose iterations might be in flight, by statement, and how many are now.
    """
    deadline = time.monotonic() + PATIENCE
    units = _heavy(list(units))
    present = study.candidate(study.present)
    best = [present]
    for parallel in (True, False):
        mine = [unit for unit in units if unit.parallel == parallel]
        best = _parted(study, best, mine, is_legal, deadline)
    for step in windows:
        more = [
            study.candidate(replace(c.assignment, inflight={**c.assignment.inflight, step: window}))
            for c in [*best[:3], present]
            for window in WINDOWS
            if window != windows[step] and time.monotonic() < deadline
        ]
        best = _best([*best, *more], is_legal) or best
    more = [study.candidate(replace(best[0].assignment, depth=depth)) for depth in DEPTHS]
    near = [c for c in [*study.known.values(), *more] if c.seconds <= best[0].seconds * (1 + NOISE)]
    near = _best(near, is_legal, MOST_CHECKED, by=lambda c: (c.cost, c.seconds))
    return _lettered(simplest([present, *best, *near]), study.present)


def simplest(candidates: Iterable[Candidate]) -> Candidate:
    """Choose what asks least of a reader among those that are about as good as the best."""
    found = list(candidates)
    least = min(candidate.seconds for candidate in found)
    near = [c for c in found if c.seconds <= least * (1 + NOISE)]
    return min(near, key=lambda c: (c.cost, c.seconds))


def _heavy(units: list[MovableGroup]) -> list[MovableGroup]:
    total = sum(unit.weight for unit in units)
    return [unit for unit in units if unit.weight >= LEAST_WEIGHT * total]


def _best(
    candidates: Iterable[Candidate],
    is_legal: Callable[[Assignment], bool],
    number: int = 6,
    by: Callable[[Candidate], tuple[object, ...]] = lambda c: (c.seconds, c.cost),
) -> list[Candidate]:
    """Give the best of those that may be; only so many are checked."""
    unique = {id(candidate): candidate for candidate in candidates if candidate.seconds < float("inf")}
    found: list[Candidate] = []
    for candidate in sorted(unique.values(), key=by)[:MOST_CHECKED]:
        if len(found) < number and is_legal(candidate.assignment):
            found.append(candidate)
    return found


def _parted(
    study: Study,
    starts: list[Candidate],
    units: list[MovableGroup],
    is_legal: Callable[[Assignment], bool],
    deadline: float,
) -> list[Candidate]:
    """Put the units of one region on one, two and three threads, if any of that may be."""
    if len(units) < 2:
        return starts
    labels = _three_labels(study.present, units)
    found = list(starts)
    for start in starts[:2]:
        base = _moved(start.assignment, units, labels[0])
        found.append(study.candidate(base))
        for subset in _subsets(units):
            if time.monotonic() < deadline:
                found.append(study.candidate(_moved(base, subset, labels[1])))
    found = _best(found, is_legal)
    for candidate, unit, label in itertools.product(found[:3], units, labels):
        if time.monotonic() < deadline:
            found.append(study.candidate(_moved(candidate.assignment, [unit], label)))
    return _best(found, is_legal) or starts


def _subsets(units: list[MovableGroup]) -> Iterable[tuple[MovableGroup, ...]]:
    """Ways to choose what moves to another thread: never what computes most: it would be the same."""
    rest = sorted(units, key=lambda unit: -unit.cpu)[1:]
    most = len(rest) if len(units) <= MOST_SUBSETS else 2
    for size in range(1, most + 1):
        yield from itertools.combinations(rest, size)


def _moved(base: Assignment, units: Iterable[MovableGroup], label: str) -> Assignment:
    moved = {site: label for unit in units for site in unit.sites}
    return replace(base, threads={**base.threads, **moved})


def _lettered(best: Candidate, present: Assignment) -> Candidate:
    """Give new threads their letters in the order in which the program comes to them."""
    own, threads = set(present.threads.values()), best.assignment.threads
    new = dict.fromkeys(label for _, label in sorted(threads.items()) if label not in own)
    names = dict(zip(new, sorted(new), strict=True))
    renamed = {site: names.get(label, label) for site, label in threads.items()}
    return replace(best, assignment=replace(best.assignment, threads=renamed))


def _three_labels(present: Assignment, units: Iterable[MovableGroup]) -> list[str]:
    """Labels for the threads of a region: those that it has, in the program's order, then unused ones."""
    sites = sorted(site for unit in units for site in unit.sites)
    own = dict.fromkeys(present.threads[site] for site in sites)
    letters = (f"thread_{chr(code)}" for code in range(ord("A"), ord("Z") + 1))
    fresh = [label for label in letters if label not in present.threads.values()]
    return [*own, *fresh][:3]
