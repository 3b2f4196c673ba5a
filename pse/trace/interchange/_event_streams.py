"""One rank's events as exports want them: in the order of time, selected, in chunks, with the run's times.

A rank may have more events than fit into memory twice, so its file stays mapped; what is made here for all of
them is at most their positions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pse.records import dataclass
from pse.trace.format._events import NONE, EventType, TextKind
from pse.trace.format._field_values import Array
from pse.trace.interchange._callers import with_callers
from pse.trace.query._selection import Selection
from pse.trace.query._trace import Trace

CHUNK = 65536
BEGINS = (EventType.MODULE_ENTER, EventType.WAIT_BEGIN, EventType.REGION_ENTER)
ENDS = (EventType.MODULE_LEAVE, EventType.WAIT_END, EventType.REGION_LEAVE)
ALWAYS = (
    EventType.TEXT,
    EventType.CLOCK_SYNC,
    EventType.CALLERS,
    EventType.THREAD,
    EventType.MPI_COMMUNICATOR,
    EventType.MPI_COMMUNICATOR_RANKS,
    EventType.MPI_NEIGHBORS,
)


@dataclass(frozen=True)
class Stream:
    """The events of one rank that a selection leaves.

    Parameters
    ----------
    trace : Trace
        Where they are.
    rank : int
        Whose they are.
    positions : array of int64 or None
        Which of the rank's events, in which order; None: all, as they are.
    """

    trace: Trace
    rank: int
    positions: Array | None

    def __len__(self) -> int:
        return len(self.trace.events(self.rank) if self.positions is None else self.positions)

    @property
    def ends(self) -> tuple[int, int]:
        """Times of the first and the last event, ns since the run's origin."""
        events = self.trace.events(self.rank)
        both = events[[0, -1] if self.positions is None else self.positions[[0, -1]]]
        first, last = self.trace.run_times(self.rank, both["time"]).tolist()
        return first, last

    def routines(self) -> set[str]:
        """Names of the routines that are entered."""
        texts, entered = self.trace.texts(self.rank), set[int]()
        for chunk, _ in self.chunks():
            entered.update(np.unique(chunk["a"][chunk["type"] == EventType.REGION_ENTER]).tolist())
        return {texts.get((TextKind.REGION, number), "") for number in entered}

    def chunks(self) -> Iterator[tuple[Array, Array]]:
        """Pairs of events and their times: EVENT_DTYPE and int64 ns since the run's origin.

        Callers that were found on the stack are entered and left around the routines that they called.
        """
        has_callers = self.trace.files[self.rank].counts[EventType.CALLERS]
        return with_callers(self._chunks()) if has_callers else self._chunks()

    def _chunks(self) -> Iterator[tuple[Array, Array]]:
        events = self.trace.events(self.rank)
        for begin in range(0, len(self), CHUNK):
            here = slice(begin, begin + CHUNK)
            chunk = events[here] if self.positions is None else events[self.positions[here]]
            yield chunk, self.trace.run_times(self.rank, chunk["time"])


def streams(trace: Trace, selection: Selection | None) -> list[Stream]:
    """The streams of all ranks that a selection leaves.

    Raises
    ------
    TraceError
        It leaves nothing, or names what isn't there.
    """
    if selection is None or selection == Selection():
        return [Stream(trace, rank, _in_order(trace, rank)) for rank in trace.ranks]
    selection.check(trace)
    sites = _sites(trace, selection)
    return [Stream(trace, rank, _chosen(trace, rank, selection, sites)) for rank in selection.ranks_of(trace)]


def unmatched_ends(count: int) -> str:
    """Say how many ends could not be written because their begins are not where they say.

    Parameters
    ----------
    count : int
        How many.

    Returns
    -------
    str
        The beginning of a sentence.

    Examples
    --------
    >>> unmatched_ends(1)
    "1 end of a call or wait doesn't match its begin"
    """
    if count == 1:
        return "1 end of a call or wait doesn't match its begin"
    return f"{count:,} ends of calls or waits don't match their begins"


def _in_order(trace: Trace, rank: int) -> Array | None:
    """Positions of a rank's events by time; None if they are in order as they are."""
    times = trace.run_times(rank, trace.events(rank)["time"])
    return None if (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")


def _sites(trace: Trace, selection: Selection) -> Array | None:
    """Numbers of the call sites of the selected modules."""
    if selection.modules is None:
        return None
    known = trace.definitions.sites if trace.definitions else ()
    table = np.zeros(len(known), [("site", "<u4"), ("time", "<i8")])
    table["site"] = [site.id for site in known]
    chosen: Array = Selection(modules=selection.modules).of(trace, table)["site"]
    return chosen


def _chosen(trace: Trace, rank: int, selection: Selection, sites: Array | None) -> Array:
    """Positions of a rank's events that a selection leaves; what belongs to no call site or TPH stays."""
    events = trace.events(rank)
    order = _in_order(trace, rank)
    positions = np.arange(len(events)) if order is None else order
    keep = np.ones(len(events), bool)
    if sites is not None:
        keep &= np.isin(events["site"], sites) | (events["site"] == NONE)
    tphs = selection.tph_numbers(trace)
    if tphs is not None:
        keep &= np.isin(events["tph"], np.array(sorted(tphs), "<u8")) | (events["tph"] == 0)
    keep |= np.isin(events["type"], ALWAYS)
    positions = positions[keep[positions]]
    if selection.begin is None and selection.end is None:
        return positions
    return positions[_in_window(trace, rank, positions, selection)]


def _in_window(trace: Trace, rank: int, positions: Array, selection: Selection) -> Array:
    """Which of a rank's events lie in a window of time, or begin or end what overlaps it."""
    types = trace.events(rank)["type"][positions]
    times = trace.run_times(rank, trace.events(rank)["time"][positions])
    first = 0 if selection.begin is None else int(np.searchsorted(times, selection.begin * 1e9, "left"))
    last = len(times) if selection.end is None else int(np.searchsorted(times, selection.end * 1e9, "right"))
    steps = np.isin(types, BEGINS).astype("<i4") - np.isin(types, ENDS)
    depth = np.cumsum(steps, dtype="<i4")
    lowest_after = np.minimum.accumulate(depth[:first][::-1])[::-1]
    opened = np.flatnonzero((steps[:first] == 1) & (lowest_after >= depth[:first]))
    before = np.concatenate([[0], depth])  # Of all events that come earlier.
    lowest_before = np.minimum.accumulate(before[last:])[:-1]
    closed: Array = last + np.flatnonzero((steps[last:] == -1) & (depth[last:] < lowest_before))
    always = np.flatnonzero(np.isin(types, ALWAYS))
    inside: Array = np.unique(np.concatenate([opened, np.arange(first, last), closed, always]).astype("<i8"))
    return inside
