"""Whether two results differ: permutation tests of launches for applications, ranks and links, corrected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.emulate.results._results import Results
from pse.emulate.statistics._bootstrap import (
    LEAST_LAUNCHES,
    Floats,
    Interval,
    draw_launches,
    percentile_interval,
)
from pse.emulate.statistics._groups import exchange_classes, groups, pivot
from pse.emulate.statistics._prediction import Key, by_setting
from pse.emulate.statistics._summary import beside_text, times
from pse.errors import UsageError
from pse.text import change_text, count_text, size_text

TEST = "permutation test of launches: Welch's t of logarithms, two-sided, Holm's correction"
PERMUTATIONS = 20_000
"""All permutations are tried if they are no more; otherwise so many, or more for many hypotheses."""
_NAMED = 4
"""Applications that are left out are named up to so many."""


@dataclass(frozen=True)
class Difference:
    """One quantity in two results.

    Parameters
    ----------
    where : str
        Whose it is: an application at a size and load, one of its ranks, or a link.
    quantity : str
        What was compared.
    ratio : float
        The second result's over the first one's, of geometric means over launches.
    interval : tuple of (float, float), optional
        95 % confidence interval of the ratio, by bootstrap over launches.
    p : float
        Probability of so great a difference between launches of the same kind.
    adjusted : float
        The same, corrected for all that was compared.
    real : bool
        Whether the difference is taken for real.

    See Also
    --------
    compare

    Examples
    --------
    >>> found = pse.ace.compare(pse.ace.Results.load("run.ace"), pse.ace.Results.load("after.ace"))
    >>> found.differences[0].quantity, found.differences[0].ratio > 1, found.differences[0].real
    ('median communication', True, True)
    """

    where: str
    quantity: str
    ratio: float
    interval: Interval
    p: float
    adjusted: float
    real: bool

    def __str__(self) -> str:
        span = (
            f" ({change_text(self.interval[0] - 1)} to {change_text(self.interval[1] - 1)})"
            if self.interval
            else ""
        )
        return f"{self.where}: {self.quantity} {change_text(self.ratio - 1)}{span}, p = {self.adjusted:.2g}"


@dataclass(frozen=True)
class Comparison:
    """What differs between two results.

    Parameters
    ----------
    differences : tuple of Difference
        All that was compared, what is real first, then by p-value.
    launches : tuple of (int, int)
        How many launches each result has.
    test : str
        The test that was used.
    level : float
        Probability of an error of the first kind, for all together.
    least : float
        Relative differences below are not taken for real, however sure.
    notes : tuple of str
        What limits this comparison.
    applications : bool
        Whether any application was compared, rather than links alone.

    See Also
    --------
    compare

    Examples
    --------
    >>> found = pse.ace.compare(pse.ace.Results.load("run.ace"), pse.ace.Results.load("after.ace"))
    >>> len(found.real), found.launches
    (2, (10, 10))
    """

    differences: tuple[Difference, ...]
    launches: tuple[int, int]
    test: str
    level: float
    least: float
    notes: tuple[str, ...] = ()
    applications: bool = True

    @property
    def real(self) -> tuple[Difference, ...]:
        """Differences that are taken for real."""
        return tuple(one for one in self.differences if one.real)

    def to_json(self) -> dict[str, Any]:
        """Give all that JSON can say."""
        return asdict(self)


def compare(
    first: Results, second: Results, *, level: float = 0.01, least: float = 0.01, seed: int = 0
) -> Comparison:
    """Say whether two results differ, and in what.

    Launches are the units.  Compared are, of every application that both have at the same size and load, the
    time of cycles, median, 99th percentile and standard deviation of communication, and the median of each
    rank's, and of every link the exchanges of phase one, small and large ones apart.

    Parameters
    ----------
    first, second : Results
        Before and after, or here and there.
    level : float, default 0.01
        Probability that any difference is reported where there is none.
    least : float, default 0.01
        Relative differences below are not reported.
    seed : int
        Of permutations and bootstrap.

    Returns
    -------
    Comparison
        All quantities, with ratios, intervals and p-values.

    Raises
    ------
    UsageError
        They have nothing in common, or too few launches for any difference to be significant.

    Examples
    --------
    >>> found = compare(pse.ace.Results.load("run.ace"), pse.ace.Results.load("after.ace"))
    >>> found.real[0].where, found.real[0].quantity, round(found.real[0].ratio, 1)
    ('rank 3 of `halo`, 1 KiB, load 50 %', 'median communication', 2.0)
    """
    _require_launches([len(first.launches), len(second.launches)], level)
    sides = [by_setting(one) if len(one.cycles) else {} for one in (first, second)]
    found = list(_common(first, second, sides))
    if not found:
        raise UsageError(
            "the two results have nothing in common to compare",
            help="applications are matched by name, size and load; links by ranks",
        )
    counts = (_most(found, 0), _most(found, 1))
    _require_launches(counts, level)
    tested = [_test(one, len(found), level, seed) for one in found]
    order = sorted(range(len(found)), key=lambda place: tested[place])
    adjusted, worst = {}, 0.0
    for rank, place in enumerate(order):
        worst = min(1.0, max(worst, (len(found) - rank) * tested[place]))
        adjusted[place] = worst
    differences = [
        _difference(one, tested[place], adjusted[place], level, least, seed)
        for place, one in enumerate(found)
    ]
    differences.sort(key=lambda one: (not one.real, one.adjusted, one.p))
    notes = (*_left_out(sides), *_notes(found, level))
    compared = not sides[0].keys().isdisjoint(sides[1])
    return Comparison(tuple(differences), counts, TEST, level, least, notes, compared)


def _require_launches(counts: Sequence[int], level: float) -> None:
    """Refuse results with so few launches that no difference can be significant."""
    if all(counts) and 2 / comb(sum(counts), counts[0]) > level:
        raise UsageError(
            f"{count_text(counts[0], 'launch', 'launches')} and {counts[1]} are too few: no difference"
            f" between them could be significant at {100 * level:g} %",
            help="measure at least 5 launches of each, better 10",
        )


@dataclass(frozen=True)
class _Pair:
    """A quantity of both results: the logarithms of one number for each launch."""

    where: str
    quantity: str
    first: Floats
    second: Floats


def _common(
    first: Results, second: Results, sides: Sequence[Mapping[Key, NDArray[np.void]]]
) -> Iterator[_Pair]:
    """Give what both results have at least two launches of."""
    for key in sides[0]:
        if key in sides[1]:
            yield from _paired(_quantities(key, sides[0][key]), _quantities(key, sides[1][key]))
    if len(first.exchanges) and len(second.exchanges):
        yield from _paired(_links(first.exchanges), _links(second.exchanges))


def _paired(first: dict[tuple[str, str], Floats], second: dict[tuple[str, str], Floats]) -> Iterator[_Pair]:
    for key in first:
        if key in second:
            sides = [side[(side > 0) & np.isfinite(side)] for side in (first[key], second[key])]
            if min(map(len, sides)) > 1:
                yield _Pair(*key, np.log(sides[0]), np.log(sides[1]))


def _quantities(key: Key, rows: NDArray[np.void]) -> dict[tuple[str, str], Floats]:
    """Give a number per launch of each quantity of an application."""
    where = _where(key)
    launched = [own for _, own in groups(rows, "launch")]
    communicated = [times(own, "communication") for own in launched]
    found = {
        (where, "time of cycles"): [times(own, "cycle").mean() for own in launched],
        (where, "median communication"): [np.median(own) for own in communicated],
        (where, "99th percentile of communication"): [np.quantile(own, 0.99) for own in communicated],
        (where, "standard deviation of communication"): [own.std() for own in communicated],
    }
    (_, ranks), cells = pivot(rows, ("launch", "rank"), "communication")
    ranked = {
        (f"rank {rank} of {where}", "median communication"): cells[:, place]
        for place, rank in enumerate(ranks)
    }
    return {name: np.array(values, float) for name, values in found.items()} | (
        ranked if len(ranks) > 1 else {}
    )


def _where(key: Key) -> str:
    return f"`{key[0]}`, {size_text(key[1], zeros=False)}, load {key[2]:g} %" + beside_text(key[3])


def _left_out(sides: Sequence[Mapping[Key, NDArray[np.void]]]) -> Iterator[str]:
    """Say which applications only one of the results has."""
    for which, own, other in (("first", sides[0], sides[1]), ("second", sides[1], sides[0])):
        if only := [_where(key) for key in own if key not in other]:
            more = f"; {len(only) - _NAMED} more" * (len(only) > _NAMED)
            yield f"left out, since only the {which} result has it: {'; '.join(only[:_NAMED])}{more}"


def _links(exchanges: NDArray[np.void]) -> dict[tuple[str, str], Floats]:
    """Give a number per launch of each link and class of sizes: the geometric mean of the sizes' medians."""
    found = {}
    for quantity, _, rows in exchange_classes(exchanges):
        (_, ranks, partners, _), cells = pivot(rows, ("launch", "rank", "partner", "size"), "seconds")
        means = np.exp(np.log(np.where(cells > 0, cells, np.nan)).mean(axis=3))
        for place in np.argwhere(~np.isnan(means).all(axis=0)):
            where = f"link from rank {ranks[place[0]]} to {partners[place[1]]}"
            found[where, quantity] = means[:, place[0], place[1]]
    return found


def _test(pair: _Pair, hypotheses: int, level: float, seed: int) -> float:
    """Give the p-value of a permutation test."""
    values, count = np.concatenate([pair.first, pair.second]), len(pair.first)
    wanted = max(PERMUTATIONS, int(4 * hypotheses / level))
    chosen = _permutations(len(values), count, wanted, seed)
    own = float(_welch(values, np.arange(len(values))[None] < count)[0])
    as_great = int((_welch(values, chosen) >= own * (1 - 1e-9)).sum())
    is_exact = len(chosen) == comb(len(values), count)
    return as_great / len(chosen) if is_exact else (as_great + 1) / (len(chosen) + 1)


@lru_cache(maxsize=8)
def _permutations(launches: int, count: int, wanted: int, seed: int) -> NDArray[np.bool_]:
    """Give ways to choose some of the launches: all, or as many as are wanted at random."""
    total = comb(launches, count)
    if total > wanted:
        drawn = np.random.default_rng(seed).random((wanted, launches))
        return np.asarray(drawn <= np.partition(drawn, count - 1, axis=1)[:, count - 1 : count])
    chosen = np.zeros((total, launches), bool)
    for row, places in enumerate(combinations(range(launches), count)):
        chosen[row, places] = True
    return chosen


def _welch(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Give the absolute t statistic of each way to part the values in two."""
    centred = values - values.mean()
    moments = []
    for part in (chosen.astype(float), (~chosen).astype(float)):
        count = part.sum(axis=1)
        mean = part @ centred / count
        moments.append((mean, (part @ centred**2 / count - mean**2).clip(0) / np.maximum(count - 1, 1)))
    (one, error), (other, beside) = moments
    return np.asarray(np.abs(one - other) / np.sqrt(error + beside + 1e-18))


def _difference(pair: _Pair, p: float, adjusted: float, level: float, least: float, seed: int) -> Difference:
    ratio = float(np.exp(pair.second.mean() - pair.first.mean()))
    real = adjusted < level and abs(ratio - 1) >= least
    return Difference(pair.where, pair.quantity, ratio, _interval(pair, seed), p, adjusted, real)


def _interval(pair: _Pair, seed: int) -> Interval:
    least = min(len(pair.first), len(pair.second))
    if least < LEAST_LAUNCHES:
        return None
    first, second = (
        side[draw_launches(len(side), seed=seed + place)].mean(axis=1)
        for place, side in enumerate((pair.first, pair.second))
    )
    low, high = percentile_interval(np.exp(second - first), least)
    return float(low), float(high)


def _most(found: list[_Pair], side: int) -> int:
    return max(len((pair.first, pair.second)[side]) for pair in found)


def _notes(found: list[_Pair], level: float) -> Iterator[str]:
    hidden = sum(
        2 * len(found) / comb(len(pair.first) + len(pair.second), len(pair.first)) > level for pair in found
    )
    if hidden:
        yield (
            f"{hidden} of {count_text(len(found), 'quantity', 'quantities')} have too few launches to be"
            " significant among so many: measure more launches"
        )
