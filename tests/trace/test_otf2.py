"""OTF2 can be had from the events without loss: every type is mapped to records of OTF2 and back.

The rules here are what docs/trace.md promises.  `FIELDS` is what the records of OTF2 can hold; what they
can't is in attributes, which OTF2 allows on every event but not on definitions.
"""

import itertools
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pse.trace import NONE, EventType, Phase, pair

TABLE = Path(__file__).parents[2] / "cext" / "recorder" / "events.def"

U32, U64, I64 = (0, 2**32 - 1), (0, 2**64 - 1), (-(2**63), 2**63 - 1)
MESSAGE = {"communicator": U32, "msgTag": U32, "msgLength": U64}
COLLECTIVE = {"collectiveOp": U32, "communicator": U32, "root": U32, "sizeSent": U64, "sizeReceived": U64}
REQUEST = {"requestID": U64}
FIELDS = {
    "Enter": {"region": U32},
    "Leave": {"region": U32},
    "MpiSend": {"receiver": U32, **MESSAGE},
    "MpiIsend": {"receiver": U32, **MESSAGE, **REQUEST},
    "MpiIsendComplete": REQUEST,
    "MpiIrecvRequest": REQUEST,
    "MpiRecv": {"sender": U32, **MESSAGE},
    "MpiIrecv": {"sender": U32, **MESSAGE, **REQUEST},
    "MpiRequestTest": REQUEST,
    "MpiRequestCancelled": REQUEST,
    "MpiCollectiveBegin": {},
    "MpiCollectiveEnd": COLLECTIVE,
    "NonBlockingCollectiveRequest": REQUEST,
    "NonBlockingCollectiveComplete": {**COLLECTIVE, **REQUEST},
    "CommCreate": {"communicator": U32},
    "CommDestroy": {"communicator": U32},
    "Metric": {"metric": U32, "value": U64},
    "ParameterUnsignedInt": {"parameter": U32, "value": U64},
    "ProgramBegin": {},
    "ProgramEnd": {"exitStatus": I64},
    "ClockOffset": {"offset": I64, "deviation": (0, 2**53)},
    "String": {},
    "Group": {},
}
DEFINITIONS = {"ClockOffset": {"c"}, "String": {"flags", "a", "b", "c"}, "Group": {"a", "b", "c"}}
"""Records without attributes, with the fields that the definition holds in a form of its own."""


@dataclass(frozen=True)
class Rule:
    """How events of one type (where `when` holds) become an OTF2 record.

    `fields` gives the source of each OTF2 field; `named` is the field that refers to a definition (region,
    metric, parameter, communicator), the kind of that definition, and the source of its number, if any.
    """

    type: EventType
    record: str
    fields: dict[str, str] = field(default_factory=dict)
    named: tuple[str, str, str | None] | None = None
    when: dict[str, int] = field(default_factory=dict)


TAG = {"msgLength": "a", "msgTag": "b.high"}
START = {"requestID": "c.high"}
BLOCKING = {"c.high": 0}
ENDED = {"collectiveOp": "flags", "root": "begin", "sizeSent": "a", "sizeReceived": "b"}
WORLD, OWN = ("communicator", "world", None), ("communicator", "own", "c.low")
MODULE, WAIT, REGION = ("region", "site", "site"), ("region", "wait", "flags"), ("region", "routine", "a")
E = EventType
RULES = (
    Rule(E.PHASE, "ProgramBegin", when={"a": Phase.START}),
    Rule(E.PHASE, "ProgramEnd", {"exitStatus": "b"}, when={"a": Phase.END}),
    Rule(E.PHASE, "ParameterUnsignedInt", {"value": "a"}, ("parameter", "phase", None)),
    Rule(E.CLOCK_SYNC, "ClockOffset", {"offset": "a", "deviation": "b"}),
    Rule(E.TEXT, "String"),
    Rule(E.MARKER, "ParameterUnsignedInt", {"value": "a"}, ("parameter", "marker", None)),
    Rule(E.COUNTER, "Metric", {"value": "b"}, ("metric", "counter", "a")),
    Rule(E.CONTEXT_BEGIN, "ParameterUnsignedInt", {"value": "tph"}, ("parameter", "TPH begins", None)),
    Rule(E.CONTEXT_END, "ParameterUnsignedInt", {"value": "tph"}, ("parameter", "TPH ends", None)),
    Rule(E.MODULE_ENTER, "Enter", named=MODULE),
    Rule(E.MODULE_LEAVE, "Leave", named=MODULE),
    Rule(E.SEND, "MpiSend", {**TAG, "receiver": "b.low"}, WORLD),
    Rule(E.RECEIVE, "MpiRecv", {**TAG, "sender": "b.low"}, WORLD),
    Rule(E.QUEUE_DEPTH, "Metric", {"value": "b"}, ("metric", "queue", "a")),
    Rule(E.ALLOCATE, "Metric", {"value": "a"}, ("metric", "allocated", None)),
    Rule(E.FREE, "Metric", {"value": "a"}, ("metric", "freed", None)),
    Rule(E.WAIT_BEGIN, "Enter", named=WAIT),
    Rule(E.WAIT_END, "Leave", named=WAIT),
    Rule(E.REGION_ENTER, "Enter", named=REGION),
    Rule(E.REGION_LEAVE, "Leave", named=REGION),
    Rule(E.MPI_SEND, "MpiSend", {**TAG, "receiver": "b.low"}, OWN, when=BLOCKING),
    Rule(E.MPI_SEND, "MpiIsend", {**TAG, **START, "receiver": "b.low"}, OWN),
    Rule(E.MPI_SEND_COMPLETE, "MpiIsendComplete", START),
    Rule(E.MPI_RECEIVE_POST, "MpiIrecvRequest", START),
    Rule(E.MPI_RECEIVE, "MpiRecv", {**TAG, "sender": "b.low"}, OWN, when=BLOCKING),
    Rule(E.MPI_RECEIVE, "MpiIrecv", {**TAG, **START, "sender": "b.low"}, OWN),
    Rule(E.MPI_REQUEST_TEST, "MpiRequestTest", START),
    Rule(E.MPI_REQUEST_CANCEL, "MpiRequestCancelled", START),
    Rule(E.MPI_COLLECTIVE_BEGIN, "MpiCollectiveBegin", when=BLOCKING),
    Rule(E.MPI_COLLECTIVE_BEGIN, "NonBlockingCollectiveRequest", START),
    Rule(E.MPI_COLLECTIVE_END, "MpiCollectiveEnd", ENDED, OWN, when=BLOCKING),
    Rule(E.MPI_COLLECTIVE_END, "NonBlockingCollectiveComplete", {**ENDED, **START}, OWN),
    Rule(E.MPI_COMMUNICATOR, "CommCreate", named=("communicator", "own", "a.low")),
    Rule(E.MPI_COMMUNICATOR_RANKS, "Group"),
    Rule(E.MPI_COMMUNICATOR_FREE, "CommDestroy", named=("communicator", "own", "a.low")),
)  # fmt: skip

Event = dict[str, int]
WHOLE = {name: (f"{name}.low", f"{name}.high") for name in "abc"}
NOTHING = {"site": NONE}


def get(event: Event, source: str) -> int:
    """A field or one half of it."""
    name, _, half = source.partition(".")
    return event[name] if not half else event[name] & 0xFFFFFFFF if half == "low" else event[name] >> 32


def put(event: Event, source: str, value: int) -> None:
    name, _, half = source.partition(".")
    event[name] |= value << (32 if half == "high" else 0)


def parts(sources) -> set[str]:
    return {part for source in sources for part in WHOLE.get(source, (source,))}


def covered(rule: Rule) -> set[str]:
    """Parts of an event that the record itself says."""
    named = [rule.named[2]] if rule.named and rule.named[2] else []
    return parts([*rule.fields.values(), *named, *rule.when, *DEFINITIONS.get(rule.record, ())])


ALL_PARTS = sorted(parts(["flags", "site", "tph", "a", "b", "c"]))


@dataclass
class Archive:
    """What an OTF2 archive of one location would hold."""

    names: list[tuple[str, str, int | None]] = field(default_factory=list)
    records: list[tuple[str, int, dict[str, int], dict[str, int]]] = field(default_factory=list)

    def reference(self, name: tuple[str, str, int | None]) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)


def to_otf2(events: list[Event]) -> Archive:
    archive, roots = Archive(), {}
    for event in events:
        if event["type"] == E.MPI_COLLECTIVE_BEGIN:
            roots[event["c"]] = event["a"]
        rule = next(
            r for r in RULES if r.type == event["type"] and all(get(event, k) == v for k, v in r.when.items())
        )
        values = {name: roots[event["c"]] if source == "begin" else get(event, source)
                  for name, source in rule.fields.items()}  # fmt: skip
        for name, value in values.items():
            values[name] = value - 2**64 if FIELDS[rule.record][name] == I64 and value >= 2**63 else value
        if rule.named:
            target, kind, source = rule.named
            values[target] = archive.reference((target, kind, get(event, source) if source else None))
        if rule.record in DEFINITIONS:
            values |= {f"own form of {name}": event[name] for name in DEFINITIONS[rule.record]}
        rest = {part: get(event, part) for part in ALL_PARTS if part not in covered(rule)}
        attributes = {part: value for part, value in rest.items() if value != NOTHING.get(part, 0)}
        archive.records.append((rule.record, event["time"], values, attributes))
    return archive


def from_otf2(archive: Archive) -> list[Event]:
    return [from_record(archive, *record) for record in archive.records]


def from_record(
    archive: Archive, record: str, time: int, values: dict[str, int], attributes: dict[str, int]
) -> Event:
    rule, number = find_rule(archive, record, values)
    event = {
        "time": time,
        "type": int(rule.type),
        **dict.fromkeys(["flags", "site", "tph", "a", "b", "c"], 0),
    }
    unsaid = {part: NOTHING.get(part, 0) for part in ALL_PARTS if part not in covered(rule)}
    for part, value in (unsaid | attributes).items():
        put(event, part, value)
    for name, source in rule.fields.items():
        if source != "begin":
            put(event, source, values[name] % 2**64)
    for source, value in rule.when.items():
        put(event, source, value)
    if number is not None:
        put(event, rule.named[2], number)
    for name in DEFINITIONS.get(record, ()):
        event[name] = values[f"own form of {name}"]
    return event


def find_rule(archive: Archive, record: str, values: dict[str, int]) -> tuple[Rule, int | None]:
    """Tell from a record alone what type its event had: by its name, and by the kind of what it refers to."""
    candidates = [rule for rule in RULES if rule.record == record]
    for rule in candidates:
        if rule.named:
            target, kind, number = archive.names[values[rule.named[0]]]
            if (target, kind) == rule.named[:2]:
                return rule, number
    (unnamed,) = [rule for rule in candidates if not rule.named]
    return unnamed, None


@pytest.fixture(scope="session")
def table(generate):
    return generate.read_table(TABLE.read_text())


def test_every_type_has_a_rule():
    assert {rule.type for rule in RULES} == set(EventType)


def test_rules_use_only_what_otf2_has():
    for rule in RULES:
        targets = {*rule.fields, *([rule.named[0]] if rule.named else [])}
        assert targets == set(FIELDS[rule.record]), rule


def test_the_manual_names_the_same_records(table):
    for event in table.events:
        for rule in RULES:
            if rule.type == event.number:
                assert rule.record in event.otf2, event.name


def event(kind: EventType, **fields: int) -> Event:
    return {"time": 5, "type": kind, "flags": 0, "site": NONE, "tph": 0, "a": 0, "b": 0, "c": 0} | fields


def test_records_mean_what_otf2_means():
    archive = to_otf2(
        [
            event(E.MODULE_LEAVE, site=3, tph=2, a=400, b=1),
            event(E.SEND, site=3, a=4096, b=pair(1, 9), c=7, flags=2),
            event(E.MPI_SEND, a=8, b=pair(1, 99), c=pair(1, 6)),
            event(E.MPI_RECEIVE, a=8, b=pair(0, 99), c=pair(1, 0)),
            event(E.MPI_COLLECTIVE_BEGIN, flags=2, a=4, c=pair(1, 0)),
            event(E.MPI_COLLECTIVE_END, flags=2, a=10, b=20, c=pair(1, 0)),
            event(E.PHASE, a=Phase.END, b=2**64 - 1),
        ]
    )
    assert archive.names == [
        ("region", "site", 3),
        ("communicator", "world", None),
        ("communicator", "own", 1),
    ]
    collective = {"collectiveOp": 2, "communicator": 2, "root": 4, "sizeSent": 10, "sizeReceived": 20}
    assert archive.records == [
        ("Leave", 5, {"region": 0}, {"tph": 2, "a.low": 400, "b.low": 1}),
        ("MpiSend", 5, {"receiver": 1, "communicator": 1, "msgTag": 9, "msgLength": 4096},
         {"flags": 2, "site": 3, "c.low": 7}),
        ("MpiIsend", 5, {"receiver": 1, "communicator": 2, "msgTag": 99, "msgLength": 8, "requestID": 6}, {}),
        ("MpiRecv", 5, {"sender": 0, "communicator": 2, "msgTag": 99, "msgLength": 8}, {}),
        ("MpiCollectiveBegin", 5, {}, {"flags": 2, "a.low": 4, "c.low": 1}),
        ("MpiCollectiveEnd", 5, collective, {}),
        ("ProgramEnd", 5, {"exitStatus": -1}, {}),
    ]  # fmt: skip


def limits(meaning: str) -> st.SearchStrategy[int]:
    """Values that a field may have by its meaning in the table."""
    if meaning == "-":
        return st.just(0)
    if meaning.startswith(("number of a text", "root", "low: its number, high: 0")):
        return st.integers(*U32)
    most = 2**53 if meaning.startswith("error bound") else 2**64 - 1
    return st.one_of(st.integers(0, 3), st.integers(0, most))


def event_strategy(entry) -> st.SearchStrategy[Event]:
    nowhere = "no site, no TPH" in entry.meaning
    return st.fixed_dictionaries(
        {
            "time": st.integers(*U64),
            "type": st.just(entry.number),
            "flags": st.just(0) if entry.flags == "-" else st.integers(0, 2**16 - 1),
            "site": st.just(NONE) if nowhere else st.integers(*U32),
            "tph": st.just(0) if nowhere else st.integers(*U64),
            "a": st.sampled_from(list(Phase)).map(int) if entry.name == "PHASE" else limits(entry.a),
            "b": limits(entry.b),
            "c": st.one_of(limits(entry.c), limits(entry.c).map(lambda value: value & 0xFFFFFFFF)),
        }
    )


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_events_survive_the_way_to_otf2_and_back(table, data):
    entries = {entry.name: entry for entry in table.events}
    events = data.draw(
        st.lists(st.sampled_from(table.events).flatmap(event_strategy), min_size=1, max_size=12)
    )
    pairs = [[event] for event in events]
    for group in pairs:
        if group[0]["type"] == E.MPI_COLLECTIVE_END:  # It never stands alone.
            begin = data.draw(event_strategy(entries["MPI_COLLECTIVE_BEGIN"]))
            group.insert(0, begin | {"c": group[0]["c"]})
    events = list(itertools.chain.from_iterable(pairs))
    archive = to_otf2(events)
    for record, _, values, attributes in archive.records:
        assert all(low <= values[name] <= high for name, (low, high) in FIELDS[record].items())
        assert record not in DEFINITIONS or not attributes
    assert from_otf2(archive) == events
