"""The state of one location of an OTF2 archive while its events are read."""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import Any

from pse.trace.format._events import NONE, EventType, TextKind
from pse.trace.interchange._event_file import EventFile
from pse.trace.interchange.otf2._archive import Archive, Place
from pse.trace.interchange.otf2._clock import Clock
from pse.trace.interchange.otf2._definition_writer import CREATE_DESTROY_EVENTS, MPI
from pse.trace.interchange.otf2._records import UNDEFINED

E = EventType


@dataclass
class Request:
    """A request that was started: its number in the trace, its communicator, the position of its event."""

    number: int
    communicator: int
    position: int


@dataclass
class Location:
    """What the events of a location have told so far.

    Parameters
    ----------
    archive : Archive
        Where it is.
    place : Place
        What it becomes.
    file : EventFile
        Where its events go.
    clock : Clock
        From ticks to ns.
    own : bool
        Whether pse wrote the archive.
    communicators : dict of int to int
        The trace's numbers of communicators, by those of the archive; threads of a rank share them.
    """

    archive: Archive
    place: Place
    file: EventFile
    clock: Clock
    own: bool
    communicators: dict[int, int] = field(default_factory=dict)
    stack: list[tuple[int, int]] = field(default_factory=list)  # Regions and when they were entered.
    named: dict[tuple[TextKind, Any], int] = field(default_factory=dict)
    counts: collections.Counter[TextKind] = field(default_factory=collections.Counter)
    requests: dict[int, Request] = field(default_factory=dict)
    begun: list[int] = field(default_factory=list)  # Positions of the begins of collective operations.
    messages: dict[Any, tuple[int, int, int]] = field(default_factory=dict)  # That were probed.
    request_count: int = 0
    lost: dict[str, int] = field(default_factory=dict)  # Events that could not be taken over, by kind.

    def lose(self, kind: str) -> None:
        """Count an event that has no place in the trace."""
        self.lost[kind] = self.lost.get(kind, 0) + 1

    def number(self, now: int, kind: TextKind, key: Any, *texts: tuple[TextKind, str]) -> int:
        """Number of something with a name; at first use its texts are written."""
        found = self.named.get((kind, key))
        if found is None:
            found = self.named[kind, key] = self.counts[kind] = self.counts[kind] + 1
            for text, name in texts:
                if name or text == kind:
                    self.file.text(now, text, found, name)
        return found

    def region(self, now: int, number: int) -> int:
        """The trace's number of a region."""
        found = self.named.get((TextKind.REGION, number))
        return self._new_region(now, number) if found is None else found

    def _new_region(self, now: int, number: int) -> int:
        name, _, description, _, paradigm, _, file, line, _ = (
            self.archive.tables["Region"].get(number) or (UNDEFINED,) * 9
        )
        archive, place = self.archive, ""
        if self.own and paradigm == MPI:
            name = description
        elif self.own:
            place = archive.string(description)
        elif paradigm != MPI and archive.string(file):
            place = archive.string(file) + (f":{line}:1" if line else "")
        shown = archive.string(name) or f"region {number}"
        texts = ((TextKind.REGION, shown), (TextKind.REGION_PLACE, place))
        return self.number(now, TextKind.REGION, number, *texts)

    def routine(self) -> str:
        """Name of the innermost region."""
        if not self.stack:
            return ""
        return self.archive.name("Region", self.stack[-1][0])

    def join(self, now: int) -> None:
        """Write the communicators that this rank is in from the start."""
        for number, members in self.archive.members.items():
            made_later = self.archive.tables["Comm"].get(number, (0,))[-1] & CREATE_DESTROY_EVENTS
            if self.place.is_mpi and not made_later and (members is None or self.place.process in members):
                self.create(now, number)

    def communicator(self, now: int, number: int) -> int:
        """The trace's number of a communicator; what its events say of it is written before its first use."""
        found = 0 if number == UNDEFINED else self.communicators.get(number)
        return self.create(now, number) if found is None else found

    def create(self, now: int, number: int, said: dict[str, int] | None = None) -> int:
        """Write that a communicator came into being, and, on its first rank, who is in it."""
        own = said["number"] if said else number + 1
        self.communicators[number] = own
        members = self.archive.members.get(number) or (self.place.process,)
        if said is None:
            said = self._membership(number, members)
        name = self.archive.name("Comm" if number in self.archive.tables["Comm"] else "InterComm", number)
        if name and not name.startswith("communicator "):
            self.file.text(now, TextKind.COMMUNICATOR, own, name)
        a, b, c = (
            said[x] | said[y] << 32
            for x, y in (("number", "parent"), ("leader", "leader's number"), ("size", "rank"))
        )
        self.file.append(now, E.MPI_COMMUNICATOR, said["groups"], a=a, b=b, c=c)
        if said["leader"] == self.place.rank and said["rank"] == 0:
            self._write_members(now, own, members)
        return own

    def _membership(self, number: int, members: tuple[int, ...]) -> dict[str, int]:
        parent = self.archive.tables["Comm"].get(number, (0, 0, UNDEFINED))[2]
        rank = members.index(self.place.process) if self.place.process in members else 0
        return {
            "number": number + 1,
            "parent": self.communicators.get(parent, 0),
            "leader": members[0],
            "leader's number": number + 1,
            "size": len(members),
            "rank": rank,
            "groups": 0,
        }

    def _write_members(self, now: int, own: int, members: tuple[int, ...]) -> None:
        for first in range(0, len(members), 4):
            m = (*members[first : first + 4], NONE, NONE, NONE)
            self.file.append(
                now, E.MPI_COMMUNICATOR_RANKS, a=own | first << 32, b=m[0] | m[1] << 32, c=m[2] | m[3] << 32
            )

    def partner(self, number: int, rank: int) -> int:
        """Place of a partner among the members of a communicator; between two groups it is in the other."""
        side = self.archive.sides.get(number)
        if side is None or rank >= UNDEFINED - 2 or self.place.process not in side:
            return rank
        return rank + len(side)

    def start(self, number: int, communicator: int, position: int) -> Request:
        """Remember a request that was started."""
        self.request_count = max(self.request_count + 1, number if number <= NONE - 1 else 0)
        own = number if self.own else self.request_count
        made = self.requests[number] = Request(own, communicator, position)
        return made

    def request(self, number: int) -> Request:
        """A request that was started; one whose start is missing gets its number now."""
        return self.requests.get(number) or self.start(number, 0, -1)
