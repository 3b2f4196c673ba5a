"""``pse bench bcs``: coscheduled communication beside MPI's own, on one node and on two.

Proxies of two applications run with a rank on each core and with two, over MPI as it can be configured (one
thread or several; throttled, so that ranks which wait leave the core to others, or not) and over
`pse.bcs.Comm`, and as they are, over the layer by the tool ``bcs``; each is compared with the configuration
of MPI that suits it best; the same but for the tool, and the benchmark of barriers, on two nodes of an
emulated cluster where that can be.  Then single operations, strobes, and what it costs to note slices.
"""

from __future__ import annotations

import functools
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pse.bench._environments import MODES, Mode, Place, nodes
from pse.bench._figures import Against, Figure
from pse.bench._running import (
    HERE,
    Samples,
    Surroundings,
    confined_to,
    in_turn,
    ratios,
    run_peer,
    usable_cores,
)
from pse.bench.peers.bcs import sage, sweep3d
from pse.errors import RunError
from pse.text import count_text
from pse.toolstack import configuration_of, environment, find_mpi

EARLY, STRICT, FAR_SLICE = 500, 250, 1000
"""µs of a slice: the default, the paper's, and the default of several nodes."""
OURS = (("bcs", EARLY), ("bcs-strict", STRICT))
TARGETS = {
    "sage": ("SAGE-like", "bcs", (1.02, 0.95)),
    "sweep": ("SWEEP3D-like, blocking", "bcs", (1.10, 1.10)),
    "strict": ("SWEEP3D-like, blocking, strict slices of 250 µs", "bcs-strict", (1.25, 1.25)),
    "ahead": ("SWEEP3D-like, non-blocking", "bcs", (1.00, 1.00)),
}
"""Titles of proxies, who communicates, and the targets with a core for each rank and with half of one."""
TOOL = "tool bcs"
AS_THEY_ARE = {
    key: (f"{title}, {TOOL}", TOOL, targets)
    for key, (title, name, targets) in TARGETS.items()
    if name == "bcs"
}
"""The same for programs of MPI that nothing is changed in."""
ON_NODES = {key: TARGETS[key] for key in ("sage", "sweep", "ahead")} | {
    "barrier": ("a barrier every 1.9 ms", "bcs", (1.10, 1.10))
}
"""The same for nodes."""
NODES, RATE = 2, "1gbit"
FAR = "nodes "
"""Begins the names of what is measured there."""
FAR_RANKS = (NODES, 2 * NODES)
OVERLAPS = {
    "sender": "only the sender computes",
    "receiver": "only the receiver computes",
    "both": "both compute",
}


@dataclass(frozen=True)
class OnNodes(Surroundings):
    """An emulated cluster, with a configuration of MPI."""

    place: Place
    mode: Mode | None = None

    def inside(self, command: Sequence[str]) -> list[str]:
        """Give the command that runs another one there."""
        return self.place.inside(command)

    def environment(self) -> dict[str, str]:
        """Give the variables of both."""
        return self.place.environment() | (self.mode.variables if self.mode else {})

    def hosts(self, ranks: int) -> list[str]:
        """Give mpiexec's words for so many ranks on each node."""
        return self.place.hosts(ranks)


@dataclass(frozen=True)
class Sizes:
    """How much is measured: launches in a repetition, and in a launch steps, operations and seconds."""

    launches: int = 2
    modes: tuple[Mode, ...] = MODES
    sage: float = 4e-3
    sweep: float = 3.5e-3
    steps: int = 40
    rounds: int = 2_000
    transfers: int = 7
    idle: float = 0.5
    barriers: int = 150
    operations: int = 400
    noted: int = 60
    emulated: bool = True


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all of it; every repetition is some launches, all in turn."""
    bed = _Bed(sizes, usable_cores()[:2])
    with nodes(NODES, RATE, emulated=sizes.emulated) as place:
        there = bed.on_nodes(place) if place.cluster else []
        if sizes.emulated and not there:
            say(f"nothing is measured on nodes: {place.words}")
        samples = in_turn(repeats * sizes.launches, [*bed.measurers(), *there], say)
    proxies = [
        _proxy(key, found, ranks, bed, samples)
        for ranks in bed.ranks
        for table in (TARGETS, AS_THEY_ARE)
        for key, found in table.items()
    ]
    far = [
        _proxy(key, found, ranks, bed, samples, FAR)
        for ranks in FAR_RANKS
        for key, found in ON_NODES.items()
        if there
    ]
    return [*proxies, *far, *_operations(samples), *_strobes(samples)]


class _Bed:
    """The amounts of work, and the results that they must have."""

    def __init__(self, sizes: Sizes, cores: list[int]) -> None:
        self.sizes, self.cores = sizes, cores
        self.ranks = (len(cores), 2 * len(cores))
        self.tool = Mode(TOOL, environment(configuration_of("bcs"), find_mpi()))
        with confined_to(cores[-1:]):
            self.work = sage.work(sizes.sage), sweep3d.work(sizes.sweep)
        self.expected = {ranks: self._expect(ranks) for ranks in {*self.ranks, *FAR_RANKS}}

    def _expect(self, ranks: int) -> dict[str, str]:
        swept = sweep3d.oracle(ranks, self.work[1], self.sizes.steps)
        return {"sage": sage.oracle(ranks, self.work[0], self.sizes.steps), "sweep": swept, "ahead": swept}

    def measurers(self) -> list[Callable[[], dict[str, float]]]:
        """Give what a round consists of."""
        found: list[Callable[[], dict[str, float]]] = []
        for ranks in self.ranks:
            found += [functools.partial(self.proxies, ranks, "mpi", EARLY, mode) for mode in self.sizes.modes]
            found += [functools.partial(self.proxies, ranks, *one, HERE) for one in OURS]
            found.append(functools.partial(self.proxies, ranks, "mpi", EARLY, self.tool))
        found += [
            functools.partial(self.operations, "mpi", "mpi", MODES[0]),
            functools.partial(self.operations, "bcs", "bcs", HERE),
            functools.partial(self.operations, TOOL, "mpi", self.tool),
        ]
        return [*found, self.strobes]

    def proxies(self, ranks: int, name: str, slice: int, mode: Surroundings) -> dict[str, float]:
        """Seconds of a step of each proxy."""
        found = run_peer(
            "bcs.proxies", ranks, name, slice, self.sizes.steps, *self.work, cores=self.cores, place=mode
        )
        key = mode.name if isinstance(mode, Mode) else name
        self._check(found, ranks, key)
        return {f"{ranks} {key} {proxy}": one["seconds"] for proxy, one in found.items()}

    def on_nodes(self, place: Place) -> list[Callable[[], dict[str, float]]]:
        """Give what of a round is measured on the nodes of a cluster."""
        found: list[Callable[[], dict[str, float]]] = []
        for ranks in FAR_RANKS:
            for mode in self.sizes.modes:
                found.append(functools.partial(self.far_proxies, ranks, "mpi", OnNodes(place, mode)))
            found.append(functools.partial(self.far_proxies, ranks, "bcs", OnNodes(place)))
        return found

    def far_proxies(self, ranks: int, name: str, there: OnNodes) -> dict[str, float]:
        """Seconds of a step of each proxy on nodes."""
        each = ranks // NODES
        words = name, FAR_SLICE, self.sizes.steps, *self.work
        found = run_peer("bcs.proxies", ranks, *words, place=there, each=each)
        key = there.mode.name if there.mode else name
        self._check(found, ranks, key)
        return {f"{FAR}{ranks} {key} {proxy}": one["seconds"] for proxy, one in found.items()}

    def _check(self, found: dict[str, Any], ranks: int, key: str) -> None:
        for proxy, digest in self.expected[ranks].items():
            if found[proxy]["digest"] != digest:
                raise RunError(f"{proxy} on {ranks} ranks, {key}: the results are not the serial program's")

    def operations(self, title: str, name: str, mode: Surroundings) -> dict[str, float]:
        """Single operations of two ranks."""
        found = run_peer(
            *("bcs.operations", 2, name, self.sizes.rounds, self.sizes.transfers, self.sizes.idle),
            cores=self.cores,
            place=mode,
        )
        return {f"{title} {key}": value for key, value in found.items()}

    def strobes(self) -> dict[str, float]:
        """Slices of two ranks, and what it costs to note them."""
        sizes = self.sizes
        words = sizes.barriers, sizes.operations, sizes.noted, self.work[0]
        return run_peer("bcs.strobes", 2, *words, cores=self.cores)


def _proxy(
    key: str,
    found: tuple[str, str, tuple[float, float]],
    ranks: int,
    bed: _Bed,
    samples: Samples,
    place: str = "",
) -> Figure:
    """Compare with the configuration of MPI whose median is the least."""
    title, name, targets = found
    cores = len(bed.cores)
    proxy = "sweep" if key == "strict" else key
    times = {mode.name: samples[f"{place}{ranks} {mode.name} {proxy}"] for mode in bed.sizes.modes}
    best = min(times, key=lambda mode: statistics.median(times[mode]))
    ours, mpi = samples[f"{place}{ranks} {name} {proxy}"], times[best]
    peer = Against(f"MPI, thread level {best}", "ms", _scaled(mpi, 1e3), _scaled(ours, 1e3))
    where = f"{ranks} ranks on " + (f"{NODES} nodes" if place else count_text(cores, "core"))
    target = targets[ranks > (NODES if place else cores)]
    return Figure(f"{title}, {where}, over MPI's best", "×", "<=", target, ratios(ours, mpi), peer)


def _scaled(samples: Sequence[float], factor: float) -> tuple[float, ...]:
    return tuple(factor * sample for sample in samples)


def _operations(samples: Samples) -> list[Figure]:
    peer = f"MPI, thread level {MODES[0].name}"

    def beside(key: str, unit: str) -> tuple[tuple[float, ...], Against]:
        return tuple(samples[f"bcs {key}"]), Against(peer, unit, tuple(samples[f"mpi {key}"]))

    return [
        Figure("8 bytes one way, both ranks blocked", "µs", "<=", 10.0, *beside("hop", "µs")),
        Figure(
            *(
                f"8 bytes one way, both ranks blocked, {TOOL}",
                "µs",
                "<=",
                10.0,
                tuple(samples[f"{TOOL} hop"]),
            ),
            Against("pse.bcs.Comm", "µs", tuple(samples["bcs hop"])),
        ),
        *(
            Figure(f"16 MiB, {who}: overlap", "%", ">=", 80.0, *beside(f"overlap {key}", "%"))
            for key, who in OVERLAPS.items()
        ),
        Figure("rank that waits for a message", "% CPU", "<=", 0.1, *beside("idle", "% CPU")),
    ]


def _strobes(samples: Samples) -> list[Figure]:
    waited, timer = samples["blocked"], "a timer beside the same computing"
    paper = Against("1.5 slices, as in the paper", "slices", (1.5,) * len(waited), tuple(waited))
    plain = Against("steps without notes", "ms", tuple(samples["emds off"]), tuple(samples["emds on"]))
    permission = "SCHED_FIFO permitted" if _may_be_fifo() else "SCHED_FIFO not permitted"
    away = tuple(100 * abs(one / 1.5 - 1) for one in waited)
    return [
        Figure("8-byte allreduce, strict: away from 1.5 slices", "%", "<=", 10.0, away, paper),
        Figure(
            *("strobes late by more than a tenth of 250 µs", "%", "<=", 1.0, tuple(samples["late"])),
            Against(timer, "%", tuple(samples["timer late"])),
        ),
        Figure(
            *(f"period jitter of strobes, p99, {permission}", "µs", "<=", 20.0, tuple(samples["jitter"])),
            Against(timer, "µs", tuple(samples["timer jitter"])),
        ),
        Figure(
            "notes of every slice (EMDS), SAGE-like", "%", "<=", 0.11, tuple(samples["emds share"]), plain
        ),
        Figure(
            *("notes of every call (MMDS), SAGE-like", "%", "<=", 0.07, tuple(samples["mmds share"])),
            Against("the paper's run of SAGE", "%", (0.07,) * len(waited)),
        ),
        Figure(
            *("run time that the notes of calls miss", "%", "<=", 0.01, tuple(samples["unaccounted"])),
            Against("the paper's run", "%", (0.0035,) * len(waited)),
        ),
    ]


def _may_be_fifo() -> bool:
    """Say whether this process may have a real-time priority: it has one for a moment."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameters)
    return True
