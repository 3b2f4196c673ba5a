"""Writes the events of one rank into its location of an OTF2 archive.

The fields of records are taken from whole columns of events; what is left to do for each event is to keep
calls nested, as OTF2 wants them, and to call the C library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from pse.records import dataclass
from pse.trace.format._events import EventType, Phase
from pse.trace.format._field_values import Array
from pse.trace.interchange.otf2 import _mapping as mapping
from pse.trace.interchange.otf2._definition_writer import TYPE_DOUBLE, TYPE_INT64, TYPE_UINT64
from pse.trace.interchange.otf2._mapping import Rule
from pse.trace.interchange.otf2._records import EVENTS, I64, POINTER, U8, U32, U64, UNDEFINED, Library
from pse.trace.interchange.otf2._symbols import Symbols

NO_STATUS = -(2**63)
AROUND = {"ProgramBegin", "ProgramEnd"}
VALUE_TYPES = (TYPE_UINT64, TYPE_INT64, TYPE_DOUBLE)  # In the order of ValueKind.
Step = tuple[Callable[..., None], int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class AddedRecords:
    """What is added to a rank's events, as numbers of the archive.

    Parameters
    ----------
    program : int
        String with the program's name, which begins and ends first and last.
    whole : int
        Region around everything.
    first, last : int or None
        Regions of MPI_Init and MPI_Finalize, if they have to be added.
    begin, end : int
        When all ranks begin and end: as MPI_Init and MPI_Finalize are collective, no rank may leave an added
        one before the others have come.
    cpu : int
        Metric for the CPU time that module calls have used so far.
    """

    program: int
    whole: int
    first: int | None
    last: int | None
    begin: int
    end: int
    cpu: int


class LocationWriter:
    """Writes one location.

    Parameters
    ----------
    library : Library
        The C library.
    writer : int
        Its writer of events.
    symbols : Symbols
        What numbers of the trace are in the archive.
    attributes : dict of str to int
        The archive's numbers of attributes.
    rank : int
        Whose events these are.

    Attributes
    ----------
    writer : int
        As above.
    dropped : int
        Ends of calls and waits without a begin, and begins that were ended early.
    """

    def __init__(
        self, library: Library, writer: int, symbols: Symbols, attributes: dict[str, int], rank: int
    ) -> None:
        self._library, self.writer, self._symbols, self._rank = library, writer, symbols, rank
        self._numbers = attributes
        self._list = library.make("AttributeList_New")
        plain, signed = (
            library.function(f"AttributeList_Add{name}", POINTER, U32, kind)
            for name, kind in (("Uint64", U64), ("Int64", I64))
        )
        self._add = {n: signed if name in mapping.SIGNED else plain for name, n in attributes.items()}
        self._functions = {
            name: library.function(f"EvtWriter_{name}", POINTER, POINTER, U64, *types)
            for name, types in EVENTS.items()
            if name in AROUND | {rule.record for rule in mapping.RULES}
        }
        self._kind, self._value = U8(4), U64()
        self._stack: list[int] = []
        self._roots: dict[int, int] = {}
        self._held, self._cpu, self._time, self._status = 0, 0, 0, NO_STATUS
        self._before: dict[str, Array] = {}
        self.dropped = 0

    def begin(self, around: AddedRecords | None) -> None:
        """Say what is added around the events, if anything is; the first event tells the time of it."""
        self._around, self._opened = around, False

    def write(self, events: Array, times: list[int]) -> None:
        """Write a chunk of events."""
        steps: list[Step | None] = [None] * len(events)
        for rule, here in self._split(events):
            emit = self._emitter(rule)
            attributes, columns = self._columns(rule, events[here], here)
            for position, said, fields in zip(here.tolist(), attributes, columns, strict=True):
                steps[position] = (emit, times[position], said, fields)
        for step in filter(None, steps):
            emit, self._time, said, fields = step
            if not self._opened:
                self._open()
            emit(self._time, said, *fields)

    def end(self) -> None:
        """Leave what is still open, and what was put around everything."""
        if self._opened:
            self._close()
        self._library.call("AttributeList_Delete", self._list)

    def _open(self) -> None:
        around, self._opened = self._around, True
        if around is None:
            return
        begin = self._time if around.first is None else around.begin
        self._added("ProgramBegin", begin, around.program, 0, None)
        self._added("Enter", begin, around.whole)
        self._add_call(begin, around.first)

    def _close(self) -> None:
        """End what is open, from the inside out."""
        around = self._around
        while self._stack:
            self._added("Leave", self._time, self._stack.pop())
        if around is None:
            return
        end = self._time if around.last is None else around.end
        self._add_call(end, around.last)
        self._added("Leave", end, around.whole)
        self._added("ProgramEnd", end, self._status)

    def _add_call(self, time: int, region: int | None) -> None:
        for record in ("Enter", "Leave") if region is not None else ():
            self._added(record, time, region)

    def _split(self, events: Array) -> list[tuple[Rule, Array]]:
        """Rules and their events' positions; what depends on the events before is worked out for all."""
        changes = np.where(events["type"] == EventType.ALLOCATE, events["a"].astype("<i8"), 0)
        changes -= np.where(events["type"] == EventType.FREE, events["a"].astype("<i8"), 0)
        held = self._held + np.cumsum(changes)
        self._held = int(held[-1]) if len(held) else self._held
        ends = events[(events["type"] == EventType.PHASE) & (events["a"] == Phase.END)]
        self._status = int(ends["b"][-1]) if len(ends) else self._status
        self._before = {"held": held, "root": self._roots_of(events), "stream": mapping.streams(events)}
        return mapping.split(events)

    def _roots_of(self, events: Array) -> Array:
        """For each end of a collective operation the root that its begin told."""
        found = np.full(len(events), UNDEFINED, "<u4")
        collective = (EventType.MPI_COLLECTIVE_BEGIN, EventType.MPI_COLLECTIVE_END)
        here = np.flatnonzero(np.isin(events["type"], collective))
        columns = (events["type"][here], events["c"][here], mapping.column(events[here], "a.low"))
        for position, kind, key, root in zip(here, *(column.tolist() for column in columns), strict=True):
            if kind == EventType.MPI_COLLECTIVE_BEGIN:
                self._roots[key] = root
            else:
                found[position] = self._roots.pop(key, UNDEFINED)
        return found

    def _emitter(self, rule: Rule) -> Callable[..., None]:
        special: dict[str, Callable[..., None]] = {
            "Leave": self._leave,
            "Metric": self._metric,
        }
        if rule.type == EventType.MODULE_ENTER:
            return self._module_enter
        if rule.type == EventType.MODULE_LEAVE:
            return self._module_leave
        if rule.record == "Enter":
            return self._enter
        return special.get(rule.record) or self._plain(rule.record)

    def _plain(self, record: str) -> Callable[..., None]:
        function, writer, fill, check = self._functions[record], self.writer, self._fill, self._library.check

        def emit(time: int, said: tuple[int, ...], *fields: int) -> None:
            if code := function(writer, fill(said), time, *fields):
                check(code)

        return emit

    def _fill(self, said: tuple[int, ...]) -> int | None:
        """Attributes of the next record: numbers and values by turns."""
        if not said:
            return None
        for index in range(0, len(said), 2):
            self._add[said[index]](self._list, said[index], said[index + 1])
        return self._list

    def _put(self, record: str, time: int, said: tuple[int, ...], *fields: Any) -> None:
        self._library.check(self._functions[record](self.writer, self._fill(said), time, *fields))

    def _added(self, record: str, time: int, *fields: Any) -> None:
        """Write a record that stands for no event."""
        self._put(record, time, (self._numbers[mapping.ADDED], 1), *fields)

    def _enter(self, time: int, said: tuple[int, ...], region: int) -> None:
        self._stack.append(region)
        self._put("Enter", time, said, region)

    def _leave(self, time: int, said: tuple[int, ...], region: int) -> None:
        stack = self._stack
        if not stack or stack[-1] != region:
            self.dropped += 1
            if region not in stack:
                return
            while stack[-1] != region:
                self._added("Leave", time, stack.pop())
        stack.pop()
        self._put("Leave", time, said, region)

    def _module_enter(self, time: int, said: tuple[int, ...], region: int) -> None:
        self._enter(time, said, region)
        self._load(time)

    def _module_leave(self, time: int, said: tuple[int, ...], region: int) -> None:
        at = self._numbers["CPU time"]
        self._cpu += next((said[i + 1] for i in range(0, len(said), 2) if said[i] == at), 0)
        self._load(time)
        self._leave(time, said, region)

    def _load(self, time: int) -> None:
        """CPU time of module calls so far: its slope is the CPU load."""
        self._value.value = self._cpu
        kind, value = ctypes.addressof(self._kind), ctypes.addressof(self._value)
        assert self._around is not None, "modules are called by a rank's first thread"
        self._added("Metric", time, self._around.cpu, 1, kind, value)

    def _metric(self, time: int, said: tuple[int, ...], metric: int, value: int, kind: int = 4) -> None:
        self._kind.value, self._value.value = kind, value
        self._put(
            "Metric", time, said, metric, 1, ctypes.addressof(self._kind), ctypes.addressof(self._value)
        )

    def _columns(self, rule: Rule, events: Array, here: Array) -> tuple[Any, Any]:
        """For each event its attributes, numbers and values by turns, and the fields of its record."""
        fields = [self._field(source, events, here) for source in rule.values]
        if rule.record == "Metric":
            fields.append(_value_types(rule, events))
        return self._said(rule, events), list(zip(*fields, strict=True)) or [()] * len(events)

    def _said(self, rule: Rule, events: Array) -> list[tuple[int, ...]]:
        columns: list[tuple[int, list[int]]] = []
        unsaid: list[int | None] = []
        if not mapping.is_default(rule):
            columns.append((self._numbers[mapping.EVENT], [int(rule.type)] * len(events)))
            unsaid.append(None)
        for name, (source, default) in rule.all_attributes.items():
            values = mapping.column(events, source)
            if not (values == default).all():
                columns.append((self._numbers[name], values.tolist()))
                unsaid.append(default)
        if not columns:
            return [()] * len(events)
        numbers = [number for number, _ in columns]
        said = []
        for row in zip(*(values for _, values in columns), strict=True):
            pairs = zip(numbers, row, unsaid, strict=True)
            said.append(tuple(item for number, value, no in pairs if value != no for item in (number, value)))
        return said

    def _field(self, source: str, events: Array, here: Array) -> list[int]:
        if source in mapping.DEFINED:
            number = mapping.DEFINED[source]
            numbers = None if number is None else mapping.column(events, number)
            return self._symbols.references(source, self._rank, numbers, events["flags"])
        if source == "operation":
            return [mapping.OPERATIONS.get(kind, mapping.NO_DATA) for kind in events["flags"].tolist()]
        values = self._before[source][here] if source in self._before else mapping.column(events, source)
        listed: list[int] = values.tolist()
        return listed


def _value_types(rule: Rule, events: Array) -> list[int]:
    """OTF2's types of the values of metrics."""
    if rule.type == EventType.COUNTER:
        types: list[int] = np.choose(np.minimum(events["flags"], 2), VALUE_TYPES).tolist()
        return types
    return [TYPE_UINT64 if rule.type == EventType.QUEUE_DEPTH else TYPE_INT64] * len(events)
