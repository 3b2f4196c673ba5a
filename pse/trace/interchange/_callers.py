"""Callers that were found on the stack, as calls of their own around the routines that they called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pse.trace.format._events import EventType
from pse.trace.format._field_values import Array, high32, low32


def with_callers(chunks: Iterable[tuple[Array, Array]]) -> Iterator[tuple[Array, Array]]:
    """Give chunks of one rank's events and times with an enter and a leave for each caller."""
    chains: dict[int, list[int]] = {}
    running: dict[tuple[int, int], list[int]] = {}
    for events, times in chunks:
        _learn(events, chains)
        enters = np.flatnonzero((events["type"] == EventType.REGION_ENTER) & (events["b"] > 0))
        for row in enters.tolist():
            running[int(events["time"][row]), int(events["a"][row])] = chains.get(int(events["b"][row]), [])
        leaves = np.flatnonzero(events["type"] == EventType.REGION_LEAVE)
        ended = [(row, running.pop(key, [])) for row, key in _keys(events, leaves)]
        begun = [(row, chains.get(int(events["b"][row]), [])) for row in enters.tolist()]
        yield _inserted(events, times, begun, ended)


def _learn(events: Array, chains: dict[int, list[int]]) -> None:
    """Learn the numbers of regions, from the outermost, that numbers of callers stand for."""
    made = events[events["type"] == EventType.CALLERS]
    for number, region, around in zip(made["a"].tolist(), low32(made["b"]), high32(made["b"]), strict=True):
        chains[number] = [*chains.get(int(around), []), int(region)]


def _keys(events: Array, leaves: Array) -> Iterator[tuple[int, tuple[int, int]]]:
    """Each leave with what tells its enter: time and routine."""
    columns = (leaves, events["b"][leaves], events["a"][leaves])
    for row, entered, routine in zip(*(column.tolist() for column in columns), strict=True):
        yield row, (entered, routine)


def _inserted(
    events: Array, times: Array, begun: list[tuple[int, list[int]]], ended: list[tuple[int, list[int]]]
) -> tuple[Array, Array]:
    """Put calls of callers before enters and after leaves."""
    added = [(row + 1, row, region) for row, chain in ended for region in reversed(chain)]
    added += [(row, row, region) for row, chain in begun for region in chain]
    places, sources, regions = np.array(added, "<i8").reshape(-1, 3).T
    calls, events = events[sources], events.copy()
    calls["a"] = regions
    calls["c"] = 0
    for rows in (calls, events):
        rows["b"][rows["type"] == EventType.REGION_ENTER] = 0
    return np.insert(events, places, calls), np.insert(times, places, times[sources])
