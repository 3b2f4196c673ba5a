"""Who ended each wait, and wait states of MPI, for the page: what `pse trace why` and `pse analyze` tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pse.analysis import final_waits, wait_ends, wait_states, wait_suspects
from pse.trace import NONE, EventType, Trace
from pse.trace.format import Array

MOST_WAITS = 2_000_000
"""Waits, calls of MPI included; of more the page tells no causes: to find them, all are read at once."""
_ENDS = (EventType.WAIT_END, EventType.REGION_LEAVE)


class Causes:
    """Causes of the waits of a trace.

    Parameters
    ----------
    trace : Trace
        What is shown.

    Attributes
    ----------
    texts : list of str
        What ranks did that ended waits; `how` of a block counts in it, from 1.
    suspects : list of (int, int)
        Ranks whose last wait never ended, and the ranks that should have ended it.
    final : list of (int, int, int, int, int)
        Ranks that were done before others: since when, until when, which rank was last, and when that was.
    note : str
        Why there are none, or "".
    """

    def __init__(self, trace: Trace) -> None:
        self.texts: list[str] = []
        self.note = ""
        self.suspects: list[tuple[int, int]] = []
        self.final: list[tuple[int, int, int, int, int]] = []
        self._ends: Array | None = None
        self._states: Array | None = None
        count = sum(trace.files[rank].counts[kind] for rank in trace.ranks for kind in _ENDS)
        if count > MOST_WAITS:
            self.note = f"Causes are not in the page of {count:,} waits; pse trace why tells them."
        else:
            self._ends, self.texts = wait_ends(trace)
            self._states = wait_states(trace)
            self.suspects = list(wait_suspects(trace).items())
            self.final = list(_final(trace))

    def fill(self, rank: int, blocks: Array) -> None:
        """Say of a rank's blocks that are waits how they ended; `blocks` are by time."""
        if self._ends is None:
            return
        first, last = np.searchsorted(self._ends["rank"], (rank, rank + 1))
        own = self._ends[first:last]
        if not len(own) or not len(blocks):
            return
        place = np.minimum(np.searchsorted(own["begin"], blocks["start"]), len(own) - 1)
        ends = own[place]
        there = (ends["begin"] == blocks["start"]) & blocks["waits"]
        there &= (ends["until"] >= blocks["end"]) & (ends["late"] != NONE)
        chosen, ends = blocks[there], ends[there]
        chosen["since"], chosen["until"] = chosen["start"] - ends["since"], ends["until"] - chosen["end"]
        chosen["late"], chosen["how"] = ends["late"] + np.uint32(1), ends["how"] + np.uint32(1)
        chosen["woken"] = chosen["end"] - ends["time"]
        blocks[there] = chosen

    def states(self, rank: int, begin: int, end: int) -> Array | None:
        """The wait states of a rank in a window of time, as `wait_states` gives them; None: not known."""
        if self._states is None:
            return None
        own = self._states["rank"] == rank
        inside: Array = self._states[own & (self._states["end"] > begin) & (self._states["begin"] < end)]
        return inside


def _final(trace: Trace) -> Iterator[tuple[int, int, int, int, int]]:
    for rank, link in final_waits(trace).items():
        if link.ended_by is not None and link.begin is not None and link.end is not None:
            yield rank, link.begin, link.end, link.ended_by.rank, link.ended_by.time
