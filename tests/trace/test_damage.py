"""Whatever is in a trace's directory, the command line says what is wrong in words and shows the rest."""

import os
import shutil

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.traces import small_definitions, write_rank

from pse import trace
from pse.cli import main
from pse.trace.format._events import HEADER_DTYPE

FILES = ["definitions.json", "rank-00000.events", "rank-00001.events", "rank-00001.mpi.events"]
SHARED = settings(
    max_examples=some_of(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def whole(small_trace):
    """A trace whose rank 1 also has a file of the tool's; in it a comparison of clocks."""
    (small_trace / "other").mkdir()
    with trace.Recorder(small_trace / "other", 1) as recorder:
        recorder.text(trace.TextKind.REGION, 1, "MPI_Send")
        recorder.record(trace.EventType.REGION_LEAVE, a=1, b=trace.clock())
        recorder.record(trace.EventType.CLOCK_SYNC, a=5, b=1, c=0)
    (small_trace / "other" / "rank-00001.events").rename(small_trace / "rank-00001.mpi.events")
    (small_trace / "other").rmdir()
    return small_trace


def summary(directory):
    done = CliRunner().invoke(main, ["trace", "summary", str(directory)])
    assert done.exit_code in (0, 2), done.output
    assert "Traceback" not in done.output
    return done


def where(data, length):
    """A place in a file: those of the header and of the first records are likelier than others."""
    return data.draw(st.integers(0, min(length - 1, 400)) | st.integers(max(0, length - 500), length - 1))


@given(data=st.data())
@SHARED
def test_flipped_bytes_and_cuts_are_never_a_traceback(whole, tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("damaged") / "trace"
    shutil.copytree(whole, directory)
    for name in data.draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=3)):
        path = directory / name
        content = bytearray(path.read_bytes())
        if not content:
            continue
        if data.draw(st.booleans()):
            del content[where(data, len(content)) :]
        else:
            content[where(data, len(content))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
    done = summary(directory)
    assert done.output.strip()
    # Two ranks' files are whole unless they were chosen: rank 2's always is.
    assert done.exit_code == 0, done.output


@pytest.fixture
def unreadable(small_trace):
    """Make a file unreadable; some users read everything."""

    def make(name):
        (small_trace / name).chmod(0)
        if os.access(small_trace / name, os.R_OK):
            pytest.skip("this user may read everything")

    return make


@pytest.mark.parametrize("name", ["definitions.json", "rank-00001.events"])
def test_a_file_that_may_not_be_read_is_named(small_trace, unreadable, name):
    unreadable(name)
    done = summary(small_trace)
    assert done.exit_code == 0
    assert f"{name} can't be read: Permission denied" in done.output


@pytest.mark.parametrize("name", ["rank-00001.events", "definitions.json", "program.coven"])
def test_nobody_waits_for_who_writes_to_a_pipe(small_trace, name):
    (small_trace / name).unlink(missing_ok=True)
    os.mkfifo(small_trace / name)
    assert f"{name} can't be read: it is a pipe or a device, not a file" in summary(small_trace).output


def test_other_files_are_left_alone(small_trace):
    names = ["notes.txt", "rank-1.events", "rank-00001.events.bak", "definitions.part", "rank-00000.mpi"]
    for name in names:
        (small_trace / name).write_bytes(b"\0" * 10)
    assert trace.open(small_trace).problems == ()


def test_a_clock_that_ran_backwards_is_told_and_the_rest_is_shown(tmp_path):
    times = [1000, 5000, 3000, 6000, 5999]
    write_rank(tmp_path, 0, [{"time": time, "type": trace.EventType.MARKER} for time in times])
    read = trace.open(tmp_path)
    assert read.problems[-1] == (
        "rank 0: its clock ran backwards 2 times, by at most 2.00 µs; times around there are wrong"
    )
    assert read.span == 5000
    assert summary(tmp_path).exit_code == 0


def test_a_rank_beyond_all_ranks_is_refused(tmp_path):
    trace.Recorder(tmp_path, 2**32 - 2).close()
    with pytest.raises(trace.TraceError, match="the rank must be below 4,194,304"):
        trace.open(tmp_path)


def test_what_many_ranks_have_alike_is_said_once(tmp_path):
    trace.write_definitions(tmp_path, small_definitions(processors=7))
    for rank in (0, 1, 2, 4, 6):
        path = write_rank(tmp_path, rank, [{"type": trace.EventType.PHASE, "time": 1, "a": 1}])
        with path.open("r+b") as file:
            file.seek(HEADER_DTYPE.fields["state"][1])
            file.write(bytes(4))
    done = summary(tmp_path)
    warnings = [line for line in done.output.splitlines() if line.startswith("warning:")]
    assert warnings[:2] == [
        f"warning: rank 3: its file rank-00003.events is missing from {tmp_path}; ranks 5, 7 likewise",
        "warning: rank 0: it was killed or still runs; its 1 events so far are shown; "
        "ranks 1-2, 4, 6 likewise",
    ]


def test_queues_of_a_tag_for_several_partitions_are_one_row(tmp_path):
    edges = tuple(trace.EdgeDefinition(number, "strips", 0, (1,)) for number in range(3))
    trace.write_definitions(tmp_path, small_definitions(edges=edges, processors=1))
    depths = [
        {"type": trace.EventType.QUEUE_DEPTH, "time": edge, "a": trace.pair(edge, 0), "b": edge + 1, "c": 4}
        for edge in range(3)
    ]
    write_rank(tmp_path, 0, [])
    write_rank(tmp_path, 1, depths)
    assert "limit\nstrips  thread_B           3      4\n\n" in summary(tmp_path).output
