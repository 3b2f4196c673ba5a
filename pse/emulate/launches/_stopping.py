"""When there are launches enough: the interval of every setting's median is narrow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pse.emulate.statistics._bootstrap import LEAST_LAUNCHES, draw_launches, percentile_interval


def launch_medians(cycles: NDArray[np.void]) -> NDArray[np.float64]:
    """Give the median cycle of each setting in each launch: seconds, of shape (launches, settings).

    A setting is an application with a size and a load, beside the same others; computing and communicating
    count, barriers don't.
    """
    keys, settings = np.unique(cycles[["application", "size", "load", "setting"]], return_inverse=True)
    launches, order = np.unique(cycles["launch"], return_inverse=True)
    values = cycles["compute"] + cycles["communication"]
    found = np.full((len(launches), len(keys)), np.nan)
    places = order * len(keys) + settings
    sequence = np.argsort(places, kind="stable")
    bounds = np.flatnonzero(np.diff(places[sequence], prepend=-1))
    for part in np.split(sequence, bounds[1:]):
        if len(part):
            found.flat[places[part[0]]] = np.median(values[part])
    return found


def precision_of(cycles: NDArray[np.void]) -> float:
    """Give by how much the ends of the medians' intervals differ from them at most, percent of the median.

    Parameters
    ----------
    cycles : numpy.ndarray
        Of all launches so far.

    Returns
    -------
    float
        The widest of all settings; infinite as long as there are too few launches for intervals.

    Examples
    --------
    >>> precision_of(pse.ace.Results.load("run.ace").cycles) < 2
    True
    """
    medians = launch_medians(cycles)
    launches = len(medians)
    if launches < LEAST_LAUNCHES or not medians.shape[1]:
        return np.inf
    drawn = np.median(medians[draw_launches(launches)], axis=1)
    low, high = percentile_interval(drawn, launches)
    middle = np.median(medians, axis=0)
    return float(100 * np.max(np.maximum(high - middle, middle - low) / middle))
