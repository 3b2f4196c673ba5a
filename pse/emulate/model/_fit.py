"""Fitting the model to measured exchanges."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pse.emulate.model._model import Dispersion, Interval, Measured, Model, ModelError, RankLine, Segment
from pse.emulate.model._piecewise import find_segments, fit_lines
from pse.emulate.statistics._bootstrap import LEAST_LAUNCHES, Floats, draw_launches, percentile_interval
from pse.emulate.statistics._groups import groups, pivot
from pse.text import did_you_mean, size_text

QUANTILES = 65
"""How many quantiles of each size's times a model keeps."""
ROUNDS = 5
"""How often medians over launches and over sizes are taken in turn."""
FITS = ("piecewise", "paper")


def fit(exchanges: NDArray[np.void], mode: str = "piecewise", *, pairs: bool = False, seed: int = 0) -> Model:
    """Fit the cost of messages to measured exchanges.

    Parameters
    ----------
    exchanges : structured array, shape (n,)
        Phase one, as `Results.exchanges` has it: ``launch``, ``rank``, ``partner``, ``size`` (bytes),
        ``repetition`` and ``seconds`` (one way).
    mode : {"piecewise", "paper"}
        ``piecewise``: lines over ranges of sizes with relative soft-L1 loss, as many as the Bayesian
        information criterion justifies; a measured size costs what was measured.  ``paper``: one line by
        ordinary least squares for each rank, their parameters averaged.
    pairs : bool, default False
        Whether each pair of ranks gets a line of its own.
    seed : int
        Of the bootstrap over launches.

    Returns
    -------
    Model
        With 95 % confidence intervals from 3 launches on.

    Raises
    ------
    ModelError
        There is no such mode, there are no exchanges, or their times are no times.

    References
    ----------
    J. J. Evans, C. S. Hood, "Network Performance Variability in NOW Clusters", CCGrid 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from pse.ace import EXCHANGE
    >>> sizes = np.tile([0, 1000, 2000, 4000], 3)
    >>> exchanges = np.zeros(12, EXCHANGE)
    >>> exchanges["launch"], exchanges["size"] = np.repeat([0, 1, 2], 4), sizes
    >>> exchanges["seconds"] = 2e-6 + 1e-9 * sizes
    >>> model = fit(exchanges)
    >>> round(model.alpha, 9), round(model.beta, 12)
    (2e-06, 1e-09)
    """
    if mode not in FITS:
        raise ModelError(
            f"there is no mode {mode!r}", help=did_you_mean(mode, FITS) or "modes are piecewise and paper"
        )
    _check(exchanges)
    (launches, ranks, sizes), cells = pivot(exchanges, ("launch", "rank", "size"), "seconds")
    by_launch = _mean(cells, axis=1)
    times = _median(by_launch, axis=0)
    draws = draw_launches(len(launches), seed=seed) if len(launches) >= LEAST_LAUNCHES else None
    drawn = times[None][:0] if draws is None else _median(by_launch[draws], axis=1)
    series = np.vstack([times[None], np.where(np.isnan(drawn), times, drawn)])
    if mode == "paper":
        found = _paper_model(exchanges, draws, launches)
    else:
        found = _piecewise_model(sizes, series, by_launch)
    parts = _parts(found, sizes)
    rank_lines = _lines(sizes, _median(cells, axis=0), times, parts, [(int(rank), None) for rank in ranks])
    return replace(
        found,
        table=_table(found, sizes, series, len(launches)),
        ranks=rank_lines if mode == "piecewise" else found.ranks,
        pairs=_pair_lines(exchanges, times, parts) if pairs else (),
        launches=len(launches),
        dispersion=_dispersion(exchanges, _levels(by_launch, times)),
    )


def _check(exchanges: NDArray[np.void]) -> None:
    if not len(exchanges):
        raise ModelError(
            "there are no measured exchanges to fit a model to",
            help="measure with phase one, or give alpha and beta",
        )
    wrong = exchanges[~(np.isfinite(exchanges["seconds"]) & (exchanges["seconds"] > 0))]
    if len(wrong):
        first = wrong[0]
        raise ModelError(
            f"an exchange of {size_text(int(first['size']), zeros=False)} took {first['seconds']} s (launch"
            f" {first['launch']}, rank {first['rank']}, repetition {first['repetition']}): a time is finite"
            " and above zero",
            help="the file of results is damaged: measure again with `pse ace run`",
        )
    if (exchanges["size"] < 0).any():
        raise ModelError(
            f"an exchange has a size of {exchanges['size'].min()} B: a size is zero or more bytes",
            help="the table is not as it was measured; measure again, or mend the column size",
        )


def _piecewise_model(sizes: NDArray[np.int64], series: Floats, by_launch: Floats) -> Model:
    """Fit segments to the first series, and their intervals to the others.

    What makes all messages of a launch slower or faster says nothing of where a segment begins.
    """
    level = _without_levels(by_launch)
    segments = find_segments(sizes.astype(float), _median(level, axis=0), _noise(level))
    launches, places = len(by_launch), np.arange(len(sizes))
    chosen = np.array([(places >= one.start) & (places < one.stop) for one in segments])
    alpha, beta, _ = fit_lines(sizes.astype(float), series, chosen)
    found = tuple(
        Segment(
            int(sizes[one.start]) if number else 0,
            float(alpha[0, number]),
            float(beta[0, number]),
            _interval(alpha[1:, number], launches),
            _interval(beta[1:, number], launches),
        )
        for number, one in enumerate(segments)
    )
    return Model(found[0].alpha, found[-1].beta, "piecewise", found)


def _paper_model(
    exchanges: NDArray[np.void], draws: NDArray[np.int64] | None, launches: NDArray[np.int64]
) -> Model:
    """Fit a line to all exchanges of each rank by ordinary least squares, and average the parameters."""
    per_rank = [_rank_sums(rows, launches) for _, rows in groups(exchanges, "rank")]
    lines = np.array([_ordinary_line(sums.sum(axis=0)) for sums in per_rank])
    alpha, beta = lines.mean(axis=0)
    drawn = np.zeros((0, 2))
    if draws is not None:
        drawn = np.mean([_ordinary_line(sums[draws].sum(axis=1)) for sums in per_rank], axis=0)
    alpha, beta = max(float(alpha), 0.0), max(float(beta), 0.0)
    segment = Segment(0, alpha, beta, *(_interval(drawn[:, column], len(launches)) for column in range(2)))
    ranks = [key[0] for key, _ in groups(exchanges, "rank")]
    factors = lines @ [1.0, float(exchanges["size"].mean())]
    fitted = tuple(
        RankLine(rank, float(line[0]), float(line[1]), float(factor))
        for rank, line, factor in zip(ranks, lines, factors / factors.mean(), strict=True)
    )
    return Model(alpha, beta, "paper", (segment,), ranks=fitted)


def _rank_sums(rows: NDArray[np.void], launches: NDArray[np.int64]) -> Floats:
    """Give the sums that a least-squares line needs, of each launch: shape (launches, 5)."""
    size, seconds = rows["size"].astype(float), rows["seconds"]
    places = np.searchsorted(launches, rows["launch"])
    terms = (np.ones(len(rows)), size, size**2, seconds, size * seconds)
    return np.stack([np.bincount(places, term, len(launches)) for term in terms], axis=-1)


def _ordinary_line(sums: Floats) -> Floats:
    """Solve for startup and transfer time from sums; a flat line where all sizes are equal."""
    n, x, xx, y, xy = np.moveaxis(np.asarray(sums, float), -1, 0)
    n = np.where(n > 0, n, np.nan)
    variance = xx - x**2 / n
    flat = variance <= 1e-12 * np.maximum(xx, 1)
    beta = np.where(flat, 0.0, (xy - x * y / n) / np.where(flat, 1.0, variance))
    return np.stack([(y - beta * x) / n, beta], axis=-1)


def _parts(model: Model, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which sizes each segment of a model has: shape (segments, sizes)."""
    begins = np.array([one.begin for one in model.segments])
    places = np.searchsorted(begins, sizes, side="right") - 1
    return np.asarray(places[None] == np.arange(len(begins))[:, None])


def _table(model: Model, sizes: NDArray[np.int64], series: Floats, launches: int) -> tuple[Measured, ...]:
    misses = model.line(sizes) / series[0] - 1
    return tuple(
        Measured(int(size), float(series[0, place]), _interval(series[1:, place], launches), float(miss))
        for place, (size, miss) in enumerate(zip(sizes, misses, strict=True))
    )


def _lines(
    sizes: NDArray[np.int64],
    series: Floats,
    times: Floats,
    parts: NDArray[np.bool_],
    ends: Sequence[tuple[int, int | None]],
) -> tuple[RankLine, ...]:
    """Fit the segments to the series of ranks or pairs."""
    factors = _median(series / times, axis=1)
    filled = np.where(np.isnan(series), times * factors[:, None], series)
    alpha, beta, _ = fit_lines(sizes.astype(float), filled, parts)
    return tuple(
        RankLine(rank, float(alpha[row, 0]), float(beta[row, -1]), float(factors[row]), partner)
        for row, (rank, partner) in enumerate(ends)
    )


def _pair_lines(exchanges: NDArray[np.void], times: Floats, parts: NDArray[np.bool_]) -> tuple[RankLine, ...]:
    (ranks, partners, sizes), cells = pivot(exchanges, ("rank", "partner", "size"), "seconds")
    measured = np.argwhere(~np.isnan(cells).all(axis=2))
    ends = [(int(ranks[rank]), int(partners[partner])) for rank, partner in measured]
    return _lines(sizes, cells[tuple(measured.T)], times, parts, ends)


def _levels(by_launch: Floats, times: Floats) -> Floats:
    """Give the factor by which all messages of each launch are slower than usual."""
    return _median(by_launch / times, axis=1)


def _without_levels(by_launch: Floats) -> Floats:
    """Give the times of launches as if none were slower as a whole.

    Medians of launches and of sizes in turn: where launches lack sizes, those of a size are medians of other
    launches than those of another.
    """
    found = by_launch
    for _ in range(ROUNDS):
        found = found / _levels(found, _median(found, axis=0))[:, None]
    return found


def _dispersion(exchanges: NDArray[np.void], launches: Floats) -> Dispersion:
    levels = np.linspace(0, 1, QUANTILES)
    messages = []
    for (size,), rows in groups(exchanges, "size"):
        shares = [
            own["seconds"] / np.median(own["seconds"]) for _, own in groups(rows, "launch", "rank", "partner")
        ]
        quantiles = np.quantile(np.concatenate(shares), levels)
        messages.append((size, tuple(float(f"{factor:.6g}") for factor in quantiles)))
    return Dispersion(tuple(launches.tolist()), tuple(messages))


def _noise(by_launch: Floats) -> float:
    """Give the relative standard error of medians over launches."""
    if len(by_launch) < 2:
        return 0.0
    spread = np.nanstd(np.log(by_launch), axis=0, ddof=1)
    return float(1.25 * np.nanmedian(spread) / np.sqrt(len(by_launch)))


def _interval(drawn: Floats, launches: int) -> Interval:
    if not len(drawn):
        return None
    low, high = percentile_interval(drawn, launches)
    return float(low), float(high)


def _median(values: Floats, axis: int) -> Floats:
    """Give the median of what was measured; nan where nothing was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmedian(values, axis=axis))


def _mean(values: Floats, axis: int) -> Floats:
    """Give the mean of what was measured; nan where nothing was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))
