"""Hand-overs: to which ranks a new version of a tag goes, and how that is written into the plan's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from pse.language.check import CallSite
from pse.language.types import Element, Type
from pse.program import LoopExit, ThreadKey
from pse.runtime.distribution import _trees as trees
from pse.runtime.plan._edges import Edge
from pse.runtime.plan._job import Job
from pse.runtime.plan._position import Here
from pse.runtime.plan._shapes import Shapes
from pse.runtime.plan._slots import Slots
from pse.runtime.plan._tables import Tables


@dataclass(frozen=True)
class Push:
    """One hand-over of a call: the value of a tag, or a part of it, to one rank.

    `index` says which piece it is, for receivers that get one from every partition; `lane` for which
    partition it is, where each has a value of its own.
    """

    tag: str
    edge: Edge
    rank: int
    index: int = 0
    lane: int | None = None
    part: int = -1
    contiguous: bool = False
    depth: int | None = None  # places in the queue; None: not bounded


@dataclass(frozen=True)
class Engine:
    """The engine's own operation in a call: from which slot to which, by which parts (first row, count)."""

    source: str | None = None
    target: str | None = None
    parts: tuple[int, int] = (0, 0)
    combination: int = 0
    alias: bool = False
    silent: bool = False
    clear: bool = False
    lend: bool = False


class HandOver:
    """Hand-overs of one rank."""

    def __init__(self, job: Job, here: Here, tables: Tables, slots: Slots, shapes: Shapes) -> None:
        self.job, self.here, self.tables, self.slots = job, here, tables, slots
        self.shapes = shapes
        self.live, self.placement = job.liveness, job.liveness.placement
        self.rank, self.key, self.processor = here.rank, here.key, here.processor

    def readers(self, site: CallSite, edge: Edge) -> list[ThreadKey]:
        """Threads to which an edge goes, in order of placement."""
        handed = self._handed(edge)
        found = handed.readers if handed else self.live.readers(site, edge.tag)
        return sorted(found, key=self.placement.keys.index)

    def maker(self, site: CallSite, edge: Edge) -> ThreadKey:
        """Give the thread that has what goes along an edge."""
        handed = self._handed(edge)
        return handed.maker if handed else self.placement.thread_of(site)

    def _handed(self, edge: Edge) -> LoopExit | None:
        if edge.loop is None:
            return None
        return next(e for e in self.live.exits[edge.loop] if e.tag == edge.tag)

    def told(self, site: CallSite, edge: Edge) -> list[int]:
        """List the ranks that get a scalar from one, which comes first; they pass it on along a tree.

        Empty if it isn't one rank that tells all: in PARALLEL each processor has the value for itself.
        """
        array = self.shapes.type_of(site, edge.tag)
        reduced = (output.reduction.target for output in site.outputs if output.reduction)
        if site.parallel and edge.tag not in reduced:
            return []
        if not array.scalar or array.element is Element.OBJECT or array.distribution.distributed:
            return []
        top = self.placement.rank_of(self.placement.thread_of(site), 0)
        ranks = {rank for key in self.readers(site, edge) for rank in self.job.ranks_of(key)}
        return [top, *sorted(ranks - {top})]

    def below(self, site: CallSite, edge: Edge) -> list[int]:
        """List the ranks that this one tells, if it has a scalar of a tree."""
        ranks = self.told(site, edge)
        if self.rank not in ranks:
            return []
        return [ranks[place] for place in trees.below(ranks.index(self.rank), len(ranks))]

    def web(self, site: CallSite, edge: Edge) -> trees.Web | None:
        """Arrange the ranks that get an array from a root thread, which comes first; they pass it on.

        None if it isn't a root thread's, or each rank gets it from the one that made it.
        """
        array = self.shapes.type_of(site, edge.tag)
        single = array.scalar and array.element is not Element.OBJECT
        maker = self.maker(site, edge)
        if maker.region == "parallel" or single or array.distribution.distributed:
            return None
        if not self.job.shared_memory:
            return None
        readers = [key for key in self.readers(site, edge) if key != maker]
        ranks = [rank for key in (maker, *readers) for rank in self.job.ranks_of(key)]
        return trees.Web.over(ranks, self.job.nodes)

    def passed_on(self, site: CallSite, edge: Edge) -> list[int]:
        """List the ranks to which this one passes on what comes to it along an edge."""
        if web := self.web(site, edge):
            return web.below(self.rank) if self.rank in chain(*web.nodes[1:]) else []
        return [] if self.rank in self.told(site, edge)[:1] else self.below(site, edge)

    def credits(self, site: CallSite, edge: Edge) -> list[int]:
        """Say who is told, as whose count, what this rank and others of its node have taken of an edge."""
        web = self.web(site, edge)
        if web is None or self.rank not in chain(*web.nodes[1:]):
            return []
        home = web.home(self.rank)
        near = web.near(home)
        return [web.above(home), *near[:1], *near] if len(near) > 1 else []

    def value(self, site: CallSite, edge: Edge) -> list[Push]:
        """Hand a new version to everyone who may read it."""
        array = self.shapes.type_of(site, edge.tag)
        if self.told(site, edge):
            return [Push(edge.tag, edge, rank) for rank in self.below(site, edge)]
        if web := self.web(site, edge):
            return [Push(edge.tag, edge, r, depth=self._depth(array, web, r)) for r in web.below(self.rank)]
        return [push for key in self.readers(site, edge) for push in self._to(key, edge, array)]

    def _depth(self, array: Type, web: trees.Web, rank: int) -> int | None:
        """Places in the queue to a rank: as many as all that it passes things on to have."""
        labels = {self.placement.seat(further).key.label for further in web.through(rank)}
        return None if array.scalar else min(map(self.job.depths, labels))

    def _to(self, key: ThreadKey, edge: Edge, array: Type) -> list[Push]:
        distributed = array.distribution.distributed
        if key == self.key and not (self.processor is None and distributed):
            return []
        depth, partition = None if array.scalar else self.job.depths(key.label), self.here.partition
        if self.processor is None or key.region == "parallel":
            lane = partition if distributed else None
            return [Push(edge.tag, edge, rank, lane=lane, depth=depth) for rank in self._ranks(key)]
        if distributed:
            return [Push(edge.tag, edge, self.placement.rank_of(key), partition or 0, depth=depth)]
        return [Push(edge.tag, edge, self.placement.rank_of(key), depth=depth)] if self.processor == 0 else []

    def _ranks(self, key: ThreadKey) -> list[int]:
        """A thread's rank on this processor; seen from the root, on all of them."""
        if key.region == "root" or self.processor is not None:
            return [self.placement.rank_of(key, self.processor or 0)]
        return [self.placement.rank_of(key, processor) for processor in range(self.job.processors)]

    def store(self, pushes: Sequence[Push]) -> int:
        """Write hand-overs into the table; returns the first row."""
        first = len(self.tables.rows["pushes"])
        for place, push in enumerate(pushes):
            edge = self.job.edges.number(push.edge, push.lane)
            self.tables.add(
                "pushes", self.slots.of(push.tag), edge, push.rank, push.index, push.part,
                self._is_remote(push), push.depth is not None, push.contiguous,
                self._shares_before(pushes, place), push.depth or 0, self._sharers(pushes, place),
            )  # fmt: skip
        return first

    def _is_remote(self, push: Push) -> bool:
        return self.job.is_remote(self.rank, push.rank)

    def _shares_before(self, pushes: Sequence[Push], place: int) -> bool:
        """Whether a push hands over the same part, on this node, as the one before it."""
        if place == 0 or pushes[place].part < 0 or pushes[place - 1].part != pushes[place].part:
            return False
        return not (self._is_remote(pushes[place - 1]) or self._is_remote(pushes[place]))

    def _sharers(self, pushes: Sequence[Push], place: int) -> int:
        end = place + 1
        while end < len(pushes) and self._shares_before(pushes, end):
            end += 1
        return end - place
