"""Hand-overs: to which ranks a new version of a tag goes, directly or along a tree."""

from __future__ import annotations

from itertools import chain

from pse.language.check import CallSite
from pse.language.types import Element, Type
from pse.program import LoopExit, ThreadKey
from pse.records import dataclass
from pse.runtime.distribution import _trees as trees
from pse.runtime.plan._edges import Edge
from pse.runtime.plan._lowered import Push
from pse.runtime.plan._lowering_position import Position
from pse.runtime.plan._shapes import Shapes


@dataclass(frozen=True)
class _Route:
    """Who gets what goes along an edge.

    `readers` are threads in order of placement.  `told` are the ranks that get a scalar along a tree, its
    maker first; `nodes` is the tree of nodes along which an array of a root thread goes.
    """

    array: Type
    readers: list[ThreadKey]
    told: list[int]
    nodes: trees.NodeTree | None


class Handovers:
    """Hand-overs of one rank."""

    def __init__(self, position: Position, shapes: Shapes) -> None:
        self.job, self.shapes = position.job, shapes
        self.live, self.placement = self.job.liveness, self.job.liveness.placement
        self.rank, self.key, self.processor = position.rank, position.key, position.processor
        self._routes: dict[Edge, _Route] = {}

    def readers(self, site: CallSite, edge: Edge) -> list[ThreadKey]:
        """List the threads to which an edge goes, in order of placement."""
        return self._route(site, edge).readers

    def value(self, site: CallSite, edge: Edge, position: Position) -> list[Push]:
        """Hand a new version of a tag to everyone who may read it."""
        route = self._route(site, edge)
        if route.told:
            return [Push(edge.tag, edge, rank) for rank in self._below(route)]
        if nodes := route.nodes:
            return [
                Push(edge.tag, edge, rank, depth=self._depth(route.array, nodes, rank))
                for rank in nodes.below(self.rank)
            ]
        return [push for key in route.readers for push in self._to(key, edge, route.array, position)]

    def passed_on(self, site: CallSite, edge: Edge) -> list[int]:
        """List the ranks to which this one passes on what arrives along an edge."""
        route = self._route(site, edge)
        if nodes := route.nodes:
            return nodes.below(self.rank) if self._is_reader(nodes) else []
        return [] if self.rank in route.told[:1] else self._below(route)

    def credits(self, site: CallSite, edge: Edge) -> list[int]:
        """List the rank that is told what this node has taken of an edge, as whose count, and who counts."""
        nodes = self._route(site, edge).nodes
        if nodes is None or not self._is_reader(nodes):
            return []
        home = nodes.home(self.rank)
        near = nodes.near(home)
        return [nodes.above(home), *near[:1], *near] if len(near) > 1 else []

    def _is_reader(self, nodes: trees.NodeTree) -> bool:
        """Whether this rank is in a tree, on another node than the maker's."""
        return self.rank in chain(*nodes.nodes[1:])

    def _route(self, site: CallSite, edge: Edge) -> _Route:
        if edge not in self._routes:
            array, handed = self.shapes.type_of(site, edge.tag), self._handed(edge)
            found = handed.readers if handed else self.live.readers(site, edge.tag)
            readers = sorted(found, key=self.placement.keys.index)
            maker = handed.maker if handed else self.placement.thread_of(site)
            told = self._told(site, edge, array, readers)
            reduced = handed is None and edge.tag in _reduced(site)
            nodes = self._nodes(array, maker, readers, reduced)
            self._routes[edge] = _Route(array, readers, told, nodes)
        return self._routes[edge]

    def _handed(self, edge: Edge) -> LoopExit | None:
        if edge.loop is None:
            return None
        return next(e for e in self.live.exits[edge.loop] if e.tag == edge.tag)

    def _told(self, site: CallSite, edge: Edge, array: Type, readers: list[ThreadKey]) -> list[int]:
        """List the ranks that get a scalar from one, which comes first; they pass it on along a tree.

        Empty if it isn't one rank that tells all: in PARALLEL each processor has the value for itself.
        """
        if site.parallel and edge.tag not in _reduced(site):
            return []
        if not array.scalar or array.element is Element.OBJECT or array.distribution.distributed:
            return []
        top = self.placement.rank_of(self.placement.thread_of(site), 0)
        ranks = {rank for key in readers for rank in self.job.ranks_of(key)}
        return [top, *sorted(ranks - {top})]

    def _below(self, route: _Route) -> list[int]:
        """List the ranks that this one tells, if it has a scalar of a tree."""
        ranks = route.told
        if self.rank not in ranks:
            return []
        return [ranks[place] for place in trees.below(ranks.index(self.rank), len(ranks))]

    def _nodes(
        self, array: Type, maker: ThreadKey, readers: list[ThreadKey], reduced: bool
    ) -> trees.NodeTree | None:
        """Arrange the ranks that get an array from one rank, which comes first; they pass it on.

        That is a root thread, or the first processor, which reduces. None if each processor makes the array,
        or each rank gets it from the one that made it.
        """
        single = array.scalar and array.element is not Element.OBJECT
        if (maker.region == "parallel" and not reduced) or single or array.distribution.distributed:
            return None
        top = self.placement.rank_of(maker, 0)
        ranks = [rank for key in readers for rank in self.job.ranks_of(key) if rank != top]
        nodes = self.job.nodes if self.job.shared_memory else [0] * len(self.job.nodes)
        return trees.NodeTree.over([top, *ranks], nodes)

    def _depth(self, array: Type, nodes: trees.NodeTree, rank: int) -> int | None:
        """Places in the queue to a rank: as many as all that it passes things on to have."""
        labels = {self.placement.seat(further).key.label for further in nodes.through(rank)}
        return None if array.scalar else min(map(self.job.depths, labels))

    def _to(self, key: ThreadKey, edge: Edge, array: Type, position: Position) -> list[Push]:
        distributed = array.distribution.distributed
        if key == self.key and not (self.processor is None and distributed):
            return []
        depth, partition = None if array.scalar else self.job.depths(key.label), position.partition
        if self.processor is None or key.region == "parallel":
            lane = partition if distributed else None
            return [Push(edge.tag, edge, rank, lane=lane, depth=depth) for rank in self._ranks(key)]
        if distributed:
            return [Push(edge.tag, edge, self.placement.rank_of(key), partition or 0, depth=depth)]
        return [Push(edge.tag, edge, self.placement.rank_of(key), depth=depth)] if self.processor == 0 else []

    def _ranks(self, key: ThreadKey) -> list[int]:
        """List a thread's rank on this processor; seen from the root, those on all of them."""
        if key.region == "root" or self.processor is not None:
            return [self.placement.rank_of(key, self.processor or 0)]
        return [self.placement.rank_of(key, processor) for processor in range(self.job.processors)]


def _reduced(site: CallSite) -> set[str]:
    """Name the tags that a call's outputs are reduced into."""
    return {output.reduction.target for output in site.outputs if output.reduction}
