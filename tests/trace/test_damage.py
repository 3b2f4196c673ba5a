"""Whatever is in a trace's directory, the command line says what is wrong in words and shows the rest."""

import os
import shutil

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pse import trace
from pse.cli import main

FILES = ["definitions.json", "rank-00000.events", "rank-00001.events", "rank-00001.mpi.events"]
SHARED = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
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


def test_other_files_are_left_alone(small_trace):
    names = ["notes.txt", "rank-1.events", "rank-00001.events.bak", "definitions.part", "rank-00000.mpi"]
    for name in names:
        (small_trace / name).write_bytes(b"\0" * 10)
    assert trace.open(small_trace).problems == ()


def test_a_clock_that_ran_backwards_is_told_and_the_rest_is_shown(tmp_path, write_rank):
    times = [1000, 5000, 3000, 6000, 5999]
    write_rank(tmp_path, 0, [{"time": time, "type": trace.EventType.MARKER} for time in times])
    read = trace.open(tmp_path)
    assert read.problems[-1] == (
        "rank 0: its clock ran backwards 2 times, by at most 2e-06 s; times around there are wrong"
    )
    assert read.span == 5000
    assert summary(tmp_path).exit_code == 0


def test_a_rank_beyond_all_ranks_is_refused(tmp_path):
    trace.Recorder(tmp_path, 2**32 - 2).close()
    with pytest.raises(trace.TraceError, match="ranks below 4,194,304 are expected"):
        trace.open(tmp_path)
