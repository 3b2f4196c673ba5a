"""Lowering of PARALLEL over virtual partitions: any number of them on this processor, none included.

Runs of call sites become *fibers*, one for each partition of this rank, each with slots of its own: while one
waits, the others go on.  What the partitions of a rank have in common stays outside the fibers: control flow
(it is the same for all), replicated tags that the run defines by reduction, and letting go of what they
share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pse.errors import ProgramError
from pse.language.check import Assign, CallSite, Output
from pse.program import defined_tags
from pse.runtime.plan._tables import NO_LOAD, Operation

if TYPE_CHECKING:
    from pse.runtime.plan._projection import Projector


@dataclass
class _Run:
    """Call sites that follow each other, and the tags among theirs that partitions share."""

    steps: list[int] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    defines: set[str] = field(default_factory=set)


class Spreading:
    """Writes the code of one PARALLEL region for one rank."""

    def __init__(self, projector: Projector, partition: str) -> None:
        self.projector, self.partition = projector, partition
        self.here, self.calls, self.tables = projector.here, projector.calls, projector.tables
        self.live, self.walk, self.key = projector.live, projector.walk, projector.key

    def block(self, steps: Sequence[int]) -> None:
        """Write a block: runs of calls as fibers, everything between them once for all partitions."""
        run = _Run()
        for step in steps:
            reads, defines = self._shared(step)
            apart = self._is_apart(step)
            if not apart or (defines & run.reads) or ((reads | defines) & run.defines):
                self._spread(run)
                run = _Run()
            if apart:
                run.steps.append(step)
                run.reads |= reads
                run.defines |= defines
            else:
                self.projector.statement(step)
        self._spread(run)

    def _is_apart(self, step: int) -> bool:
        """Whether each partition executes a statement for itself."""
        statement = self.walk.steps[step].statement
        if isinstance(statement, Assign):
            return self.calls.is_apart(statement.tag)
        return isinstance(statement, CallSite)

    def _shared(self, step: int) -> tuple[set[str], set[str]]:
        """Give the tags that a statement reads and defines for all partitions together."""
        reads = {tag for tag in self.live.reads[step] if not self.calls.is_apart(tag)}
        return reads, {tag for tag in self._defined(step) if not self.calls.is_apart(tag)}

    def _defined(self, step: int) -> frozenset[str]:
        return defined_tags(self.walk.steps[step].statement)

    def _spread(self, run: _Run) -> None:
        if not run.steps:
            return
        processor = self.here.processor
        assert processor is not None
        for site in self._sites(run):
            self._refuse_shared(site)
        spread = self.projector.emit(Operation.SPREAD)
        jump = self.projector.emit(Operation.JUMP)
        fibers = [
            self._fiber(run, partition) for partition in self.projector.job.members(self.partition, processor)
        ]
        for site, output in self._reductions(run):
            if processor == 0:
                fibers.append(self._reducer(site, output))
            fibers += self._branches(site, output)
        spread[1] = len(self.tables.rows["fibers"])
        spread[2] = len(fibers)
        for fiber in fibers:
            self.tables.add("fibers", *fiber)
        jump[1] = len(self.projector.code)
        # Not before: a call may read what it reduces into.
        for site in self._sites(run):
            self.calls.expect_shared(site)
        self._release(run)

    def _sites(self, run: _Run) -> Iterator[CallSite]:
        for step in run.steps:
            statement = self.walk.steps[step].statement
            if isinstance(statement, CallSite):
                yield statement

    def _reductions(self, run: _Run) -> Iterator[tuple[CallSite, Output]]:
        for site in self._sites(run):
            for output in site.outputs:
                if output.reduction and self.live.placement.thread_of(site) == self.key:
                    yield site, output

    def _fiber(self, run: _Run, partition: int) -> tuple[int, int, int, int]:
        """Write one partition's way through the run."""
        start = len(self.projector.code)
        with self.here.at(partition, fiber=True):
            for step in run.steps:
                self.projector.statement(step)
        self.projector.emit(Operation.END)
        return start, partition, self.projector.job.load_of(self.partition, partition), 0

    def _reducer(self, site: CallSite, output: Output) -> tuple[int, int, int, int]:
        """Write a fiber that waits for all partitions' scalars and reduces them."""
        start = len(self.projector.code)
        self.calls.reduce(site, output)
        self.projector.emit(Operation.END)
        return start, 0, NO_LOAD, 0

    def _branches(self, site: CallSite, output: Output) -> Iterator[tuple[int, int, int, int]]:
        """Write fibers that combine what comes from other partitions with that of one of this rank."""
        processor = self.here.processor
        assert processor is not None
        for partition in self.projector.job.members(self.partition, processor):
            if self.calls.branches(site, output, partition):
                start = len(self.projector.code)
                with self.here.at(partition, fiber=True):
                    self.calls.combine(site, output)
                self.projector.emit(Operation.END)
                yield start, partition, NO_LOAD, 0

    def _release(self, run: _Run) -> None:
        """Let go of what no partition of this rank needs any more."""
        for step in run.steps:
            done = self.live.last_uses(step, self.key) - self._defined(step)
            self.projector.drop(frozenset(tag for tag in done if not self.calls.is_apart(tag)))

    def _refuse_shared(self, site: CallSite) -> None:
        """Partitions of one rank can't each give a replicated tag its value."""
        reduced = {output.reduction.target for output in site.outputs if output.reduction}
        for tag in sorted(defined_tags(site) - reduced):
            if self.calls.is_apart(tag):
                continue
            shown = self.projector.job.program.tags[tag].display or tag
            raise ProgramError(
                f"{site.span}: {site.label} changes {shown}, which is replicated, in PARALLEL over "
                f"{self.partition}: its partitions share it",
                help=f"make {shown} distributed, or give the partition one piece for each processor",
            )
