"""Where a bench runs: on this machine as it is, or on an emulated cluster of it.

A cluster's nodes have links of a rate and shares of the CPU, so that communication takes time that can be
overlapped, and computing takes as long on 16 nodes as on 2.  It needs root; where there is none, the bench
runs all the same, and its figures say so.  And how MPI is configured there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pse.bench._running import Surroundings, usable_cores
from pse.cluster import Cluster, node_launcher
from pse.errors import RunError, UsageError

USABLE = 0.92
"""Share of the machine's cores that nodes get together; the rest is for what starts and watches them."""
_LEVEL = "MPI4PY_RC_THREAD_LEVEL"
_THROTTLE = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "0",
}


@dataclass(frozen=True)
class Place(Surroundings):
    """Some processors to run on: nodes of a cluster, or just ranks of this machine.

    Attributes
    ----------
    processors : int
    share : float
        The part of a core that each has.
    words : str
        What it is, for the names of figures.
    cluster : Cluster or None
        Of what; None for this machine as it is.
    """

    processors: int = 1
    share: float = 1.0
    words: str = ""
    cluster: Cluster | None = None

    @property
    def options(self) -> list[str]:
        """Options for programs: without nodes, ranks exchange through MPI all the same."""
        return [] if self.cluster else ["shared_memory=off"]

    def inside(self, command: Sequence[str]) -> list[str]:
        """Give the command that runs another one here."""
        return self.cluster.command(command) if self.cluster else list(command)

    def environment(self) -> dict[str, str]:
        """Give the variables that it needs."""
        return self.cluster.environment() if self.cluster else {}

    def hosts(self, ranks: int) -> list[str]:
        """Give mpiexec's words for so many ranks on each node."""
        if not self.cluster:
            return []
        return ["-hosts", ",".join(f"{host}:{ranks}" for host in self.cluster.hosts)]


@dataclass(frozen=True)
class Mode(Surroundings):
    """A configuration of MPI."""

    name: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Give its variables."""
        return self.variables

    @property
    def level(self) -> str:
        """Its level of threads."""
        return self.variables[_LEVEL]


MODES = tuple(
    Mode(f"{level}, throttled" if throttle else level, {_LEVEL: level} | throttle)
    for level in ("single", "multiple")
    for throttle in ({}, _THROTTLE)
)
"""Those that a careful user would try."""


def share_of(number: int) -> float:
    """Part of a core that each of so many nodes has."""
    return min(1.0, round(USABLE * len(usable_cores()) / number, 3))


@contextlib.contextmanager
def nodes(number: int, rate: str, *, emulated: bool = True, share: float | None = None) -> Iterator[Place]:
    """Make an emulated cluster of so many nodes for a while; this machine as it is where that can't be.

    Parameters
    ----------
    number : int
        How many nodes, each of one processor.
    rate : str
        Bits a second of each link, as in ``100mbit``.
    emulated : bool
        False for this machine as it is in any case.
    share : float, optional
        The part of a core that each has; by default all get the same, and together the whole machine.
    """
    share = share or share_of(number)
    with contextlib.ExitStack() as stack:
        reason = "not asked for"
        cluster = None
        if emulated:
            try:
                node_launcher()  # Without one, nobody is started on a node.
                cluster = stack.enter_context(Cluster(nodes=number, rate=rate, cpu=share))
            except (RunError, UsageError) as error:
                reason = error.message
        if cluster is None:
            words = f"{number} processors of this machine as it is, shared memory off (no cluster: {reason})"
            yield Place(number, share, words)
        else:
            yield Place(number, share, cluster.plan.description, cluster)


def said_of_processors(say: Callable[[str], None], number: int) -> Callable[[str], None]:
    """Begin what is said of progress with the number of processors."""
    return lambda text: say(f"{number} processors, {text}")
