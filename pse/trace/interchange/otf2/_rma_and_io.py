"""One-sided communication and I/O of an OTF2 archive: bytes as counters, synchronisation as collectives.

The calls themselves are regions like all others.  What they moved has no message in a trace (nobody receives
a put), so each rank gets counters of its bytes so far.
"""

from __future__ import annotations

import collections
from collections.abc import Callable

from pse.trace.format._events import EventType, TextKind, ValueKind
from pse.trace.interchange.otf2._location_state import Location
from pse.trace.interchange.otf2._records import UNDEFINED

PUT, GOT = "RMA: bytes put", "RMA: bytes got"
IO = {0: "I/O: bytes read", 1: "I/O: bytes written"}
"""By the mode of an operation; others (flush) move nothing."""
OTHER_OPERATION = 18
FIRST_HANDLE = 17
"""From here on operations make and free handles: of windows, so they don't make communicators."""


class Transfers:
    """Takes over one-sided communication and I/O of one location.

    Parameters
    ----------
    location : Location
        What the events have told so far.
    event : callable
        Takes over an event of MPI: its kind, time, attributes, fields.
    """

    def __init__(self, location: Location, event: Callable[..., None]) -> None:
        self._at, self._event = location, event
        self._totals: collections.Counter[str] = collections.Counter()
        self._modes: dict[tuple[int, int], int] = {}

    def handlers(self) -> dict[str, Callable[..., None]]:
        """What takes events of each kind: it is given time, attributes, fields."""
        return {
            "RmaPut": lambda now, _, _win, _remote, moved, _id: self._count(now, PUT, moved),
            "RmaGet": lambda now, _, _win, _remote, moved, _id: self._count(now, GOT, moved),
            "RmaAtomic": self._atomic,
            "RmaCollectiveBegin": lambda now, _: self._event("MpiCollectiveBegin", now, None),
            "RmaCollectiveEnd": self._together,
            "IoOperationBegin": self._io_begin,
            "IoOperationComplete": self._io_complete,
        }

    def _count(self, now: int, name: str, moved: int) -> None:
        """Write how much it is so far; an operation that says no size moved nothing that is known."""
        texts = ((TextKind.COUNTER, name), (TextKind.COUNTER_UNIT, "B"))
        number = self._at.number(now, TextKind.COUNTER, name, *texts)
        self._totals[name] += moved if moved < 1 << 63 else 0
        self._at.file.append(now, EventType.COUNTER, ValueKind.UNSIGNED, a=number, b=self._totals[name])

    def _atomic(
        self, now: int, _: int | None, _win: int, _remote: int, _kind: int, sent: int, got: int, _id: int
    ) -> None:
        for name, moved in ((PUT, sent), (GOT, got)):
            if moved:
                self._count(now, name, moved)

    def _together(
        self, now: int, _: int | None, operation: int, _level: int, win: int, root: int, sent: int, got: int
    ) -> None:
        """A collective operation of a window is one of the window's communicator."""
        communicator = self._at.archive.tables["RmaWin"].get(win, (0, UNDEFINED))[1]
        known = operation if operation < FIRST_HANDLE else OTHER_OPERATION
        self._event("MpiCollectiveEnd", now, None, known, communicator, root, sent, got)

    def _io_begin(
        self, _now: int, _: int | None, handle: int, mode: int, _flags: int, _bytes: int, number: int
    ) -> None:
        self._modes[handle, number] = mode

    def _io_complete(self, now: int, _: int | None, handle: int, moved: int, number: int) -> None:
        name = IO.get(self._modes.pop((handle, number), -1))
        if name is not None:
            self._count(now, name, moved)
