"""A way to run a program: the thread of each call site, iterations in flight, queue depths, and the machine.

Plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pse.advise.model._cost_model import Cores, Link


@dataclass(frozen=True)
class Assignment:
    """What a program's text decides.

    Attributes
    ----------
    threads : mapping of int to str
        The label of every call site, by number.
    inflight : mapping of int to int or None
        How many iterations of a loop may be under way, by its statement's number; None: one after the other.
    depths : mapping of str to int
        Queue depths of threads, by label.
    depth : int
        The queue depth of all others.
    """

    threads: Mapping[int, str]
    inflight: Mapping[int, int | None]
    depth: int = 2
    depths: Mapping[str, int] = field(default_factory=dict)

    def depth_of(self, thread: str) -> int:
        """Give the queue depth of the thread with a label."""
        return self.depths.get(thread, self.depth)


@dataclass(frozen=True)
class Machine:
    """What a program runs on.

    Attributes
    ----------
    hosts : mapping of (int or None) to str
        The node of every processor, and of the root (None).
    cores : mapping of (int or None) to Cores
        The cores that each has; those of one name are shared.
    link : Link
        What connects nodes.
    hop : float
        Seconds from rank to rank of a node.
    shared_memory : bool
        Whether ranks of a node hand over descriptors.
    slack : float
        Bytes of a transfer that go on moving while a rank at one of its ends is in a call; infinite: all.
    eager : bool
        Whether a transfer can begin while a rank at one of its ends is in a call.
    """

    hosts: Mapping[int | None, str]
    cores: Mapping[int | None, Cores]
    link: Link
    hop: float
    shared_memory: bool = True
    slack: float = 0.0
    eager: bool = False

    def is_remote(self, one: int | None, other: int | None) -> bool:
        """Whether what goes from one processor to another goes through MPI."""
        return not self.shared_memory or self.hosts[one] != self.hosts[other]
