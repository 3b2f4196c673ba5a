"""What it costs that all processors go on together, and how that grows.

A round is a PARALLEL of empty modules whose result, a reduced scalar, every processor waits for.  It is
measured with 1, 2, 4 … 64 ranks of this machine, which share its cores: each has to be woken once in every
round, so its time grows at least with the ranks on a core.  Beside it: MPI's allreduce of 8 bytes.  How it
would grow where every processor has a core of its own is simulated, along the engine's own tree, with what a
hop between nodes costs here (its α and β are fitted to hops of several sizes) and what a rank spends on a
message.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.scaling_model import Model, fit_line, power, simulate
from pse.bench import Against, Figure, Samples, Surroundings, in_turn, run_peer, run_program, usable_cores
from pse.runtime.distribution import ARITY

PROGRAM = str(Path(__file__).with_name("control.coven"))

HEAD_BYTES = 128
"""Bytes of a message that carries a scalar between nodes."""

HOP = 10.0
"""µs: what a step of the tree may take, for the targets."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition."""

    ranks: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    rounds: int = 4096
    """Over all ranks: so many divided by their number, for each number."""
    rounds_by_hand: int = 512
    free: int = 20_000
    """Rounds in which nobody waits."""
    hop_bytes: tuple[int, ...] = (64, 1024, 16_384, 65_536)
    hops: int = 300
    processors: tuple[int, int] = (64, 100_000)
    """From how many to how many the simulation looks."""


class Apart(Surroundings):
    """Every rank of this machine as if on a node of its own, with TCP in between."""

    def environment(self) -> dict[str, str]:
        """Give MPICH's variables for that."""
        return {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all of it, in turn; then simulate."""
    measurers: list[Callable[[], Mapping[str, float]]] = [functools.partial(_hops, sizes)]
    for ranks in sizes.ranks:
        measurers.append(functools.partial(_rounds, ranks, sizes))
        measurers.append(functools.partial(_by_hand, ranks, sizes))
    samples = in_turn(repeats, measurers, say)
    return [*(_figure(ranks, samples) for ranks in sizes.ranks), *_growth(samples, sizes)]


def _rounds(ranks: int, sizes: Sizes) -> dict[str, float]:
    """µs of a round in which each waits for all, and of one in which nobody waits."""
    rounds = max(sizes.rounds // ranks, 2)
    defines = {"rounds": rounds, "free": sizes.free}
    times = run_program(PROGRAM, defines, processors=ranks)["t"].reshape(ranks, 4)
    free, tied = times[:, 1::2].max(axis=0) - times[:, 0::2].min(axis=0)
    return {f"{ranks}": float(tied) / rounds / 1000, f"{ranks} free": float(free) / sizes.free / 1000}


def _by_hand(ranks: int, sizes: Sizes) -> dict[str, float]:
    rounds = max(sizes.rounds_by_hand // ranks, 2)
    return {f"{ranks} mpi": run_peer("allreduce", ranks, rounds)["mean"]}


def _hops(sizes: Sizes) -> dict[str, float]:
    """µs of a hop between nodes, for tags of several sizes."""
    cores = (usable_cores() * 2)[:2]
    found = {}
    for size in sizes.hop_bytes:
        defines = {"bytes": size, "quick": sizes.hops, "slow": 0, "core_a": cores[0], "core_b": cores[1]}
        came = run_program("hop.coven", defines, place=Apart())["a"][:, 0]
        found[f"hop {size}"] = float(np.median(np.diff(came))) / 2 / 1000
    return found


def _figure(ranks: int, samples: Samples) -> Figure:
    """A round; its target is the tree's growth, times the ranks that share a core."""
    target = HOP * (1 + math.log2(ranks)) * max(1.0, ranks / len(usable_cores()))
    name = f"round of PARALLEL, {ranks} rank{'s' * (ranks > 1)} on {len(usable_cores())} cores"
    by_hand = Against("MPI's allreduce of 8 bytes", "µs", tuple(samples[f"{ranks} mpi"]))
    return Figure(name, "µs", "<=", round(target, 1), tuple(samples[f"{ranks}"]), by_hand)


def _growth(samples: Samples, sizes: Sizes) -> list[Figure]:
    """Rounds that nothing ties together, and growth: measured on shared cores, simulated where none is."""
    most, cores = sizes.ranks[-1], len(usable_cores())
    figures = [
        Figure(
            *(f"round in which nobody waits, {most} ranks on {cores} cores", "µs", "<="),
            *(round(1.2 * max(1.0, most / cores), 1), tuple(samples[f"{most} free"])),
            Against("where each waits for all", "µs", tuple(samples[f"{most}"])),
        )
    ]
    crowded = [ranks for ranks in sizes.ranks if ranks > cores]
    if len(crowded) > 1:
        name = f"rounds grow with the number of ranks, {crowded[0]} to {most}, to the power of"
        ours, theirs = (_powers(crowded, samples, who) for who in ("", " mpi"))
        figures.append(Figure(name, "", "<=", 1.2, ours, Against("MPI's allreduce", "", theirs)))
    return figures + _simulated(samples, sizes)


def _powers(crowded: list[int], samples: Samples, who: str) -> tuple[float, ...]:
    series = [samples[f"{ranks}{who}"] for ranks in crowded]
    return tuple(power(crowded, times) for times in zip(*series, strict=True))


def _simulated(samples: Samples, sizes: Sizes) -> list[Figure]:
    """A round of few, which should gain by the tree, and of many: longer as the tree is higher, and 20 %."""
    few, many = sizes.processors
    models = [_model(samples, sizes, turn) for turn in range(len(samples[f"hop {sizes.hop_bytes[0]}"]))]
    alpha, beta, handling = (
        statistics.median(getattr(model, name) for model in models)
        for name in ("latency", "per_byte", "handling")
    )
    words = f"α {1e6 * alpha:.3g} µs, β {1e9 * beta:.3g} ns/B, {1e6 * handling:.3g} µs for a message"
    times = {
        (processors, arity): tuple(1e6 * simulate(processors, one, arity, HEAD_BYTES) for one in models)
        for processors in sizes.processors
        for arity in (ARITY, processors)
    }
    targets = {few: statistics.median(times[few, few])}
    targets[many] = 1.2 * math.log(many, few) * statistics.median(times[few, ARITY])
    return [
        Figure(
            *(f"simulated round, {processors:,} processors with a core each; {words}", "µs", "<="),
            *(round(targets[processors], 1), times[processors, ARITY]),
            Against(f"without a tree, {processors:,} processors", "µs", times[processors, processors]),
        )
        for processors in sizes.processors
    ]


def _model(samples: Samples, sizes: Sizes, turn: int) -> Model:
    """What a message costs, from one repetition.

    With so many ranks that the cores are never idle, a round's time on all cores is the work of its messages:
    one up and one down for each rank, which somebody sends and somebody receives.
    """
    ranks = sizes.ranks[-1]
    handling = samples[f"{ranks}"][turn] * min(len(usable_cores()), ranks) / (4 * ranks)
    alpha, beta = fit_line(sizes.hop_bytes, [samples[f"hop {size}"][turn] for size in sizes.hop_bytes])
    return Model(alpha / 1e6, beta / 1e6, handling / 1e6)
