"""What a run does, whatever threads do it: operations, what each needs of others, and their order.

Plain data.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Kind(enum.Enum):
    """What an operation is."""

    CALL = "call"
    OFFER = "offer"  # a partition hands its pieces to the others, in an exchanging operation
    COMBINE = "combine"  # a reduction of what all partitions gave


class Input(NamedTuple):
    """Something that an operation needs of another: the queue it waits in (None: none), and its bytes."""

    source: int
    queue: str | None
    size: float


class Push(NamedTuple):
    """Something that an operation hands to the root in any case: who may read it, its queue, its bytes."""

    readers: tuple[int, ...]
    queue: str
    size: float


@dataclass(slots=True)
class Operation:
    """One execution of a call site, for one partition or at the root.

    Attributes
    ----------
    processor : int or None
        Where; None for the root.
    cpu, rest : float
        Seconds of CPU time, and seconds in which it leaves the CPU to others.
    inputs : list of Input
        What it needs.
    pushes : list of Push
        What it hands over in any case.
    after : list of int
        Operations that read what it is going to change in place.
    group : int or None
        Calls of one group begin only when all have come to them: they meet in a communicator.
    """

    number: int
    kind: Kind
    site: int
    processor: int | None
    cpu: float = 0.0
    rest: float = 0.0
    inputs: list[Input] = field(default_factory=list)
    pushes: list[Push] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    group: int | None = None


@dataclass(slots=True)
class Calls:
    """Calls one after the other, for each partition (or the root) a strand of its own."""

    strands: list[list[int]]


@dataclass(slots=True)
class Decision:
    """A bound or condition, which everybody needs who has some of these call sites to execute."""

    inputs: list[Input]
    sites: frozenset[int]


@dataclass(slots=True)
class Loop:
    """A loop: some of its rounds, spread over all of them, and how many there were."""

    step: int
    rounds: list[list[Node]]
    total: int
    inflight: int | None
    sites: frozenset[int]


Node = Calls | Decision | Loop


@dataclass(frozen=True)
class Unrolled:
    """A run's operations by number, and their order.

    `groups` tells how many calls each group has, `places` for how many partitions each call site is executed.
    """

    operations: list[Operation]
    body: list[Node]
    groups: list[int]
    places: dict[int, int]

    def loops(self) -> Iterator[Loop]:
        """Give every loop, outer ones first."""
        waiting = list(self.body)
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, Loop):
                yield node
                for inner in node.rounds[:1]:
                    waiting += inner
