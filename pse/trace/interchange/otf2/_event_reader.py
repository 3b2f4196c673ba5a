"""What the events of an OTF2 archive are in a trace.

Archives that pse wrote say in attributes what OTF2's records leave open, and come back as they were.  In
others' the records speak for themselves; what OTF2 tells only when something ends (communicator and root of a
collective operation, communicator of a receive) is filled into the event of its begin.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from pse.trace.format._events import NONE, Collective, EventType, Phase, SendMode, TextKind, ValueKind
from pse.trace.interchange.otf2 import _mapping as mapping
from pse.trace.interchange.otf2._calling_contexts import CallingContexts
from pse.trace.interchange.otf2._clock import MASK
from pse.trace.interchange.otf2._definition_writer import TYPE_DOUBLE, TYPE_INT64
from pse.trace.interchange.otf2._location_state import Location
from pse.trace.interchange.otf2._mapping import Rule
from pse.trace.interchange.otf2._records import POINTER, U8, U32, U64, UNDEFINED, Library, items
from pse.trace.interchange.otf2._rma_and_io import Transfers

E = EventType
NO_EXIT_CODE = -(2**63)
CREATE_HANDLE = 17
_COLLECTIVES = {number: kind for kind, number in reversed(mapping.OPERATIONS.items())}
_COLLECTIVES[CREATE_HANDLE] = Collective.CREATE_COMMUNICATOR
_MODES = {
    **dict.fromkeys(("MPI_Ssend", "MPI_Issend", "MPI_Ssend_init"), SendMode.SYNCHRONOUS),
    **dict.fromkeys(("MPI_Bsend", "MPI_Ibsend", "MPI_Bsend_init"), SendMode.BUFFERED),
    **dict.fromkeys(("MPI_Rsend", "MPI_Irsend", "MPI_Rsend_init"), SendMode.READY),
}


class EventReader:
    """Takes over the events of one location.

    Parameters
    ----------
    library : Library
        The C library.
    location : Location
        What the events have told so far.
    """

    def __init__(self, library: Library, location: Location) -> None:
        self._at, self._file, self._own = location, location.file, location.own
        self._attributes = {
            number: location.archive.string(name).removeprefix(mapping.PREFIX)
            for number, (name, *_rest) in location.archive.tables["Attribute"].items()
            if location.archive.string(name).startswith(mapping.PREFIX)
        }
        self._rules = {rule.record: rule for rule in reversed(mapping.RULES)}
        self._by_event = {(rule.record, int(rule.type)): rule for rule in reversed(mapping.RULES)}
        self._count = library.function("AttributeList_GetNumberOfElements", POINTER, result=U32)
        self._get = library.function(
            "AttributeList_GetAttributeByIndex", POINTER, U32, POINTER, POINTER, POINTER
        )
        self._slot = (U32(), U8(), U64())
        self._contexts = CallingContexts(location)
        self._transfers = Transfers(location, self._event).handlers()

    def handler(self, record: str) -> Callable[..., None]:
        """What takes events of a kind: it is given time, attributes, fields."""
        special: dict[str, Callable[..., None]] = {
            "BufferFlush": self._buffer_flush,
            "MeasurementOnOff": lambda now, _, on: self.mark(
                now, f"measurement {'off' if on == 2 else 'on'}"
            ),
            "CallingContextEnter": self._contexts.enter,
            "CallingContextSample": self._contexts.sample,
            "CallingContextLeave": self._contexts.leave,
            **self._transfers,
            "MpiProbe": self._probe,
            "MpiMrecv": self._matched_receive,
            "MpiImrecvRequest": self._matched_request,
            "MpiImrecv": self._matched_complete,
            "Metric": self._metric,
            "ParameterString": lambda now, _, parameter, text: self.mark(
                now, f"{self._at.archive.name('Parameter', parameter)}: {self._at.archive.string(text)}"
            ),
        }
        special |= {"ProgramBegin": self._begin, "ProgramEnd": self._end}
        if not self._own:
            special |= {"Enter": self._enter, "Leave": self._leave}
        return special.get(record) or (lambda now, said, *fields: self._event(record, now, said, *fields))

    def _said(self, attributes: int | None) -> dict[str, int]:
        """Attributes that pse wrote."""
        if not self._own or not attributes:
            return {}
        number, kind, value = self._slot
        said = {}
        for index in range(self._count(attributes)):
            self._get(attributes, index, *(ctypes.byref(part) for part in (number, kind, value)))
            name = self._attributes.get(number.value)
            if name is not None:
                said[name] = value.value
        return said

    def finish(self, now: int) -> None:
        """There are no more events."""
        self._contexts.finish(now)

    # Regions of others' archives, by far the most frequent.

    def _enter(self, now: int, _attributes: int | None, region: int) -> None:
        number = self._at.region(now, region)
        self._at.stack.append((region, now))
        self._file.append(now, E.REGION_ENTER, a=number)

    def _leave(self, now: int, _attributes: int | None, region: int) -> None:
        begin = self._left(region)
        if begin is not None:
            self._file.append(now, E.REGION_LEAVE, a=self._at.region(now, region), b=begin)

    def _left(self, region: int) -> int | None:
        """When the region that is left was entered; those inside it that were never left go with it."""
        stack = self._at.stack
        if not stack or stack[-1][0] != region:
            self._at.lose("Leave without its Enter")
            if all(entered != region for entered, _ in stack):
                return None
            while stack[-1][0] != region:
                stack.pop()
        return stack.pop()[1]

    # All other events, and pse's own.

    def _event(self, record: str, now: int, attributes: int | None, *fields: int) -> None:
        said = self._said(attributes)
        if mapping.ADDED in said:
            if record in ("Enter", "Leave"):
                self._added(record, now, fields[0])
            return
        rule = self._by_event.get((record, said.get(mapping.EVENT, -1))) or self._rules.get(record)
        if rule is None:  # ParameterInt
            self.mark(now, self._at.archive.name("Parameter", fields[0]), fields[1] & MASK)
            return
        event = self._decoded(rule, now, said, fields)
        after = _AFTER.get(rule.type)
        if after is None:
            self._file.append(now, rule.type, **event)
        else:
            after(self, now, rule, said, fields, event)

    def _added(self, record: str, now: int, region: int) -> None:
        if record == "Enter":
            self._at.stack.append((region, now))
        elif self._at.stack:
            self._at.stack.pop()

    def _decoded(self, rule: Rule, now: int, said: dict[str, int], fields: tuple[int, ...]) -> dict[str, int]:
        event = {"flags": 0, "site": NONE, "tph": 0, "a": 0, "b": 0, "c": 0}
        for source, value in rule.when.items():
            mapping.put(event, source, value)
        for name, (source, default) in rule.all_attributes.items():
            mapping.put(event, source, said.get(name, default))
        for source, value in zip(rule.values, fields, strict=False):
            self._put(event, now, rule, said, source, value)
        return event

    def _put(
        self, event: dict[str, int], now: int, rule: Rule, said: dict[str, int], source: str, value: int
    ) -> None:
        at = self._at
        if source == "region:routine":
            event["a"] = at.region(now, value)
        elif source == "communicator:own":
            mapping.put(event, "c.low", at.communicator(now, value))
        elif source == "communicator:named":
            mapping.put(event, "a.low", said.get("number") or at.communicators.get(value, value + 1))
        elif source == "parameter:marker":
            name = at.archive.name("Parameter", value)
            event["a"] = at.number(now, TextKind.MARKER, name, (TextKind.MARKER, name))
        elif source == "operation":
            event["flags"] = said.get("collective", _COLLECTIVES.get(value, Collective.OTHER))
        elif source == "c.high":
            if self._own:
                mapping.put(event, source, value)
        elif source not in mapping.DEFINED and source not in mapping.WORKED_OUT:
            mapping.put(event, source, value & MASK)

    def mark(self, now: int, name: str, value: int = 0) -> None:
        """Write a marker."""
        number = self._at.number(now, TextKind.MARKER, name, (TextKind.MARKER, name))
        self._file.append(now, E.MARKER, a=number, b=value)

    def _after_begin(self, now: int, rule: Rule, _said: Any, fields: Any, event: dict[str, int]) -> None:
        self._at.stack.append((fields[0], now))
        self._file.append(now, rule.type, **event)

    def _after_end(self, now: int, rule: Rule, _said: Any, fields: Any, event: dict[str, int]) -> None:
        begin = self._left(fields[0])
        if begin is not None:
            event["b"] = begin
            self._file.append(now, rule.type, **event)

    def _after_message(self, now: int, rule: Rule, said: Any, fields: Any, event: dict[str, int]) -> None:
        """A message is sent or received, or its sending is started, or its receiving complete."""
        at, (partner, communicator) = self._at, fields[:2]
        if not self._own:
            mapping.put(event, "b.low", at.partner(communicator, partner))
        if rule.type == E.MPI_SEND and not self._own:
            event["flags"] = _MODES.get(at.routine(), SendMode.STANDARD)
        position = self._file.count
        if rule.record == "MpiIsend":
            request = at.start(fields[-1], event["c"] & NONE, position)
            mapping.put(event, "c.high", request.number)
        elif rule.record == "MpiIrecv":
            request = at.request(fields[-1])
            mapping.put(event, "c.high", request.number)
            if not self._own and request.position >= 0:
                self._file.amend(request.position, c=event["c"])
            at.requests.pop(fields[-1], None)
        self._file.append(now, rule.type, **event)

    def _after_request(self, now: int, rule: Rule, said: Any, fields: Any, event: dict[str, int]) -> None:
        """A receive was posted, or a request is complete, not yet complete, or cancelled."""
        at, number = self._at, fields[0]
        if rule.type == E.MPI_RECEIVE_POST:
            request = at.start(number, event["c"] & NONE, self._file.count)
        else:
            request = at.request(number)
        mapping.put(event, "c.high", request.number)
        if "communicator" not in said:
            mapping.put(event, "c.low", request.communicator)
        self._file.append(now, rule.type, **event)
        if rule.type in (E.MPI_SEND_COMPLETE, E.MPI_REQUEST_CANCEL):
            at.requests.pop(number, None)

    def _after_collective_begin(
        self, now: int, rule: Rule, _said: Any, fields: Any, event: dict[str, int]
    ) -> None:
        position = self._file.count
        if fields:
            mapping.put(event, "c.high", self._at.start(fields[0], event["c"] & NONE, position).number)
        else:
            self._at.begun.append(position)
        self._file.append(now, rule.type, **event)

    def _after_collective_end(
        self, now: int, rule: Rule, _said: Any, fields: Any, event: dict[str, int]
    ) -> None:
        position = -1
        if rule.record == "MpiCollectiveEnd":
            position = self._at.begun.pop() if self._at.begun else -1
        else:
            request = self._at.request(fields[-1])
            position = request.position
            mapping.put(event, "c.high", request.number)
            self._at.requests.pop(fields[-1], None)
        if not self._own and position >= 0:
            root = fields[2] if fields[2] < UNDEFINED - 2 else NONE
            self._file.amend(position, flags=event["flags"], a=root, c=event["c"])
        self._file.append(now, rule.type, **event)

    def _after_communicator(
        self, now: int, _rule: Rule, said: Any, fields: Any, _event: dict[str, int]
    ) -> None:
        names = ("number", "parent", "leader", "leader's number", "size", "rank", "groups")
        if self._own and "number" in said:
            self._at.create(now, fields[0], {name: said.get(name, 0) for name in names})
        else:
            self._at.communicator(now, fields[0])

    def _begin(self, now: int, _attributes: int | None, *_: Any) -> None:
        """A program begins; pse's say so by themselves, what is around them was added."""
        if not self._own:
            self._file.append(now, E.PHASE, a=Phase.START)

    def _end(self, now: int, _attributes: int | None, status: int) -> None:
        if not self._own:
            self._file.append(now, E.PHASE, a=Phase.END, b=0 if status == NO_EXIT_CODE else status & MASK)

    def _buffer_flush(self, now: int, _attributes: int | None, stop: int) -> None:
        texts = (TextKind.REGION, "TRACE BUFFER FLUSH")
        number = self._at.number(now, TextKind.REGION, "flush", texts)
        self._file.append(now, E.REGION_ENTER, a=number)
        self._file.append(max(now, self._at.clock.ns(stop)), E.REGION_LEAVE, a=number, b=now)

    def _metric(
        self, now: int, attributes: int | None, metric: int, count: int, kinds: int, values: int
    ) -> None:
        said = self._said(attributes)
        rule = self._by_event.get(("Metric", said.get(mapping.EVENT, -1)))
        if mapping.ADDED in said:
            return
        (kinds_, values_) = items(kinds, U8, count), items(values, U64, count)
        if rule is not None and rule.type != E.COUNTER:
            self._file.append(now, rule.type, **self._decoded(rule, now, said, (metric, values_[0])))
            return
        general = {"site": said.get("call site", NONE), "tph": said.get("TPH", 0)}
        for member, kind, value in zip(self._members(metric), kinds_, values_, strict=False):
            flags = {TYPE_INT64: ValueKind.SIGNED, TYPE_DOUBLE: ValueKind.FLOATING}.get(
                kind, ValueKind.UNSIGNED
            )
            self._file.append(now, E.COUNTER, flags, a=self._counter(now, metric, member), b=value, **general)

    def _members(self, metric: int) -> tuple[int, ...]:
        tables = self._at.archive.tables
        metric = tables["MetricInstance"].get(metric, (metric,))[0]
        members: tuple[int, ...] = tables["MetricClass"].get(metric, ((),))[0]
        return members

    def _counter(self, now: int, metric: int, member: int) -> int:
        found = self._at.named.get((TextKind.COUNTER, (metric, member)))
        if found is not None:
            return found
        archive = self._at.archive
        name, description, _, _, _, base, exponent, unit = archive.tables["MetricMember"][member]
        shown = archive.string(description if self._own else unit)
        if exponent and not self._own:
            shown = f"{10 if base else 2}^{exponent} {shown}".rstrip()
        texts = ((TextKind.COUNTER, archive.string(name)), (TextKind.COUNTER_UNIT, shown))
        return self._at.number(now, TextKind.COUNTER, (metric, member), *texts)

    # Messages that were matched before they are received: MPI_Mprobe.

    def _probe(
        self, _now: int, _: int | None, sender: int, communicator: int, tag: int, message: int
    ) -> None:
        if message != MASK:
            self._at.messages[message] = (sender, communicator, tag)

    def _matched_receive(self, now: int, _: int | None, message: int, length: int) -> None:
        sender, communicator, tag = self._at.messages.pop(message, (NONE, UNDEFINED, NONE))
        self._event("MpiRecv", now, None, sender, communicator, tag, length)

    def _matched_request(self, now: int, _: int | None, message: int, request: int) -> None:
        self._event("MpiIrecvRequest", now, None, request)
        self._at.messages["of", request] = self._at.messages.pop(message, (NONE, UNDEFINED, NONE))

    def _matched_complete(self, now: int, _: int | None, request: int, length: int) -> None:
        sender, communicator, tag = self._at.messages.pop(("of", request), (NONE, UNDEFINED, NONE))
        self._event("MpiIrecv", now, None, sender, communicator, tag, length, request)


_AFTER: dict[EventType, Callable[..., None]] = {
    **dict.fromkeys((E.REGION_ENTER, E.MODULE_ENTER, E.WAIT_BEGIN), EventReader._after_begin),
    **dict.fromkeys((E.REGION_LEAVE, E.MODULE_LEAVE, E.WAIT_END), EventReader._after_end),
    **dict.fromkeys((E.MPI_SEND, E.MPI_RECEIVE), EventReader._after_message),
    **dict.fromkeys((E.MPI_SEND_COMPLETE, E.MPI_RECEIVE_POST), EventReader._after_request),
    **dict.fromkeys((E.MPI_REQUEST_TEST, E.MPI_REQUEST_CANCEL), EventReader._after_request),
    E.MPI_COLLECTIVE_BEGIN: EventReader._after_collective_begin,
    E.MPI_COLLECTIVE_END: EventReader._after_collective_end,
    E.MPI_COMMUNICATOR: EventReader._after_communicator,
}
