"""The recorder: what is written comes back, whatever happens to the writer."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse import trace
from pse.text import printable_text
from pse.trace import EVENT_DTYPE, EventType, TextKind

WINDOW = 131072  # records


def unsigned(bits: int, least: int = 0) -> st.SearchStrategy[int]:
    return st.integers(least, 2**bits - 1)


EVENTS = st.lists(
    st.tuples(
        unsigned(61),  # Times of some 70 years: those a century off are refused.
        *(unsigned(16, least=1), unsigned(16), unsigned(32)),
        *(unsigned(64), unsigned(64), unsigned(64), unsigned(64)),
    ),
    max_size=50,
)


@given(rows=EVENTS)
@settings(max_examples=some_of(50), deadline=None)
def test_events_come_back_as_they_were_written(rows, tmp_path_factory):
    directory = tmp_path_factory.mktemp("trace")
    with trace.Recorder(directory, 3) as recorder:
        for row in rows:
            recorder.record_at(**dict(zip(EVENT_DTYPE.names, row, strict=True)))
        assert recorder.count == len(rows)
    read = trace.open(directory)
    np.testing.assert_array_equal(read.events(3), np.array(rows, EVENT_DTYPE))
    assert read.files[3].closed


def test_windows_join_without_a_gap(tmp_path):
    count = 2 * WINDOW + 5
    with trace.Recorder(tmp_path, 0) as recorder:
        record, kind = recorder.record, int(EventType.MARKER)
        for number in range(count):
            record(kind, 1, 2, number)
    events = trace.open(tmp_path).events(0)
    np.testing.assert_array_equal(events["a"], np.arange(count))
    assert (np.diff(events["time"].astype("i8")) >= 0).all()
    assert (tmp_path / "rank-00000.events").stat().st_size == 65536 + 48 * count


def test_a_trace_can_be_read_while_it_is_written(tmp_path):
    with trace.Recorder(tmp_path, 0) as recorder:
        recorder.record(EventType.MARKER, a=5)
        read = trace.open(tmp_path)
        assert read.events(0)["a"].tolist() == [5]
        assert not read.files[0].closed


TWO_RUNS = """
import sys
from pse.trace import EventType, Recorder, open

with Recorder(sys.argv[1], 0) as first:
    first.record(EventType.MARKER, a=1)
    with Recorder(sys.argv[1], 0) as second:
        second.record(EventType.MARKER, a=2)
        read = open(sys.argv[1])
        with Recorder(sys.argv[1], 0) as third:
            for _ in range(200_000):
                first.record(EventType.MARKER, a=1)
            third.record(EventType.MARKER, a=3)
            assert read.events(0)["a"].tolist() == [2]
print(open(sys.argv[1]).events(0)["a"].tolist())
"""


def test_runs_that_write_the_same_trace_and_who_reads_it_live_on(tmp_path):
    command = [sys.executable, "-c", TWO_RUNS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[3]\n")


def test_the_header_tells_when_and_where(tmp_path):
    with trace.Recorder(tmp_path, 7) as recorder:
        before = trace.clock()
        assert recorder.rank == 7
    file = trace.open(tmp_path).files[7]
    assert file.pid == os.getpid()
    assert file.host == os.uname().nodename
    assert file.start_clock <= before
    assert abs(file.start_real / 1e9 - (tmp_path / "rank-00007.events").stat().st_mtime) < 60


@given(
    names=st.dictionaries(
        unsigned(32), st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)
    )
)
@settings(max_examples=some_of(50), deadline=None)
def test_names_are_read_as_they_were_recorded_but_in_one_line(names, tmp_path_factory):
    directory = tmp_path_factory.mktemp("trace")
    with trace.Recorder(directory, 0) as recorder:
        for number, name in names.items():
            recorder.text(TextKind.REGION, number, name)
    expected = {(TextKind.REGION, number): printable_text(name) for number, name in names.items()}
    assert trace.open(directory).texts(0) == expected


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_would_not_come_back_is_refused(tmp_path, name):
    with (
        trace.Recorder(tmp_path, 0) as recorder,
        pytest.raises(ValueError, match="at least one character and no zero"),
    ):
        recorder.text(TextKind.REGION, 1, name)


def test_type_zero_is_refused(tmp_path):
    with trace.Recorder(tmp_path, 0) as recorder:
        with pytest.raises(ValueError, match="event type 0 would end the trace"):
            recorder.record(0)
        with pytest.raises(ValueError, match="event type 0 would end the trace"):
            recorder.record_at(1, 0)


def test_numbers_that_do_not_fit_are_refused(tmp_path):
    with trace.Recorder(tmp_path, 0) as recorder:
        with pytest.raises(OverflowError, match="uint32"):
            recorder.record(EventType.MARKER, 2**32)
        with pytest.raises(OverflowError, match="uint64"):
            recorder.record(EventType.MARKER, a=-1)
        assert recorder.count == 0


def test_a_closed_recorder_says_so(tmp_path):
    recorder = trace.Recorder(tmp_path, 0)
    recorder.close()
    recorder.close()
    with pytest.raises(ValueError, match="the recorder is closed"):
        recorder.record(EventType.MARKER)


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        trace.Recorder(tmp_path / "nowhere", 0)


def test_a_path_that_is_too_long_is_an_error(tmp_path):
    with pytest.raises(OSError, match="File name too long"):
        trace.Recorder("x" * 5000, 0)


ENDLESS = """
import sys
from pse.trace import EventType, Recorder
recorder = Recorder(sys.argv[1], 0)
record, count = recorder.record, 0
while True:
    record(EventType.MARKER, 1, 2, count)
    count += 1
    if count == int(sys.argv[2]):
        print(count, flush=True)
"""


@pytest.mark.parametrize("reached", [1, 4096, WINDOW, WINDOW + 70_000])
def test_a_killed_writer_loses_nothing(tmp_path, reached):
    command = [sys.executable, "-c", ENDLESS, str(tmp_path), str(reached)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == f"{reached}\n"
        writer.send_signal(signal.SIGKILL)
    read = trace.open(tmp_path)
    events = read.events(0)
    assert len(events) >= reached
    np.testing.assert_array_equal(events["a"], np.arange(len(events)))
    assert (
        f"rank 0: it was killed or still runs; its {len(events):,} events so far are shown" in read.problems
    )


OVERFULL = """
import sys
from pse.trace import EventType, Recorder
with Recorder(sys.argv[1], 0) as recorder:
    for number in range(600_000):
        recorder.record(EventType.MARKER, 1, 2, number)
    print(recorder.count, recorder.error)
"""


# Python ignores the signal that a process gets which exceeds the limit; a C program dies of it.
LIMIT = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
"""


def check_stopped(directory: Path, out: str, err: str, error: int) -> None:
    count, code = map(int, out.split())
    assert code == error
    assert count in (WINDOW, 2 * WINDOW)
    assert err.count("recording stops, the run goes on") == 1
    assert os.strerror(error) in err
    assert {errno.EFBIG: "ulimit -f", errno.ENOSPC: "free space there"}[error] in err
    read = trace.open(directory)
    np.testing.assert_array_equal(read.events(0)["a"], np.arange(count))
    assert f"rank 0: recording stopped after {count:,} events: {os.strerror(error)}" in read.problems


def test_a_file_size_limit_ends_recording_not_the_run(tmp_path):
    limited = LIMIT.format(bytes=10 << 20) + OVERFULL
    done = subprocess.run(
        [sys.executable, "-c", limited, tmp_path], capture_output=True, text=True, check=True
    )
    check_stopped(tmp_path, done.stdout, done.stderr, errno.EFBIG)


def test_a_full_disk_ends_recording_not_the_run(tmp_path):
    copy = tmp_path / "copy"
    mount = f"mount -t tmpfs -o size=14m tmpfs {tmp_path}/disk"
    steps = f'mkdir {tmp_path}/disk && {mount} && "$@" {tmp_path}/disk && cp -r {tmp_path}/disk {copy}'
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    command = ["unshare", "--mount", "sh", "-c", steps, "sh", sys.executable, "-c", OVERFULL]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check_stopped(copy, done.stdout, done.stderr, errno.ENOSPC)


def test_no_room_at_the_start_is_an_error(tmp_path):
    limited = LIMIT.format(bytes=1 << 20) + OVERFULL
    done = subprocess.run([sys.executable, "-c", limited, tmp_path], capture_output=True, text=True)
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert not list(tmp_path.iterdir())
