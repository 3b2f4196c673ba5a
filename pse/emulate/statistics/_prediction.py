"""What was predicted against what was measured: run times, loads, applications beside others and alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pse.emulate.results._results import Results
from pse.emulate.statistics._bootstrap import (
    LEAST_LAUNCHES,
    Floats,
    Interval,
    draw_launches,
    launch_interval,
    percentile_interval,
)
from pse.emulate.statistics._groups import groups
from pse.emulate.statistics._summary import application_names, beside_numbered, times
from pse.errors import UsageError
from pse.text import list_text

Key = tuple[str, int, float, str]
"""An application's name, size and load, and what ran beside it, where that was now this, now that."""


@dataclass(frozen=True)
class RunTime:
    """Predicted and measured run time of one application at one size and load.

    Parameters
    ----------
    name : str
        The application.
    ranks : int
        How many it has.
    size : int
        Of messages, bytes.
    beside : str
        What else ran, where that was now this, now that; empty elsewhere.
    load, achieved, typical : float
        Communication load, percent: asked for, communication's share of compute and communication, and the
        same of their medians, which rare late messages don't change.
    predicted, measured, barrier : float
        Seconds: the sum of all cycles as predicted and as measured, without barriers, and of barriers; means
        over ranks and launches, and over runs, if a launch ran it several times.
    error : float
        ``measured / predicted - 1``, the median over launches.
    error_interval : tuple of (float, float), optional
        Its 95 % confidence interval; None below three launches.
    compute_error : float
        Measured compute time over the calculated one, less 1.
    launches : int
        How many.

    See Also
    --------
    run_times

    Examples
    --------
    >>> found = pse.ace.run_times(pse.ace.Results.load("run.ace"))[0]
    >>> found.name, found.launches, abs(found.error) < 0.05
    ('halo', 10, True)
    """

    name: str
    ranks: int
    size: int
    load: float
    beside: str
    achieved: float
    typical: float
    predicted: float
    measured: float
    barrier: float
    error: float
    error_interval: Interval
    compute_error: float
    launches: int


@dataclass(frozen=True)
class Loaded:
    """How much longer an application's communication takes beside others than alone.

    Parameters
    ----------
    name : str
        The application.
    size : int
        Of messages, bytes.
    load : float
        Communication load asked for, percent.
    beside : str
        What else ran, where that was now this, now that; empty elsewhere.
    mean, tail : float
        Ratio of means, and of 99th percentiles.
    mean_interval, tail_interval : tuple of (float, float), optional
        Their 95 % confidence intervals; None below three launches.

    See Also
    --------
    loaded_ratios

    Examples
    --------
    >>> alone, beside = pse.ace.Results.load("run.ace"), pse.ace.Results.load("after.ace")
    >>> [(one.name, one.mean > 1) for one in pse.ace.loaded_ratios(beside, alone)]
    [('halo', True)]
    """

    name: str
    size: int
    load: float
    beside: str
    mean: float
    tail: float
    mean_interval: Interval
    tail_interval: Interval


def run_times(results: Results, *, seed: int = 0) -> list[RunTime]:
    """Compare predicted with measured run times.

    Parameters
    ----------
    results : Results
        What was measured.
    seed : int
        Of the bootstrap over launches.

    Returns
    -------
    list of RunTime
        By application, load, size and what ran beside it.

    Raises
    ------
    UsageError
        There are no cycles.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.ace import CYCLE, EXCHANGE, Results
    >>> cycles = np.zeros(2, CYCLE)
    >>> cycles["compute"], cycles["communication"], cycles["predicted"] = 3e-3, 1e-3, 5e-3
    >>> found = run_times(Results(cycles, np.zeros(0, EXCHANGE), {}))[0]
    >>> round(found.error, 6), round(found.achieved, 6)
    (-0.2, 25.0)
    """
    return [_run_time(key, rows, seed) for key, rows in by_setting(results).items()]


def _run_time(key: Key, rows: NDArray[np.void], seed: int) -> RunTime:
    ranks = len(np.unique(rows["rank"]))
    sums = np.array(
        [
            [
                own[column].sum() / _runs(own)
                for column in ("compute", "communication", "barrier", "predicted", "calculated")
            ]
            for _, own in groups(rows, "launch")
        ]
    )
    compute, communication, barrier, predicted, calculated = sums.T
    errors = _share(compute + communication, predicted) - 1
    return RunTime(
        name=key[0],
        beside=key[3],
        ranks=ranks,
        size=int(rows["size"][0]),
        load=float(rows["load"][0]),
        achieved=100 * float(_share(communication, compute + communication).mean()),
        typical=100 * _typical_share(rows),
        predicted=float(predicted.mean()),
        measured=float((compute + communication).mean()),
        barrier=float(barrier.mean()),
        error=float(np.median(errors)),
        error_interval=launch_interval(list(errors), np.median, seed),
        compute_error=float(np.median(_share(compute, calculated) - 1)),
        launches=len(sums),
    )


def _runs(rows: NDArray[np.void]) -> int:
    """Say of how many runs these cycles of a launch are: one for each rank, and each setting."""
    return int(np.count_nonzero(rows["cycle"] == rows["cycle"].min()))


def _typical_share(rows: NDArray[np.void]) -> float:
    """Give communication's share of a cycle, by the medians of both times."""
    compute, communication = (float(np.median(rows[name])) for name in ("compute", "communication"))
    return communication / (compute + communication) if communication else 0.0


def _share(part: Floats, whole: Floats) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))


def loaded_ratios(together: Results, alone: Results | None = None, *, seed: int = 0) -> list[Loaded]:
    """Compare applications that ran beside others with the same ones alone.

    Parameters
    ----------
    together : Results
        Of several applications at once.
    alone : Results, optional
        Of these applications, each alone, or of some of them; by default `together` has them, too, as those
        whose metadata say ``alone``.
    seed : int
        Of the bootstrap over launches.

    Returns
    -------
    list of Loaded
        For each application, load and size that both have, and for all that ran beside it.

    Raises
    ------
    UsageError
        There are none, or one of the results has no cycles.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.ace import CYCLE, EXCHANGE, Results
    >>> cycles = np.zeros(2, CYCLE)
    >>> cycles["communication"] = 1e-3
    >>> alone = Results(cycles, np.zeros(0, EXCHANGE), {"applications": [{"name": "halo"}]})
    >>> loaded_ratios(alone, alone)[0].mean
    1.0
    """
    listed = together.metadata.get("applications", ())
    known = {str(one["name"]): str(one["alone"]) for one in listed if one.get("alone")}
    sides = [by_setting(together), {} if alone is None else by_setting(alone)]
    if alone is not None and {key[:3] for key in sides[0]}.isdisjoint(key[:3] for key in sides[1]):
        raise _nothing_in_common(sides)
    for key in [key for key in sides[0] if key[0] in known]:
        rows = sides[0].pop(key)
        sides[1].setdefault((known[key[0]], *key[1:]), rows)
    pairs = {key: sides[1].get(key, sides[1].get((*key[:3], ""))) for key in sides[0]}
    found = [_loaded(key, sides[0][key], rows, seed) for key, rows in pairs.items() if rows is not None]
    if not found:
        raise _nothing_in_common(sides)
    return found


def _nothing_in_common(sides: Iterable[Iterable[Key]]) -> UsageError:
    names = [list_text(sorted({f"`{key[0]}`" for key in side})) or "none" for side in sides]
    return UsageError(
        "there is no application that ran beside others and alone at the same size and load: beside"
        f" others {names[0]}, alone {names[1]}",
        help="applications are matched by name",
    )


def by_setting(results: Results) -> dict[Key, NDArray[np.void]]:
    """Give the rows of each application, size, load and what ran beside, in order of loads and sizes."""
    (table, texts), names = beside_numbered(results), application_names(results)
    return {
        (names[keys[0]], keys[2], float(rows["load"][0]), texts[keys[3]]): rows
        for keys, rows in groups(table, "application", "load", "size", "setting")
    }


def _loaded(key: Key, together: NDArray[np.void], alone: NDArray[np.void], seed: int) -> Loaded:
    found = [
        [
            (own.mean(), np.quantile(own, 0.99))
            for own in (times(part, "communication") for _, part in groups(rows, "launch"))
        ]
        for rows in (together, alone)
    ]
    first, second = (np.array(side) for side in found)
    ratio = _ratio(first.mean(axis=0), second.mean(axis=0))
    intervals: list[Interval] = [None, None]
    least = min(len(first), len(second))
    if least >= LEAST_LAUNCHES:
        drawn = [
            side[draw_launches(len(side), seed=seed + place)].mean(axis=1)
            for place, side in enumerate((first, second))
        ]
        low, high = percentile_interval(_ratio(*drawn), least)
        intervals = [(float(low[place]), float(high[place])) for place in range(2)]
    return Loaded(*key, float(ratio[0]), float(ratio[1]), *intervals)


def _ratio(one: Floats, other: Floats) -> Floats:
    return np.asarray(np.divide(one, other, out=np.full(np.shape(one), np.nan), where=other > 0))
