"""Reads the events of one location of an OTF2 archive into the file of events of one rank.

The library calls back for each event.  Before an event comes what belongs there and isn't among the events:
communicators, comparisons of clocks, marks.
"""

from __future__ import annotations

import collections
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from pse.trace.format._events import EventType
from pse.trace.interchange.otf2._event_reader import EventReader
from pse.trace.interchange.otf2._location_state import Location
from pse.trace.interchange.otf2._markers import Marker
from pse.trace.interchange.otf2._records import EVENTS, OTHER_EVENTS, Library, event_callback

CONTINUE, STOP = 0, 1  # What a callback returns.


class LocationReader:
    """What the library calls for each event of a location.

    Parameters
    ----------
    library : Library
        The C library.
    location : Location
        Takes the events.
    syncs : sequence of (int, int)
        When the location's clock was compared with the archive's, ns, and the error bounds, ns.
    marks : sequence of Marker
        Marks that somebody set in the archive.
    """

    def __init__(
        self,
        library: Library,
        location: Location,
        syncs: Sequence[tuple[int, int]],
        marks: Sequence[Marker] = (),
    ) -> None:
        self._library, self._at = library, location
        self._events = EventReader(library, location)
        pending: list[tuple[int, Callable[[int, int], None]]] = [
            *((time, functools.partial(self._sync, bound)) for time, bound in syncs),
            *((mark.time, functools.partial(self._set_mark, mark)) for mark in marks),
        ]
        self._pending = collections.deque(sorted(pending, key=lambda item: item[0]))
        self._due: float = -1  # The next time at which there is something to write before an event.
        self._last = self.seen = 0
        self._file, self._own = location.file, location.own
        self.failure: BaseException | None = None
        self._keep: list[Any] = []

    def register(self) -> int:
        """Make the library's table of callbacks; older releases don't know all events."""
        table = self._library.make("EvtReaderCallbacks_New")
        handlers = [(record, types, self._events.handler(record)) for record, types in EVENTS.items()]
        handlers += [(record, (), functools.partial(self._lose, record)) for record in OTHER_EVENTS]
        for record, types, handler in handlers:
            setter = f"EvtReaderCallbacks_Set{record}Callback"
            if self._library.has(setter):
                self._keep.append(event_callback(types)(self._guarded(handler)))
                self._library.call(setter, table, self._keep[-1])
        return table

    def _lose(self, record: str, *_: Any) -> None:
        self._at.lose(record)

    def _guarded(self, handler: Callable[..., None]) -> Callable[..., int]:
        ns, residual, file = self._at.clock.ns, self._at.clock.residual, self._file
        exact = self._at.clock.is_exact

        def callback(
            _location: int, ticks: int, _position: int, _data: int, attributes: int | None, *fields: Any
        ) -> int:
            try:
                self.seen += 1
                now = ns(ticks)
                if not exact:
                    file.residual = residual(ticks)
                if now >= self._due:
                    self._catch_up(now)
                self._last = now
                handler(now, attributes, *fields)
            except BaseException as error:  # It may not pass through C.
                self.failure = error
                return STOP
            return CONTINUE

        return callback

    def _catch_up(self, now: int) -> None:
        """Write what comes before an event: marks, comparisons of clocks, at first the communicators."""
        while self._pending and self._pending[0][0] <= now:
            self._pending.popleft()[1](self._last, now)
        if self._due < 0 and not self._own:
            self._at.join(now)
        self._due = self._pending[0][0] if self._pending else math.inf

    def finish(self) -> None:
        """Write what comes after the last event."""
        while self._pending and self.seen:
            self._pending.popleft()[1](self._last, self._last)
        self._events.finish(self._last)

    def _sync(self, bound: int, last: int, now: int) -> None:
        """The times are corrected already, so the offset is none, and the time of any event near will do."""
        self._last = last or now
        self._file.append(self._last, EventType.CLOCK_SYNC, b=bound)

    def _set_mark(self, mark: Marker, last: int, _now: int) -> None:
        self._last = max(mark.time, last)
        self._events.mark(self._last, mark.text, mark.duration)
