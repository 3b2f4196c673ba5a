"""Phase one: pairs of ranks exchange messages at full load, over a range of sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse._abi.emulate import StepKind
from pse.emulate.configuration._configuration import Configuration
from pse.emulate.job._rank_group import RankGroup
from pse.emulate.patterns._cycle import Step
from pse.emulate.results._results import EXCHANGE

LONGEST = 1.0
"""Seconds that the exchanges of one size may take; then they are repeated less often."""
FEWEST = 10
_WARM_UP = 5
_WARM_SECONDS = 1e-3
"""So long messages of a size are exchanged before they count: ranks slept before, and one woke up first."""
_BURST = 16
_DELAY = 50e-6  # Seconds by which a receiver is late, so that the message is there.


def rounds_of(ranks: int, *, matrix: bool) -> list[list[int]]:
    """Give the partner of each rank in each round; a rank without one is its own.

    Examples
    --------
    >>> rounds_of(3, matrix=False)
    [[1, 0, 2]]
    >>> rounds_of(4, matrix=True)
    [[3, 2, 1, 0], [2, 3, 0, 1], [1, 0, 3, 2]]
    """
    if not matrix:
        return [[rank ^ 1 if rank ^ 1 < ranks else rank for rank in range(ranks)]]
    return [_tournament_round(ranks, number) for number in range(ranks - 1 + ranks % 2)]


def _tournament_round(ranks: int, number: int) -> list[int]:
    """Pair all ranks as in a tournament of everybody against everybody."""
    places = ranks + ranks % 2
    order = [0, *((place - number) % (places - 1) + 1 for place in range(places - 1))]
    partners = list(range(places))
    for one, other in zip(order[: places // 2], reversed(order[places // 2 :]), strict=True):
        partners[one], partners[other] = other, one
    return [partner if partner < ranks else rank for rank, partner in enumerate(partners[:ranks])]


def measure_exchanges(
    group: RankGroup, configuration: Configuration, launch: int, random: np.random.Generator
) -> NDArray[np.void]:
    """Measure what messages take, one way.

    Returns
    -------
    numpy.ndarray
        The exchanges of this rank, EXCHANGE\\[n].
    """
    found = [np.zeros(0, EXCHANGE)]
    sizes = np.array(sorted({*configuration.exchange_sizes}))
    for partners in rounds_of(group.size, matrix=configuration.matrix):
        for size in random.permutation(sizes):
            seconds = _exchange(group, partners[group.rank], int(size), configuration.repetitions)
            rows = np.zeros(len(seconds), EXCHANGE)
            rows["launch"], rows["rank"], rows["partner"] = launch, group.rank, partners[group.rank]
            rows["size"], rows["repetition"], rows["seconds"] = size, np.arange(len(rows)), seconds
            found.append(rows)
    return np.concatenate(found)


def _exchange(group: RankGroup, partner: int, size: int, repetitions: int) -> NDArray[np.float64]:
    """Time messages to and fro; those without a partner sleep meanwhile."""
    there = [Step(StepKind.SEND, partner, size), Step(StepKind.RECEIVE, partner, size)]
    steps = there if group.rank < partner else there[::-1]
    alone = partner == group.rank
    group.meet()
    first = 0.0 if alone else float(group.run([steps], _WARM_UP, synchronous=False)["communication"][-1])
    each = max(group.greatest(first), 1e-9)
    if alone:
        return np.zeros(0)
    count = int(min(repetitions, max(FEWEST, LONGEST / each)))
    warm = int(max(_WARM_UP, _WARM_SECONDS / each))
    times = group.run([steps], warm + count, synchronous=False)["communication"]
    return np.asarray(times[warm:]) / 2


def measure_loggp(group: RankGroup, sizes: tuple[int, ...], repetitions: int) -> list[dict[str, Any]]:
    """Measure the parameters of LogGP between neighbours in pairs.

    Returns
    -------
    list of dict
        One object for this rank: ``send_overhead``, ``receive_overhead``, ``latency`` and ``gap`` in s, and
        ``gap_per_byte`` in s/B; empty for a rank without a partner.  A latency below 0 means that the
        overheads of both sides overlap.
    """
    partner = rounds_of(group.size, matrix=False)[0][group.rank]
    alone, first = partner == group.rank, group.rank < partner
    small, large = 1, max(*sizes, 1 << 20)
    one_way = [_exchange(group, partner, size, repetitions) for size in (small, large)]
    probes = _probes(partner, small, first=first)
    one, other, burst = (_median_of(group, [] if alone else steps, repetitions) for steps in probes)
    send, receive = (one, other) if first else (other, one)
    if alone:
        return []
    short, long = (float(np.median(times)) for times in one_way)
    return [
        {
            "rank": group.rank,
            "partner": partner,
            "send_overhead": send,
            "receive_overhead": receive,
            "latency": short - send - receive,
            "gap": burst / _BURST,
            "gap_per_byte": (long - short) / (large - small),
        }
    ]


def _probes(partner: int, size: int, *, first: bool) -> Iterator[list[Step]]:
    """Give the steps by which the first rank of a pair sends, those by which it receives, and a burst.

    A receiver is late, so that the message is there when it begins.
    """
    late = Step(StepKind.COMPUTE, seconds=_DELAY)
    sends = [Step(StepKind.SEND, partner, size)]
    receives = [late, Step(StepKind.RECEIVE, partner, size)]
    yield sends if first else receives
    yield receives if first else sends
    burst = Step(StepKind.ISEND if first else StepKind.IRECEIVE, partner, size)
    yield [*(burst,) * _BURST, Step(StepKind.WAITALL)]


def _median_of(group: RankGroup, steps: list[Step], repetitions: int) -> float:
    group.meet()
    count = min(repetitions, int(LONGEST / _DELAY))
    return float(np.median(group.run([steps], count)["communication"]))
