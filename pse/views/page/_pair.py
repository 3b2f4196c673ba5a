"""A second run in the page of the first: its rows below those of the first, and the differences of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pse.analysis import call_site_names, run_differences
from pse.trace import EventType, Trace
from pse.trace.format import Array, low32
from pse.trace.query import PROGRAM_TPH, Selection
from pse.views.core._rows import Row, rows
from pse.views.page._blocks import CAUSES, Lane, main_lanes
from pse.views.page._kinds import Kinds

MOST_ITERATIONS = 20_000
"""Iterations by which rows are aligned; of more, the first ones."""


@dataclass(frozen=True)
class Pair:
    """What the page compares a run with.

    Parameters
    ----------
    second : Trace
        The run that is compared.
    like_first, like_second : sequence of Trace
        Further runs of both kinds: with three of each, differences have intervals.

    Examples
    --------
    >>> Pair(pse.trace.open("run1")).like_second
    ()
    """

    second: Trace
    like_first: Sequence[Trace] = field(default=())
    like_second: Sequence[Trace] = field(default=())

    def differences(self, first: Trace, selection: Selection) -> list[dict[str, Any]]:
        """Differences of all runs, ready for JSON."""
        runs = (first, *self.like_first), (self.second, *self.like_second)
        return [one.to_json() for one in run_differences(*runs, selection)]


def lanes_beside(
    first: Trace, second: Trace, selection: Selection, shown: Sequence[Row], kinds: Kinds, limit: int
) -> tuple[list[Lane], int]:
    """Give the lanes of the second run at the rows of the first, and how many ranks have no row there."""
    own = rows(second, selection)
    places = {_seat(row): place for place, row in enumerate(shown)}
    matched = [row for row in own if _seat(row) in places]
    there = Kinds(second)
    made = list(main_lanes(second, selection, matched, there, limit))
    offset = kinds.adopt(there, _nodes(first, second))
    found = [
        dataclasses.replace(
            _alone(lane), row=places[_seat(matched[lane.row])], kind=lane.kind + np.uint32(offset), run=1
        )
        for lane in made
    ]
    return found, len(own) - len(matched)


def _seat(row: Row) -> tuple[object, ...]:
    """What rows of two runs have in common: their place in the program, or their rank."""
    return (row.group, row.thread) if row.group else (row.rank,)


def _alone(lane: Lane) -> Lane:
    """TPHs, partitions and other ranks of the second run are not those of the first."""
    entries = lane.entries.copy()
    for name in ("tph", "peer", "partition", *CAUSES):
        entries[name] = 0
    return dataclasses.replace(lane, entries=entries)


def _nodes(first: Trace, second: Trace) -> dict[int, int]:
    """Places of call sites of the second run among those of the first."""
    names = [list(call_site_names(trace.definitions).values()) for trace in (first, second)]
    known = {name: place for place, name in enumerate(names[0])}
    return {place: known[name] for place, name in enumerate(names[1]) if name in known}


def iterations(first: Trace, second: Trace) -> list[tuple[int, int]]:
    """When each iteration of the outermost loop began in both runs, ns; ascending in both."""
    begun = [_begun(trace) for trace in (first, second)]
    common = sorted((begun[0][key], begun[1][key]) for key in begun[0].keys() & begun[1].keys())
    found: list[tuple[int, int]] = []
    for pair in common[:MOST_ITERATIONS]:
        if not found or (pair[0] > found[-1][0] and pair[1] > found[-1][1]):
            found.append(pair)
    return found


def _begun(trace: Trace) -> dict[tuple[int, int], int]:
    """For each loop and value of its counter, when the first rank began that iteration, ns."""
    found: dict[tuple[int, int], int] = {}
    for rank in trace.ranks:
        events = trace.select(rank, EventType.CONTEXT_BEGIN)
        events = events[events["a"] == PROGRAM_TPH]
        times = trace.run_times(rank, events["time"]).tolist()
        loops, counters = _loops(events["c"]), events["b"].view("<i8").tolist()
        for key, time in zip(zip(loops, counters, strict=True), times, strict=True):
            found[key] = min(time, found.get(key, time))
    return found


def _loops(values: Array) -> list[int]:
    loops: list[int] = low32(values).tolist()
    return loops
