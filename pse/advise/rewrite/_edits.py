"""A change of a program, listed for people and JSON: what, where, from what to what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pse.advise.model._program_subject import Subject
from pse.advise.model._transfer_sizes import number
from pse.advise.rewrite._rewriting import Change
from pse.language.check import For
from pse.language.types import render_expression
from pse.text import called_name


@dataclass(frozen=True)
class Edit:
    """One thing that is proposed: what, where in the program, what it is, what it should be.

    Parameters
    ----------
    what : str
        ``queue depth``, ``iterations in flight``, a call or a partition.
    line : int
        Of the program, from 1.
    before, after : str
        What stands there, and what should.

    See Also
    --------
    advise

    Examples
    --------
    >>> pse.advise.advise("run1").proposal
    (Edit(what='thread of total', line=7, before='thread_A', after='thread_B'),)
    """

    what: str
    line: int
    before: str
    after: str


def edits(subject: Subject, change: Change) -> Iterator[Edit]:
    """List what a change does to a program."""
    yield from _threads(subject, change)
    for step, window in change.inflight.items():
        loop = subject.walk.steps[step].statement
        assert isinstance(loop, For)
        before = str(number(loop.inflight, {}) or 1)
        yield Edit("iterations in flight", loop.span.line, before, str(window))
    if change.depth is not None:
        yield Edit("queue depth", 1, "as it is", str(change.depth))
    for declared in subject.program.partitions:
        if count := change.partitions.get(declared.name):
            before = render_expression(declared.count)
            yield Edit(f"partition {declared.name}", declared.span.line, before, count)


def _threads(subject: Subject, change: Change) -> Iterator[Edit]:
    sites = {(site.span.line, site.span.column): site for site in subject.walk.sites}
    for place, label in sorted(change.labels.items()):
        before = subject.placement.thread_of(sites[place]).label
        if before != label:
            yield Edit(f"thread of {called_name(sites[place].label)}", place[0], before, label)
