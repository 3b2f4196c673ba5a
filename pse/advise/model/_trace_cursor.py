"""A trace's calls as a walk through the program meets them, and where a walk stands among them.

Where a program's text doesn't tell what a run did (a condition reads data, a loop has no bounds), the trace
does: the next call of each thread is in the loop's body, or it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pse.advise.model._cost_model import MeasuredCosts
from pse.advise.model._program_subject import Subject
from pse.language.check import CallSite
from pse.program import Walk
from pse.trace import NONE, EventType

ROOT = -1
"""The place of what is executed at the root; partitions are places from 0 on."""

Place = tuple[int, int, int]
"""A TPH, a call site, and a partition or `ROOT`."""
Thread = tuple[int, str, int]
"""`ROOT` or 0 for what is in `PARALLEL`, a thread's label, and a TPH."""
Stand = tuple[dict[Place, int], dict[Thread, int]]
"""How often each place was passed, and how far each thread is in its calls."""


def observe(subject: Subject, measured: MeasuredCosts) -> ObservedCalls:
    """Sort a trace's calls for walks."""
    return ObservedCalls(measured, {site.id for site in subject.walk.sites if subject.sends_mail(site)})


class ObservedCalls:
    """A trace's calls, by TPH, call site and partition; and their order on each thread, for decisions."""

    def __init__(self, measured: MeasuredCosts, posting: set[int]) -> None:
        self.measured = measured
        self.cpu, self.rest = measured.split
        self.rest = self.rest + measured.parked(posting)
        self.engine = measured.engine
        self.processors = [measured.definitions.ranks[int(rank)].processor for rank in measured.calls["rank"]]
        self.by_place: dict[Place, list[int]] = {}
        self.sequences: dict[tuple[int, str], dict[int, list[int]]] = {}
        self._sort()
        self.first = int(measured.calls["tph"].min())
        self.contexts = self._contexts()
        self.seen = len(measured.calls)

    def _sort(self) -> None:
        calls, seats = self.measured.calls, self.measured.definitions.ranks
        partitions = np.where(calls["partition"] == NONE, ROOT, calls["partition"].astype(np.int64))
        at_root = {rank.rank for rank in seats if rank.region == "root"}
        lowest = min((int(p) for p in partitions if p >= 0), default=0)
        order = np.argsort(calls["enter"], kind="stable")
        columns = (order, *(calls[name][order] for name in ("rank", "tph", "site")), partitions[order])
        for index, rank, tph, site, given in zip(*(column.tolist() for column in columns), strict=True):
            partition = ROOT if rank in at_root else given
            self.by_place.setdefault((tph, site, partition), []).append(index)
            if partition in (ROOT, lowest):
                thread = (min(partition, 0), seats[rank].thread)
                self.sequences.setdefault(thread, {}).setdefault(tph, []).append(site)

    def _contexts(self) -> dict[tuple[int, int], list[int]]:
        """Contexts of each parent and loop, in the order of their beginning."""
        found: dict[tuple[int, int], list[int]] = {}
        known: set[int] = set()
        for rank in self.measured.trace.ranks:
            for event in self.measured.trace.select(rank, EventType.CONTEXT_BEGIN):
                if (tph := int(event["tph"])) not in known:
                    known.add(tph)
                    self.first = min(self.first, int(event["a"])) or self.first
                    found.setdefault((int(event["a"]), int(event["c"]) & 0xFFFFFFFF), []).append(tph)
        return {key: sorted(tphs) for key, tphs in found.items()}

    def partitions_of(self, site: int) -> int:
        """How many partitions a call site had."""
        return 1 + max((p for _, s, p in self.by_place if s == site), default=0)


@dataclass(frozen=True)
class Stride:
    """What a round of a loop passes, beginning where a walk was at the loop's begin."""

    counts: Mapping[Place, int]
    pointers: Mapping[Thread, int]
    each: Mapping[Place, int]
    steps: Mapping[Thread, int]

    def rounds_in(self, observed: ObservedCalls) -> int:
        """How many rounds of a loop that stands in no other the trace has calls for."""
        found = (
            (len(observed.by_place.get(key, ())) - self.counts.get(key, 0)) // value
            for key, value in self.each.items()
            if key in observed.by_place
        )
        return max(1, max(found, default=1))


class Cursor:
    """Where a walk stands in a trace.

    Attributes
    ----------
    tph : int
        The context that it is in.
    dry : bool
        Whether what it passes is not going to be simulated: it goes on only to keep pace with the trace.
    """

    def __init__(self, observed: ObservedCalls, walk: Walk) -> None:
        self.observed, self._walk = observed, walk
        self.tph = observed.first
        self.dry = False
        self._threads = {site.id: site.thread for site in observed.measured.definitions.sites}
        self._counts: dict[Place, int] = {}
        self._pointers: dict[Thread, int] = {}
        self._contexts: dict[tuple[int, int], int] = {}

    def take(self, site: CallSite, place: int, old: int) -> int | None:
        """Pass an execution at a place; gives the trace's call that it was, at the place `old` then."""
        key = (self.tph, site.id, place)
        occurrence = self._counts.get(key, 0)
        self._counts[key] = occurrence + 1
        if place <= 0:
            self._pass_by(site)
        there = self.observed.by_place.get((self.tph, site.id, old))
        return there[occurrence % len(there)] if there else None

    def _pass_by(self, site: CallSite) -> None:
        region, label = self._thread(site)
        key = (region, label, self.tph)
        sequence = self.observed.sequences.get((region, label), {}).get(self.tph, [])
        place = self._pointers.get(key, 0)
        if place < len(sequence) and sequence[place] == site.id:
            self._pointers[key] = place + 1

    def _thread(self, site: CallSite) -> tuple[int, str]:
        return (0 if site.parallel else ROOT, self._threads.get(site.id, ""))

    def next_is_in(self, sites: frozenset[int], enough: Callable[[Iterable[bool]], bool] = any) -> bool:
        """Whether the threads that have some of these call sites were about to execute one of them."""
        votes = []
        for (region, label), by_tph in self.observed.sequences.items():
            concerned = {
                s.id for s in self._walk.sites if s.id in sites and self._thread(s) == (region, label)
            }
            if concerned:
                sequence = by_tph.get(self.tph, [])
                place = self._pointers.get((region, label, self.tph), 0)
                votes.append(place < len(sequence) and sequence[place] in concerned)
        return bool(votes) and enough(votes)

    # Loops whose rounds are not all walked.

    def enter(self, loop: int, total: int | None) -> tuple[int, list[int]]:
        """Pass all iterations in flight of a loop; gives how many, and their contexts."""
        key = (self.tph, loop)
        there, first = self.observed.contexts.get(key, []), self._contexts.get(key, 0)
        total = len(there) - first if total is None else total
        self._contexts[key] = first + total
        return total, [there[(first + index) % len(there)] for index in range(total)] if there else []

    def stand(self) -> Stand:
        """Remember where a loop begins."""
        return dict(self._counts), dict(self._pointers)

    def stride(self, begin: Stand) -> Stride:
        """Give what was passed since."""
        counts, pointers = begin
        each = {key: value - counts.get(key, 0) for key, value in self._counts.items()}
        steps = {key: value - pointers.get(key, 0) for key, value in self._pointers.items()}
        return Stride(counts, pointers, {key: value for key, value in each.items() if value}, steps)

    def leap(self, stride: Stride, rounds: int) -> None:
        """Stand where the round with a number begins."""
        self._counts.update(
            {key: stride.counts.get(key, 0) + rounds * value for key, value in stride.each.items()}
        )

    def leave(self, stride: Stride, rounds: int) -> None:
        """Stand behind a loop of so many rounds."""
        self.leap(stride, rounds)
        self._pointers = {
            key: stride.pointers.get(key, 0) + rounds * value for key, value in stride.steps.items()
        }
