"""``pse bench oversubscribe``: more threads than cores.

Two threads on one core, one computes, the other communicates: 8 units, for which the core is needed 8 times
as long as the computing takes, and no longer.  Computing is an amount of work; communication is emulated as
what a core sees of it while a network card has the work: time, in which the core is free.  Beside it: the
same by hand on two MPI ranks, where a rank that waits takes the core from the one that computes.

And an allreduce of 8 bytes among the partitions of four ranks on two cores, beside MPI's on as many.  Next
rooms: ``programs/oversubscribe.coven``, ``programs/allreduce.coven``, ``peers/pipeline.py``,
``peers/allreduce.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pse.bench._calibrate import steps_in
from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, in_turn, run_peer, run_program, usable_cores

RANKS = 4
"""Ranks that share two cores in the allreduce."""


@dataclass(frozen=True)
class Case:
    """Seconds of work in a unit, seconds of communication, and what all units may take."""

    compute: float
    communicate: float
    target: float


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition."""

    units: int = 8
    cases: tuple[Case, ...] = (Case(0.25, 0.05, 2.10), Case(0.25, 0.25, 2.27))
    rounds: int = 2000
    """Allreduces of each partition."""
    rounds_by_hand: int = 200


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure every case and its peer, in turn."""
    core = usable_cores()[-1]
    measurers = [
        functools.partial(_case, number, case, sizes.units, core) for number, case in enumerate(sizes.cases)
    ]
    samples = in_turn(repeats, [*measurers, functools.partial(_allreduce, sizes)], say)
    figures = [_figure(number, case, sizes.units, samples) for number, case in enumerate(sizes.cases)]
    by_hand = Against(f"MPI's allreduce, {RANKS} ranks without threads", "µs", tuple(samples["mpi"]))
    name = f"allreduce of 8 bytes among partitions, {RANKS} ranks on 2 cores"
    return [*figures, Figure(name, "µs", "<=", 100.0, tuple(samples["allreduce"]), by_hand)]


def _figure(number: int, case: Case, units: int, samples: Samples) -> Figure:
    name = f"{units} × ({case.compute:g} s compute + {case.communicate:g} s communication), 2 threads, 1 core"
    by_hand = Against("two ranks by hand, mpi4py", "s", tuple(samples[f"peer {number}"]))
    return Figure(name, "s", "<=", case.target, tuple(samples[f"ours {number}"]), by_hand)


def _case(number: int, case: Case, units: int, core: int) -> dict[str, float]:
    """Seconds of all units, ours and by hand, the work calibrated just before."""
    steps = steps_in(case.compute, core)
    defines = {"units": units, "steps": steps, "seconds": case.communicate}
    times = run_program("oversubscribe.coven", defines, cores=[core])
    by_hand = run_peer("pipeline", 2, units, steps, case.communicate, cores=[core])
    return {
        f"ours {number}": float(times["c"][1] - times["b"][0]) / 1e9,
        f"peer {number}": by_hand["seconds"],
    }


def _allreduce(sizes: Sizes) -> dict[str, float]:
    """Median µs of an allreduce, at the first partition, and of MPI's at the first rank."""
    cores = usable_cores()[:2]
    begins = run_program("allreduce.coven", {"rounds": sizes.rounds}, processors=RANKS, cores=cores)["t"]
    rounds = np.diff(begins.reshape(RANKS, -1)[0])
    by_hand = run_peer("allreduce", RANKS, sizes.rounds_by_hand, "single", cores=cores)
    return {"allreduce": float(np.median(rounds)) / 1000, "mpi": by_hand["median"]}
