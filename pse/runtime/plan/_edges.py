"""Edges: every definition of a tag that others may read, numbered alike on every rank.

A message carries the number of its edge; the trace names edges by it.  What goes to a partition has a number
for each of them, so that the partitions of one rank queue apart; what comes from all partitions to one place
has one number, and its messages say which piece they are.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

from pse.language.check import PROCS, CallSite, For, Parallel, Tag, While
from pse.language.types import Value
from pse.program import LoopExit, Walk, defined_tags, exchanges, loop_exit_sites
from pse.records import dataclass
from pse.runtime.distribution import _trees as trees


class Role(enum.Enum):
    """What travels along an edge."""

    VALUE = "value"  # a new version of the tag
    EXIT = "exit"  # ... where the loop ends in which it was made
    PIECES = "pieces"  # parts of every partition's piece, for an operation among partitions
    CONTRIBUTION = "contribution"  # one partition's scalar on its way into a reduction


@dataclass(frozen=True)
class Edge:
    """One edge: the call site that defines the tag, and what it is to its readers.

    `loop` is the number of the statement at whose exit an edge of that role hands over.
    """

    site: int
    tag: str
    role: Role
    loop: int | None = None


def edge_of(handed: LoopExit) -> Edge:
    """Give the edge along which a tag is handed over at a loop's exit."""
    return Edge(handed.site, handed.tag, Role.EXIT, handed.loop)


class Edges:
    """The edges of a program in a run, and their numbers."""

    def __init__(self, counted: Mapping[Edge, int]) -> None:
        """Number edges that go to so many partitions each."""
        self._first: dict[Edge, int] = {}
        self.size = 0
        for edge, partitions in counted.items():
            self._first[edge] = self.size
            self.size += 1 + partitions
        self._counted = dict(counted)

    def __iter__(self) -> Iterator[Edge]:
        return iter(self._first)

    def number(self, edge: Edge, partition: int | None = None) -> int:
        """Give the number of an edge, as it goes to a partition or (None) to one place."""
        return self._first[edge] + (0 if partition is None else 1 + partition)

    def numbered(self) -> Iterator[tuple[Edge, int]]:
        """Give every number, in order, with its edge."""
        for edge, first in self._first.items():
            for number in range(first, first + 1 + self._counted[edge]):
                yield edge, number


def number_edges(walk: Walk, tags: Mapping[str, Tag], environment: Mapping[str, Value]) -> Edges:
    """Number the edges of a program, in order of call sites and names."""
    edges = {edge: site for site in walk.sites for edge in _edges_of(site)}
    for (loop, tag), site in sorted(loop_exit_sites(walk, tags).items()):
        edges[Edge(site, tag, Role.EXIT, loop)] = walk.sites[site]
    return Edges({edge: _partitions(edge, site, tags[edge.tag], environment) for edge, site in edges.items()})


def _partitions(edge: Edge, site: CallSite, tag: Tag, environment: Mapping[str, Value]) -> int:
    """How many partitions an edge may go to."""
    distribution = tag.type.distribution
    if edge.role is Role.CONTRIBUTION:
        parts = (o.type.distribution for o in site.outputs if o.reduction and o.reduction.target == edge.tag)
        distribution = next(parts)
    if not distribution.distributed:
        return 0
    count = int(str(environment[distribution.partition or PROCS]))
    if edge.role is not Role.CONTRIBUTION:
        return count
    last = trees.above(count - 1)[0] if count > 1 else 0  # of the places with others below them
    return last + 1 if last else 0


def _edges_of(site: CallSite) -> list[Edge]:
    edges = [Edge(site.id, tag, Role.VALUE) for tag in sorted(defined_tags(site))]
    if exchanges(site):
        edges += [Edge(site.id, argument.tag, Role.PIECES) for argument in site.inputs if argument.tag]
    reductions = (output.reduction for output in site.outputs if output.reduction)
    return edges + [Edge(site.id, reduction.target, Role.CONTRIBUTION) for reduction in reductions]


def inflight_loops(walk: Walk) -> Mapping[int, int]:
    """Number the program's inflight loops: statement number to loop number."""
    steps = (s.id for s in walk.steps if isinstance(s.statement, For) and s.statement.inflight is not None)
    return {step: number for number, step in enumerate(steps)}


def is_own(walk: Walk, step: int) -> bool:
    """Whether a statement is the program's own: in no PARALLEL and in no iteration in flight."""
    loops, around = inflight_loops(walk), list(walk.ancestors(step))
    return not any(s in loops or isinstance(walk.steps[s].statement, Parallel) for s in around)


def is_entry(walk: Walk, step: int) -> bool:
    """Whether it is an inflight loop of the program's own that runs once: it is in no other loop."""
    around = (walk.steps[s].statement for s in walk.ancestors(step))
    return step in inflight_loops(walk) and not any(isinstance(s, For | While | Parallel) for s in around)


def leads_to_entry(walk: Walk, step: int) -> bool:
    """Whether it is another loop, with an inflight loop of the program's own in it."""
    loops = inflight_loops(walk)
    return step not in loops and any(is_own(walk, s) and step in walk.ancestors(s) for s in loops)
