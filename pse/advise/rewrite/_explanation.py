"""Why: a few sentences with numbers, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pse.advise.model._cost_model import MeasuredCosts
from pse.advise.model._movable_groups import MovableGroup
from pse.advise.model._program_subject import Subject
from pse.advise.search._search import Candidate, Study
from pse.advise.simulate._assignment import Machine
from pse.language.check import For
from pse.language.types import render_expression
from pse.text import list_text, share_text, time_text

TRUSTED = 0.3
"""A model that is off by more is not a reason for a proposal, unless that brings much more."""
TELLING = 0.01
"""Of two assignments, one that is better by less than this part of the run time isn't."""
BUSY = 0.9
"""From this part of its time on, a core or a link counts as busy."""


@dataclass(frozen=True)
class AdviceBasis:
    """What reasons are made from."""

    measured: MeasuredCosts
    subject: Subject
    study: Study
    machine: Machine
    units: list[MovableGroup]
    missed: float

    def places(self, parallel: bool) -> int:
        """How many processors share the time of a call site's executions."""
        return self.measured.processors if parallel else 1


def explain_change(told: AdviceBasis, now: Candidate, chosen: Candidate) -> list[str]:
    """Say why an assignment is better than the present one; one that the user chose need not be."""
    if chosen.seconds > now.seconds * (1 - TELLING):
        longer = chosen.seconds > now.seconds * (1 + TELLING)
        brings = "make the run longer" if longer else "bring nothing: calls wait for each other all the same"
        return [f"these threads {brings}; without --threads, the best there is gets looked for"]
    found = []
    for label in dict.fromkeys(chosen.assignment.threads.values()):
        for parallel in (True, False):
            moved = [u for u in told.units if u.parallel == parallel and _moved(u, label, now, chosen)]
            found += [_thread(told, moved, label, chosen)] if moved else []
    for step, window in chosen.assignment.inflight.items():
        if window is not None and window != now.assignment.inflight.get(step):
            loop = told.subject.walk.steps[step].statement
            assert isinstance(loop, For)
            found.append(
                f"up to {window} iterations of the loop in line {loop.span.line} at once: while one waits for"
                " what it needs, another goes on"
            )
    if chosen.assignment.depth != now.assignment.depth:
        found.append(
            f"queues of {chosen.assignment.depth} places: who is ahead waits less often for who comes behind"
        )
    return found


def _moved(unit: MovableGroup, label: str, now: Candidate, chosen: Candidate) -> bool:
    site = unit.sites[0]
    return chosen.assignment.threads[site] == label != now.assignment.threads[site]


def _thread(told: AdviceBasis, moved: list[MovableGroup], label: str, chosen: Candidate) -> str:
    """Say why some calls have a thread of their own, or one with others."""
    parallel = moved[0].parallel
    names = list(dict.fromkeys(name for unit in moved for name in unit.names))
    it = "it" if len(names) == 1 else "they"
    verbs = (
        ("loads", "takes", "computes", "waits") if len(names) == 1 else ("load", "take", "compute", "wait")
    )
    weight, cpu = sum(unit.weight for unit in moved), sum(unit.cpu for unit in moved)
    threads = chosen.assignment.threads
    there = [
        u for u in told.units if u.parallel == parallel and threads[u.sites[0]] == label and u not in moved
    ]
    with_others = [name for unit in there if unit.weight > 0.01 * weight for name in unit.names]
    share = f"{list_text(names)} {verbs[0]} the CPU {share_text(cpu / weight if weight else 0)}"
    time = f"of the {time_text(1e9 * weight / told.places(parallel))} {it} {verbs[1]}"
    on = " on each processor" if parallel and told.measured.processors > 1 else ""
    them, their = ("it", "its") if len(names) == 1 else ("them", "their")
    where = f"give {them} a thread of {their} own, {label}"
    if with_others:
        where = f"put {them} on {label}, with {list_text(list(dict.fromkeys(with_others)))}"
    ends = f"others compute while {it} {verbs[3]}"
    if cpu >= 0.5 * weight:
        ends = f"{it} {verbs[2]} while others wait"
    return f"{share} {time}{on}: {where}, and {ends}"


def explain_partitions(subject: Subject, partitions: Mapping[str, str]) -> Iterator[str]:
    """Say why partitions should be finer, and what that takes for granted: no call of theirs was measured."""
    for declared in subject.program.partitions:
        if declared.name in partitions:
            change = f"{declared.name} = {partitions[declared.name]}, not {render_expression(declared.count)}"
            yield (
                f"{change}: while one piece waits for what it needs, another is worked on; this holds only if"
                " a call takes time in proportion to the size of its piece; if not, the run gets longer:"
                " measure it"
            )


def explain_no_change(told: AdviceBasis, now: Candidate) -> list[str]:
    """Say why a program should be left as it is."""
    off = abs(told.missed)
    if off > TRUSTED:
        return [f"leave it as it is: the model misses too much of this run ({share_text(off)}) to be trusted"]
    return [f"leave it as it is: {reason}" for reason in list(_obstacles(told, now))[:1]]


def _obstacles(told: AdviceBasis, now: Candidate) -> Iterator[str]:
    movable = [unit for unit in told.units if unit.weight > 0]
    busy, link = _cpu(told), _link(told)
    if len(movable) == 1:
        names = list_text(list(movable[0].names))
        yield f"all of its work ({names}) has to stay on one thread: there is nothing to divide"
    if busy >= BUSY:
        yield f"the cores are busy {share_text(min(busy, 1))} of the time; threads would only take turns"
    if link >= BUSY:
        yield f"the links are busy {share_text(min(link, 1))} of the time, whatever threads do"
    if told.measured.threads > 1:
        yield "no other assignment of its calls to threads is faster by more than noise"
    yield (
        "its calls need each other's results one after the other (cores busy"
        f" {share_text(min(busy, 1))}, links {share_text(min(link, 1))}): other threads would wait, too"
    )


def _cpu(told: AdviceBasis) -> float:
    """The part of the run in which its busiest cores had work."""
    measured, totals = told.measured, dict[str, float]()
    for rank in measured.definitions.ranks:
        mine = measured.calls["rank"] == rank.rank
        cores = measured.cores(rank.processor)
        seconds = float(measured.split[0][mine].sum() + measured.engine[mine].sum())
        totals[cores.name] = totals.get(cores.name, 0.0) + seconds / max(cores.amount, 1e-9)
    return max(totals.values(), default=0.0) / measured.run_time


def _link(told: AdviceBasis) -> float:
    """The part of the run in which its busiest link had work."""
    messages, seats = told.measured.remote, told.measured.definitions.ranks
    totals: dict[str, float] = {}
    for rank in seats:
        sent = float(messages["bytes"][messages["sender"] == rank.rank].sum())
        totals[rank.host] = totals.get(rank.host, 0.0) + sent / told.machine.link.rate
    return max(totals.values(), default=0.0) / told.measured.run_time
