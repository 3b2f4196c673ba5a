"""The protocol of coscheduled communication on many nodes, under a virtual clock."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from pse._abi.coschedule import DEFAULT_SLICE, MATCH_DTYPE, SLICE_DTYPE
from pse.coschedule import _simulation
from pse.coschedule._slices import slice_length
from pse.coschedule._workloads import WORKLOADS, Workload
from pse.errors import RunError, UsageError
from pse.text import list_text

_SWITCH: Final = 70e-9
"""Seconds that a level of switches takes, there and back (QsNet's Elite: 35 ns)."""
_TABLE: Final = 32
_KEPT: Final = 100_000
"""Slices, and decisions, that are kept."""


@dataclass(frozen=True)
class Costs:
    """What things take that the simulated protocol does, in seconds.

    Slices go along a tree of messages between nodes, as they do where `Comm` has several; or, with a `fan`,
    switches multiply messages: a multicast to n nodes then takes ``first + level * ceil(log(n, fan))``, and
    the answer of all nodes to a question as long as two.

    Attributes
    ----------
    alpha, beta : float
        A message between nodes: its start, and each byte.
    first, level : float
        A multicast, which is Xfer-And-Signal to all nodes.
    fan : int
        Nodes that a level of switches reaches from each; 0: there is no multicast.
    message : float
        A node's work to send a message along the tree, or to take one.
    packet : float
        Its work for what another node has told in one: a descriptor.
    copy : float
        Each byte of a message between ranks of a node, or of one that a node passes on.
    descriptor, match, slice : float
        A node's work for a descriptor that is exchanged, for one that is received, and for an empty slice.
    wake : float
        Until a rank that is woken runs.

    Examples
    --------
    >>> from pse import bcs
    >>> one = bcs.Costs.of_network(alpha=2e-6, beta=1e-10, slices="multicast")
    >>> one.first, one.level, one.fan
    (2e-06, 7e-08, 4)
    """

    alpha: float = 2e-6
    beta: float = 1e-10
    first: float = 0.0
    level: float = 0.0
    fan: int = 0
    message: float = 2e-6
    packet: float = 100e-9
    copy: float = 1e-10
    descriptor: float = 100e-9
    match: float = 100e-9
    slice: float = 500e-9
    wake: float = 50e-6

    @classmethod
    def of_network(
        cls, alpha: float, beta: float, slices: Literal["tree", "multicast"] = "tree", **others: Any
    ) -> "Costs":
        """Give the costs of a network.

        Parameters
        ----------
        alpha, beta : float
            Seconds that a message takes, and each of its bytes.
        slices : {"tree", "multicast"}
            Slices go from node to node along a tree; or switches in a tree of four branches multiply
            messages.
        **others
            The other attributes.

        Returns
        -------
        Costs
            With the law of the switches, or without one.
        """
        law = (alpha, _SWITCH, 4) if slices == "multicast" else (0.0, 0.0, 0)
        return cls(alpha, beta, *law, **others)

    def in_ns(self) -> _simulation.Costs:
        """Give them to the simulation."""
        found = dataclasses.asdict(self)
        return _simulation.Costs(**{key: one if key == "fan" else 1e9 * one for key, one in found.items()})


def measure_costs() -> dict[str, float]:
    """Measure what the layer's own work takes on this machine.

    Returns
    -------
    dict
        ``message``, ``packet``, ``copy``, ``descriptor``, ``match``, ``slice`` and ``wake``, as `Costs` has
        them.

    Examples
    --------
    >>> from pse import bcs
    >>> sorted(bcs.measure_costs())
    ['copy', 'descriptor', 'match', 'message', 'packet', 'slice', 'wake']
    """
    names = ("message", "packet", "copy", "descriptor", "match", "slice", "wake")
    return {name: one / 1e9 for name, one in zip(names, _simulation.measured(), strict=True)}


def monitoring_costs() -> tuple[float, float]:
    """Measure what monitoring takes on this machine.

    Returns
    -------
    tuple of float
        Seconds for a slice that is kept (EMDS), and for a call (MMDS).

    Examples
    --------
    >>> from pse import bcs
    >>> max(bcs.monitoring_costs()) < 1e-4
    True
    """
    return _simulation.noted_slice() / 1e9, _simulation.noted_call() / 1e9


@dataclass(frozen=True)
class Simulated:
    """A simulated run.

    Attributes
    ----------
    nodes : int
        On how many nodes.
    seconds, ideal : float
        Until the last rank has ended; the same if communication took no time.
    slices, matches : ndarray
        As `Comm.slices` and `Comm.schedule` give them.
    messages : int
        Between nodes, for slices; 0 where switches multiply them.

    See Also
    --------
    simulate
    """

    nodes: int
    seconds: float
    ideal: float
    slices: NDArray[np.void]
    matches: NDArray[np.void]
    messages: int

    @property
    def coordination(self) -> float:
        """Mean seconds of a slice until all nodes know what is scheduled: its overhead."""
        return float((self.slices["late"] + self.slices["gtts"]).mean()) / 1e9 if len(self.slices) else 0.0

    @property
    def overhead(self) -> float:
        """Percent of a slice that coordination takes."""
        return 100e9 * self.coordination / float(self.slices["length"].mean()) if len(self.slices) else 0.0


def simulate(
    workload: "str | Workload",
    nodes: int,
    costs: Costs,
    *,
    ranks_per_node: int = 1,
    steps: int = 20,
    slice: float = DEFAULT_SLICE / 1e9,
    adapt: bool = False,
) -> Simulated:
    """Run a program of simulated ranks in strict slices.

    Matching, slices, chunks and the order of all that are those of the protocol that real ranks have, since
    it is the same code; only time is simulated.

    Parameters
    ----------
    workload : {"barrier", "sage", "sweep"}
        A barrier every 1.9 ms; SAGE-like: compute 4 ms, exchange 64 KiB with both neighbours, a reduction;
        SWEEP3D-like: wavefronts over a grid, 3.5 ms for a block, blocking.
    nodes : int
        How many nodes.
    costs : Costs
        What network and nodes take.
    ranks_per_node : int, optional
        How many ranks each has.
    steps : int, optional
        How many of the program's steps are taken.
    slice : float, optional
        Seconds of a slice.
    adapt : bool, optional
        Slices become longer where more than 1 % begin late, or come too soon for the nodes.

    Returns
    -------
    Simulated
        The times, and what was scheduled.

    Raises
    ------
    UsageError
        There is no such workload, or a number is too small.

    Examples
    --------
    >>> from pse import bcs
    >>> costs = bcs.Costs.of_network(alpha=2e-6, beta=1e-10, slices="multicast", wake=0)
    >>> found = bcs.simulate("barrier", 1000, costs, slice=250e-6)
    >>> set(np.diff(found.slices["slice"][found.slices["ncollmsm"] > 0]).tolist())
    {9}
    """
    length = slice_length(slice)
    counts = {"nodes": nodes, "ranks of a node": ranks_per_node, "steps": steps}
    for what, count in counts.items():
        if count < 1:
            raise UsageError(
                f"the number of {what} is {count}; it must be at least 1",
                help=f"give a number of {what} from 1",
            )
    if isinstance(workload, str) and workload not in WORKLOADS:
        raise UsageError(
            f"there is no workload {workload!r}", help=f"there are {list_text(list(WORKLOADS), 'and')}"
        )
    ranks = nodes * ranks_per_node
    program = WORKLOADS[workload](ranks, steps) if isinstance(workload, str) else workload
    ideal = _run(program, ranks, ranks, _FREE, length, strict=False, adapt=False)[0]
    end, slices, matches, messages = _run(
        program, ranks, ranks_per_node, costs, length, strict=True, adapt=adapt
    )
    return Simulated(nodes, end / 1e9, ideal / 1e9, slices, matches, messages)


_FREE: Final = Costs(alpha=0, beta=0, message=0, packet=0, copy=0, descriptor=0, match=0, slice=0, wake=0)


def _run(
    program: Workload, ranks: int, per_node: int, costs: Costs, length: int, *, strict: bool, adapt: bool
) -> tuple[int, NDArray[np.void], NDArray[np.void], int]:
    per_byte = max(costs.beta, costs.copy, 1e-12)
    chunk = max(int(length / 2e9 / per_byte), length)
    end, slices, matches, messages = _simulation.simulate(
        ranks=ranks, table=_TABLE, strict=strict, slice=length, chunk=chunk,
        adapted=adapt, kept=_KEPT, costs=costs.in_ns(), per_node=per_node, acts=program.acts.tobytes(),
        begins=program.begins.tobytes(),
    )  # fmt: skip
    if end is None:
        raise RunError("the simulated ranks wait for each other", help="compare what they send and receive")
    return end, np.frombuffer(slices, SLICE_DTYPE), np.frombuffer(matches, MATCH_DTYPE), messages
