"""What a run's messages tell of the links between its nodes: rate, latency, and how long messages queue."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pse.emulate import SMALL_MESSAGE

CLEAN, ENOUGH = 0.9, 0.05
"""A transfer tells a link's rate if its ends were in no call for this part of it, and if there are enough."""
DEFAULT_RATE = 2e9
"""Bytes a second of a link that the trace says nothing of."""


def fit(messages: NDArray[np.void], calls: NDArray[np.void]) -> tuple[float, float, float]:
    """Fit what a link does to messages: bytes over the time they were under way.

    Parameters
    ----------
    messages : structured array, shape (m,)
        Those that went from node to node, as `Trace.messages` has them.
    calls : structured array, shape (n,)
        Calls of modules, as `Trace.module_calls` has them: a rank in one doesn't look after its messages.

    Returns
    -------
    rate : float
        Bytes a second.
    latency, queueing : float
        Seconds that a message takes, and that it may stand behind others.
    """
    times = (messages["received"].astype(float) - messages["sent"].astype(float)) / 1e9
    small = times[(messages["bytes"] <= SMALL_MESSAGE) & (times > 0)]
    latency = float(np.clip(np.quantile(small, 0.25), 1e-6, 5e-2)) if len(small) else 1e-4
    queueing = float(max(np.quantile(small, 0.9) - latency, 0.0)) if len(small) else 0.0
    large = messages[(messages["bytes"] > SMALL_MESSAGE) & (times > 0)]
    if not len(large):
        return DEFAULT_RATE, latency, queueing
    found = [
        stretch
        for column in ("sender", "receiver")
        for rank in np.unique(large[column])
        for stretch in _stretches(large[large[column] == rank], calls)
    ]
    table = np.array(found)
    clean = table[table[:, 2] >= CLEAN * table[:, 1]]
    chosen = clean if clean[:, 0].sum() >= ENOUGH * table[:, 0].sum() else table
    rates = chosen[:, 0] / np.maximum(chosen[:, 2] - latency, 1e-6)
    return _weighted_quantile(rates, chosen[:, 0], 0.5), latency, queueing


def _stretches(messages: NDArray[np.void], calls: NDArray[np.void]) -> list[tuple[float, float, float]]:
    """Bytes and seconds of each stretch of time in which some message was under way, and those without calls.

    An end that is in a call does not look after its messages, so those seconds may not count.
    """
    order = np.argsort(messages["sent"])
    found: list[tuple[float, float, float]] = []
    begin, end, moved = 0, -1, 0.0
    ends: set[int] = set()

    def close() -> None:
        if moved:
            found.append((moved, (end - begin) / 1e9, _idle(begin, end, ends, calls)))

    for message in messages[order]:
        if message["sent"] > end:
            close()
            begin, end, moved, ends = int(message["sent"]), -1, 0.0, set()
        end = max(end, int(message["received"]))
        moved += float(message["bytes"])
        ends |= {int(message["sender"]), int(message["receiver"])}
    close()
    return found


def _idle(begin: int, end: int, ranks: set[int], calls: NDArray[np.void]) -> float:
    """Seconds of a stretch of time in which none of some ranks was in a call."""
    busy = calls[np.isin(calls["rank"], list(ranks)) & (calls["leave"] > begin) & (calls["enter"] < end)]
    order = np.argsort(busy["enter"])
    free, last = 0.0, float(begin)
    for enter, leave in zip(busy["enter"][order], busy["leave"][order], strict=True):
        free += max(0.0, float(enter) - last)
        last = max(last, float(leave))
    return (free + max(0.0, end - last)) / 1e9


def _weighted_quantile(values: NDArray[np.float64], weights: NDArray[np.float64], quantile: float) -> float:
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    place = min(int(np.searchsorted(sums, quantile * sums[-1])), len(values) - 1)
    return float(values[order][place])
