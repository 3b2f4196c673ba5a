"""Measurements whose truth is known: exchanges and cycles with planted costs, noise and disturbances."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pse.emulate import CYCLE, EXCHANGE, Results

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
    drift: float | None = None,
    spikes: float = 0.02,
    seed: int = 0,
) -> NDArray[np.void]:
    """Give exchanges of neighbouring ranks: noise of messages, drift of launches, and some late messages."""
    source = np.random.default_rng(seed)
    grid = np.meshgrid(np.arange(launches), np.arange(ranks), sizes, np.arange(repetitions), indexing="ij")
    table = np.zeros(grid[0].size, EXCHANGE)
    for name, column in zip(("launch", "rank", "size", "repetition"), grid, strict=True):
        table[name] = column.ravel()
    table["partner"] = table["rank"] ^ 1
    factors = np.exp(source.normal(0, noise if drift is None else drift, launches))[table["launch"]]
    table["seconds"] = cost(table["size"]) * factors * np.exp(source.normal(0, noise, len(table)))
    late = source.random(len(table)) < spikes
    table["seconds"] += late * source.exponential(50e-6, len(table))
    return table


def planted_cycles(
    *,
    launches: int = 10,
    ranks: int = 4,
    cycles: int = 400,
    sizes: Sequence[int] = (1024,),
    load: float = 50.0,
    noise: float = 0.05,
    drift: float = 0.01,
    spikes: float = 0.01,
    seed: int = 0,
) -> NDArray[np.void]:
    """Give cycles of one application: autocorrelated noise, launches that differ a little, late messages."""
    source = np.random.default_rng(seed)
    shape = (launches, ranks, len(sizes), cycles)
    table = np.zeros(shape, CYCLE)
    axes = (np.arange(launches), np.arange(ranks), np.array(sizes), np.arange(cycles))
    for axis, (name, values) in enumerate(zip(("launch", "rank", "size", "cycle"), axes, strict=True)):
        table[name] = np.expand_dims(values, [other for other in range(4) if other != axis])
    white = source.normal(0, noise, shape)
    smooth = 0.7 * white + 0.7 * np.roll(white, 1, axis=3)
    level = source.normal(0, drift, (launches, 1, 1, 1))
    plain = eager_then_rendezvous(table["size"]) * 10
    table["load"], table["communication"] = load, plain * np.exp(smooth + level)
    late = source.random(shape) < spikes
    table["communication"] += late * source.exponential(5e-5, shape)
    table["calculated"] = plain * (100 / load - 1)
    table["compute"] = table["calculated"] * np.exp(source.normal(0, 1e-4, shape))
    table["barrier"] = table["communication"].max(axis=1, keepdims=True) - table["communication"] + 1e-6
    table["predicted"] = plain + table["calculated"]
    lasted = table["compute"] + table["communication"] + table["barrier"]
    table["start"] = np.cumsum(lasted.reshape(launches, ranks, -1), axis=2).reshape(shape) - lasted
    return table.ravel()


def planted_results(
    cycles: NDArray[np.void] | None = None, exchanges: NDArray[np.void] | None = None, name: str = "halo"
) -> Results:
    """Give results of one application."""
    return Results(
        np.zeros(0, CYCLE) if cycles is None else cycles,
        np.zeros(0, EXCHANGE) if exchanges is None else exchanges,
        {"applications": [{"name": name, "pattern": "pairwise"}]},
    )


def planted_loggp(launch: int) -> dict[str, object]:
    """Give the facts of a launch that measured the parameters of LogGP on two ranks: L is 1 to 3 µs."""
    own = {"send_overhead": 3e-7, "receive_overhead": 4e-7, "gap": 5e-7, "gap_per_byte": 1e-10}
    ranks = [{"rank": rank, "partner": 1 - rank, **own, "latency": 1e-6 + launch * 1e-6} for rank in range(2)]
    return {"launch": launch, "loggp": ranks}
