"""Reading what is there, and saying what isn't: damaged, missing, foreign and newer files."""

import contextlib
import functools
import mmap
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse import trace
from pse.trace.format._events import EVENT_DTYPE, HEADER_DTYPE
from pse.trace.summary._text import print_summary

HEADER = 65536
VERSION = HEADER_DTYPE.fields["version"][1]
BYTE_ORDER = HEADER_DTYPE.fields["byte_order"][1]
RECORDS = HEADER_DTYPE.fields["records"][1]
STATE = HEADER_DTYPE.fields["state"][1]
FILE = "rank-00001.events"
SHARED_FIXTURES = [HealthCheck.function_scoped_fixture]


def bases(array):
    while array is not None:
        yield array
        array = getattr(array, "base", None)


def patch(path, offset, data):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_a_sound_trace_has_no_problems(small_trace):
    read = trace.open(small_trace)
    assert read.ranks == (0, 1, 2)
    assert read.problems == ()
    assert read.definitions.site(1).label == "fft.rows"
    assert read.definitions.site(5) is None


def test_events_are_mapped_not_read(small_trace):
    events = trace.open(small_trace).events(0)
    assert any(isinstance(base, mmap.mmap) for base in bases(events))
    with pytest.raises(ValueError, match="read-only"):
        events["a"] = 1


LIMITED = """
import resource, sys
from pse import trace
resource.setrlimit(resource.RLIMIT_NOFILE, (5, int(sys.argv[2])))
opened = trace.open(sys.argv[1])
print(opened.ranks, *opened.problems)
"""


def test_more_ranks_than_files_may_be_open_at_first(small_trace):
    arguments = [sys.executable, "-c", LIMITED, str(small_trace)]
    run = functools.partial(subprocess.run, capture_output=True, text=True, check=False)
    assert run([*arguments, "100"]).stdout == "(0, 1, 2)\n"
    assert re.fullmatch(
        r"\(0.*\) .*events can't be read: Too many open files.*\n", run([*arguments, "6"]).stdout
    )


def test_an_unknown_rank_is_named(small_trace):
    with pytest.raises(trace.TraceError, match=r"has no events of rank 9; it has those of the ranks 0, 1, 2"):
        trace.open(small_trace).events(9)


def test_a_trace_that_does_not_exist_is_refused_with_the_command_that_makes_one(tmp_path):
    with pytest.raises(trace.TraceError, match=r"there is no trace .*nowhere") as caught:
        trace.open(tmp_path / "nowhere")
    assert "pse run PROGRAM -p P --trace DIR" in caught.value.help
    assert "a run that is killed before its ranks have started MPI leaves none" in caught.value.help


def test_a_file_is_refused_where_a_directory_is_expected(small_trace):
    with pytest.raises(trace.TraceError, match=r"definitions.json is a file; a trace is a directory"):
        trace.open(small_trace / "definitions.json")


def test_a_directory_without_a_trace_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(
        trace.TraceError, match=r"is not a trace: it has neither definitions.json nor files of events"
    ):
        trace.open(tmp_path)


def test_a_trace_without_files_of_events_is_refused(small_trace):
    for path in small_trace.glob("rank-*"):
        path.unlink()
    with pytest.raises(
        trace.TraceError, match=r"nothing of this trace can be read: rank 0: its file rank-00000"
    ):
        trace.open(small_trace)


DAMAGE = {
    "missing": (lambda path: path.unlink(), "its file rank-00001.events is missing from"),
    "empty": (lambda path: path.write_bytes(b""), "rank-00001.events is empty"),
    "foreign": (
        lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" * 9999),
        r"is not a file of events: it begins with",
    ),
    "foreign, short": (lambda path: path.write_text("hello"), r"it begins with b'hello', not b'PSETRACE'"),
    "newer": (
        lambda path: patch(path, VERSION, b"\2"),
        "has version 2 of the event format, but this pse reads up to",
    ),
    "other machine": (
        lambda path: patch(path, BYTE_ORDER, b"\1\2\3\4"),
        "on a machine of another byte order",
    ),
    "half a header": (
        lambda path: path.write_bytes(path.read_bytes()[:40]),
        "ends within its header, after 40 bytes",
    ),
    "header only in part": (
        lambda path: path.write_bytes(path.read_bytes()[:4096]),
        "header, after 4096 bytes",
    ),
    "record size": (lambda path: patch(path, BYTE_ORDER + 8, b"\7"), "its header is damaged"),
    "other rank's": (
        lambda path: shutil.copy(path.with_name("rank-00002.events"), path),
        "holds the events of rank 2",
    ),
    "a directory": (
        lambda path: (path.unlink(), path.mkdir()),
        "rank-00001.events can't be read: Is a directory",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_a_problem_and_the_rest_is_shown(small_trace, damage):
    harm, message = DAMAGE[damage]
    harm(small_trace / FILE)
    read = trace.open(small_trace)
    assert read.ranks == (0, 2)
    assert len(read.problems) == 1
    assert read.problems[0].startswith("rank 1: ")
    assert message in read.problems[0]
    assert len(trace.summarize(read).ranks) == 2


def test_a_file_of_another_run_is_left_out(small_trace):
    trace.Recorder(small_trace, 3).close()
    read = trace.open(small_trace)
    assert read.ranks == (0, 1, 2)
    assert read.problems == ("rank-00003.events belongs to another run; it is left out",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "definitions.json can't be read: No such file or directory"),
        ("{", "definitions.json: it isn't JSON"),
        ("[]", "definitions.json: it isn't a JSON object"),
        ("[" * 100_000, "definitions.json: it isn't JSON"),
        ("{}", 'definitions.json: it isn\'t the definitions of a trace: "format": "pse-trace" is missing'),
        ('{"format": "pse-trace", "version": 2}', "its format has version 2, but this pse reads version 1"),
        ('{"format": "pse-trace", "version": 1}', "definitions: missing: edges, environment"),
        ("\x80", "definitions.json: it isn't UTF-8 text"),
    ],
)
def test_without_definitions_numbers_are_shown(small_trace, text, message):
    path = small_trace / "definitions.json"
    path.unlink() if text is None else path.write_bytes(text.encode("latin-1"))
    read = trace.open(small_trace)
    assert read.definitions is None
    assert message in read.problems[0]
    assert read.problems[0].endswith("call sites and ranks are shown by number")
    summary = trace.summarize(read)
    assert {row.thread for row in summary.ranks} == {"rank 0", "rank 1", "rank 2"}
    assert {row.label for row in summary.calls} == {"site 0", "site 1"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file of 40 events, as its writer closed it and as it lay on disk before."""
    directory = tmp_path_factory.mktemp("whole")
    with trace.Recorder(directory, 0) as recorder:
        for number in range(40):
            recorder.record(trace.EventType.MARKER, a=number)
        killed = (directory / "rank-00000.events").read_bytes()
    return {"closed": (directory / "rank-00000.events").read_bytes(), "killed": killed}


@given(state=st.sampled_from(["closed", "killed"]), end=st.integers(0, HEADER + 48 * 50))
@example(state="closed", end=HEADER)
@example(state="killed", end=HEADER)
@settings(max_examples=some_of(100), deadline=None)
def test_cut_at_any_byte_the_events_before_it_are_there(whole, tmp_path_factory, state, end):
    directory = tmp_path_factory.mktemp("cut")
    (directory / "rank-00000.events").write_bytes(whole[state][:end])
    if end < HEADER:
        with pytest.raises(trace.TraceError, match="nothing of this trace can be read"):
            trace.open(directory)
        return
    read = trace.open(directory)
    left = min(40, (end - HEADER) // 48)
    assert read.events(0)["a"].tolist() == list(range(left))
    cut = f"rank 0: the file was cut off: only {left} of its 40 events are there"
    assert (cut in read.problems) == (state == "closed" and left < 40)


def test_a_count_beyond_the_file_is_not_believed(small_trace):
    patch(small_trace / FILE, RECORDS, b"\xff" * 8)
    read = trace.open(small_trace)
    assert len(read.events(1)) == 6
    assert (
        "rank 1: the file was cut off: only 6 of its 18,446,744,073,709,551,615 events are there"
        in read.problems
    )


@given(position=st.integers(0, HEADER_DTYPE.itemsize - 1), byte=st.integers(0, 255))
@settings(max_examples=some_of(200), deadline=None)
def test_a_damaged_header_is_never_more_than_an_error(whole, tmp_path_factory, position, byte):
    directory = tmp_path_factory.mktemp("damaged")
    data = bytearray(whole["closed"])
    data[position] = byte
    (directory / "rank-00000.events").write_bytes(data)
    with contextlib.suppress(trace.TraceError):
        assert len(trace.open(directory).events(0)) <= len(data) // 48


KNOWN = [int(kind) for kind in trace.EventType]


def turn_of_a_thread():
    """A turn of a thread whose number is none, and a call after it."""
    events = np.zeros(2, EVENT_DTYPE)
    events["type"] = [KNOWN.index(trace.EventType.THREAD), KNOWN.index(trace.EventType.REGION_LEAVE)]
    events["a"] = 1 << 63
    return events.tobytes()


@given(data=st.binary(min_size=48, max_size=48 * 30))
@example(data=turn_of_a_thread())
@settings(max_examples=some_of(200), deadline=None, suppress_health_check=SHARED_FIXTURES)
def test_events_without_sense_are_counted_without_a_crash(whole, tmp_path_factory, data, capsys):
    directory = tmp_path_factory.mktemp("senseless")
    events = np.frombuffer(data[: len(data) // 48 * 48], EVENT_DTYPE).copy()
    events["type"] = np.array(KNOWN)[events["type"] % len(KNOWN)]
    events["time"] %= 1 << 61  # A clock that is a century off is refused.
    header = bytearray(whole["closed"][:HEADER])
    header[RECORDS : RECORDS + 8] = len(events).to_bytes(8, "little")
    (directory / "rank-00000.events").write_bytes(bytes(header) + events.tobytes())
    read = trace.open(directory)
    summary = trace.summarize(read)
    assert summary.events == len(events)
    assert isinstance(read.texts(0), dict)
    print_summary(summary)
    assert "1 rank on 1 host" in capsys.readouterr().out


def test_types_of_a_later_schema_are_skipped(tmp_path):
    with trace.Recorder(tmp_path, 0) as recorder:
        recorder.record(60_000, site=3)
    read = trace.open(tmp_path)
    assert read.events(0)["type"].tolist() == [60_000]
    assert len(read.module_calls()) == 0
