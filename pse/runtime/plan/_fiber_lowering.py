"""Lowering of PARALLEL over virtual partitions: any number of them on this processor, none included.

Runs of call sites become *fibers*, one for each partition of this rank, each with slots of its own: while one
waits, others continue.  What the partitions of a rank have in common stays outside the fibers: control flow
that is the same for all, replicated tags that the run defines by reduction, and the release of what they
share.  An `if` or `while` by which each partition decides for itself is part of a run, with all inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from pse.errors import ProgramError
from pse.language.check import Assign, CallSite, Output
from pse.program import defined_tags
from pse.records import dataclass
from pse.runtime.plan._lowered import Lowered
from pse.runtime.plan._lowering_context import LoweringContext
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._reduction_lowering import has_branches, lower_branch, lower_reduction


@dataclass
class Run:
    """Statements of each partition that follow each other, and the tags of theirs that partitions share."""

    steps: list[int] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    defines: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Combination:
    """The code of a fiber that only combines scalars; `partition` is 0 for the result of all."""

    partition: int
    lowered: Sequence[Lowered]


def split_into_runs(context: LoweringContext, steps: Sequence[int]) -> Iterator[Run | int]:
    """Split a block into runs for fibers, and statements that are executed once for all partitions.

    Parameters
    ----------
    context : LoweringContext
        Of the rank.
    steps : sequence of int
        The numbers of the block's statements that concern the rank.

    Yields
    ------
    Run or int
        A run, or the number of a statement that all partitions execute together.
    """
    run = Run()
    for step in steps:
        reads, defines = _shared(context, step)
        apart = _is_apart(context, step)
        if run.steps and (not apart or (defines & run.reads) or ((reads | defines) & run.defines)):
            yield run
            run = Run()
        if apart:
            run.steps.append(step)
            run.reads |= reads
            run.defines |= defines
        else:
            yield step
    if run.steps:
        yield run


def sites_of(context: LoweringContext, run: Run) -> list[CallSite]:
    """List the call sites of a run."""
    walk = context.live.walk
    statements = (walk.steps[inner].statement for step in run.steps for inner in walk.inside(step))
    return [statement for statement in statements if isinstance(statement, CallSite)]


def lower_combinations(context: LoweringContext, run: Run, position: Position) -> Iterator[Combination]:
    """Lower the reductions of a run: fibers that wait for partitions' scalars and combine them."""
    for site, output in _reductions(context, run):
        if context.processor == 0:
            yield Combination(0, lower_reduction(context, site, output, position))
        for number in position.partitions:
            if has_branches(context, site, output, number):
                lowered = lower_branch(context, site, output, position.at(number, fiber=True))
                yield Combination(number, lowered)


def released_by(context: LoweringContext, run: Run) -> Iterator[frozenset[str]]:
    """Give, statement by statement, the shared tags that no partition of this rank needs any more."""
    for step in run.steps:
        done = context.live.last_uses(step, context.key) - defined_tags(
            context.live.walk.steps[step].statement
        )
        if context.live.walk.decides_apart(step):
            done = context.live.live_before(step, context.key) - context.live.live_after(step, context.key)
        yield frozenset(tag for tag in done if not context.is_apart(tag))


def refuse_shared_outputs(context: LoweringContext, site: CallSite, partition: str) -> None:
    """Refuse a call in which partitions of one rank would each give a replicated tag its value.

    Raises
    ------
    ProgramError
        If it is one.
    """
    reduced = {output.reduction.target for output in site.outputs if output.reduction}
    for tag in sorted(defined_tags(site) - reduced):
        if context.is_apart(tag):
            continue
        shown = context.shown(tag)
        raise ProgramError(
            f"{site.span}: {site.label} changes {shown}, which is replicated, inside PARALLEL over "
            f"{partition}: the partitions of one processor share it",
            help=f"make {shown} distributed, or give the partition one piece for each processor"
            + (" (with --serial: leave out -p)" if context.placement.serial else ""),
        )


def _is_apart(context: LoweringContext, step: int) -> bool:
    """Whether each partition executes a statement for itself."""
    statement = context.live.walk.steps[step].statement
    if isinstance(statement, Assign):
        return context.is_apart(statement.tag)
    return isinstance(statement, CallSite) or context.live.walk.decides_apart(step)


def _shared(context: LoweringContext, step: int) -> tuple[set[str], set[str]]:
    """Give the tags that a statement reads and defines for all partitions together."""
    walk, reads, defines = context.live.walk, set[str](), set[str]()
    for inner in walk.inside(step):
        reads |= context.live.reads[inner]
        defines |= defined_tags(walk.steps[inner].statement)
    shared_reads, shared_defines = (
        {tag for tag in some if not context.is_apart(tag)} for some in (reads, defines)
    )
    return shared_reads, shared_defines


def _reductions(context: LoweringContext, run: Run) -> Iterator[tuple[CallSite, Output]]:
    for site in sites_of(context, run):
        for output in site.outputs:
            if output.reduction and context.placement.thread_of(site) == context.key:
                yield site, output
