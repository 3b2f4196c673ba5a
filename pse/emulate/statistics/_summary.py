"""Summaries of measured times per application, rank or pattern: location, dispersion, intervals, series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.emulate.results._results import Results
from pse.emulate.statistics._bootstrap import Floats, Interval, launch_interval
from pse.emulate.statistics._groups import groups
from pse.emulate.statistics._series import LAGS, autocorrelation, outliers
from pse.errors import UsageError
from pse.text import did_you_mean

METRICS = ("compute", "communication", "barrier", "cycle")
"""What is summarized: ``cycle`` is the sum of the others."""
LEVELS = ("application", "rank", "pattern")
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class Summary:
    """One metric of one application at one size and load, of one of its ranks, or of all of a pattern.

    Parameters
    ----------
    name : str
        The application, or the pattern.
    rank : int, optional
        In the application; None: all of them.
    size : int
        Of messages, bytes.
    load : float
        Communication load asked for, percent.
    beside : str
        What else ran, where that was now this, now that; empty elsewhere.
    metric : str
        One of ``compute``, ``communication``, ``barrier``, ``cycle``.
    count, launches : int
        How many times were measured, in how many launches.
    mean, median, sigma, variance : float
        Of all times; seconds, and square seconds.
    quantiles : mapping of float to float
        Seconds by probability.
    mean_interval, median_interval : tuple of (float, float), optional
        95 % confidence intervals by bootstrap over launches; None below three launches.
    autocorrelation : tuple of float
        For lags from 1 on, the mean over the series of launches and ranks; nan where these are constant.
    outliers : float
        The share of times that are far from the median of their series.

    See Also
    --------
    summaries

    Examples
    --------
    >>> found = pse.ace.summaries(pse.ace.Results.load("run.ace"), metrics=["communication"])[0]
    >>> found.name, found.count, found.launches
    ('halo', 2000, 10)
    """

    name: str
    rank: int | None
    size: int
    load: float
    beside: str
    metric: str
    count: int
    launches: int
    mean: float
    median: float
    sigma: float
    variance: float
    quantiles: Mapping[float, float]
    mean_interval: Interval
    median_interval: Interval
    autocorrelation: tuple[float, ...]
    outliers: float


def summaries(
    results: Results, by: str = "application", metrics: Sequence[str] = METRICS, *, seed: int = 0
) -> list[Summary]:
    """Summarize measured cycles.

    Parameters
    ----------
    results : Results
        What was measured.
    by : {"application", "rank", "pattern"}
        What gets a summary of its own, at each size and load.
    metrics : sequence of str
        Some of ``compute``, ``communication``, ``barrier`` and ``cycle``.
    seed : int
        Of the bootstrap over launches.

    Returns
    -------
    list of Summary
        By application, load, size, what ran beside it, rank and metric.

    Raises
    ------
    UsageError
        There is no such level or metric, or there are no cycles.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.ace import CYCLE, EXCHANGE, Results
    >>> cycles = np.zeros(4, CYCLE)
    >>> cycles["communication"] = [1e-6, 2e-6, 3e-6, 4e-6]
    >>> found = summaries(Results(cycles, np.zeros(0, EXCHANGE), {}), metrics=["communication"])
    >>> round(found[0].median, 9)
    2.5e-06
    """
    for word, known in ((by, LEVELS), *((metric, METRICS) for metric in metrics)):
        if word not in known:
            raise UsageError(
                f"there is no {word!r} to summarize",
                help=did_you_mean(word, known) or f"there are {', '.join(known)}",
            )
    (table, texts), names = beside_numbered(results), application_names(results)
    if by == "pattern":
        names, table = _by_pattern(results, table)
    columns = ("application", "load", "size", "setting", *(("rank",) if by == "rank" else ()))
    found = []
    for keys, rows in groups(table, *columns):
        rank = keys[4] if by == "rank" else None
        place = (names[keys[0]], rank, keys[2], float(rows["load"][0]), texts[keys[3]])
        found += [Summary(*place, metric, **_numbers(rows, metric, seed)) for metric in metrics]
    return found


def require_cycles(results: Results) -> NDArray[np.void]:
    """Give the table of cycles, and refuse one that is empty or has times that are none."""
    table = results.cycles
    if not len(table):
        raise UsageError(
            "these results have no cycles: phase two was not measured",
            help="measure applications: pse ace run CONFIG.toml",
        )
    for name in ("compute", "communication", "barrier"):
        if not np.isfinite(table[name]).all() or (table[name] < 0).any():
            wrong = table[~(np.isfinite(table[name]) & (table[name] >= 0))][0]
            raise UsageError(
                f"the {name} time of launch {wrong['launch']}, rank {wrong['rank']}, cycle {wrong['cycle']}"
                f" is {wrong[name]} s: a time is finite and not below zero",
                help="the file of results is damaged: measure again with `pse ace run`",
            )
    return table


def beside_numbered(results: Results) -> tuple[NDArray[np.void], list[str]]:
    """Give the cycles with the number of a text in place of their setting: what ran beside them.

    The text is empty where an application had always the same others beside it.
    """
    table = require_cycles(results).copy()
    texts, table["setting"] = results.beside(ambiguous=True)
    return table, texts


def beside_text(text: str) -> str:
    """Say behind a setting what ran beside it, if that was now this, now that."""
    return f", beside {text}" if text else ""


def application_names(results: Results) -> list[str]:
    """Give the name of each application of the table; those that the metadata lacks have numbers."""
    known = [
        str(one.get("name", number)) for number, one in enumerate(results.metadata.get("applications", ()))
    ]
    most = int(results.cycles["application"].max(initial=-1)) + 1
    return known + [f"application {number}" for number in range(len(known), most)]


def times(rows: NDArray[np.void], metric: str) -> Floats:
    """Give a metric of each row, in seconds."""
    if metric == "cycle":
        return np.asarray(rows["compute"] + rows["communication"] + rows["barrier"])
    return np.asarray(rows[metric])


def _by_pattern(results: Results, table: NDArray[np.void]) -> tuple[list[str], NDArray[np.void]]:
    """Number the rows' patterns in place of their applications."""
    known = results.metadata.get("applications", ())
    patterns = [str(one.get("pattern", "unknown pattern")) for one in known]
    patterns += ["unknown pattern"] * (len(application_names(results)) - len(patterns))
    names = list(dict.fromkeys(patterns))
    numbered = table.copy()
    numbered["application"] = np.array([names.index(name) for name in patterns])[table["application"]]
    # Ranks of several applications are different ranks.
    numbered["rank"] += 1_000_000 * table["application"]
    return names, numbered


def _numbers(rows: NDArray[np.void], metric: str, seed: int) -> dict[str, Any]:
    values = times(rows, metric)
    launched = [times(own, metric) for _, own in groups(rows, "launch")]
    series = [times(own, metric) for _, own in groups(rows, "launch", "rank")]
    deviation = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    if len(values) > 1 and values.min() == values.max():
        deviation = 0.0  # The mean of equal numbers is rounded.
    return {
        "count": len(values),
        "launches": len(launched),
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "sigma": deviation,
        "variance": deviation**2,
        "quantiles": dict(zip(QUANTILES, np.quantile(values, QUANTILES).tolist(), strict=True)),
        "mean_interval": launch_interval([own.mean() for own in launched], np.mean, seed),
        "median_interval": launch_interval([np.median(own) for own in launched], np.median, seed),
        "autocorrelation": _mean_autocorrelation(series),
        "outliers": sum(int(outliers(own).sum()) for own in series) / len(values),
    }


def _mean_autocorrelation(series: Sequence[Floats]) -> tuple[float, ...]:
    found = np.array([autocorrelation(own) for own in series])
    known = (~np.isnan(found)).sum(axis=0)
    sums = np.nansum(found, axis=0)
    return tuple(float(sums[lag] / known[lag]) if known[lag] else float("nan") for lag in range(LAGS))
