"""More partitions for each processor: where a program's meaning doesn't depend on how many there are."""

from __future__ import annotations

from collections.abc import Iterator

from pse.advise.model._program_subject import Subject
from pse.language.check import PROCS, CallSite
from pse.language.types import Binary, Expression, Name, Number, names_in
from pse.program import read_names

MORE = (2, 4)


def partition_changes(subject: Subject) -> Iterator[dict[str, str]]:
    """Give new counts of partitions, by name, that leave a program's results as they are."""
    for declared in subject.program.partitions:
        times = partitions_of_processor(declared.count)
        if times and declared.grid is None and declared.name != PROCS and _is_free(subject, declared.name):
            for factor in MORE:
                yield {declared.name: f"{times * factor} * {PROCS}"}


def partitions_of_processor(count: Expression) -> int | None:
    """How many partitions a processor has, if the program says it so: `procs`, `4 * procs`, `procs * 4`."""
    procs = Name(PROCS)
    match count:
        case Binary("*", Number(value), other) | Binary("*", other, Number(value)) if other == procs:
            return int(value)
    return 1 if count == procs else None


def _is_free(subject: Subject, partition: str) -> bool:
    """Whether nothing but how tags are cut depends on the number of partitions, as far as texts tell."""
    shapes = (extent for tag in subject.program.tags.values() for extent in tag.type.shape or ())
    if any(partition in names_in(extent) for extent in shapes):
        return False
    for step in subject.walk.steps:
        if partition in read_names(step.statement):
            return False
    return all(_is_indifferent(subject, site) for site in subject.walk.sites if site.parallel)


def _is_indifferent(subject: Subject, site: CallSite) -> bool:
    """Whether a call would do the same work in more pieces: none knows its neighbours, or keeps something.

    Without arrays there is nothing to cut: each partition would do all that one does now.
    """
    if site.module.language == "std":
        return site.module.name != "shift"
    signature = site.module.signature
    if all(parameter.type.scalar for parameter in signature.parameters):
        return False
    met = signature.collective or any(str(p.type.element) == "Element.COMM" for p in signature.parameters)
    return not (met or subject.sends_mail(site) or subject.keeps_state(site))
