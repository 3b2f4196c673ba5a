"""``pse bench handover``: what it costs that 256 MiB change hands.

By descriptor it is a hop like any other, and the receiver's first pass over the array is like any other pass:
nothing was copied, no page is missing.  Without shared memory it is a message of MPI's.  Beside it: the hop
of a small tag, a window that a careful hand shares between ranks, and a raw send.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pse.bench._figures import Against, Figure
from pse.bench._running import Samples, in_turn, ratios, run_peer, run_program, usable_cores

AS_WARM = 1.1
"""A pass that takes no longer than so many times a warm one met no page fault: the rest is noise."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured in one repetition: bytes, hand-overs, ns to make each array, messages."""

    large: int = 256 << 20
    small: int = 1024
    rounds: int = 6
    hold: int = 40_000_000
    messages: int = 6


def measure(repeats: int, sizes: Sizes, say: Callable[[str], None]) -> list[Figure]:
    """Measure all of it."""
    samples = in_turn(repeats, [lambda: _described(sizes), lambda: _sent(sizes)], say)
    return _described_figures(samples) + _sent_figures(samples)


def _described_figures(samples: Samples) -> list[Figure]:
    small = Against("hop of 1 KiB", "µs", tuple(samples["small"]), tuple(samples["large"]))
    window = Against(
        "first pass over a fresh MPI shared window", "ms", tuple(samples["window"]), tuple(samples["fresh"])
    )
    warm = Against("warm pass", "ms", tuple(samples["second"]), tuple(samples["first"]))
    ratio = ratios(samples["large"], samples["small"])
    first = ratios(samples["first"], samples["second"])
    fresh = ratios(samples["fresh"], samples["second"])
    return [
        Figure("hop of 256 MiB over hop of 1 KiB", "×", "<=", 1.5, ratio, small),
        Figure("receiver's first pass over a warm pass", "×", "<=", AS_WARM, first, warm),
        Figure("the same, the very first hand-over", "×", "<=", AS_WARM, fresh, window),
    ]


def _sent_figures(samples: Samples) -> list[Figure]:
    raw = Against("raw MPI send of 256 MiB", "GB/s", tuple(samples["raw"]), tuple(samples["sent"]))
    share = ratios(samples["sent"], samples["raw"])
    return [Figure("bandwidth without shared memory, of a raw MPI send's", "×", ">=", 0.8, share, raw)]


def _described(sizes: Sizes) -> dict[str, float]:
    defines = {"large": sizes.large, "small": sizes.small, "rounds": sizes.rounds, "hold": sizes.hold}
    kept = run_program("handover.coven", defines)
    hops = kept["b"][:, 0] - kept["a"][:, 0]
    large = kept["b"][0::2]
    return {
        "large": float(np.median(hops[2::2])) / 1e3,
        "small": float(np.median(hops[3::2])) / 1e3,
        "first": float(np.median(large[1:, 1])) / 1e6,
        "second": float(np.median(large[1:, 2])) / 1e6,
        "fresh": float(large[0, 1]) / 1e6,
        "window": run_peer("window", 2, sizes.large)["first"],
    }


def _sent(sizes: Sizes) -> dict[str, float]:
    """Send the large array to and fro without shared memory, and raw; both in GB/s."""
    cores = (usable_cores() * 2)[:2]
    defines = {"bytes": sizes.large, "quick": sizes.messages, "slow": 0}
    defines |= {"core_a": cores[0], "core_b": cores[1]}
    came = run_program("hop.coven", defines, options=["shared_memory=off"])["a"][:, 0]
    hop = float(np.median(np.diff(came)[1:])) / 2
    raw = run_peer("ring", 2, sizes.large, sizes.messages, *cores)["hop"] * 1000
    return {"sent": sizes.large / hop, "raw": sizes.large / raw}
