"""What a trace says about costs: durations of calls, cores, links, what the engine takes.

Times are seconds.  A call's time is split in two: CPU time, which threads of one processor have to share, and
the rest, in which it leaves the CPU alone (it waits for a disk, a link, a clock).  What a call waited only
because others were on its core is neither, and is taken out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pse.advise.model._errors import AdviceError
from pse.advise.model._link_estimate import fit
from pse.emulate import SMALL_MESSAGE, Model as Network
from pse.language.check import PROCS
from pse.trace import Definitions, EventType, MessageFlag, Phase, TextKind, Trace, WaitReason
from pse.trace.format import CORES, CPU_SHARE, CPU_TIME, LINK_RATE, value_of

Floats = NDArray[np.float64]

HOP = 30e-6
"""Seconds from one rank to another of its node where the trace doesn't tell."""


@dataclass(frozen=True)
class Cores:
    """Cores that some ranks share: how many, as a number that need not be whole, and their name."""

    name: str
    amount: float


@dataclass(frozen=True)
class Link:
    """What connects nodes.

    Attributes
    ----------
    rate : float
        Bytes a second, in each direction of a node.
    latency : float
        Seconds of a message.
    queueing : float
        Seconds that a message may stand behind others at most.
    cpu : float
        CPU seconds that a byte takes at either end.
    network : pse.emulate.Model, optional
        A measured model of messages: a message alone on the link takes what it says.
    """

    rate: float
    latency: float
    queueing: float
    cpu: float
    network: Network | None = None

    def latency_of(self, size: float) -> float:
        """Give the seconds of a message before its bytes move; small ones take no other time."""
        if self.network is None:
            return self.latency
        moving = size * self.network.beta if size > SMALL_MESSAGE else 0.0
        return max(0.0, self.network.seconds(size) - moving)

    def with_network(self, network: Network) -> Link:
        """Give the link on which messages cost what a model says."""
        rate = 1 / network.beta if network.beta else self.rate
        return replace(self, rate=rate, latency=network.alpha, network=network)


class MeasuredCosts:
    """The costs in a trace.

    Parameters
    ----------
    trace : Trace
        With definitions, and calls of modules.
    network : pse.emulate.Model, optional
        What messages between nodes cost, measured; otherwise the trace tells it.

    Raises
    ------
    AdviceError
        There is nothing to learn from, or a rank did not end.
    """

    def __init__(self, trace: Trace, network: Network | None = None) -> None:
        self.network = network
        if trace.definitions is None:
            raise AdviceError(
                f"{trace.path} has no definitions of a program (it was recorded from MPI alone, or imported):"
                " there are no call sites to give advice on",
                help="record a Coven program: pse run PROGRAM -p P --trace DIR",
            )
        self.trace, self.definitions = trace, trace.definitions
        self.calls = trace.module_calls()
        if not len(self.calls):
            raise AdviceError(
                f"{trace.path} has no module calls: there is nothing to give advice on",
                help="record a run that calls at least one module",
            )
        self.begins, self.ends = self._check_complete()

    def _check_complete(self) -> tuple[dict[int, int], dict[int, int]]:
        """Find when every rank began and ended its part of the program."""
        begins, ends = {}, {}
        for rank in self.definitions.ranks:
            phases = self._phases(rank.rank)
            if Phase.READY not in phases or Phase.DONE not in phases:
                who = f"{rank.thread}, {_where(rank.processor)}, host {rank.host}"
                raise AdviceError(
                    f"the trace is not complete: rank {rank.rank} ({who}) has no record of the program's end",
                    help="advice needs a whole run: record one that is not stopped",
                )
            begins[rank.rank], ends[rank.rank] = phases[Phase.READY], phases[Phase.DONE]
        if not (self.calls["complete"] & ~self.calls["failed"]).all():
            raise AdviceError(
                f"{self.trace.path}: a module failed in this run", help="record a run that succeeds"
            )
        return begins, ends

    def _phases(self, rank: int) -> dict[int, int]:
        if rank not in self.trace.ranks:
            return {}
        events = self.trace.select(rank, EventType.PHASE)
        times = self.trace.run_times(rank, events["time"])
        return {int(phase): int(time) for phase, time in zip(events["a"], times, strict=True)}

    @property
    def run_time(self) -> float:
        """Seconds from the program's first statement to the end of its last call."""
        return (float(self.calls["leave"].max()) - min(self.begins.values())) / 1e9

    @property
    def threads(self) -> int:
        """How many threads the most threaded of the root and the processors has."""
        labels: dict[str, set[str]] = {}
        for rank in self.definitions.ranks:
            labels.setdefault(rank.region, set()).add(rank.thread)
        return max(map(len, labels.values()))

    @property
    def processors(self) -> int:
        """How many processors the run had."""
        known = self.definitions.parameters.get(PROCS)
        seen = [rank.processor for rank in self.definitions.ranks if rank.processor is not None]
        return int(known) if isinstance(known, int) else max(seen, default=0) + 1

    def rank_of(self, processor: int | None) -> int:
        """Give a rank of a processor (None: of the root), the first one."""
        ranks = (rank.rank for rank in self.definitions.ranks if rank.processor == processor)
        return next(ranks, 0)

    def host(self, processor: int | None) -> str:
        """Give the host of a processor (None: the root's)."""
        return self.definitions.ranks[self.rank_of(processor)].host

    @cached_property
    def _counters(self) -> dict[int, dict[str, list[float]]]:
        return {rank: _counters(self.trace, rank) for rank in self.trace.ranks}

    def cores(self, processor: int | None) -> Cores:
        """Give the cores of a processor (None: the root's)."""
        return self._cores_of(self.rank_of(processor))

    def _cores_of(self, rank: int) -> Cores:
        host = self.definitions.ranks[rank].host
        counters = self._counters.get(rank, {})
        if CORES not in counters:
            return Cores(host, float("inf"))
        mask = int(counters[CORES][-1])
        amount = min(float(mask.bit_count()), *counters.get(CPU_SHARE, [1.0]))
        return Cores(f"{host}:{mask:x}", amount)

    @cached_property
    def split(self) -> tuple[Floats, Floats]:
        """CPU seconds of every call, and the seconds in which it left the CPU to others."""
        walls = (self.calls["leave"].astype(float) - self.calls["enter"].astype(float)) / 1e9
        cpu = np.minimum(self.calls["cpu"] / 1e9, walls)
        rest = np.zeros_like(cpu)
        for rank in np.unique(self.calls["rank"]):
            mine = self.calls["rank"] == rank
            cpu[mine], rest[mine] = self._split_of(int(rank), mine, walls[mine], cpu[mine])
        return cpu, rest

    def _split_of(
        self, rank: int, mine: NDArray[np.bool_], walls: Floats, cpu: Floats
    ) -> tuple[Floats, Floats]:
        """Split the times of a rank's calls.

        A call that was ready to run without a core left nothing to others: what other users of the machine
        took of its cores then is CPU time that the run needs on them.
        """
        amount, others = self._cores_of(rank).amount, self._used_beside(rank, mine)
        left = _left_alone(amount, others, walls, cpu)
        rest = np.minimum(left, np.maximum(walls - cpu - self.calls["preempted"][mine] / 1e9, 0.0))
        taken = np.minimum(left - rest, np.maximum(walls - (cpu + others) / amount, 0.0))
        share = amount * np.maximum(cpu, 1e-9) / np.maximum(cpu + others, 1e-9)
        return cpu + taken * np.minimum(share, 1.0), rest

    def _used_beside(self, rank: int, mine: NDArray[np.bool_]) -> Floats:
        """CPU seconds that others on the same cores used while each of a rank's calls ran."""
        name = self._cores_of(rank).name
        others = (r for r in self.trace.ranks if r != rank and self._cores_of(r).name == name)
        total = np.zeros(int(mine.sum()))
        for other in others:
            theirs = self.calls[self.calls["rank"] == other]
            if len(theirs):
                total += _used(theirs, self.calls[mine])
        return total

    @cached_property
    def remote(self) -> NDArray[np.void]:
        """Messages that went from node to node."""
        messages = self.trace.messages()
        return np.asarray(messages[messages["flags"] & MessageFlag.REMOTE != 0])

    @cached_property
    def link(self) -> Link:
        """What was measured before the run of the links, and what its messages between nodes tell.

        Messages alone tell a rate that is too low where ranks were in calls while these were under way.
        """
        rate, latency, queueing = fit(self.remote, self.calls)
        rates = [rate for counters in self._counters.values() for rate in counters.get(LINK_RATE, [])]
        rate = float(np.median(rates)) if rates else rate
        link = Link(rate, latency, queueing, self._cpu_of_a_byte())
        return link if self.network is None else link.with_network(self.network)

    def _cpu_of_a_byte(self) -> float:
        """CPU seconds that the engine took for each byte that went to or came from another node."""
        moved = 2 * float(self.remote["bytes"].sum())
        ranks = set(np.unique(self.remote["sender"])) | set(np.unique(self.remote["receiver"]))
        if moved < 1e5:
            return 0.0
        engine = sum(self._engine_cpu(int(rank)) for rank in ranks)
        return max(0.0, engine) / moved

    def _engine_cpu(self, rank: int) -> float:
        times = self._counters.get(rank, {}).get(CPU_TIME, [])
        if len(times) < 2:
            return 0.0
        mine = self.calls["rank"] == rank
        modules = float(self.calls["cpu"][mine].sum())
        return (times[-1] - times[0] - modules) / 1e9 - float(self.engine[mine].sum())

    @cached_property
    def engine(self) -> Floats:
        """CPU seconds that the engine took for each call: from the last wait before it to the next after."""
        waits = self.trace.waits()
        found = np.zeros(len(self.calls))
        for rank in np.unique(self.calls["rank"]):
            mine = np.flatnonzero(self.calls["rank"] == rank)
            theirs = waits[waits["rank"] == rank]
            found[mine] = _beside(self.calls[mine], theirs, self.begins[int(rank)])
        return found

    def parked(self, sites: set[int]) -> Floats:
        """Seconds that each call of some sites waited for messages, after its module had returned."""
        waits = self.trace.waits()
        waits = waits[np.isin(waits["site"], list(sites))]
        found = np.zeros(len(self.calls))
        for rank in np.unique(waits["rank"]):
            mine = np.flatnonzero(self.calls["rank"] == rank)
            theirs = waits[waits["rank"] == rank]
            before = np.searchsorted(self.calls["leave"][mine], theirs["begin"], side="right") - 1
            posted = (before >= 0) & (self.calls["site"][mine][before] == theirs["site"])
            seconds = (theirs["end"].astype(float) - theirs["begin"].astype(float)) / 1e9
            np.add.at(found, mine[before[posted]], seconds[posted])
        return found

    @cached_property
    def hop(self) -> float:
        """Seconds from one rank to another of its node, if that one waits."""
        messages = self.trace.messages()
        local = messages[
            (messages["flags"] & MessageFlag.REMOTE == 0) & (messages["sender"] != messages["receiver"])
        ]
        times = (local["received"].astype(float) - local["sent"].astype(float)) / 1e9
        times = times[times >= 0]
        return float(np.clip(np.quantile(times, 0.2), 2e-6, 2e-4)) if len(times) else HOP

    @cached_property
    def waited(self) -> dict[int, float]:
        """Seconds that all ranks together waited at each call site."""
        waits = self.trace.waits()
        waits = waits[waits["reason"] != WaitReason.START]
        times = (waits["end"].astype(float) - waits["begin"].astype(float)) / 1e9
        return {int(site): float(times[waits["site"] == site].sum()) for site in np.unique(waits["site"])}


def _where(processor: int | None) -> str:
    return "root" if processor is None else f"processor {processor}"


def _counters(trace: Trace, rank: int) -> dict[str, list[float]]:
    """Give the samples of a rank's counters by the counters' names."""
    events = trace.select(rank, EventType.COUNTER)
    names = trace.texts(rank) if len(events) else {}
    found: dict[str, list[float]] = {}
    for event in events:
        name = names.get((TextKind.COUNTER, int(event["a"])), "")
        found.setdefault(name, []).append(float(value_of(int(event["b"]), int(event["flags"]))))
    return found


def _left_alone(amount: float, others: Floats, walls: Floats, cpu: Floats) -> Floats:
    """Seconds in which calls left the CPU to others, which used some on the same cores meanwhile.

    On one core that is what neither it nor the others there used.  With more cores, a call that the CPU
    was there for, and that did not use it, did something else.
    """
    if amount <= 1:
        return np.maximum(walls - (cpu + others) / amount, 0.0)
    return np.clip(amount * walls - cpu - others, 0.0, walls - cpu)


def _used(theirs: NDArray[np.void], mine: NDArray[np.void]) -> Floats:
    """CPU seconds that some calls used during each of others, as if each used it evenly."""
    times = np.stack([theirs["enter"], theirs["leave"]], axis=1).astype(float).ravel()
    sums = np.cumsum(theirs["cpu"] / 1e9)
    steps = np.stack([np.concatenate([[0.0], sums[:-1]]), sums], axis=1).ravel()
    used = np.interp(mine["leave"].astype(float), times, steps)
    return np.asarray(used - np.interp(mine["enter"].astype(float), times, steps), dtype=float)


def _beside(calls: NDArray[np.void], waits: NDArray[np.void], begin: int) -> Floats:
    """Seconds before and after each call of a rank in which it neither waited nor was in another."""
    starts = np.concatenate([[begin], calls["leave"][:-1]]).astype(float)
    ends = calls["enter"].astype(float)
    first = np.searchsorted(waits["begin"], starts)
    after = np.searchsorted(waits["begin"], ends)
    waited = after > first
    found = np.where(waited, 0.0, ends - starts)
    where = np.flatnonzero(waited)
    found[where] = ends[where] - waits["end"][after[where] - 1]
    tails = np.zeros(len(calls))
    behind = where[where > 0]
    tails[behind - 1] = waits["begin"][first[behind]] - starts[behind]
    return np.maximum(found + tails, 0.0) / 1e9


__all__ = ["Cores", "Definitions", "Link", "MeasuredCosts"]
