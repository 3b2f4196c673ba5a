"""What all ranks of a run agree on, before each writes its own plan."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from pse.language.check import PROCS, ResolvedProgram
from pse.language.types import (
    Element,
    Expression,
    Type,
    Value,
    evaluate,
    expression_element,
    read_position,
)
from pse.modules import FAST, BuildMode
from pse.program import Liveness, ThreadKey
from pse.records import dataclass
from pse.runtime.distribution._distributions import coordinates
from pse.runtime.plan._edges import Edges, number_edges
from pse.runtime.plan._iteration_completion import IterationCompletion, completion_of


def live_values(program: ResolvedProgram, environment: Mapping[str, Value]) -> dict[str, int | float]:
    """Give the parameters that may change while the program runs, and what they begin with."""
    values = {p.name: environment[p.name] for p in program.parameters if p.live}
    return {name: value for name, value in values.items() if isinstance(value, int | float)}


def constants_of(program: ResolvedProgram, environment: Mapping[str, Value]) -> dict[str, Value]:
    """Give what stays as it is in the whole run: other parameters, ``procs`` and partitions."""
    live = live_values(program, environment)
    return {name: value for name, value in environment.items() if name not in live}


@dataclass(frozen=True)
class Job:
    """What all ranks of a run agree on.

    Attributes
    ----------
    environment : mapping
        Values of parameters, ``procs`` and partitions, which stay as they are.
    live : mapping
        What parameters begin with that may change while the program runs.
    nodes : sequence of int
        Node of every rank.
    depths : callable
        Queue depth of the thread with a label.
    local_limit : int
        Buffers of fewer bytes stay in the rank's own memory.
    placements : mapping of str to tuple of int
        The processor of every partition, by the partition's name.
    balance : int
        After how many rounds of a loop partitions may move to other processors; 0: never.
    pauses : bool
        Whether plans have pauses at the heads of the program's own loops: for checkpoints, balance, control.
    check : str
        What is looked for in the outputs of calls: ``nan`` (NaN and infinity), or ``off``.
    build : BuildMode
        How modules are built; with its `debug`, buffers lie between guard pages and are poisoned.
    """

    program: ResolvedProgram
    liveness: Liveness
    environment: Mapping[str, Value]
    processors: int
    nodes: Sequence[int]
    shared_memory: bool
    local_limit: int
    depths: Callable[[str], int]
    placements: Mapping[str, tuple[int, ...]]
    balance: int = 0
    pauses: bool = False
    check: str = "off"
    build: BuildMode = FAST
    live: Mapping[str, int | float] = field(default_factory=dict)

    def is_remote(self, rank: int, peer: int) -> bool:
        """Whether two ranks exchange data through MPI."""
        return rank != peer and (not self.shared_memory or self.nodes[rank] != self.nodes[peer])

    @cached_property
    def edges(self) -> Edges:
        """The program's edges and their numbers."""
        return number_edges(self.liveness.walk, self.program.tags, self.environment)

    @cached_property
    def _elements(self) -> Mapping[str, Element | None]:
        parameters = {parameter.name: parameter.element for parameter in self.program.parameters}
        return parameters | {name: tag.type.element for name, tag in self.program.tags.items()}

    def element(self, tree: Expression) -> Element:
        """Give the element type of a scalar expression; names that no tag or parameter has are integers."""
        return expression_element(tree, lambda name: self._elements.get(name) or Element.I64)

    @property
    def sets(self) -> list[str]:
        """Name the sets of partitions, in the order in which messages among partitions number them from 1."""
        return [*self.placements, PROCS]

    def set_of(self, array: Type) -> str:
        """Name the partition (the set of partitions) over which a tag is distributed."""
        return array.distribution.partition or PROCS

    def owners(self, partition: str) -> tuple[int, ...]:
        """Give the processor of every partition of a set."""
        return self.placements.get(partition) or self._own_owners

    @cached_property
    def _own_owners(self) -> tuple[int, ...]:
        """The processor of every partition of `procs`; a serial run has one, whatever the program is told."""
        count = int(str(self.environment[PROCS]))
        return tuple(min(index, self.processors - 1) for index in range(count))

    def members(self, partition: str, processor: int) -> list[int]:
        """List the partitions of a set that live on a processor."""
        return [index for index, owner in enumerate(self.owners(partition)) if owner == processor]

    def load_of(self, partition: str, index: int) -> int:
        """Give where a partition stands among all of the program's."""
        before = itertools.takewhile(lambda name: name != partition, self.placements)
        return sum(len(self.placements[name]) for name in before) + index

    def is_plain(self, partition: str) -> bool:
        """Whether every processor has just the partition of its own number."""
        return self.owners(partition) == tuple(range(self.processors))

    def pieces(self, array: Type) -> int:
        """Count the pieces of a distributed tag."""
        return len(self.owners(self.set_of(array)))

    def grid(self, partition: str) -> tuple[int, ...]:
        """Give the extents of a set's grid; a set without one is in a row."""
        declared = next((p for p in self.program.partitions if p.name == partition), None)
        if declared is None or declared.grid is None:
            return (len(self.owners(partition)),)
        return tuple(int(str(evaluate(extent, self.environment))) for extent in declared.grid)

    def position(self, name: str, index: int) -> int | None:
        """Give the value of `partition` or `partition[0]` in a partition; None: it is another name."""
        found = read_position(name)
        if found is None:
            return None
        axis, partition = found
        return index if axis is None else coordinates(index, self.grid(partition))[axis]

    def iteration_completion(self, step: int, rank: int) -> IterationCompletion:
        """Say how a rank learns how many iterations of an inflight loop are complete everywhere."""
        keys = [key for key in self.liveness.placement.keys if self.liveness.participates(key, step)]
        ranks = sorted(rank for key in keys for rank in self.ranks_of(key))
        return completion_of(ranks, self.nodes if self.shared_memory else None, rank)

    def ranks_of(self, key: ThreadKey) -> list[int]:
        """List the ranks of a thread: one at the root, one for each processor in PARALLEL."""
        processors = 1 if key.region == "root" else self.processors
        return [self.liveness.placement.rank_of(key, processor) for processor in range(processors)]
