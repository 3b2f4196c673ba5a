"""Piecewise lines through times of messages: relative soft-L1 loss, the number of segments by BIC."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from pse.emulate.statistics._bootstrap import Floats

SCALE = 0.05
"""Relative residual from which on the loss grows linearly: outliers have less weight."""
LEAST_SIZES = 3
"""A segment has so many sizes at least, where there is more than one."""
MOST_SEGMENTS = 5
LEAST_RESIDUAL = 1e-3
"""Relative residuals below are as good as none: they justify no further segment."""
ITERATIONS = 60


def fit_lines(sizes: Floats, seconds: Floats, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Fit a line to some of the sizes of each series, by iteratively reweighted least squares.

    Parameters
    ----------
    sizes : array, shape (s,)
        Bytes.
    seconds : array, shape (b, s)
        Positive times; each row is a series.
    chosen : array of bool, shape (p, s)
        The sizes that each line is fitted to.

    Returns
    -------
    alpha, beta, loss : array, shape (b, p)
        Seconds, seconds per byte, and the sum of soft-L1 losses of relative residuals.  No line falls, and
        none from the smallest size on begins below zero.
    """
    constant = 1.0 / seconds[:, None, :]
    slope = constant * (sizes / max(float(sizes.max()), 1.0))
    weights = np.broadcast_to(chosen.astype(float), (len(seconds), *chosen.shape))
    floor = np.where(chosen[:, 0], 0.0, -np.inf)
    for _ in range(ITERATIONS):
        alpha, beta = _weighted_lines(constant, slope, weights, floor)
        residuals = alpha[..., None] * constant + beta[..., None] * slope - 1
        weights = chosen / np.sqrt(1 + (residuals / SCALE) ** 2)
    loss = (2 * SCALE**2 * (np.sqrt(1 + (residuals / SCALE) ** 2) - 1) * chosen).sum(axis=-1)
    return alpha, beta / max(float(sizes.max()), 1.0), loss


def _weighted_lines(constant: Floats, slope: Floats, weights: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """Solve the normal equations of every line, within the bounds of both parameters."""
    cc, cs, ss = ((weights * one).sum(-1) for one in (constant**2, constant * slope, slope**2))
    c, s = ((weights * one).sum(-1) for one in (constant, slope))
    determinant = cc * ss - cs**2
    flat = determinant <= 1e-12 * cc * ss
    safe = np.where(flat, 1.0, determinant)
    beta = np.where(flat, 0.0, (cc * s - cs * c) / safe).clip(min=0.0)
    alpha = (c - beta * cs) / cc
    below = alpha < floor
    return np.where(below, 0.0, alpha), np.where(below, s / np.where(ss > 0, ss, 1.0), beta)


def find_segments(sizes: Floats, seconds: Floats, noise: float) -> list[slice]:
    """Find the segments of one series: those with the least Bayesian information criterion.

    Parameters
    ----------
    sizes, seconds : array, shape (s,)
        In ascending order of sizes.
    noise : float
        Relative standard error of the times.

    Returns
    -------
    list of slice
        Places of the sizes of each segment.
    """
    count = len(sizes)
    spans = [
        (begin, end)
        for begin in range(count)
        for end in range(begin + 1, count + 1)
        if end - begin >= min(LEAST_SIZES, count)
    ]
    places = np.arange(count)
    chosen = np.array([(places >= begin) & (places < end) for begin, end in spans])
    losses = dict(zip(spans, fit_lines(sizes, seconds[None], chosen)[2][0].tolist(), strict=True))
    least = max(LEAST_RESIDUAL, noise) ** 2
    found = [[slice(0, count)]] + [
        _best_segments(losses, count, segments) for segments in range(2, MOST_SEGMENTS + 1)
    ]

    def criterion(segments: list[slice]) -> float:
        loss = sum(losses[one.start, one.stop] for one in segments) / count
        return count * log(max(loss, least)) + (3 * len(segments) - 1) * log(count)

    return min(filter(None, found), key=criterion)


def _best_segments(losses: dict[tuple[int, int], float], count: int, segments: int) -> list[slice]:
    """Give the best way to part sizes into so many segments; none if they are too few."""
    best: dict[int, tuple[float, list[slice]]] = {0: (0.0, [])}
    for _ in range(segments):
        longer: dict[int, tuple[float, list[slice]]] = {}
        for (begin, end), loss in losses.items():
            if begin in best:
                total = best[begin][0] + loss
                if end not in longer or total < longer[end][0]:
                    longer[end] = (total, [*best[begin][1], slice(begin, end)])
        best = longer
    return best[count][1] if count in best else []
