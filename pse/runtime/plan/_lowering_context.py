"""What every step of lowering may ask: who reads what, shapes, hand-overs and arguments of one rank."""

from __future__ import annotations

from collections.abc import Mapping

from pse.language.check import CallSite
from pse.language.types import Type
from pse.program import Liveness, Placement, ThreadKey
from pse.records import dataclass
from pse.runtime.plan._arguments import ArgumentLowering
from pse.runtime.plan._communicators import Communicator
from pse.runtime.plan._edges import Edge, Role
from pse.runtime.plan._handover import Handovers
from pse.runtime.plan._job import Job
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._shapes import Shapes


@dataclass(frozen=True)
class LoweringContext:
    """One rank's view of the program; `position` is the rank's outside PARALLEL."""

    position: Position
    shapes: Shapes
    handovers: Handovers
    arguments: ArgumentLowering
    values: Mapping[int, list[Edge]]  # edges of the tags that a call site defines

    @classmethod
    def of(cls, job: Job, rank: int, communicators: Mapping[int, Communicator]) -> LoweringContext:
        """Give the context of a rank."""
        position, shapes = Position.of(job, rank), Shapes(job)
        values: dict[int, list[Edge]] = {site.id: [] for site in job.liveness.walk.sites}
        for edge in job.edges:
            if edge.role is Role.VALUE:
                values[edge.site].append(edge)
        arguments = ArgumentLowering(position, shapes, communicators)
        return cls(position, shapes, Handovers(position, shapes), arguments, values)

    @property
    def job(self) -> Job:
        """What all ranks agree on."""
        return self.position.job

    @property
    def live(self) -> Liveness:
        """Who reads what."""
        return self.position.job.liveness

    @property
    def placement(self) -> Placement:
        """Which rank runs which thread."""
        return self.position.job.liveness.placement

    @property
    def rank(self) -> int:
        """The rank."""
        return self.position.rank

    @property
    def key(self) -> ThreadKey:
        """Its thread."""
        return self.position.key

    @property
    def processor(self) -> int | None:
        """Its processor; None at a root thread."""
        return self.position.processor

    def tag_type(self, tag: str) -> Type:
        """Give the type with which a tag is declared."""
        return self.job.program.tags[tag].type

    def is_apart(self, tag: str) -> bool:
        """Whether each partition of this rank has a value of its own of a tag."""
        return self.position.is_apart(self.tag_type(tag))

    def shown(self, tag: str) -> str:
        """Give a tag's name for people."""
        return self.job.program.tags[tag].display or tag

    def given_up(self, site: CallSite, tag: str) -> list[str]:
        """Give the tag if this rank reads it at the site for the last time."""
        return [tag] if tag in self.live.last_uses(site, self.key) else []

    def releases(self, site: CallSite, position: Position) -> list[str]:
        """List the tags that this rank does not need after a call."""
        anew = {output.tag for output in site.outputs}
        reduced = {output.reduction.target for output in site.outputs if output.reduction}
        done = ((self.live.last_uses(site, self.key) - anew) | self.live.dead_outputs(site)) - reduced
        return [tag for tag in sorted(done) if not position.fiber or self.is_apart(tag)]

    def is_live_after(self, site: CallSite, tag: str) -> bool:
        """Whether this rank may read a tag after a call."""
        return tag in self.live.live_after(self.live.walk.step_of_site[site.id], self.key)
