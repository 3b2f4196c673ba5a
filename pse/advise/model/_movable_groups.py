"""What can change threads: calls that go together, and what each of them costs.

Inlined segments' calls stand in the text once and go together, and so do modules whose source keeps data
between calls, or posts messages among partitions: on two threads they would be two processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pse.advise.model._cost_model import MeasuredCosts
from pse.advise.model._program_subject import Subject
from pse.language.check import CallSite
from pse.text import called_name


@dataclass(frozen=True)
class MovableGroup:
    """Call sites that have to be on one thread.

    Attributes
    ----------
    sites : tuple of int
        Their numbers.
    parallel : bool
        Whether they stand inside PARALLEL.
    names : tuple of str
        The labels of what they call, each once.
    cpu, rest, waited : float
        Seconds in all of CPU time, of other time in calls, and of waiting for what they need.
    """

    sites: tuple[int, ...]
    parallel: bool
    names: tuple[str, ...]
    cpu: float
    rest: float
    waited: float

    @property
    def weight(self) -> float:
        """Seconds in all."""
        return self.cpu + self.rest + self.waited

    @property
    def load(self) -> float:
        """The part of its time in which it needs the CPU."""
        return self.cpu / self.weight if self.weight else 0.0


def movable_groups(subject: Subject, measured: MeasuredCosts) -> list[MovableGroup]:
    """Give what can change threads, the most costly first."""
    sites = {site.id: site for site in subject.walk.sites}
    movable = [s for s in sites.values() if (s.span.line, s.span.column) in subject.calls]
    found = []
    for together in _together(movable, subject):
        numbers = tuple(site.id for site in together)
        names = tuple(dict.fromkeys(called_name(site.label) for site in together))
        found.append(MovableGroup(numbers, together[0].parallel, names, *costs(measured, numbers)))
    return sorted(found, key=lambda unit: -unit.weight)


def costs(measured: MeasuredCosts, sites: Iterable[int]) -> tuple[float, float, float]:
    """Give seconds of CPU, of other time in calls, and of waiting, of some call sites."""
    cpu, rest, waited = 0.0, 0.0, 0.0
    for site in sites:
        mine = measured.calls["site"] == site
        cpu += float(measured.split[0][mine].sum())
        rest += float(measured.split[1][mine].sum())
        waited += measured.waited.get(site, 0.0)
    return cpu, rest, waited


def _together(sites: list[CallSite], subject: Subject) -> list[list[CallSite]]:
    """Put together what has to be: by place in the text, by source, by messages."""
    groups: list[list[CallSite]] = []
    for site in sites:
        keys = [group for group in groups if any(_belong(site, other, subject) for other in group)]
        merged = [site]
        for group in keys:
            merged = [*group, *merged]
            groups.remove(group)
        groups.append(merged)
    return groups


def _belong(one: CallSite, other: CallSite, subject: Subject) -> bool:
    if one.parallel != other.parallel:
        return False
    if one.span == other.span:
        return True
    if one.module.language == "std" or other.module.language == "std":
        return False
    same = one.module.source == other.module.source
    return (same and subject.keeps_state(one)) or (subject.sends_mail(one) and subject.sends_mail(other))
