"""Calling contexts of an OTF2 archive as calls: of programs that were sampled, or whose stack was unwound.

An event names the context of the innermost call and how far from it the stack has changed since the event
before (the unwind distance: 1 if no call was entered).  What left the stack since is left now, what came is
entered now: the sampler saw it no earlier.
"""

from __future__ import annotations

import functools

from pse.trace.format._events import EventType
from pse.trace.interchange.otf2._location_state import Location
from pse.trace.interchange.otf2._records import UNDEFINED

E = EventType


class CallingContexts:
    """Takes over the calling contexts of one location.

    Parameters
    ----------
    location : Location
        What the events have told so far.
    """

    def __init__(self, location: Location) -> None:
        self._at = location
        self._path = functools.cache(self._regions)
        self._is_sampled = False

    def enter(self, now: int, _attributes: int | None, context: int, distance: int) -> None:
        """A call was entered, or a sample taken: what is on the stack now."""
        regions = self._path(context)
        self._leave(now, max(len(regions) + 1 - distance, 0))
        for region in regions[len(self._at.stack) :]:
            number = self._at.region(now, region)
            self._at.stack.append((region, now))
            self._at.file.append(now, E.REGION_ENTER, a=number)

    def sample(self, now: int, attributes: int | None, context: int, distance: int, _generator: int) -> None:
        """A sample was taken."""
        self._is_sampled = True
        if context == UNDEFINED:
            self._leave(now, 0)
        else:
            self.enter(now, attributes, context, distance)

    def leave(self, now: int, _attributes: int | None, context: int) -> None:
        """A call was left."""
        depth = len(self._path(context)) - 1
        if len(self._at.stack) <= depth:
            self._at.lose("CallingContextLeave without its enter")
        self._leave(now, depth)

    def finish(self, now: int) -> None:
        """What the last sample saw has no end but the last event's time."""
        if self._is_sampled:
            self._leave(now, 0)

    def _leave(self, now: int, depth: int) -> None:
        """Leave calls until the stack is as deep as that."""
        stack = self._at.stack
        while len(stack) > depth:
            region, begin = stack.pop()
            self._at.file.append(now, E.REGION_LEAVE, a=self._at.region(now, region), b=begin)

    def _regions(self, context: int) -> tuple[int, ...]:
        """Regions of a context, the outermost first."""
        table, regions = self._at.archive.tables["CallingContext"], []
        seen: set[int] = set()
        while context in table and context not in seen:
            seen.add(context)
            region, _, parent = table[context]
            regions.append(region)
            context = parent
        return tuple(reversed(regions))
