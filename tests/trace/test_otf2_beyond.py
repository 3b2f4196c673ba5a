"""Archives beyond messages and calls: samples, one-sided communication, I/O, accelerators, and odd ones."""

import pytest

from pse import trace
from pse.trace import NONE, Collective, EventType, TextKind, pair

pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
from otf2.enums import (
    InterruptGeneratorMode,
    IoOperationFlag,
    IoOperationMode,
    IoParadigmClass,
    IoParadigmFlag,
    LocationGroupType,
    LocationType,
    MetricScope,
    ParameterType,
    RmaAtomicType,
    RmaSyncLevel,
)

from pse.trace.interchange import import_otf2
from tests.trace.otf2_archives import Builder, CollectiveOp

E = EventType
REGIONS = (E.REGION_ENTER, E.REGION_LEAVE)


def imported(builder, path, anchor="traces.otf2"):
    """Close an archive and import it: the notes, and the trace."""
    builder.close()
    notes = import_otf2(path / anchor, path.with_name("imported"))
    return notes, trace.open(path.with_name("imported"))


@pytest.fixture
def builder(tmp_path):
    return Builder(tmp_path / "archive")


def calls(read, rank):
    """Enters and leaves with their times: ``+main`` and ``-main``."""
    texts = read.texts(rank)
    return [
        (time, ("+" if kind == E.REGION_ENTER else "-") + texts[TextKind.REGION, region])
        for time, kind, region in read.select(rank, *REGIONS)[["time", "type", "a"]].tolist()
    ]


# Samples.


@pytest.fixture
def contexts(builder):
    """main > solve > dot, and main > write."""

    def context(region, parent=None):
        return builder.definitions.calling_context(builder.region(region), None, parent)

    main = context("main")
    solve = context("solve", main)
    return main, solve, context("dot", solve), context("write", main)


def sampler(builder):
    mode = InterruptGeneratorMode.TIME
    return builder.definitions.interrupt_generator("timer", mode, exponent=-3, period=1)


def test_samples_are_calls_from_when_they_were_seen(builder, contexts, tmp_path):
    (writer,), timer = builder.process("m", "n"), sampler(builder)
    main, _, dot, write = contexts
    writer.calling_context_sample(10, dot, 4, timer)  # All are new.
    writer.calling_context_sample(20, dot, 1, timer)  # None is.
    writer.calling_context_sample(30, dot, 2, timer)  # Another call of dot.
    writer.calling_context_sample(40, write, 2, timer)
    writer.calling_context_sample(50, main, 1, timer)
    notes, read = imported(builder, tmp_path / "archive")
    assert notes == []
    assert calls(read, 0) == [
        (10, "+main"), (10, "+solve"), (10, "+dot"), (30, "-dot"), (30, "+dot"),
        (40, "-dot"), (40, "-solve"), (40, "+write"), (50, "-write"), (50, "-main"),
    ]  # fmt: skip


def test_calls_between_samples_have_their_own_times(builder, contexts, tmp_path):
    """As Score-P writes them: MPI's routines are entered and left, what is above them was unwound."""
    (writer,), timer = builder.process("m", "n"), sampler(builder)
    _, solve, _, write = contexts
    send = builder.definitions.calling_context(builder.region("MPI_Send"), None, solve)
    writer.calling_context_enter(10, send, 4)
    writer.calling_context_leave(15, send)
    writer.calling_context_sample(20, write, 2, timer)
    writer.calling_context_enter(30, send, 3)
    writer.calling_context_leave(35, send)
    writer.calling_context_leave(35, send)
    notes, read = imported(builder, tmp_path / "archive")
    assert calls(read, 0) == [
        (10, "+main"), (10, "+solve"), (10, "+MPI_Send"), (15, "-MPI_Send"), (20, "-solve"), (20, "+write"),
        (30, "-write"), (30, "+solve"), (30, "+MPI_Send"), (35, "-MPI_Send"), (35, "-solve"), (35, "-main"),
    ]  # fmt: skip
    assert len(notes) == 1
    assert "1 CallingContextLeave without its enter" in notes[0]


# One-sided communication and I/O.


def counters(read, rank):
    texts = read.texts(rank)
    return [
        (texts[TextKind.COUNTER, a], texts[TextKind.COUNTER_UNIT, a], b)
        for a, b in read.select(rank, E.COUNTER)[["a", "b"]].tolist()
    ]


def test_what_is_put_and_got_is_counted(builder, tmp_path):
    (writer,), _ = builder.process("m", "n"), builder.process("m", "n")
    window = builder.definitions.rma_win("window", builder.world())
    writer.rma_put(10, window, 1, 100, 1)
    writer.rma_put(11, window, 1, 28, 2)
    writer.rma_get(12, window, 1, 64, 3)
    writer.rma_atomic(13, window, 1, RmaAtomicType.FETCH_AND_ADD, 8, 8, 4)
    writer.rma_op_complete_blocking(14, window, 1)
    notes, read = imported(builder, tmp_path / "archive")
    put, got = ("RMA: bytes put", "B"), ("RMA: bytes got", "B")
    assert counters(read, 0) == [(*put, 100), (*put, 128), (*got, 64), (*put, 136), (*got, 72)]
    assert notes == ["events that have no place in a trace of pse were left out: 1 RmaOpCompleteBlocking"]


def test_fences_are_collective_operations_of_the_windows_communicator(builder, tmp_path):
    (writer,), _ = builder.process("m", "n"), builder.process("m", "n")
    builder.world()
    window = builder.definitions.rma_win("window", builder.communicator("pair", (1, 0)))
    for time, operation in ((10, CollectiveOp.CREATE_HANDLE), (20, CollectiveOp.BARRIER)):
        writer.rma_collective_begin(time)
        writer.rma_collective_end(time + 5, operation, RmaSyncLevel.PROCESS, window, NONE, 0, 0)
    notes, read = imported(builder, tmp_path / "archive")
    assert notes == []
    found = read.select(0, E.MPI_COLLECTIVE_BEGIN, E.MPI_COLLECTIVE_END)
    assert found["flags"].tolist() == [Collective.OTHER] * 2 + [Collective.BARRIER] * 2
    assert set(found["c"].tolist()) == {pair(2, 0)}


def test_what_is_read_and_written_is_counted(builder, tmp_path):
    (writer,) = builder.process("m", "n")
    definitions = builder.definitions
    posix = definitions.io_paradigm("POSIX", "POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.NONE)
    file = definitions.io_regular_file("data", builder.node("m", "n"))
    handle = definitions.io_handle("data", file, posix)
    plain = IoOperationFlag.NONE
    writer.io_operation_begin(10, handle, IoOperationMode.READ, plain, 4096, 1)
    writer.io_operation_begin(11, handle, IoOperationMode.WRITE, plain, 10, 2)
    writer.io_operation_begin(12, handle, IoOperationMode.FLUSH, plain, 0, 3)
    writer.io_operation_complete(13, handle, 10, 2)
    writer.io_operation_complete(14, handle, 1000, 1)
    writer.io_operation_complete(15, handle, 0, 3)
    writer.io_operation_complete(16, handle, 7, 99)  # Nobody began it.
    notes, read = imported(builder, tmp_path / "archive")
    assert notes == []
    assert counters(read, 0) == [("I/O: bytes written", "B", 10), ("I/O: bytes read", "B", 1000)]


# Odd archives.


def test_streams_of_accelerators_belong_to_the_process_that_uses_them(builder, tmp_path):
    first, second = builder.process("m", "n0")[0], builder.process("m", "n1")[0]
    builder.world()
    definitions = builder.definitions
    device = definitions.location_group(
        "GPU 0", LocationGroupType.ACCELERATOR, builder.node("m", "n1"),
        creating_location_group=builder.locations[1].group,
    )  # fmt: skip
    stream = definitions.location("CUDA[0]", type=LocationType.ACCELERATOR_STREAM, group=device)
    kernel = builder._opened.event_writer_from_location(stream)
    for writer in (first, second, kernel):
        writer.enter(1, builder.region("saxpy"))
        writer.leave(2, builder.region("saxpy"))
    notes, read = imported(builder, tmp_path / "archive")
    assert (notes, read.definitions.program) == ([], "archive")  # The anchor is called traces everywhere.
    assert [(rank.thread, rank.processor, rank.host) for rank in read.definitions.ranks] == [
        ("Master thread", 0, "n0"), ("Master thread", 1, "n1"), ("CUDA[0]", 1, "n1"),
    ]  # fmt: skip


def test_recorders_of_metrics_without_a_name_are_called_by_what_they_record(builder, tmp_path):
    (writer,) = builder.process("m", "n")
    definitions, group = builder.definitions, builder.locations[0].group
    power = builder.metric("power", "W")
    kinds = (LocationType.METRIC, LocationType.CPU_THREAD)
    recorders = [definitions.location("", type=kind, group=group) for kind in kinds]
    metric = definitions.metric_instance(power, recorders[0], MetricScope.LOCATION_GROUP, group)
    for recorder in recorders:
        builder._opened.event_writer_from_location(recorder).metric(5, metric, (7,))
    writer.enter(1, builder.region("main"))
    writer.leave(9, builder.region("main"))
    notes, read = imported(builder, tmp_path / "archive")
    assert notes == []
    assert [rank.thread for rank in read.definitions.ranks] == ["Master thread", "power", "location 2"]
    assert counters(read, 1) == [("power", "W", 7)]


def test_a_trace_without_mpi_has_processes(builder, tmp_path):
    """Huge numbers of locations, in no order, one of them empty."""
    builder = Builder(tmp_path / "other", resolution=3, first_location=2**40 + 7)
    writers = [builder.process("m", f"n{number}")[0] for number in range(3)]
    for writer in writers[::2]:
        writer.enter(3 * 10**9, builder.region("main"))
        writer.leave(3 * 10**9 + 1, builder.region("main"))
    notes, read = imported(builder, tmp_path / "other")
    assert notes == []
    assert calls(read, 2) == [(10**18, "+main"), (10**18 + 333333333, "-main")]
    assert [len(calls(read, rank)) for rank in read.ranks] == [2, 0, 2]


def test_numbers_without_definitions_have_names(builder, tmp_path):
    (writer,) = builder.process("m", "n")
    world = builder.world()
    region = builder.region("main")
    parameter = builder.definitions.parameter("p", ParameterType.UINT64)
    metric = builder.metric("load", "%")
    for known, number in ((region, 77), (world, 78), (parameter, 79), (metric, 80)):
        known._ref = number
    writer.enter(1, region)
    writer.mpi_send(2, 5, world, 3, 4)
    writer.parameter_unsigned_int(3, parameter, 9)
    writer.metric(4, metric, (1,))
    writer.leave(5, region)
    for known, number in ((region, 0), (world, 0), (parameter, 0), (metric, 0)):
        known._ref = number
    notes, read = imported(builder, tmp_path / "archive")
    assert [name for _, name in calls(read, 0)] == ["+region 77", "-region 77"]
    (sent,) = read.select(0, E.MPI_SEND)
    assert sent["b"] == pair(5, 3)
    assert notes == []


def test_an_anchor_may_have_another_name(tmp_path):
    builder = Builder(tmp_path / "archive", archive_name="run-17")
    (writer,) = builder.process("m", "n")
    writer.enter(1, builder.region("main"))
    writer.leave(2, builder.region("main"))
    notes, read = imported(builder, tmp_path / "archive", "run-17.otf2")
    assert notes == []
    assert calls(read, 0) == [(1, "+main"), (2, "-main")]
