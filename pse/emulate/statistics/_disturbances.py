"""Disturbances by name: slow links and ranks, late messages that come again, and changes of level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pse._student import student_quantile
from pse.emulate.results._results import Results
from pse.emulate.statistics._bootstrap import LEAST_LAUNCHES, Floats
from pse.emulate.statistics._groups import exchange_classes, groups, pivot
from pse.emulate.statistics._series import find_changes, find_period
from pse.emulate.statistics._summary import application_names, beside_numbered, beside_text, times
from pse.text import count_text, list_text, ranges_text, size_text, time_text

SLOW = 1.15
"""A link or rank is slow if it surely takes so many times what others take."""
SLOW_ONCE = 1.5
"""The same where there are too few launches to be sure."""
_SETTING = ["size", "load", "setting"]
CHANGED = 1.2
"""Changes of level by less than this factor are not named."""


@dataclass(frozen=True)
class Disturbance:
    """Something in the measured times that is not like the rest.

    Parameters
    ----------
    kind : str
        ``slow link``, ``slow rank``, ``period`` or ``change``.
    where : str
        The link, or the ranks of an application.
    what : str
        What is the matter there, with figures.
    launches : tuple of int
        In which launches.
    ranks : tuple of int
        Of the link, or in the application.
    amount : float
        A factor; of a period the seconds that its cycles take more.
    cycles : float
        The period, or the cycle from which on the level is another one; 0 for links and ranks.

    See Also
    --------
    disturbances

    Examples
    --------
    >>> found = pse.ace.disturbances(pse.ace.Results.load("after.ace"))[0]
    >>> found.kind, found.where, found.ranks, round(found.amount)
    ('slow rank', 'rank 3 of `halo`', (3,), 2)
    """

    kind: str
    where: str
    what: str
    launches: tuple[int, ...]
    ranks: tuple[int, ...]
    amount: float
    cycles: float = 0.0

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def disturbances(results: Results) -> tuple[Disturbance, ...]:
    """Find what is not like the rest, and name it.

    Parameters
    ----------
    results : Results
        What was measured.

    Returns
    -------
    tuple of Disturbance
        Slow links, slow ranks, late messages that come again, changes of level.

    Raises
    ------
    UsageError
        There are neither cycles nor exchanges.

    Examples
    --------
    >>> print(*disturbances(pse.ace.Results.load("after.ace")), sep="\\n")
    rank 3 of `halo`: communication takes 2.00 times as long as on other ranks (1.97 to 2.02)
    """
    found = list(_slow_links(results.exchanges)) if len(results.exchanges) else []
    if len(results.cycles) or not len(results.exchanges):
        (table, texts), names = beside_numbered(results), application_names(results)
        for (application,), rows in groups(table, "application"):
            name = f"`{names[application]}`"
            found += [*_slow_ranks(name, rows), *_periods(name, rows), *_changes(name, rows, texts)]
    return tuple(found)


def _slow_links(exchanges: NDArray[np.void]) -> Iterator[Disturbance]:
    both = exchanges.copy()
    both["rank"] = np.minimum(exchanges["rank"], exchanges["partner"])
    both["partner"] = np.maximum(exchanges["rank"], exchanges["partner"])
    for quantity, is_large, rows in exchange_classes(both):
        (launches, ranks, partners, _), cells = pivot(rows, ("launch", "rank", "partner", "size"), "seconds")
        measured = np.argwhere(~np.isnan(cells).all(axis=(0, 3)))
        times_of = cells[:, measured[:, 0], measured[:, 1]]
        for place, factor, span in _slow(_factors(np.where(times_of > 0, times_of, np.nan))):
            ends = (int(ranks[measured[place][0]]), int(partners[measured[place][1]]))
            what = f"{quantity} take {factor:.2f} times as long as on other links{span}"
            if is_large:
                largest = np.exp(np.nanmedian(_factors(times_of[..., -1:]), axis=0)[place])
                what += f": its rate is {1 / largest:.2f} of theirs"
            yield Disturbance(
                "slow link", f"link {ends[0]}–{ends[1]}", what, tuple(launches.tolist()), ends, factor
            )


def _factors(cells: Floats) -> Floats:
    """Give by launch and place the logarithm of times over the median of other places, a mean over the rest.

    `cells` has launches, places, and what is measured of each place.
    """
    logs = np.log(cells)
    found = np.full(logs.shape, np.nan)
    for place in range(logs.shape[1]):
        others = np.delete(logs, place, axis=1)
        known = ~np.isnan(others).all(axis=1) & ~np.isnan(logs[:, place])
        if known.any():
            middle = np.nanmedian(np.where(known[:, None], others, 0.0), axis=1)
            found[:, place] = np.where(known, logs[:, place] - middle, np.nan)
    weight = (~np.isnan(found)).sum(axis=2)
    return np.where(weight > 0, np.nansum(found, axis=2) / np.maximum(weight, 1), np.nan)


def _slow(factors: Floats) -> Iterator[tuple[int, float, str]]:
    """Give the places that are surely slow, with the factor and its interval as text."""
    for place in range(factors.shape[1]):
        own = factors[~np.isnan(factors[:, place]), place]
        if not len(own):
            continue
        factor = float(np.exp(own.mean()))
        if len(own) < LEAST_LAUNCHES:
            if factor >= SLOW_ONCE:
                yield place, factor, ""
            continue
        reach = student_quantile(1 - 0.025 / factors.shape[1], len(own) - 1)
        low, high = np.exp(own.mean() + np.array([-1, 1]) * reach * own.std(ddof=1) / np.sqrt(len(own)))
        if low >= SLOW:
            yield place, factor, f" ({low:.2f} to {high:.2f})"


def _slow_ranks(name: str, rows: NDArray[np.void]) -> Iterator[Disturbance]:
    """Name ranks whose communication takes longer than that of others at the same size and load."""
    settings = np.unique(rows[_SETTING])
    numbered = rows.copy()
    numbered["size"] = np.searchsorted(settings, rows[_SETTING])
    (launches, ranks, _), cells = pivot(numbered, ("launch", "rank", "size"), "communication")
    if len(ranks) < 3:
        return
    for place, factor, span in _slow(_factors(np.where(cells > 0, cells, np.nan))):
        what = f"communication takes {factor:.2f} times as long as on other ranks{span}"
        rank = int(ranks[place])
        yield Disturbance(
            "slow rank", f"rank {rank} of {name}", what, tuple(launches.tolist()), (rank,), factor
        )


def _periods(name: str, rows: NDArray[np.void]) -> Iterator[Disturbance]:
    """Name ranks in which late cycles come again with a period, in one launch of two at least."""
    launches = np.unique(rows["launch"])
    found = defaultdict(list)
    for (rank, launch), own in groups(rows, "rank", "launch"):
        period = find_period(_excess(own))
        if period is not None:
            found[rank].append((launch, period))
    alike: dict[int, list[tuple[int, list[tuple[int, float]]]]] = defaultdict(list)
    for rank, seen in found.items():
        middle = float(np.median([period.cycles for _, period in seen]))
        same = [(launch, one.excess) for launch, one in seen if abs(one.cycles - middle) <= 0.02 * middle]
        if 2 * len(same) >= len(launches):
            near = next((known for known in alike if abs(known - middle) <= 0.02 * middle), round(middle))
            alike[near].append((rank, same))
    for cycles, members in alike.items():
        ranks = sorted(rank for rank, _ in members)
        seen_in = sorted({launch for _, same in members for launch, _ in same})
        excess = float(np.median([one for _, same in members for _, one in same]))
        what = (
            f"every {_ordinal(cycles)} cycle takes {time_text(1e9 * excess)} more, in {len(seen_in)} of"
            f" {count_text(len(launches), 'launch', 'launches')}"
        )
        yield Disturbance(
            "period", _ranks_text(ranks, name), what, tuple(seen_in), tuple(ranks), excess, cycles
        )


def _excess(rows: NDArray[np.void]) -> Floats:
    """Give communication times in order, each less the median at its size and load, plus that of all."""
    ordered = rows[np.argsort(rows["start"], kind="stable")]
    found = ordered["communication"].copy()
    settings, which = np.unique(ordered[_SETTING], return_inverse=True)
    for place in range(len(settings)):
        found[which == place] -= np.median(found[which == place])
    return np.asarray(found + np.median(ordered["communication"]))


def _changes(name: str, rows: NDArray[np.void], texts: Sequence[str]) -> Iterator[Disturbance]:
    """Name launches and cycles from which on communication takes longer or shorter, with the ranks."""
    found = []
    for (launch, _, size, beside, rank), own in groups(rows, "launch", "load", "size", "setting", "rank"):
        ordered = own[np.argsort(own["cycle"], kind="stable")]
        for change in find_changes(times(ordered, "communication")):
            if change.before > 0 and not 1 / CHANGED < change.after / change.before < CHANGED:
                setting = (launch, size, float(own["load"][0]), texts[beside])
                found.append((setting, int(ordered["cycle"][change.cycle]), rank, len(own), change))
    found.sort(key=lambda one: one[:3])
    while found:
        setting, cycle, _, length, first = found[0]
        rises = first.after > first.before
        together = [
            one
            for one in found
            if one[0] == setting
            and one[1] - cycle <= max(2, 0.02 * length)
            and (one[4].after > one[4].before) == rises
        ]
        found = [one for one in found if one not in together]
        ranks = sorted({one[2] for one in together})
        before, after = (
            float(np.median([getattr(one[4], end) for one in together])) for end in ("before", "after")
        )
        what = (
            f"communication {'rises' if rises else 'falls'} from {time_text(1e9 * before)} to"
            f" {time_text(1e9 * after)} at cycle {cycle} of launch {setting[0]}"
            f" ({size_text(setting[1], zeros=False)}, load {setting[2]:g} %{beside_text(setting[3])})"
        )
        yield Disturbance(
            "change", _ranks_text(ranks, name), what, (setting[0],), tuple(ranks), after / before, cycle
        )


def _ranks_text(ranks: list[int], name: str) -> str:
    numbers = ranges_text(ranks, "–") if len(ranks) > 3 else list_text(map(str, ranks))
    return f"rank{'s' if len(ranks) > 1 else ''} {numbers} of {name}"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"
