"""Traces go to OTF2 and come back as they were; other readers of OTF2 take what is written."""

import functools
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.traces import small_definitions, text_rows, write_rank, write_trace

from pse import trace
from pse.analysis import METRICS, analyze
from pse.trace import NONE, EventType, Phase, TextKind, pair
from pse.trace.format._definitions import digest
from pse.trace.interchange.otf2 import _mapping as mapping
from pse.trace.query import mpi_communicators
from pse.trace.store import without_events
from pse.trace.store._directory import write_program

pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
from pse.trace.interchange import export_otf2, import_otf2
from pse.trace.interchange._event_file import EventFile

E = EventType
DEFINITION_EVENTS = {E.TEXT, E.CLOCK_SYNC, E.CALLERS, E.MPI_COMMUNICATOR_RANKS}
NAMED = {
    E.REGION_ENTER: TextKind.REGION,
    E.REGION_LEAVE: TextKind.REGION,
    E.COUNTER: TextKind.COUNTER,
    E.MARKER: TextKind.MARKER,
}


def test_every_type_has_a_rule_or_is_a_definition():
    assert {rule.type for rule in mapping.RULES} == set(EventType) - DEFINITION_EVENTS


def test_the_manual_names_the_same_records(table):
    for event in table.enum("pse_event_type").codes:
        for rule in mapping.RULES:
            if rule.type == event.number:
                assert rule.record in event.more["otf2"], event.name


def named_events(read, rank):
    """A rank's events with names in place of its own numbers; texts are told by what they name."""
    texts = read.texts(rank)
    for event in read.events(rank):
        kind = EventType(int(event["type"]))
        fields = [int(event[name]) for name in ("time", "flags", "site", "tph", "a", "b", "c")]
        if kind in NAMED:
            fields[4] = texts.get((NAMED[kind], fields[4]))
        if kind not in DEFINITION_EVENTS:
            yield kind.name, *fields


def round_trip(directory, to):
    notes = export_otf2(trace.open(directory), to / "out")
    return notes, import_otf2(to / "out" / "traces.otf2", to / "back")


def assert_same(directory, back):
    first, second = trace.open(directory), trace.open(back)
    assert second.ranks == first.ranks
    assert second.definitions == first.definitions
    assert (second.origin, second.span) == (first.origin, first.span)
    for rank in first.ranks:
        assert list(named_events(second, rank)) == list(named_events(first, rank))
        assert second.files[rank].host == first.files[rank].host


LACKS_RANK_1 = [without_events(1)]
"""Said of traces whose communicators name two ranks, one of which recorded nothing."""
WORLD = [
    {"type": E.MPI_COMMUNICATOR, "a": pair(1, 0), "b": pair(0, 1), "c": pair(2, 0)},
    {"type": E.MPI_COMMUNICATOR_RANKS, "a": pair(1, 0), "b": pair(0, 1), "c": pair(NONE, NONE)},
]
TEXTS = [
    *(
        (TextKind.REGION, 1, "MPI_Issend"),
        (TextKind.REGION, 2, "MPI_Waitall_c"),
        (TextKind.MARKER, 1, "half"),
    ),
    *((TextKind.COUNTER, 1, "load, of all"), (TextKind.COUNTER_UNIT, 1, "%")),
    (TextKind.COMMUNICATOR, 1, "MPI_COMM_WORLD"),
]
MPI_ROWS = [
    {"type": E.REGION_ENTER, "a": 1},
    {"type": E.MPI_SEND, "a": 8, "b": pair(1, 99), "c": pair(1, 6), "flags": 1},
    {"type": E.MPI_RECEIVE_POST, "a": 64, "b": pair(NONE, 5), "c": pair(1, 7)},
    {"type": E.REGION_LEAVE, "a": 1, "b": "begin", "c": 2**64 - 3},
    {"type": E.REGION_ENTER, "a": 2},
    {"type": E.MPI_REQUEST_TEST, "c": pair(1, 7)},
    {"type": E.MPI_SEND_COMPLETE, "c": pair(1, 6)},
    {"type": E.MPI_RECEIVE, "a": 8, "b": pair(1, 5), "c": pair(1, 7)},
    {"type": E.MPI_COLLECTIVE_BEGIN, "flags": 2, "a": 1, "c": pair(1, 0)},
    {"type": E.MPI_COLLECTIVE_END, "flags": 2, "a": 10, "b": 20, "c": pair(1, 0)},
    {"type": E.MPI_COLLECTIVE_BEGIN, "flags": 20, "a": NONE, "c": pair(1, 8)},
    {"type": E.MPI_COLLECTIVE_END, "flags": 20, "c": pair(1, 8)},
    {"type": E.MPI_CHANNEL, "a": 1, "c": pair(1, 10)},
    {"type": E.MPI_RECEIVE_POST, "a": 64, "b": pair(1, 5), "c": pair(1, 10), "flags": 4},
    {"type": E.MPI_REQUEST_CANCEL, "c": pair(1, 9)},
    {"type": E.REGION_LEAVE, "a": 2, "b": "begin"},
    {"type": E.MPI_COMMUNICATOR, "a": pair(2, 1), "b": pair(0, 2), "c": pair(1, 0)},
    {"type": E.MPI_COMMUNICATOR_RANKS, "a": pair(2, 0), "b": pair(0, NONE), "c": pair(NONE, NONE)},
    {"type": E.MPI_NEIGHBORS, "flags": 3, "a": pair(2, 0), "b": pair(0, 1), "c": pair(NONE, NONE)},
    {"type": E.COUNTER, "a": 1, "b": 0x4029000000000000, "flags": 2, "tph": 7},
    {"type": E.MARKER, "a": 1, "b": 5, "c": 6, "site": 1},
    {"type": E.MPI_COMMUNICATOR_FREE, "a": 2},
]  # fmt: skip


def with_names(time):
    """Names of routines and of the communicator, and what that is."""
    yield from (row for kind, number, name in TEXTS for row in text_rows(number, name, kind, time))
    yield from (row | {"time": time} for row in WORLD)


def mpi_rows():
    """Rows of an MPI program with times and with the times of their begins."""
    time, begin = 5000, 0
    for row in MPI_ROWS:
        time += 10
        begin = time if row["type"] == E.REGION_ENTER else begin
        yield row | {"time": time} | ({"b": begin} if row.get("b") == "begin" else {})


@pytest.fixture
def mpi_trace(tmp_path):
    """What one rank of two did in MPI; the events of the other are missing."""
    directory = tmp_path / "mpi"
    trace.create(directory)
    with trace.Recorder(directory, 0) as recorder:
        for row in with_names(4500):
            recorder.record_at(**row)
        for row in mpi_rows():
            recorder.record_at(**row)
    return (directory / "rank-00000.events").rename(directory / "rank-00000.mpi.events").parent


def test_a_run_survives_the_way_there_and_back(small_trace, tmp_path):
    """All but this: what a crash left open is ended in OTF2, so the marks of that are left out again."""
    assert round_trip(small_trace, tmp_path) == ([], [])
    assert_same(small_trace, tmp_path / "back")


def test_the_program_travels_along(tmp_path):
    """In parts: a text of any length and any letters."""
    text = "# \N{GREEK SMALL LETTER PI} \n" * 50_000
    trace.create(tmp_path / "trace")
    definitions = small_definitions(processors=0, text_sha256=digest(text))
    trace.write_definitions(tmp_path / "trace", definitions)
    write_program(tmp_path / "trace", text)
    write_rank(tmp_path / "trace", 0, [{"time": 1, "type": E.PHASE, "a": Phase.START}])
    assert round_trip(tmp_path / "trace", tmp_path) == ([], [])
    back = trace.open(tmp_path / "back")
    assert (back.program_text, back.definitions, back.problems) == (text, definitions, ())


def test_mpi_survives_the_way_there_and_back(mpi_trace, tmp_path):
    assert round_trip(mpi_trace, tmp_path) == ([], LACKS_RANK_1)
    assert_same(mpi_trace, tmp_path / "back")
    back = trace.open(tmp_path / "back")
    (world, _) = mpi_communicators(back, 0).values()
    assert (world.name, world.size) == ("MPI_COMM_WORLD", 2)
    members = back.select(0, E.MPI_COMMUNICATOR_RANKS)
    assert members["b"].tolist() == [pair(0, 1), pair(0, NONE)]


OPEN_CLOSE = {E.MODULE_ENTER: E.MODULE_LEAVE, E.WAIT_BEGIN: E.WAIT_END, E.REGION_ENTER: E.REGION_LEAVE}
SINGLE = [
    *(E.PHASE, E.MARKER, E.COUNTER, E.CONTEXT_BEGIN, E.CONTEXT_END, E.SEND, E.RECEIVE, E.QUEUE_DEPTH),
    *(E.ALLOCATE, E.FREE, E.MPI_SEND, E.MPI_RECEIVE_POST, E.MPI_RECEIVE, E.MPI_REQUEST_TEST),
    *(E.MPI_COLLECTIVE_BEGIN, E.MPI_PROBE, E.MPI_AWAIT),
]  # fmt: skip
NUMBERED = (E.MPI_RECEIVE_POST, E.MPI_REQUEST_TEST)
"""Those that name a request."""
half = st.one_of(st.integers(0, 3), st.just(NONE), st.integers(0, NONE))
whole = st.one_of(half, st.integers(0, 2**64 - 1))
SCALAR_FIELDS = st.fixed_dictionaries(
    {"a": whole, "b": whole, "c": whole, "flags": st.integers(0, 2**16 - 1), "tph": whole, "site": half}
)
USED = {
    E.PHASE: ("a", "b"), E.MARKER: ("b", "c"), E.COUNTER: ("b",), E.CONTEXT_BEGIN: ("a", "b", "c"),
    E.CONTEXT_END: (), E.SEND: ("flags", "a", "b", "c"), E.RECEIVE: ("flags", "a", "b", "c"),
    E.QUEUE_DEPTH: ("a", "b", "c"), E.ALLOCATE: ("flags", "a", "b"), E.FREE: ("flags", "a", "b", "c"),
    E.MPI_SEND: ("flags", "a", "b"), E.MPI_RECEIVE_POST: ("a", "b"), E.MPI_RECEIVE: ("a", "b"),
    E.MPI_PROBE: ("a", "b"), E.MPI_AWAIT: ("flags", "a", "b"), E.MPI_REQUEST_TEST: (),
    E.MPI_COLLECTIVE_BEGIN: ("flags",),
    E.MODULE_ENTER: ("a",), E.TIME_SLICE: ("flags", "a", "b", "c"), E.SLICE_MATCH: ("flags", "a", "b"),
    **dict.fromkeys(
        (E.PARTITION_SEND, E.PARTITION_RECEIVE, E.PARTITION_TAKE, E.PARTITION_SEND_COMPLETE,
         E.PARTITION_COLLECTIVE_BEGIN, E.PARTITION_COLLECTIVE_END), ("flags", "a", "b", "c")),
    E.WAIT_BEGIN: ("flags", "a"), E.REGION_ENTER: (),
}  # fmt: skip
"""Fields that mean something by themselves; others are numbers of texts, communicators and requests."""
ENDING = {E.MODULE_LEAVE: ("flags", "a", "c"), E.WAIT_END: (), E.REGION_LEAVE: ("c",)}


@st.composite
def histories(draw):
    """What a rank may have recorded: calls, waits and routines, nested, and other events between."""
    rows, open_, time = [], [], 1000
    for kind in draw(st.lists(st.sampled_from([*SINGLE, *OPEN_CLOSE, None, None, None]), max_size=25)):
        time += draw(st.integers(0, 3))
        values = draw(SCALAR_FIELDS)
        if kind is None and open_:
            rows.append(ended(open_.pop(), time, values))
        elif kind is not None:
            rows.append(begun(kind, time, values))
            open_ += [rows[-1]] if kind in OPEN_CLOSE else []
    return rows


def begun(kind, time, values):
    row = {"type": kind, "time": time, "site": values["site"], "tph": values["tph"]}
    row |= {name: values[name] for name in USED[kind]}
    if kind in (E.REGION_ENTER, E.COUNTER, E.MARKER):
        row["a"] = 1
    if kind == E.COUNTER:
        row["flags"] = values["flags"] % 3
    if kind in (E.MPI_PROBE, E.MPI_AWAIT):
        row["c"] = pair(1, 0)
    if kind in (E.MPI_SEND, E.MPI_RECEIVE, *NUMBERED, E.MPI_COLLECTIVE_BEGIN):
        row["c"] = pair(1, 5 if kind in NUMBERED else values["flags"] % 4)
    if kind == E.MPI_COLLECTIVE_BEGIN:
        row["a"] = values["a"] & NONE
    return row


def ended(begin, time, values):
    kind = OPEN_CLOSE[begin["type"]]
    row = {"type": kind, "time": time, "b": begin["time"], "site": begin["site"], "tph": values["tph"]}
    row |= {name: values[name] for name in ENDING[kind]}
    if kind != E.MODULE_LEAVE:
        row |= {name: begin[name] for name in ("a", "flags") if name in begin}
    return row


@given(rows=histories())
@settings(max_examples=some_of(150), deadline=None)
def test_all_events_survive_the_way_there_and_back(tmp_path_factory, rows):
    home = tmp_path_factory.mktemp("any")
    directory = home / "trace"
    trace.create(directory)
    trace.write_definitions(directory, small_definitions(processors=0))
    with trace.Recorder(directory, 0) as recorder:
        for row in with_names(990):
            recorder.record_at(**row)
        for row in rows:
            recorder.record_at(**row)
    assert round_trip(directory, home) == ([], LACKS_RANK_1)
    assert_same(directory, home / "back")


def test_a_selection_leaves_whole_calls(small_trace, tmp_path):
    read = trace.open(small_trace)
    export_otf2(read, tmp_path / "out", trace.Selection(ranks=frozenset({0}), begin=5.5e-7, end=6e-7))
    import_otf2(tmp_path / "out" / "traces.otf2", tmp_path / "back")
    back = trace.open(tmp_path / "back")
    types = [EventType(kind).name for kind in back.events(0)["type"]]
    assert types == ["MODULE_ENTER", "MODULE_LEAVE"]  # The second call, which the window is within.
    assert [len(back.events(rank)) for rank in (1, 2)] == [0, 0]


@pytest.fixture
def two_hosts(tmp_path):
    """Rank 1's clock is 500 ns behind that of rank 0 at its time 1,000, and 520 ns at 2,000."""
    directory = tmp_path / "hosts"
    trace.create(directory)
    for rank, host, syncs in ((0, "node0", ()), (1, "node1", ((1000, 500), (2000, 520)))):
        path = directory / f"rank-{rank:05}.mpi.events"
        file = EventFile(path, rank, host, start_real=10**18, start_clock=1000)
        for time, offset in syncs[:1]:
            file.append(time, E.CLOCK_SYNC, a=offset, b=7)
        file.text(1500, TextKind.REGION, 1, "work")
        file.append(1500, E.REGION_ENTER, a=1)
        file.append(1600, E.REGION_LEAVE, a=1, b=1500)
        for time, offset in syncs[1:]:
            file.append(time, E.CLOCK_SYNC, a=offset, b=8)
        file.close()
    return directory


def test_times_of_several_hosts_are_corrected(two_hosts, tmp_path):
    assert round_trip(two_hosts, tmp_path) == ([], [])
    first, back = trace.open(two_hosts), trace.open(tmp_path / "back")
    assert back.problems == first.problems == ()
    calls = [read.routine_calls()[0][["rank", "enter", "leave"]].tolist() for read in (first, back)]
    assert calls[0] == calls[1] == [(0, 0, 100), (1, 510, 612)]
    syncs = back.select(1, E.CLOCK_SYNC)
    assert syncs[["a", "b"]].tolist() == [(0, 7), (0, 8)]  # No offset is left, but its error bounds are.


def test_a_full_disk_leaves_nothing(small_trace, tmp_path, command):
    """A limit on the size of files stands for it."""
    anchor = tmp_path / "whole" / "traces.otf2"
    export_otf2(trace.open(small_trace), anchor.parent)
    for words in (
        ["export", small_trace, "--to", "otf2"],
        ["export", small_trace, "--to", "chrome"],
        ["import", anchor],
    ):
        code, said = command(*words, "-o", tmp_path / "out")
        assert code == 2
        help = r"help: (is the disk full|free space there).*\n"
        assert re.fullmatch(rf"error: \S*/out can't be written: .*\n{help}", said)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["trace", "whole"]


@pytest.fixture
def command():
    """Run ``pse trace`` where no file may be longer than a KiB; give its exit code and what it said."""

    def run(*words):
        limited = ["sh", "-c", 'ulimit -f 2; exec "$@"', "sh"]
        line = [sys.executable, "-B", "-m", "pse", "trace", *words]  # -B: bytecode would be cut, too.
        done = subprocess.run([*limited, *map(str, line)], capture_output=True, text=True)
        return done.returncode, done.stderr

    return run


def test_ends_without_begins_are_told(tmp_path):
    trace.create(tmp_path / "trace")
    trace.write_definitions(tmp_path / "trace", small_definitions(processors=0))
    wait, call = {"a": pair(NONE, NONE), "flags": 1}, {"site": 0, "c": pair(0, NONE)}
    write_rank(tmp_path / "trace", 0, [
        {"time": 10, "type": E.WAIT_END, "b": 5, **wait},
        {"time": 20, "type": E.MODULE_ENTER, "site": 0, "a": NONE},
        {"time": 30, "type": E.WAIT_BEGIN, **wait},
        {"time": 40, "type": E.MODULE_LEAVE, "b": 20, **call},
        {"time": 50, "type": E.WAIT_END, "b": 30, **wait},
    ])  # fmt: skip
    notes, _ = round_trip(tmp_path / "trace", tmp_path)
    assert notes == [
        "3 ends of calls or waits don't match their begins; OTF2 needs calls and waits to be nested: "
        "what could not be was left out or moved"
    ]
    back = trace.open(tmp_path / "back")
    assert [(call["enter"], call["leave"]) for call in back.module_calls()] == [(0, 20)]


def written_by_threads(directory):
    """Rank 0's threads 0 and 3 call MPI at once, and at one time; each completes what the other started."""
    at = functools.partial(dict, type=E.THREAD)
    enter, leave = functools.partial(dict, type=E.REGION_ENTER), functools.partial(dict, type=E.REGION_LEAVE)
    made = {"type": E.MPI_COMMUNICATOR, "a": pair(2, 1), "b": pair(0, 2), "c": pair(2, 0)}
    message, on = {"a": 8, "b": pair(1, 5)}, {"c": pair(2, 7)}
    ranks = [
        [
            *(row | {"time": 0} for row in WORLD),
            enter(time=10, a=1), at(time=11, a=3), {"time": 12, **made}, enter(time=12, a=0),
            {"time": 12, "type": E.MPI_SEND, **message, **on}, leave(time=13, a=0, b=12),
            enter(time=13, a=3), {"time": 14, "type": E.MPI_RECEIVE_POST, **message, "c": pair(2, 8)},
            leave(time=15, a=3, b=13), enter(time=15, a=1), at(time=15, a=0),
            {"time": 20, "type": E.MPI_RECEIVE, "a": 8, "b": pair(1, 6), "c": 1}, leave(time=21, a=1, b=10),
            enter(time=21, a=2), {"time": 22, "type": E.MPI_SEND_COMPLETE, **on},
            at(time=22, a=3), {"time": 23, "type": E.MPI_RECEIVE, "a": 8, "b": pair(1, 9), "c": 1},
            leave(time=24, a=1, b=15), at(time=24, a=0),
            {"time": 25, "type": E.MPI_RECEIVE, **message, "c": pair(2, 8)}, leave(time=26, a=2, b=21),
        ],
        [
            WORLD[0] | {"time": 0, "c": pair(2, 1)}, made | {"time": 1, "c": pair(2, 1)},
            *(row for time, tag, on in ((18, 6, 1), (20, 9, 1), (22, 5, 2)) for row in (
                enter(time=time, a=4), {"time": time, "type": E.MPI_SEND, "a": 8, "b": pair(0, tag), "c": on},
                leave(time=time + 1, a=4, b=time))),
            enter(time=24, a=1), {"time": 24, "type": E.MPI_RECEIVE, "a": 8, "b": pair(0, 5), "c": 2},
            leave(time=25, a=1, b=24),
        ],
    ]  # fmt: skip
    names = ["MPI_Isend", "MPI_Recv", "MPI_Wait", "MPI_Irecv", "MPI_Send"]
    return write_trace(directory, ranks, None, names).path


def events_of_threads(read, rank):
    """A rank's events, with the threads of those that are a thread's."""
    thread = 0
    for name, *fields in named_events(read, rank):
        if name == "THREAD":
            thread = fields[4]
        else:
            yield name, thread if name.startswith(("REGION", "MPI_SEND", "MPI_RECEIVE")) else 0, *fields


def test_threads_of_a_rank_have_locations_of_their_own(tmp_path, otf2_print):
    directory = written_by_threads(tmp_path / "run")
    assert round_trip(directory, tmp_path) == ([], [])
    opened, back = trace.open(directory), trace.open(tmp_path / "back")
    for rank in opened.ranks:
        assert list(events_of_threads(back, rank)) == list(events_of_threads(opened, rank))
    first, second = analyze(directory), analyze(tmp_path / "back")
    assert first.problems == second.problems == ()
    assert first.total("mpi_latesender") > 0
    for metric in METRICS:
        assert np.array_equal(first.own(metric.name).sum(axis=1), second.own(metric.name).sum(axis=1))
    anchor = tmp_path / "out" / "traces.otf2"
    otf2_print("-Werror", "--silent", "-A", anchor)
    assert balanced(otf2_print(anchor))
    shown = otf2_print("-G", anchor).splitlines()
    (line,) = [line for line in shown if line.startswith("LOCATION ") and '"Thread 3"' in line]
    assert 'Group: "MPI Rank 0"' in line


@pytest.fixture(scope="session")
def otf2_print():
    """Debian's otf2-tools: an older release of the library, so what it takes is in old readers' reach."""
    program = shutil.which("otf2-print")
    if program is None:
        pytest.skip("otf2-print (otf2-tools) is not installed")

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_otf2_print_finds_no_fault(small_trace, mpi_trace, tmp_path, otf2_print):
    for number, directory in enumerate((small_trace, mpi_trace)):
        export_otf2(trace.open(directory), tmp_path / f"out{number}")
        otf2_print("-Werror", "--silent", "-A", tmp_path / f"out{number}" / "traces.otf2")


def test_it_is_laid_out_as_analysers_want_it(small_trace, tmp_path, otf2_print):
    export_otf2(trace.open(small_trace), tmp_path / "out")
    shown = otf2_print("-A", tmp_path / "out" / "traces.otf2")
    for part in (
        'Name: "machine" <',
        'Class: "node"',
        'Name: "MPI Rank 1 (p0 thread_B)" <',
        "Type: PROCESS",
        'GROUP                                  0  Name: "" <0>, Type: COMM_LOCATIONS, Paradigm: "MPI"',
        'Name: "tags"',
        'Name: "MPI_COMM_WORLD"',
        'Unit: "entries"',
    ):
        assert part in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("REGION") and '"MPI_Init"' in line]
    assert 'Paradigm: "MPI"' in line
    assert 'File: "MPI"' in line
    (line,) = [line for line in shown.splitlines() if line.startswith("REGION") and '"fft.rows"' in line]
    assert 'File: "programs/small.coven"' in line
    assert "Begin: 12" in line
    assert shown.count('Region: "MPI_Finalize"') == 2 * 3  # On every rank, entered and left.


def balanced(shown):
    """Whether calls are nested on every location of what otf2-print showed."""
    stacks = {}
    for line in shown.splitlines():
        if line.startswith(("ENTER", "LEAVE")):
            record, location, _, region = line.split(None, 3)
            stack = stacks.setdefault(location, [])
            if record == "ENTER":
                stack.append(region)
            elif not stack or stack.pop() != region:
                return False
    return not any(stacks.values())


def test_what_a_crash_left_open_is_ended(small_trace, tmp_path, otf2_print):
    """Rank 1 was killed within a module call, rank 2 within a wait."""
    export_otf2(trace.open(small_trace), tmp_path / "out")
    assert balanced(otf2_print(tmp_path / "out" / "traces.otf2"))


def test_phases_are_the_program(small_trace, tmp_path, otf2_print):
    export_otf2(trace.open(small_trace), tmp_path / "out")
    shown = otf2_print("-L", 0, tmp_path / "out" / "traces.otf2")
    records = [line.split()[0] for line in shown.splitlines() if line[:1].isupper() and " 0 " in line]
    assert (records[0], records[-1]) == ("PROGRAM_BEGIN", "PROGRAM_END")
    assert Phase.END  # Its exit status is the phase's.
