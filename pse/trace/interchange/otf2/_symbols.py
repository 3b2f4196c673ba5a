"""What the numbers of a trace's events are in an OTF2 archive: regions, communicators, metrics, parameters.

Ranks number routines, counters and communicators each for itself; an archive has one number for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pse.trace.format._events import NONE, EventType, TextKind, ValueKind, WaitReason
from pse.trace.format._field_values import Array, high32, low32
from pse.trace.interchange.otf2._definition_writer import (
    COMM_LOCATIONS,
    COMM_SELF,
    CREATE_DESTROY_EVENTS,
    TYPE_DOUBLE,
    TYPE_INT64,
    TYPE_UINT64,
    DefinitionWriter,
)
from pse.trace.interchange.otf2._records import UNDEFINED
from pse.trace.query._names import Names
from pse.trace.query._trace import Trace

_VALUES: dict[int, int] = {
    ValueKind.UNSIGNED: TYPE_UINT64,
    ValueKind.SIGNED: TYPE_INT64,
    ValueKind.FLOATING: TYPE_DOUBLE,
}


class Symbols:
    """Definitions for everything that a trace's events refer to.

    Parameters
    ----------
    trace : Trace
        The trace.
    definer : DefinitionWriter
        Where they are defined.

    Attributes
    ----------
    size : int
        How many ranks the job had, those included whose events are missing.
    """

    def __init__(self, trace: Trace, definer: DefinitionWriter) -> None:
        self._names, self._definer = Names(trace), definer
        self._texts = {rank: trace.texts(rank) for rank in trace.ranks}
        self._known: dict[tuple[str, int, int, int], int] = {}
        self._communicators = _Communicators(trace)
        defined = trace.definitions.ranks if trace.definitions else ()
        self.size = max([len(defined), max(trace.ranks) + 1, self._communicators.highest + 1])
        locations = definer.group(range(self.size), COMM_LOCATIONS)
        assert locations == 0, "readers look for the locations of ranks first"
        self._world = definer.group(range(self.size))
        if not self._communicators.keys:
            definer.communicator("world", "MPI_COMM_WORLD", self._world)
            definer.communicator("self", "MPI_COMM_SELF", definer.group((), COMM_SELF))
        self._makers: dict[str, Callable[[int, int, int], int]] = {
            "region:site": lambda rank, site, _: self._site(site),
            "region:wait": lambda rank, reason, _: definer.region(f"wait: {_reason(reason)}"),
            "region:routine": self._routine,
            "communicator:tags": lambda *_: definer.communicator("tags", "tags", self._world),
            "communicator:partitions": lambda *_: definer.communicator(
                "partitions", "partitions", self._world
            ),
            "communicator:own": lambda rank, number, _: self._communicator(rank, number),
            "communicator:named": lambda rank, number, _: self._communicator(rank, number),
            "metric:counter": self._counter,
            "metric:queue": lambda rank, number, _: self._queue(number),
            "metric:memory": lambda *_: definer.metric(
                "memory", "memory: allocated minus freed here", "B", TYPE_INT64
            ),
            "parameter:phase": lambda *_: definer.parameter("phase"),
            "parameter:thread": lambda *_: definer.parameter("thread"),
            "parameter:marker": lambda rank, number, _: definer.parameter(
                self._text(rank, TextKind.MARKER, number, f"marker {number}")
            ),
            "parameter:begin": lambda *_: definer.parameter("TPH begins"),
            "parameter:end": lambda *_: definer.parameter("TPH ends"),
            "parameter:await": lambda *_: definer.parameter("awaits"),
            "parameter:probe": lambda *_: definer.parameter("probe found"),
            "parameter:channel": lambda *_: definer.parameter("channel"),
            "parameter:neighbors": lambda *_: definer.parameter("neighbors"),
            "parameter:preempted": lambda *_: definer.parameter("preempted"),
            "parameter:take": lambda *_: definer.parameter("partition takes"),
            "parameter:complete": lambda *_: definer.parameter("partition's send complete"),
            "parameter:together": lambda *_: definer.parameter("collective operation of partitions begins"),
            "parameter:slice": lambda *_: definer.parameter("time slice"),
            "parameter:matched": lambda *_: definer.parameter("matched in slice"),
            "parameter:apart": lambda *_: definer.parameter("collective operation of partitions ends"),
        }

    def references(self, kind: str, rank: int, numbers: Array | None, flags: Array) -> list[int]:
        """What events of a rank refer to: for each number (and flags, for counters) the archive's number."""
        of = flags if kind == "metric:counter" else None
        count = len(flags)
        numbers_ = numbers.tolist() if numbers is not None else [0] * count
        flags_ = of.tolist() if of is not None else [0] * count
        known = self._known
        found = []
        for number, flag in zip(numbers_, flags_, strict=True):
            key = (kind, rank, number, flag)
            if key not in known:
                known[key] = self._makers[kind](rank, number, flag)
            found.append(known[key])
        return found

    def _text(self, rank: int, kind: TextKind, number: int, otherwise: str) -> str:
        return self._texts.get(rank, {}).get((kind, number), otherwise)

    def _site(self, site: int) -> int:
        _, label, place = self._names.site(site)
        return self._definer.region(label, place)

    def _routine(self, rank: int, number: int, _: int) -> int:
        name = self._text(rank, TextKind.REGION, number, f"routine {number}")
        return self._definer.routine(name, self._text(rank, TextKind.REGION_PLACE, number, ""))

    def _counter(self, rank: int, number: int, kind: int) -> int:
        name = self._text(rank, TextKind.COUNTER, number, f"counter {number}")
        unit = self._text(rank, TextKind.COUNTER_UNIT, number, "")
        value = _VALUES.get(kind, TYPE_UINT64)
        return self._definer.metric(("counter", name, unit, value), name, unit, value)

    def _queue(self, number: int) -> int:
        edge, sender = number & NONE, number >> 32
        name = "inbox" if edge == NONE else f"queue {self._names.tag(edge)}"
        if sender != NONE:
            name += f" from rank {sender}"
        return self._definer.metric(("queue", number), name, "entries")

    def _communicator(self, rank: int, number: int) -> int:
        own = self._communicators
        key = own.keys.get((rank, number))
        if key is None:
            return self._definer.communicator((rank, number), f"communicator {number}", self._world)
        parent = own.parents.get(key)
        above = self._communicator(*parent) if parent in own.keys else UNDEFINED
        named = next(
            (
                text
                for member, n in own.holders[key]
                if (text := self._text(member, TextKind.COMMUNICATOR, n, ""))
            ),
            f"communicator {key[0]}.{key[1]}",
        )
        group = self._definer.group(own.members(key))
        return self._definer.communicator(("own", key), named, group, above, CREATE_DESTROY_EVENTS)


def _reason(number: int) -> str:
    return WaitReason(number).name.lower() if number in list(map(int, WaitReason)) else f"reason {number}"


class _Communicators:
    """The communicators of a trace: which are the same on several ranks, and who is in them."""

    def __init__(self, trace: Trace) -> None:
        self.keys: dict[tuple[int, int], tuple[int, int]] = {}
        self.parents: dict[tuple[int, int], tuple[int, int]] = {}
        self.holders: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._found: dict[tuple[int, int], dict[int, int]] = {}
        self._listed: dict[tuple[int, int], dict[int, int]] = {}
        for rank in trace.ranks:
            self._read(rank, trace.select(rank, EventType.MPI_COMMUNICATOR))
        for rank in trace.ranks:
            self._read_members(rank, trace.select(rank, EventType.MPI_COMMUNICATOR_RANKS))
        members = [rank for found in self._listed.values() for rank in found.values()]
        self.highest = max(members, default=0)

    def members(self, key: tuple[int, int]) -> list[int]:
        """Ranks of the job in a communicator, in its order."""
        found = {**self._found[key], **self._listed.get(key, {})}
        return [found[place] for place in sorted(found)]

    def _read(self, rank: int, events: Array) -> None:
        columns = (
            low32(events["a"]),
            high32(events["a"]),
            low32(events["b"]),
            high32(events["b"]),
            high32(events["c"]),
        )
        for number, parent, leader, named, place in zip(*(c.tolist() for c in columns), strict=True):
            key = (leader, named)
            self.keys[rank, number] = key
            self.holders.setdefault(key, []).append((rank, number))
            self._found.setdefault(key, {})[place] = rank
            if 0 < parent < number:  # A damaged trace must not send us in a circle.
                self.parents.setdefault(key, (rank, parent))

    def _read_members(self, rank: int, events: Array) -> None:
        columns: list[Any] = [low32(events["a"]), high32(events["a"])]
        columns += [part(events[name]) for name in "bc" for part in (low32, high32)]
        for number, first, *members in zip(*(c.tolist() for c in columns), strict=True):
            key = self.keys.get((rank, number), (rank, number))
            listed = self._listed.setdefault(key, {})
            listed.update({first + i: member for i, member in enumerate(members) if member != NONE})
