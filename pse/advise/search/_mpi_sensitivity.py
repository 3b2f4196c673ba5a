"""How much the run time of a recorded MPI program varies with the network: its messages, replayed.

All draws are replayed at once.  A message takes what the model says, times the factor of its draw and one of
its own; a collective operation has as many rounds as its tree, and in each the slowest of its ranks' messages
counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from pse.advise.model._cost_model import HOP, Floats
from pse.advise.model._errors import nothing_between_nodes
from pse.advise.search._variation import Sensitivity, SiteVariation, attributed, varied
from pse.analysis import OperationPaths
from pse.emulate import (
    Dispersion,
    Model as Network,
    Step,
    TimedProgram,
    collective_cost,
    record_timed_program,
    replay,
)
from pse.trace import Trace
from pse.trace.query import mpi_messages


def mpi_sensitivity(
    opened: Trace, network: Network, dispersion: Dispersion, draws: int, seed: int
) -> Sensitivity:
    """Say how much the run time of an MPI program varies, and which call paths carry it."""
    timed = record_timed_program(opened)
    nodes, paths = _Nodes(opened), OperationPaths(opened)
    steady = _Costs(timed, nodes, paths, network)
    seconds = float(replay(timed.program, steady)[0])
    if not steady.counts:
        raise nothing_between_nodes()
    drawn = _Costs(timed, nodes, paths, network, dispersion, draws, seed)
    found = replay(timed.program, drawn, draws)
    sites = list(steady.counts)
    measured = _run_time(timed)
    ratio = measured / seconds
    columns = np.stack([drawn.whole, *(drawn.extra[site] for site in sites)], axis=1)
    times, shares = attributed(found * ratio, columns)
    return varied(
        times,
        program=str(opened.path),
        measured=measured,
        simulated=seconds,
        steady=measured,
        launches=shares[0],
        sites=[
            SiteVariation(site, steady.counts[site], steady.seconds[site], share, steady.nouns[site])
            for site, share in zip(sites, shares[1:], strict=True)
        ],
        notes=timed.program.notes,
    )


def _run_time(timed: TimedProgram) -> float:
    """Give the seconds from the first begin of computing to the last operation."""
    begins, ends = [], []
    for steps, times in zip(timed.program.steps, timed.times, strict=True):
        if steps:
            begins.append(times[0] - round(1e9 * steps[0].seconds))
            ends.append(times[-1])
    return max((max(ends) - min(begins)) / 1e9, 1e-9)


class _Nodes:
    """Which ranks are on one node, and what a message takes there."""

    def __init__(self, opened: Trace) -> None:
        self.ranks = opened.ranks
        hosts = [opened.files[rank].host for rank in opened.ranks]
        self._numbers = [hosts.index(host) for host in hosts]
        self.is_one = len({*hosts}) == 1
        self.hop = HOP if self.is_one else self._local_hop(opened)

    def crosses(self, ends: Sequence[int]) -> bool:
        """Say whether the network is between some ranks; on a single node it is between all."""
        return self.is_one or len({self._numbers[end] for end in ends}) > 1

    def _local_hop(self, opened: Trace) -> float:
        node = dict(zip(opened.ranks, self._numbers, strict=True))
        messages = mpi_messages(opened)
        messages = messages[(messages["sent"] >= 0) & (messages["received"] >= 0)]
        local = [node.get(a) == node.get(b) for a, b in messages[["sender", "receiver"]].tolist()]
        times = (messages["received"] - messages["sent"])[np.array(local, bool)] / 1e9
        return float(np.quantile(times, 0.2).clip(1e-7)) if len(times) else HOP


class _Costs:
    """What messages and collective operations take in each draw, and what they add at each call path."""

    def __init__(
        self,
        timed: TimedProgram,
        nodes: _Nodes,
        paths: OperationPaths,
        network: Network,
        dispersion: Dispersion | None = None,
        draws: int = 1,
        seed: int = 0,
    ) -> None:
        self._timed, self._nodes, self._paths = timed, nodes, paths
        self._network, self._dispersion, self._draws = network, dispersion, draws
        self._source = np.random.default_rng(seed)
        launches = (1.0,) if dispersion is None else dispersion.launches
        self.whole = self._source.choice(np.array(launches), draws)
        self.counts: Counter[str] = Counter()
        self.nouns: dict[str, str] = {}
        self.seconds: dict[str, float] = defaultdict(float)
        self.extra: dict[str, Floats] = defaultdict(lambda: np.zeros(draws))

    def __call__(self, rank: int, place: int, step: Step, ranks: Sequence[int]) -> Floats:
        """Give the seconds in each draw, and count them at the call path."""
        ends = ranks or (rank, step.peer)
        if not self._nodes.crosses(ends):
            return np.full(self._draws, self._usual(step, ranks, lambda _size: self._nodes.hop))
        usual = self._usual(step, ranks, self._network.seconds)
        rounds = (len(ranks) - 1).bit_length() if ranks else 1
        own: Floats = np.mean([self._factors(step.bytes, max(len(ranks), 1)) for _ in range(rounds)], axis=0)
        site = self._paths.at(self._nodes.ranks[rank], self._timed.times[rank][place])
        self.counts[site] += 1
        self.nouns[site] = "collective operation" if ranks else "message"
        self.seconds[site] += usual
        self.extra[site] += (own - 1) * usual
        taken: Floats = usual * own * self.whole
        return taken

    def _usual(self, step: Step, ranks: Sequence[int], cost: Callable[[int], float]) -> float:
        return float(collective_cost(step, len(ranks), cost) if ranks else cost(step.bytes))

    def _factors(self, size: float, slowest: int) -> Floats:
        """Draw factors of messages, each the greatest of so many."""
        if self._dispersion is None:
            return np.ones(self._draws)
        quantiles = self._dispersion.quantiles(size)
        places = self._source.random(self._draws) ** (1 / slowest) * (len(quantiles) - 1)
        return np.asarray(np.interp(places, range(len(quantiles)), quantiles))
