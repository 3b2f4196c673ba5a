"""Archives of other tools: what they say is in the trace, to the nanosecond; what can't be is told."""

import math
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pse import trace
from pse.analysis import analyze
from pse.trace import NONE, EventType, SendMode, TextKind, ValueKind, pair
from pse.trace.query import mpi_communicators, mpi_traffic

pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
import otf2
from otf2.enums import MeasurementMode, Type

from pse.trace.interchange import export_otf2, import_otf2
from pse.trace.interchange.otf2._clock import PARTS, Clock
from pse.trace.store._residuals import residuals
from tests.trace.otf2_archives import Builder, CollectiveOp

E = EventType
PINGPONG = Path(__file__).parent / "data" / "pingpong-otf2" / "traces.otf2"
NS = 10**9


def imported(builder, path):
    """Close an archive and import it: the notes, and the trace."""
    builder.close()
    notes = import_otf2(path / "traces.otf2", path.with_name("imported"))
    return notes, trace.open(path.with_name("imported"))


def names(read, rank):
    """A rank's events by their names, those of definitions left out; regions and markers with theirs."""
    texts = read.texts(rank)
    kinds = {E.REGION_ENTER: TextKind.REGION, E.REGION_LEAVE: TextKind.REGION, E.MARKER: TextKind.MARKER}
    for event in read.events(rank):
        kind = EventType(int(event["type"]))
        if kind in kinds:
            yield f"{kind.name} {texts[kinds[kind], int(event['a'])]}"
        elif kind not in (E.TEXT, E.MPI_COMMUNICATOR, E.MPI_COMMUNICATOR_RANKS, E.CLOCK_SYNC):
            yield kind.name


def test_a_trace_of_score_p_is_imported_whole(tmp_path):
    assert import_otf2(PINGPONG, tmp_path / "trace") == []
    read = trace.open(tmp_path / "trace")
    assert (read.ranks, read.problems, read.definitions) == ((0, 1), (), None)
    assert {file.host for file in read.files.values()} == {"quartz10"}
    calls, routines = read.routine_calls()
    assert "int main(int, char**)" in routines
    sends = routines.index("MPI_Send")
    assert [(calls[calls["rank"] == rank]["routine"] == sends).sum() for rank in (0, 1)] == [8, 8]
    (row,) = [row for row in mpi_traffic(read) if row.rank == 0 and row.sent]
    assert (row.communicator.name, row.communicator.size, row.sent) == ("MPI_COMM_WORLD", 2, 8)
    assert row.sent_bytes == sum(2**exponent for exponent in range(14, 22))


def test_times_agree_with_otf2s_own_correction(tmp_path):
    """The library corrects in whole ticks of 0.48 ns."""
    import_otf2(PINGPONG, tmp_path / "trace")
    read = trace.open(tmp_path / "trace")
    with otf2.reader.open(str(PINGPONG)) as archive:
        resolution = archive.timer_resolution
        ticks = {0: [], 1: []}
        for location, event in archive.events:
            if isinstance(event, otf2.events.Enter):
                ticks[location.group._ref].append(event.time)
    for rank in (0, 1):
        events = read.events(rank)
        times = events[events["type"] == E.REGION_ENTER]["time"].tolist()
        assert len(times) == len(ticks[rank])
        assert all(
            abs(Fraction(tick * NS, resolution) - time) < 1.1
            for tick, time in zip(ticks[rank], times, strict=True)
        )


def test_waits_agree_with_scalasca_to_2_ns(tmp_path):
    """Its figures: late senders 11.836 and 33.288 µs, late receivers 602.735 and 17.826 µs."""
    import_otf2(PINGPONG, tmp_path / "trace")
    read = trace.open(tmp_path / "trace")
    kinds = (E.MPI_SEND, E.MPI_RECEIVE)
    sends, receives = ([calls_around(read, rank, kind) for rank in (0, 1)] for kind in kinds)
    late_senders = [
        sum(max(min(sent[0], received[1]) - received[0], 0) for sent, received in pairs)
        for pairs in (zip(sends[1], receives[0], strict=True), zip(sends[0], receives[1], strict=True))
    ]
    late_receivers = [
        sum(max(received[0] - sent[0], 0) for sent, received in pairs if sent[1] > received[0])
        for pairs in (zip(sends[0], receives[1], strict=True), zip(sends[1], receives[0], strict=True))
    ]
    assert late_senders == pytest.approx([11836, 33288], abs=2)
    assert late_receivers == pytest.approx([602735, 17826], abs=2)


def calls_around(read, rank, kind):
    """Enter and leave of the calls in which a rank sent or received, ns with all their parts."""
    times = read.run_times(rank, read.events(rank)["time"]) + residuals(read, rank)
    found, stack = [], []
    for number, time in zip(read.events(rank)["type"], times, strict=True):
        if number == E.REGION_ENTER:
            stack.append([time, None])
        elif number == E.REGION_LEAVE:
            stack.pop()[1] = time
        elif number == kind:
            found.append(stack[-1])
    return found


def test_exact_times_have_no_residuals(tmp_path):
    builder = Builder(tmp_path / "archive")
    (writer,) = builder.process("m", "n")
    writer.enter(1, builder.region("main"))
    _, read = imported(builder, tmp_path / "archive")
    assert residuals(read, 0) is None


@given(
    ticks=st.integers(0, 2**63),
    offsets=st.lists(st.tuples(st.integers(0, 2**50), st.integers(-99, 99)), max_size=4),
    resolution=st.integers(1, 10**12),
)
def test_a_time_is_rounded_once(ticks, offsets, resolution):
    points = sorted(dict(offsets).items()) or [(0, 0)]
    later = [index for index, (time, _) in enumerate(points) if time <= ticks]
    index = min(max(later, default=0), max(len(points) - 2, 0))
    time, offset = points[index]
    exact = Fraction(ticks + offset)
    if len(points) > 1:
        (end, last) = points[index + 1]
        exact += Fraction(last - offset, end - time) * (ticks - time)
    exact = exact * NS / resolution
    clock = Clock(resolution, offsets)
    nearest = math.floor(exact + Fraction(1, 2))
    assert clock.ns(ticks) == nearest % 2**64
    assert 0 <= exact - nearest - Fraction(clock.residual(ticks), PARTS) < Fraction(1, PARTS)
    assert not clock.is_exact or exact == nearest


def test_calls_nest_and_know_their_begins_and_places(tmp_path):
    builder = Builder(tmp_path / "archive")
    ((writer,),) = [builder.process("m", "n")]
    builder.world()
    main, inner = builder.region("main", line=12), builder.region("inner", file="", line=0)
    writer.enter(100, main)
    writer.enter(110, inner)
    writer.leave(120, inner)
    writer.leave(130, main)
    notes, read = imported(builder, tmp_path / "archive")
    calls, routines = read.routine_calls()
    assert notes == []
    assert [(routines[call["routine"]], call["leave"] - call["enter"]) for call in calls] == [
        ("inner", 10),
        ("main", 30),
    ]
    texts = read.texts(0)
    places = {texts[kind, number]: texts.get((TextKind.REGION_PLACE, number)) for kind, number in texts
              if kind == TextKind.REGION}  # fmt: skip
    assert places == {"main": "app.c:12:1", "inner": None}


def test_requests_say_which_call_completed_them(tmp_path):
    builder = Builder(tmp_path / "archive")
    (writer,), (other,) = builder.process("m", "n"), builder.process("m", "n")
    builder.world("first")
    comm = builder.communicator("second", (1, 0))
    isend, irecv, waitall, ssend = map(
        builder.region, ("MPI_Issend", "MPI_Irecv", "MPI_Waitall", "MPI_Ssend")
    )
    for time, region in ((10, isend), (20, irecv)):
        writer.enter(time, region)
        if region is isend:
            writer.mpi_isend(time + 1, 0, comm, 7, 64, 1 << 40)
        else:
            writer.mpi_irecv_request(time + 1, 77)
        writer.leave(time + 2, region)
    writer.enter(30, waitall)
    writer.mpi_request_test(30, 77)
    writer.mpi_irecv(31, 0, comm, 9, 32, 77)
    writer.mpi_isend_complete(32, 1 << 40)
    writer.leave(33, waitall)
    writer.enter(40, ssend)
    writer.mpi_send(41, 0, comm, 1, 2)
    writer.leave(42, ssend)
    other.enter(1, ssend)
    other.leave(2, ssend)
    notes, read = imported(builder, tmp_path / "archive")
    assert notes == []
    own = {known.name: number for number, known in mpi_communicators(read, 0).items()}["second"]
    chosen = read.select(
        0, E.MPI_SEND, E.MPI_RECEIVE_POST, E.MPI_RECEIVE, E.MPI_SEND_COMPLETE, E.MPI_REQUEST_TEST
    )
    found = [(EventType(int(event["type"])).name, event["c"]) for event in chosen]
    sent, posted = pair(own, 1), pair(own, 77)
    assert found == [
        ("MPI_SEND", sent), ("MPI_RECEIVE_POST", posted), ("MPI_REQUEST_TEST", pair(0, 77)),
        ("MPI_RECEIVE", posted), ("MPI_SEND_COMPLETE", sent), ("MPI_SEND", pair(own, 0)),
    ]  # fmt: skip
    assert [event["flags"] for event in chosen if event["type"] == E.MPI_SEND] == [SendMode.SYNCHRONOUS] * 2
    assert list(names(read, 0))[6:11] == [
        "REGION_ENTER MPI_Waitall", "MPI_REQUEST_TEST", "MPI_RECEIVE", "MPI_SEND_COMPLETE",
        "REGION_LEAVE MPI_Waitall",
    ]  # fmt: skip


def test_collectives_know_their_root_from_the_begin(tmp_path):
    builder = Builder(tmp_path / "archive")
    (writer,), _ = builder.process("m", "n"), builder.process("m", "n")
    world = builder.world()
    bcast = builder.region("MPI_Bcast")
    writer.enter(10, bcast)
    writer.mpi_collective_begin(11)
    writer.mpi_collective_end(12, CollectiveOp.BCAST, world, 1, 0, 800)
    writer.leave(13, bcast)
    writer.non_blocking_collective_request(14, 5)
    writer.non_blocking_collective_complete(15, CollectiveOp.ALLREDUCE, world, NONE, 8, 16, 5)
    writer.mpi_collective_begin(16)
    writer.mpi_collective_end(17, CollectiveOp.ALLOCATE, world, NONE, 0, 0)
    _, read = imported(builder, tmp_path / "archive")
    found = read.select(0, E.MPI_COLLECTIVE_BEGIN, E.MPI_COLLECTIVE_END)
    assert [(event["flags"], event["a"], event["b"], event["c"]) for event in found] == [
        (trace.Collective.BCAST, 1, 0, pair(1, 0)),
        (trace.Collective.BCAST, 0, 800, pair(1, 0)),
        (trace.Collective.ALLREDUCE, NONE, 0, pair(1, 5)),
        (trace.Collective.ALLREDUCE, 8, 16, pair(1, 5)),
        (trace.Collective.OTHER, NONE, 0, pair(1, 0)),
        (trace.Collective.OTHER, 0, 0, pair(1, 0)),
    ]


def test_communicators_know_their_members(tmp_path):
    builder = Builder(tmp_path / "archive")
    writers = [builder.process("m", "n")[0] for _ in range(6)]
    builder.world()
    builder.communicator("odd", (5, 1, 3))
    for writer in writers:
        writer.enter(1, builder.region("main"))
        writer.leave(2, builder.region("main"))
    _, read = imported(builder, tmp_path / "archive")
    assert {rank for rank in read.ranks if len(mpi_communicators(read, rank)) == 2} == {1, 3, 5}
    odd = {number: known for number, known in mpi_communicators(read, 5).items() if known.name == "odd"}
    ((number, known),) = odd.items()
    assert (known.leader, known.size) == (5, 3)
    (event,) = [e for e in read.select(5, E.MPI_COMMUNICATOR_RANKS) if e["a"] == pair(number, 0)]
    assert (event["b"], event["c"]) == (pair(5, 1), pair(3, NONE))
    (mine,) = [e for e in read.select(3, E.MPI_COMMUNICATOR) if e["a"] & NONE == number]
    assert mine["c"] == pair(3, 2)  # Rank 3 is the third of three.


def test_metrics_are_counters_and_parameters_are_marks(tmp_path):
    builder = Builder(tmp_path / "archive")
    (writer,) = builder.process("m", "n")
    memory = builder.metric("memory", "B", exponent=3)
    load, signed = builder.metric("load", "%", Type.DOUBLE), builder.metric("change", "", Type.INT64)
    writer.metric(10, memory, (5,))
    writer.metric(11, load, (12.5,))
    writer.metric(12, signed, (-3,))
    parameter = builder.definitions.parameter("step", otf2.enums.ParameterType.UINT64)
    writer.parameter_unsigned_int(13, parameter, 42)
    writer.parameter_int(14, builder.definitions.parameter("n", otf2.enums.ParameterType.INT64), -1)
    word = builder.definitions.parameter("input", otf2.enums.ParameterType.STRING)
    writer.parameter_string(15, word, "a.dat")
    writer.measurement_on_off(16, MeasurementMode.OFF)
    writer.buffer_flush(17, 20)
    _, read = imported(builder, tmp_path / "archive")
    texts = read.texts(0)
    found = [
        (texts[TextKind.COUNTER, number], texts.get((TextKind.COUNTER_UNIT, number), ""), kind, value)
        for number, kind, value in read.select(0, E.COUNTER)[["a", "flags", "b"]].tolist()
    ]
    assert found == [
        ("memory", "10^3 B", ValueKind.UNSIGNED, 5),
        ("load", "%", ValueKind.FLOATING, 0x4029000000000000),
        ("change", "", ValueKind.SIGNED, 2**64 - 3),
    ]
    assert list(names(read, 0))[3:] == [
        "MARKER step", "MARKER n", "MARKER input: a.dat", "MARKER measurement off",
        "REGION_ENTER TRACE BUFFER FLUSH", "REGION_LEAVE TRACE BUFFER FLUSH",
    ]  # fmt: skip
    assert read.select(0, E.MARKER)["b"].tolist() == [42, 2**64 - 1, 0, 0]
    assert read.events(0)["time"].tolist()[-1] == 20


@pytest.mark.skipif(shutil.which("otf2-marker") is None, reason="otf2-marker (otf2-tools) is not installed")
def test_marks_that_somebody_set_are_there(archive, tmp_path):
    anchor = archive / "traces.otf2"
    begin = 7397466977040830
    for words in (
        ["--add-def", "notes", "look", "LOW"],
        ["--add", "notes", "look", f"{begin + 2095197216 // 10}+2095197", "LOCATION:1", "here"],
        ["--add", "notes", "look", f"{begin}", "GLOBAL", "begin"],
    ):
        subprocess.run(["otf2-marker", *words, anchor], check=True)
    assert import_otf2(anchor, tmp_path / "trace") == []
    read = trace.open(tmp_path / "trace")
    for rank, text, duration in ((0, "look: begin", 0), (1, "look: here", 999_999)):
        (mark,) = read.select(rank, E.MARKER)
        assert read.texts(rank)[TextKind.MARKER, int(mark["a"])] == text
        assert abs(int(mark["b"]) - duration) <= 1
        times = read.events(rank)["time"]
        assert (times[1:] >= times[:-1]).all()


def test_marks_that_can_not_be_read_are_told(archive, tmp_path):
    (archive / "traces.marker").write_bytes(b"nothing of the kind")
    (note,) = import_otf2(archive / "traces.otf2", tmp_path / "trace")
    assert "traces.marker can't be read, so its marks are left out" in note
    assert trace.open(tmp_path / "trace").ranks == (0, 1)


def test_threads_beside_mpi_are_ranks_with_names(tmp_path):
    """Locations begin at 100, and the archive's last process is MPI's rank 1."""
    builder = Builder(tmp_path / "archive", first_location=100)
    first, second = builder.process("m", "n0", threads=3), builder.process("m", "n1")
    world = builder.world()
    send, work = builder.region("MPI_Send"), builder.region("work")
    for writer in (*first, *second):
        writer.enter(10, work)
    second[0].enter(11, send)
    second[0].mpi_send(12, 0, world, 3, 4)
    second[0].leave(13, send)
    for writer in (*first, *second):
        writer.leave(20, work)
    notes, read = imported(builder, tmp_path / "archive")
    assert (notes, read.problems) == ([], ())
    ranks = read.definitions.ranks
    assert [(rank.thread, rank.processor, rank.host) for rank in ranks] == [
        ("Master thread", 0, "n0"), ("Master thread", 1, "n1"),
        ("OMP thread 1", 0, "n0"), ("OMP thread 2", 0, "n0"),
    ]  # fmt: skip
    (message,) = read.select(1, E.MPI_SEND)
    assert message["b"] == pair(0, 3)
    assert not len(read.select(2, E.MPI_COMMUNICATOR))


def test_threads_that_call_mpi_are_threads_of_their_rank(tmp_path):
    """Thread 1 of rank 0 receives late what rank 1 sends; thread 2, which only works, stays beside."""
    builder = Builder(tmp_path / "archive")
    (first, talker, worker), (second,) = builder.process("m", "n0", threads=3), builder.process("m", "n1")
    world = builder.world()
    send, receive, work, halo = map(builder.region, ("MPI_Send", "MPI_Irecv", "work", "halo"))
    wait, start = builder.region("MPI_Wait"), builder.region("MPI_Isend")
    first.enter(10, work)
    first.enter(11, start)
    first.mpi_isend(12, 1, world, 5, 4, 0)
    first.leave(13, start)
    first.enter(30, wait)
    first.mpi_isend_complete(31, 0)
    first.leave(32, wait)
    first.leave(40, work)
    talker.enter(10, halo)
    talker.enter(11, receive)
    talker.mpi_irecv_request(11, 0)
    talker.leave(14, receive)
    talker.enter(15, wait)
    talker.mpi_irecv(26, 1, world, 3, 4, 0)
    talker.leave(27, wait)
    talker.leave(35, halo)
    worker.enter(10, work)
    worker.leave(40, work)
    second.enter(10, work)
    second.enter(20, send)
    second.mpi_send(20, 0, world, 3, 4)
    second.leave(25, send)
    second.enter(26, receive)
    second.mpi_recv(27, 0, world, 5, 4)
    second.leave(28, receive)
    second.leave(40, work)
    notes, read = imported(builder, tmp_path / "archive")
    assert (notes, read.problems, read.ranks) == ([], (), (0, 1, 2))
    assert [rank.thread for rank in read.definitions.ranks] == [
        "Master thread", "Master thread", "OMP thread 2"
    ]  # fmt: skip
    assert (np.diff(read.events(0)["time"].astype("<i8")) >= 0).all()
    assert len(set((read.select(0, E.MPI_SEND, E.MPI_RECEIVE)["c"] >> np.uint64(32)).tolist())) == 2
    cube = analyze(read)
    assert cube.problems == ()
    assert cube.by_region("mpi_latesender") == {"MPI_Wait": [5.0, 0.0]}
    late = np.flatnonzero(cube.exclusive("mpi_latesender").sum(axis=1))
    assert [cube.path_text(path) for path in late] == ["program / halo / MPI_Wait"]


def test_hosts_of_several_machines_say_so_and_share_a_clock(tmp_path):
    builder = Builder(tmp_path / "archive")
    writers = [builder.process(*node)[0] for node in (("a", "n0"), ("a", "n1"), ("b", "n0"))]
    builder.world()
    for number, writer in enumerate(writers):
        writer.enter(100 + number, builder.region("main"))
        writer.leave(200, builder.region("main"))
    _, read = imported(builder, tmp_path / "archive")
    assert [read.files[rank].host for rank in read.ranks] == ["a/n0", "a/n1", "b/n0"]
    assert read.problems == ()  # An archive without clock offsets has one clock.
    assert [int(read.run_times(rank, read.events(rank)["time"])[0]) for rank in read.ranks] == [0, 1, 2]


def test_events_without_a_place_are_counted(tmp_path):
    builder = Builder(tmp_path / "archive")
    (writer,) = builder.process("m", "n")
    writer.enter(10, builder.region("main"))
    writer.omp_fork(11, 4)
    writer.omp_join(12)
    writer.leave(13, builder.region("main"))
    writer.leave(14, builder.region("main"))
    notes, read = imported(builder, tmp_path / "archive")
    assert notes == [
        "events that have no place in a trace of pse were left out: "
        "1 Leave without its Enter, 1 OmpFork, 1 OmpJoin"
    ]
    assert len(read.select(0, E.REGION_LEAVE)) == 1


@pytest.mark.skipif(shutil.which("otf2-print") is None, reason="otf2-print (otf2-tools) is not installed")
def test_exported_again_it_shows_the_same(tmp_path):
    import_otf2(PINGPONG, tmp_path / "trace")
    export_otf2(trace.open(tmp_path / "trace"), tmp_path / "again")
    first, second = (
        [line for line in shown(anchor) if line[0].startswith(("ENTER", "LEAVE", "MPI_"))]
        for anchor in (PINGPONG, tmp_path / "again" / "traces.otf2")
    )
    assert [line[0] for line in first] == [line[0] for line in second]
    for one, other in zip(first, second, strict=True):
        assert abs(Fraction(one[1] * NS, 2095197216) - other[1]) < 1.1


def shown(anchor):
    """Records that otf2-print shows: kind, location and what it says; and the time apart."""
    out = subprocess.run(["otf2-print", "-Werror", anchor], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        parts = line.split(None, 3)
        if len(parts) > 2 and parts[2].isdigit() and "engine" not in line and '"program"' not in line:
            said = parts[3].split(" <")[0].replace("Master thread", "") if len(parts) > 3 else ""
            yield " ".join([*parts[:2], said]), int(parts[2])


# Bad input.


@pytest.fixture
def archive(tmp_path):
    copy = tmp_path / "archive"
    shutil.copytree(PINGPONG.parent, copy)
    return copy


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("hello\n"), r"traces\.otf2 is not the anchor file of an OTF2 archive"),
        (lambda path: path.write_bytes(b""), r"traces\.otf2 is empty"),
        (lambda path: path.unlink(), r"there is no OTF2 archive .*traces\.otf2"),
        (lambda path: path.with_suffix(".def").unlink(), r"traces\.def is missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), r"traces\.otf2 can't be read: Could not"),
        (lambda path: path.with_suffix(".def").write_bytes(b"x" * 50), r"traces\.def is cut off"),
        (lambda path: path.with_suffix(".def").write_bytes(b"xx\2\1"), r"can't be read: This is no chunk"),
        (lambda path: patch(path, 8, 99), r"can't be read: The trace version conflicts with current reader"),
        (lambda path: shutil.rmtree(path.with_suffix("")), r"nothing of this archive can be imported: rank"),
    ],
)  # fmt: skip
def test_what_is_no_archive_is_said(archive, tmp_path, make, message):
    make(archive / "traces.otf2")
    with pytest.raises(trace.TraceError, match=message):
        import_otf2(archive / "traces.otf2", tmp_path / "trace")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive"]


def patch(path, offset, value):
    data = bytearray(path.read_bytes())
    data[offset] = value
    path.write_bytes(data)


def test_a_directory_is_no_anchor(archive, tmp_path):
    with pytest.raises(trace.TraceError, match="archive is a directory, not an anchor file"):
        import_otf2(archive, tmp_path / "trace")


@pytest.mark.parametrize(("length", "count"), [(10, 0), (18, 0), (500, 34), (860, 59), (867, 60)])
def test_whole_events_of_a_file_that_is_cut_within_a_chunk_are_there(archive, tmp_path, length, count):
    events = archive / "traces" / "1.evt"
    whole = events.read_bytes()
    events.write_bytes(whole[:length])
    notes = import_otf2(archive / "traces.otf2", tmp_path / "trace")
    said = f"{events}: {count} of 60 events can be read: the file is cut off"
    assert notes == ([f"rank 1 (location 1): {said}"] if count < 60 else [])
    read = trace.open(tmp_path / "trace")
    assert (read.ranks, len(read.select(0, E.REGION_ENTER))) == ((0, 1) if count else (0,), 21)
    events.write_bytes(whole)
    import_otf2(archive / "traces.otf2", tmp_path / "all")
    if count:
        traces = (read, trace.open(tmp_path / "all"))
        found, complete = (opened.select(1, E.REGION_ENTER, E.REGION_LEAVE) for opened in traces)
        assert found.tolist() == complete[: len(found)].tolist()


def test_what_a_cut_left_behind_is_taken_for_events_only_while_it_is_sound(archive, tmp_path):
    events = archive / "traces" / "1.evt"
    events.write_bytes(events.read_bytes()[:500] + bytes(200))
    (note,) = import_otf2(archive / "traces.otf2", tmp_path / "trace")
    assert note.endswith(": 34 of 60 events can be read: the file is cut off")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "traces/1.evt",
            r"1.evt: 0 of 60 events can be read: the file can't be read: it is a pipe or a device",
        ),
        ("traces/1.def", r"1.def can't be read: it is a pipe or a device"),
        ("traces.def", r"traces.def can't be read: it is a pipe or a device, not a file"),
    ],
)
def test_nobody_waits_for_who_writes_to_a_pipe(archive, tmp_path, name, message):
    (archive / name).unlink()
    os.mkfifo(archive / name)
    if name == "traces.def":
        with pytest.raises(trace.TraceError, match=message):
            import_otf2(archive / "traces.otf2", tmp_path / "trace")
    else:
        (note,) = import_otf2(archive / "traces.otf2", tmp_path / "trace")
        assert message in note


def test_whole_chunks_of_a_file_that_is_cut_are_there(tmp_path):
    builder = Builder(tmp_path / "archive", chunk_size_events=1 << 18)
    (writer,) = builder.process("m", "n")
    region = builder.region("main")
    for time in range(0, 48000, 2):
        writer.enter(time, region)
        writer.leave(time + 1, region)
    builder.close()
    events = tmp_path / "archive" / "traces" / "0.evt"
    events.write_bytes(events.read_bytes()[: 3 << 17])
    (note,) = import_otf2(tmp_path / "archive" / "traces.otf2", tmp_path / "trace")
    read = trace.open(tmp_path / "trace")
    count = len(read.select(0, E.REGION_ENTER, E.REGION_LEAVE))
    assert 10_000 < count < 48_000
    assert f"{count:,} of 48,000 events can be read: the file is cut off" in note
    calls, _ = read.routine_calls()
    assert (calls["leave"] - calls["enter"] == 1).all()
    (problem,) = read.problems
    assert problem == "rank 0: not all events of its archive could be read"


@pytest.mark.parametrize(
    ("suffix", "reason"), [("def", "its events can't be understood"), ("evt", "is missing")]
)
def test_a_location_whose_file_is_missing_is_left_out(archive, tmp_path, suffix, reason):
    (archive / "traces" / f"1.{suffix}").unlink()
    (note,) = import_otf2(archive / "traces.otf2", tmp_path / "trace")
    assert note.startswith("rank 1 (location 1): ")
    assert reason in note
    assert trace.open(tmp_path / "trace").ranks == (0,)


def test_the_package_may_be_missing(archive, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "_otf2.Config", None)
    with pytest.raises(trace.TraceError, match="OTF2 archives need the Python package otf2") as caught:
        import_otf2(archive / "traces.otf2", tmp_path / "trace")
    assert caught.value.help == "install it with: pip install 'pse[otf2]'"


def test_an_output_that_is_there_is_left_alone(archive, tmp_path):
    kept = tmp_path / "trace"
    kept.mkdir()
    (kept / "mine").write_text("precious")
    with pytest.raises(trace.TraceError, match="trace already exists and is not empty"):
        import_otf2(archive / "traces.otf2", kept)
    assert [path.name for path in kept.iterdir()] == ["mine"]
