"""Spells in which a machine was slower than before and after: what else ran on it, the trace doesn't say.

All calls of a call site and rank are expected to take what most of them take.  A spell is a part of the run
in which the calls of all ranks of a host together took longer than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pse.advise.model._cost_model import Floats, MeasuredCosts
from pse.text import share_text, time_text

WINDOWS = 20
"""Parts of a run that are looked at."""
SLOW = 1.15
"""Times as long as usual; runs of one program differ by up to a tenth anyway."""
LEAST_CALLS = 4
"""Fewer calls of a site don't tell what is usual."""
UNLIKE = 5.0
"""Standard deviations of the other parts, by their median deviation, that a slow one is off."""
LEAST_LOSS = 0.04
"""Part of the run time that a spell must cost."""


@dataclass(frozen=True)
class SlowSpell:
    """When calls of a host took longer, seconds from the run's begin, and seconds that this cost a rank."""

    host: str
    begin: float
    end: float
    lost: float
    factor: float

    def __str__(self) -> str:
        begin, end = (time_text(1e9 * moment) for moment in (self.begin, self.end))
        return (
            f"from {begin} to {end} calls on {self.host} took {share_text(self.factor - 1)} longer than the"
            " same calls before and after: unless they had more to do, something else slowed the machine;"
            " record the run again"
        )


def slow_spells(measured: MeasuredCosts) -> list[SlowSpell]:
    """Find the spells of a run; none if its calls differ all the time."""
    edges = np.linspace(min(measured.begins.values()), float(measured.calls["leave"].max()), WINDOWS + 1)
    hosts: dict[str, list[int]] = {}
    for rank in measured.definitions.ranks:
        hosts.setdefault(rank.host, []).append(rank.rank)
    return [spell for host, ranks in hosts.items() for spell in _of_host(measured, host, ranks, edges)]


def _of_host(measured: MeasuredCosts, host: str, ranks: list[int], edges: Floats) -> Iterator[SlowSpell]:
    took, usual = np.zeros(WINDOWS), np.zeros(WINDOWS)
    calling = [calls for rank in ranks if len(calls := measured.calls[measured.calls["rank"] == rank])]
    for calls in calling:
        walls = calls["leave"].astype(float) - calls["enter"].astype(float)
        took += _in_windows(calls, walls, edges)
        usual += _in_windows(calls, _usual(calls["site"], walls), edges)
    slow = _are_slow(took, usual) if usual.any() else np.zeros(WINDOWS, bool)
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], slow, [False]])))
    for first, last in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        lost = float((took - usual)[first:last].sum()) / len(calling) / 1e9
        if lost >= LEAST_LOSS * measured.run_time:
            begin, end = ((edges[[first, last]] - edges[0]) / 1e9).tolist()
            factor = float(took[first:last].sum() / max(usual[first:last].sum(), 1.0))
            yield SlowSpell(host, begin, end, lost, factor)


def _are_slow(took: Floats, usual: Floats) -> NDArray[np.bool_]:
    """Which windows are slower than the others differ among themselves; none if that is not clear."""
    ratios = took / np.maximum(usual, 1.0)
    called = ratios[usual > 0.1 * usual.mean()]
    usually = float(np.median(called))
    spread = 1.48 * float(np.median(abs(called - usually)))
    slow = (ratios > max(SLOW, usually + UNLIKE * spread)) & (usual > 0.1 * usual.mean())
    return slow if 2 * slow.sum() < WINDOWS else np.zeros(WINDOWS, bool)


def _usual(sites: NDArray[np.uint32], walls: Floats) -> Floats:
    """What each call of a rank is expected to take: the median of its site."""
    usual = walls.copy()
    for site in np.unique(sites):
        mine = sites == site
        if mine.sum() >= LEAST_CALLS:
            usual[mine] = np.median(walls[mine])
    return usual


def _in_windows(calls: NDArray[np.void], amounts: Floats, edges: Floats) -> Floats:
    """What of some amounts falls into each window, each spread evenly over its call."""
    times = np.stack([calls["enter"], calls["leave"]], axis=1).astype(float).ravel()
    sums = np.cumsum(amounts)
    steps = np.stack([np.concatenate([[0.0], sums[:-1]]), sums], axis=1).ravel()
    return np.asarray(np.diff(np.interp(edges, times, steps)), dtype=float)
