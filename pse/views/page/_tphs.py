"""The TPHs that the page names: those of its blocks and those around them, by the counters of their loops."""

from __future__ import annotations

import numpy as np

from pse.trace import EventType, Trace
from pse.trace.format import Array, low32


class TphTable:
    """TPHs, numbered from 1 for the page.

    Parameters
    ----------
    trace : Trace
        Which says what they are.
    numbers : array of uint64
        Those that are wanted, and 0.
    """

    def __init__(self, trace: Trace, numbers: Array) -> None:
        begun = [trace.select(rank, EventType.CONTEXT_BEGIN) for rank in trace.ranks]
        known, first = np.unique(np.concatenate([each["tph"] for each in begun]), return_index=True)
        parents, counters, loops = (
            np.concatenate([each[name] for each in begun])[first] for name in ("a", "b", "c")
        )
        self.numbers = _with_parents(np.unique(numbers[numbers > 0]).astype("<u8"), known, parents)
        at = places_in(known, self.numbers)
        is_known = at > 0
        self._parents, self._counters, self._loops = (np.zeros(len(at), "<i8") for _ in range(3))
        self._parents[is_known] = places_in(self.numbers, parents[at[is_known] - 1])
        self._counters[is_known] = counters[at[is_known] - 1].view("<i8")
        self._loops[is_known] = low32(loops[at[is_known] - 1]).astype("<i8") + 1

    def columns(self) -> dict[str, Array]:
        """What the page embeds: number, TPH around it, loop (from 1), value of its counter."""
        return {
            "tph_high": self.numbers >> np.uint64(32),
            "tph_low": low32(self.numbers),
            "tph_parent": self._parents,
            "tph_loop": self._loops,
            "tph_counter": self._counters,
        }


def _with_parents(numbers: Array, known: Array, parents: Array) -> Array:
    """TPHs and all those around them, ascending."""
    while True:
        at = places_in(known, numbers)
        around = np.union1d(numbers, parents[at[at > 0] - 1])
        around = around[around > 0]
        if len(around) == len(numbers):
            return around
        numbers = around


def places_in(table: Array, numbers: Array) -> Array:
    """Place of each number in an ascending table, from 1; 0 if it isn't there."""
    if not len(table):
        return np.zeros(len(numbers), "<i8")
    places = np.minimum(np.searchsorted(table, numbers), len(table) - 1)
    return np.where(table[places] == numbers, places + 1, 0)
