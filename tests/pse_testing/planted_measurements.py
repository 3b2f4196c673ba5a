"""Measurements whose truth is known: exchanges and cycles with planted costs, noise and disturbances."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pse.emulate import EXCHANGE

SIZES = (0, *(1 << power for power in range(21)))


def eager_then_rendezvous(size: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give one-way times in s with a switch of protocols behind 8 KiB."""
    return np.where(size <= 8192, 0.94e-6 + 0.12e-9 * size, 2.5e-6 + 0.078e-9 * size)


def planted_exchanges(
    cost: Callable[[NDArray[np.int64]], NDArray[np.float64]] = eager_then_rendezvous,
    *,
    launches: int = 12,
    ranks: int = 2,
    repetitions: int = 10,
    sizes: Sequence[int] = SIZES,
    noise: float = 0.02,
    spikes: float = 0.02,
    seed: int = 0,
) -> NDArray[np.void]:
    """Give exchanges of neighbouring ranks: noise by message and by launch, and some late messages."""
    source = np.random.default_rng(seed)
    grid = np.meshgrid(np.arange(launches), np.arange(ranks), sizes, np.arange(repetitions), indexing="ij")
    table = np.zeros(grid[0].size, EXCHANGE)
    for name, column in zip(("launch", "rank", "size", "repetition"), grid, strict=True):
        table[name] = column.ravel()
    table["partner"] = table["rank"] ^ 1
    factors = np.exp(source.normal(0, noise, launches))[table["launch"]]
    table["seconds"] = cost(table["size"]) * factors * np.exp(source.normal(0, noise, len(table)))
    late = source.random(len(table)) < spikes
    table["seconds"] += late * source.exponential(50e-6, len(table))
    return table
