"""``pse bench planted``: whether ACE finds changes that were planted, and none where there are none.

On an emulated cluster one link of four has half the rate of the others, and all links of another cluster 5 %
less than those of the first; on this machine every hundredth message is late by 1 ms.  For false alarms,
launches of one configuration are compared with each other; no launch is in two comparisons.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pse.bench._figures import Against, Figure, share_bounds
from pse.bench._running import (
    HERE,
    Samples,
    Surroundings,
    confined_to,
    finish,
    in_turn,
    start,
    stop,
    usable_cores,
)
from pse.cluster import Cluster, unmet_prerequisite
from pse.emulate import (
    Application,
    Configuration,
    Disturbance,
    Results,
    compare,
    disturbances,
    join_results,
    launch_command,
    measure as run_launches,
)
from pse.runtime.launch import find_mpiexec

_RANKS = 4
_SLOW = 2
"""The rank whose link has half the rate."""
_SHARE = 0.46
_RATE = 46.0
"""Mbit/s: as much for each core as 100 are for a whole one."""
_LESS = 1 / 1.05
_EVERY, _LATE = 100, 1e-3
_TOO_LONG = 60.0
"""Seconds of run time after which a planted change counts as not found."""
_LATE_STACK = f"""\
module delay
  argument microseconds {1e6 * _LATE:.0f}
  argument routines MPI_Send
  argument every {_EVERY}
"""


@dataclass(frozen=True)
class Sizes:
    """How much is measured, and whether there is an emulated cluster.

    `launches` are those of each side of a comparison, `comparisons` those of undisturbed launches, each of
    which has launches of its own.  Fewer than 59 without a false alarm can't show that these are 5 % at most.
    """

    launches: int = 10
    comparisons: int = 60
    cycles: int = 1500
    emulated: bool = True


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Plant all changes in turn; then compare what is undisturbed."""
    with tempfile.TemporaryDirectory(prefix="pse-bench-") as directory, contextlib.ExitStack() as stack:
        bed = _Bed(Path(directory), sizes)
        measurers = [bed.late_messages]
        if sizes.emulated and unmet_prerequisite() is None:
            bed.make_clusters(stack)
            measurers += [bed.slow_link, bed.slower_links]
        samples = in_turn(repeats, measurers, say)
        alarms = false_alarms(undisturbed(sizes, say), sizes)
    return [*_found(samples), *_alarm_figures(alarms)]


def _found(samples: Samples) -> Iterator[Figure]:
    taken = {name: tuple(values) for name, values in samples.items()}
    for name, title in (
        ("link", f"one link of {_RANKS} at half its rate: run time until it is named"),
        ("late", f"1 ms on each {_EVERY}th message: run time until it is named"),
    ):
        if name in taken:
            beside = Against("launches", "", taken[f"{name} launches"])
            yield Figure(title, "s", "<=", 30.0, taken[name], beside)
    if "slower" in taken:
        ratio = Against("measured beside the 5 % that were planted", "%", taken["slower measured"])
        title = "links slower by 5 %: p-value of launches with and without"
        yield Figure(title, "", "<=", 0.01, taken["slower"], ratio)


def _alarm_figures(alarms: Sequence[bool]) -> Iterator[Figure]:
    share = 100 * sum(alarms) / len(alarms)
    asked = Against("asked for", "%", (1.0,), (share,))
    title = f"false alarms in {len(alarms)} undisturbed comparisons"
    bounds = share_bounds(sum(alarms), len(alarms))
    yield Figure(title, "%", "<=", 5.0, (share,), asked, bounds)


def undisturbed(sizes: Sizes, say: Callable[[str], None]) -> Results:
    """Measure launches in which nothing is planted."""
    pairs = Application("pairs", "pairwise", 2, (1024,), (50.0,), cycles=max(sizes.cycles // 15, 5))
    number = 2 * sizes.launches * sizes.comparisons
    asked = Configuration(
        *((pairs,), 2, number, number, float("inf")), exchange_sizes=(1, 65536), repetitions=20
    )
    with confined_to(usable_cores()[:2]):
        return run_launches(asked, lambda text: say(f"{text} of {number}"))


def false_alarms(found: Results, sizes: Sizes) -> list[bool]:
    """Say of each comparison of undisturbed launches whether a difference was taken for real.

    Each comparison has launches that follow each other and are in no other one, so that comparisons are
    independent; of each two neighbours, either side gets one.
    """
    random = np.random.default_rng(1)
    neighbours = np.arange(2 * sizes.launches * sizes.comparisons).reshape(sizes.comparisons, -1, 2)
    sides = random.permuted(neighbours, axis=2).transpose(0, 2, 1)
    return [bool(compare(_some(found, one), _some(found, other)).real) for one, other in sides]


def _some(found: Results, launches: NDArray[np.int64]) -> Results:
    """Give some launches of several."""
    return replace(
        found,
        cycles=found.cycles[np.isin(found.cycles["launch"], launches)],
        exchanges=found.exchanges[np.isin(found.exchanges["launch"], launches)],
    )


class _Bed:
    """The configurations, and the clusters once they are made."""

    def __init__(self, directory: Path, sizes: Sizes) -> None:
        self.directory, self.sizes = directory, sizes
        self.clusters: dict[str, Cluster] = {}
        (directory / "late.conf").write_text(_LATE_STACK)
        late = Application("late", "many-to-one", 2, (1024,), (50.0,), cycles=sizes.cycles)
        large = (1 << 14, 1 << 16)
        self.configurations = {
            "late": Configuration((late,), 2, exchange_sizes=(1,), repetitions=10),
            "link": Configuration((), _RANKS, exchange_sizes=(1, *large), repetitions=20, matrix=True),
            "slower": Configuration((), 2, exchange_sizes=large, repetitions=20),
        }

    def make_clusters(self, stack: contextlib.ExitStack) -> None:
        """Make a cluster with one slow link, one with links that are alike, and one with slower ones."""
        ones = ",".join(["1"] * _RANKS)
        rates = ",".join(f"{_RATE / 2 if rank == _SLOW else _RATE}mbit" for rank in range(_RANKS))
        self.clusters["link"] = stack.enter_context(Cluster(nodes=ones, rate=rates, cpu=_SHARE))
        for name, rate in (("first", _RATE), ("second", _RATE * _LESS)):
            self.clusters[name] = stack.enter_context(
                Cluster(nodes=2, rate=f"{rate:.3f}mbit", cpu=2 * _SHARE)
            )

    def slow_link(self) -> dict[str, float]:
        """Launch until all messages to and from one rank are named, and no other link."""
        return self._until("link", _Nodes(self.clusters["link"]), [], _is_slow_link)

    def late_messages(self) -> dict[str, float]:
        """Launch until late messages are named with their period."""
        tools = [sys.executable, "-m", "pse", "tools", "run", "-c", str(self.directory / "late.conf"), "--"]
        with confined_to(usable_cores()[:2]):
            return self._until("late", HERE, tools, _is_late)

    def _until(
        self,
        name: str,
        place: Surroundings,
        before: list[str],
        is_found: Callable[[Sequence[Disturbance]], bool],
    ) -> dict[str, float]:
        spent, launches = 0.0, list[Results]()
        while spent < _TOO_LONG:
            begin = time.perf_counter()
            launches.append(self._launch(name, len(launches), place, before))
            spent += time.perf_counter() - begin
            if is_found(disturbances(join_results(launches))):
                break
        return {name: spent, f"{name} launches": len(launches)}

    def slower_links(self) -> dict[str, float]:
        """Compare launches on links that are slower by 5 % with others, in turn."""
        names = "first", "second"
        launches: dict[str, list[Results]] = {name: [] for name in names}
        for launch in range(self.sizes.launches):
            for name in sorted(names, reverse=bool(launch % 2)):
                launches[name].append(self._launch("slower", launch, _Nodes(self.clusters[name]), []))
        found = compare(*(join_results(launches[name]) for name in names))
        surest = min(found.differences, key=lambda one: one.adjusted)
        return {"slower": surest.adjusted, "slower measured": 100 * (surest.ratio - 1)}

    def _launch(self, name: str, number: int, place: Surroundings, before: list[str]) -> Results:
        asked = self.configurations[name]
        with tempfile.TemporaryDirectory(dir=self.directory) as directory:
            rank, target = launch_command(asked, Path(directory), number)
            job = [find_mpiexec().path, "-n", str(asked.ranks), *rank]
            process = start([*before, *job], directory, place)
            try:
                finish("an emulated application", process)
            finally:
                stop(process)
            return Results.load(target)


class _Nodes(Surroundings):
    """The nodes of a cluster, one rank on each."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def inside(self, command: Sequence[str]) -> list[str]:
        """Give the command that runs another one there."""
        return self.cluster.command(command)

    def environment(self) -> dict[str, str]:
        """Give the variables that it needs."""
        return self.cluster.environment()


def _is_slow_link(found: Sequence[Disturbance]) -> bool:
    """Say whether all links of the slow rank are named as such, and no other ones."""
    named = {frozenset(one.ranks) for one in found if one.kind == "slow link" and "rate" in one.what}
    return named == {frozenset((rank, _SLOW)) for rank in range(_RANKS) if rank != _SLOW}


def _is_late(found: Sequence[Disturbance]) -> bool:
    """Say whether a period of the planted length is named, with about the time that was planted."""
    return any(
        one.kind == "period" and abs(one.cycles - _EVERY) < 1 and 0.5 < one.amount / _LATE < 2
        for one in found
    )
