"""``pse bench hop``: a TPH with a 1 KiB tag goes from one rank's sequencer to another's on one node.

Every hop is a whole one: the module returns, its call is accounted, the tag is handed over, the other
rank wakes, finds its call ready and calls the module there.  Beside it: the same with mpi4py's buffers, and
the bare futex hop, both asleep, that no sleeping wait can beat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pse.bench._figures import Against, Figure
from pse.bench._floors import futex_hops
from pse.bench._running import Samples, in_turn, ratios, run_peer, run_program, usable_cores

TAG_BYTES = 1024
LINGER = 100_000
"""ns that a rank computes before it hands over, so that the other is sure to be asleep."""

WARM_UP = 0.1
"""Share of the hops that come first and don't count."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: hops without a pause, and after one."""

    quick: int = 20_000
    slow: int = 800
    rounds: int = 3_000


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure; figures that need two cores are left out where there is only one."""
    cores = usable_cores()
    measurers: list[Callable[[], Mapping[str, float]]] = [lambda: _one_core(cores[0], sizes)]
    if len(cores) > 1:
        measurers += [lambda: _two_cores(cores[:2], sizes), lambda: _ring(cores[:2], sizes)]
    samples = in_turn(repeats, measurers, say)
    return (_hops(samples) if len(cores) > 1 else []) + _against_futex(samples)


def _hops(samples: Samples) -> list[Figure]:
    return [
        Figure(
            *("1 KiB tag, a core for each rank", "µs", "<=", 4.0, tuple(samples["two"])),
            Against("mpi4py buffers, 2 ranks", "µs", tuple(samples["two mpi"])),
        ),
        Figure(
            *("1 KiB tag, 4 ranks on 2 cores", "µs", "<=", 6.0, tuple(samples["ring"])),
            Against("mpi4py buffers, 4 ranks on 2 cores", "µs", tuple(samples["ring mpi"])),
        ),
    ]


def _against_futex(samples: Samples) -> list[Figure]:
    return [
        Figure(
            *(f"1 KiB tag over a bare futex hop, {title}", "×", "<=", 1.3),
            ratios(samples[key], samples[f"{key} futex"]),
            Against(f"bare futex, {title}", "µs", tuple(samples[f"{key} futex"]), tuple(samples[key])),
        )
        for key, title in (
            ("one", "both ranks on one core"),
            ("one asleep", "both asleep on one core"),
            ("across asleep", "both asleep on two cores"),
        )
        if key in samples
    ]


def _one_core(core: int, sizes: Sizes) -> dict[str, float]:
    quick, slow = _to_and_fro(core, core, sizes)
    return {
        "one": quick,
        "one asleep": slow,
        "one futex": _median(futex_hops(core, core, 2 * sizes.quick)),
        "one asleep futex": _median(futex_hops(core, core, 2 * sizes.slow, LINGER)),
    }


def _two_cores(cores: list[int], sizes: Sizes) -> dict[str, float]:
    quick, slow = _to_and_fro(cores[0], cores[1], sizes)
    return {
        "two": quick,
        "across asleep": slow,
        "two mpi": run_peer("ring", 2, TAG_BYTES, sizes.quick, *cores)["hop"],
        "across asleep futex": _median(futex_hops(cores[0], cores[1], 2 * sizes.slow, LINGER)),
    }


def _ring(cores: list[int], sizes: Sizes) -> dict[str, float]:
    begins = run_program("ring.coven", {"bytes": TAG_BYTES, "rounds": sizes.rounds}, cores=cores)["a"][:, 0]
    return {
        "ring": _median(np.diff(begins) / 4),
        "ring mpi": run_peer("ring", 4, TAG_BYTES, sizes.rounds, cores=cores)["hop"],
    }


def _to_and_fro(core_a: int, core_b: int, sizes: Sizes) -> tuple[float, float]:
    """Run the program; gives µs of a hop without a pause, from whole rounds, and of one after a pause."""
    defines = {"bytes": TAG_BYTES, "quick": sizes.quick, "slow": sizes.slow, "linger": LINGER}
    defines |= {"core_a": core_a, "core_b": core_b}
    times = run_program("hop.coven", defines, cores={core_a, core_b})
    quick = np.diff(times["a"][: sizes.quick, 0]) / 2
    slow = hop_times(times["a"][sizes.quick :], times["b"][sizes.quick :])
    return _median(quick), _median(slow)


def hop_times(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Times of single hops, from when a token left to when it came.

    Parameters
    ----------
    a, b : numpy.ndarray
        f8[n, 2], ns: when it came to either side and when it left; `a` has it first.

    Returns
    -------
    numpy.ndarray
        f8[2 n - 1], ns.
    """
    hops = np.empty(2 * len(a) - 1)
    hops[0::2] = b[:, 0] - a[:, 1]
    hops[1::2] = a[1:, 0] - b[:-1, 1]
    return hops


def _median(hops: NDArray[np.float64]) -> float:
    """Median of times in ns, without those of the warm-up; gives µs."""
    return float(np.median(hops[int(WARM_UP * len(hops)) :])) / 1000
