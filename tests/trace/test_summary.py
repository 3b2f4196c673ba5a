"""The summary: numbers that can be checked by hand, and how they look."""

import dataclasses
import io
import json

import pytest
from pse_testing.traces import small_definitions, write_rank
from rich.console import Console

from pse import trace
from pse.trace import NONE, EventType, pair
from pse.trace.query import Names
from pse.trace.summary import _text as text


@pytest.fixture
def summary(small_trace):
    return trace.summarize(trace.open(small_trace))


def test_the_time_of_a_recursion_is_that_of_its_outermost_calls(tmp_path):
    """Of each thread: the second one's call is not within those of the first."""
    enter, leave = EventType.REGION_ENTER, EventType.REGION_LEAVE
    rows = [{"time": 100 * level, "type": enter, "a": 1} for level in range(3)]
    rows += [{"time": 250, "type": EventType.THREAD, "a": 1}, {"time": 300, "type": enter, "a": 1}]
    rows += [{"time": 400, "type": leave, "a": 1, "b": 300}, {"time": 450, "type": EventType.THREAD, "a": 0}]
    rows += [{"time": 1000 - 100 * n, "type": leave, "a": 1, "b": 100 * n} for n in (2, 1, 0)]
    rows += [{"time": 2000, "type": enter, "a": 1}, {"time": 2500, "type": leave, "a": 1, "b": 2000}]
    write_rank(tmp_path, 0, rows)
    (row,) = trace.summarize(trace.open(tmp_path)).routines
    assert (row.routine, row.calls, row.total, row.max) == ("routine 1", 5, 1000 + 100 + 500, 1000)
    assert row.mean == (1000 + 800 + 600 + 100 + 500) / 5


def picked(rows, *names):
    return [tuple(getattr(row, name) for name in names) for row in rows]


def test_calls_are_counted_by_call_site_and_thread(summary):
    assert picked(summary.calls, "site", "label", "thread", "calls", "failed", "unfinished") == [
        (0, "load_frame", "thread_A", 2, 1, 0),
        (1, "fft.rows", "thread_B", 1, 0, 1),
    ]
    assert picked(summary.calls, "total", "mean", "max", "cpu", "cpu_share") == [
        (600, 300, 400, 500, pytest.approx(5 / 6)),
        (300, 300, 300, 0, 0),
    ]
    assert summary.calls[1].place == "programs/small.coven:12:16"


def test_a_call_that_has_not_ended_is_in_no_mean(tmp_path):
    head = {"site": 0, "tph": 1}
    enter = {"type": EventType.MODULE_ENTER, "a": NONE, **head}
    leave = {"type": EventType.MODULE_LEAVE, "a": 100, "b": 0, "c": pair(0, NONE), **head}
    trace.write_definitions(tmp_path, small_definitions(processors=0))
    write_rank(tmp_path, 0, [{"time": 0, **enter}, {"time": 400, **leave}, {"time": 500, **enter},
                             {"time": 520, "type": EventType.PHASE, "a": 1}])  # fmt: skip
    summary = trace.summarize(trace.open(tmp_path))
    names = ("calls", "unfinished", "total", "mean", "max", "cpu_share")
    assert picked(summary.calls, *names) == [(2, 1, 420, 400, 400, 0.25)]


def test_bytes_are_told_apart_by_how_they_went(summary):
    names = ("site", "thread", "sent", "sent_descriptor", "sent_copied", "sent_remote")
    assert picked(summary.traffic, *names) == [
        (0, "thread_A", 2, 2048, 2048, 2048),
        (0, "thread_B", 0, 0, 0, 0),
    ]
    names = ("received", "received_descriptor", "received_copied", "received_remote")
    assert picked(summary.traffic, *names) == [(0, 0, 0, 0), (1, 2048, 0, 0)]
    assert (summary.unmatched_sends, summary.unmatched_receives) == (1, 0)


def test_waits_are_counted_by_reason(summary):
    assert picked(summary.waits, "site", "thread", "reason", "count", "total", "max") == [
        (1, "thread_B", "input", 2, 1500, 900)
    ]


def test_queues_and_memory_have_their_peaks(summary):
    assert picked(summary.queues, "edge", "tag", "thread", "peak", "limit") == [
        (0, "image", "thread_B", 1, 2)
    ]
    assert picked(summary.ranks, "rank", "peak_memory") == [(0, 4096), (1, 0), (2, 0)]
    assert list(summary.arena_peak.values()) == [4096]


def test_ranks_have_shares_of_their_own_time(summary):
    assert picked(summary.ranks, "thread", "processor", "span", "busy", "waiting", "closed") == [
        ("thread_A", None, 1000, 0.6, 0, True),
        ("thread_B", 0, 900, pytest.approx(1 / 3), pytest.approx(2 / 3), True),
        ("thread_B", 1, 900, 0, 1, True),
    ]
    assert summary.events == 9 + 6 + 2


def test_a_label_of_both_regions_is_told_apart(small_trace):
    ranks = small_definitions().ranks
    root = trace.RankDefinition(0, "root", "thread_B", None, "node0")
    trace.write_definitions(small_trace, small_definitions(ranks=(root, *ranks[1:])))
    summary = trace.summarize(trace.open(small_trace))
    assert [row.thread for row in summary.ranks] == [
        "root thread_B",
        "parallel thread_B",
        "parallel thread_B",
    ]


def test_peaks_count_what_is_held_at_once(tmp_path):
    with trace.Recorder(tmp_path, 0) as recorder:
        for kind, size in (
            ("ALLOCATE", 5),
            ("ALLOCATE", 7),
            ("FREE", 5),
            ("ALLOCATE", 4),
            ("FREE", 7),
            ("FREE", 4),
        ):
            recorder.record(trace.EventType[kind], a=size)
        recorder.record(trace.EventType.ALLOCATE, a=100, flags=trace.MemoryFlag.LOCAL)
    with trace.Recorder(tmp_path, 1) as recorder:
        recorder.record(trace.EventType.ALLOCATE, a=30, flags=trace.MemoryFlag.LOCAL)
        recorder.record(trace.EventType.FREE, a=10, c=0)  # Of rank 0.
    summary = trace.summarize(trace.open(tmp_path))
    assert [row.peak_memory for row in summary.ranks] == [100, 30]
    assert list(summary.arena_peak.values()) == [12]


def shown(summary, width):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    text.print_summary(summary, console)
    return console.file.getvalue()


def test_eighty_columns_are_enough(summary):
    lines = shown(summary, 80).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert "…" not in "".join(lines)
    table = [" ".join(line.split()) for line in lines]
    assert "load_frame (1 failed) 9 thread_A 2 600 ns 300 ns 400 ns –" in table
    assert "fft.rows 12 thread_B input 2 1.50 µs 900 ns" in table
    assert "load_frame 9 thread_A sent 2 2.00 KiB 2.00 KiB 2.00 KiB" in table


def test_names_are_not_taken_for_markup(small_trace):
    edge = trace.EdgeDefinition(0, "[bold]image", 0, (1,))
    trace.write_definitions(small_trace, small_definitions(edges=(edge,)))
    assert "[bold]image" in shown(trace.summarize(trace.open(small_trace)), 80)


def test_the_command_prints_plain_text_without_a_terminal(pse, small_trace):
    done = pse("trace", "summary", small_trace)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("programs/small.coven · 3 ranks on 1 host · ")
    assert lines[0].endswith(" · 17 events · peak shared memory 4.00 KiB")
    assert "\x1b" not in done.out
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1] == "note: 1 sent tag never arrived in this trace"


def test_the_command_prints_json(pse, small_trace, summary):
    done = pse("trace", "summary", small_trace, "--format", "json")
    assert done.code == 0
    assert json.loads(done.out) == json.loads(json.dumps(summary.to_json()))


def test_the_command_warns_and_shows_the_rest(pse, small_trace):
    (small_trace / "rank-00001.events").write_bytes(b"")
    done = pse("trace", "summary", small_trace, "--format", "json")
    assert done.code == 0
    assert done.err == f"warning: rank 1: {small_trace}/rank-00001.events is empty\n"
    assert [row["rank"] for row in json.loads(done.out)["ranks"]] == [0, 2]


@pytest.mark.parametrize("name", ["nowhere", "trace/definitions.json"])
def test_the_command_names_what_is_not_a_trace(pse, small_trace, name):
    done = pse("trace", "summary", small_trace.parent / name)
    assert done.code == 2
    assert done.out == ""
    assert f"{small_trace.parent / name}" in done.err.splitlines()[0]
    assert "help: record one with: pse run PROGRAM -p P --trace DIR" in done.err
    assert "Traceback" not in done.err


def test_a_part_of_a_trace_is_counted(small_trace):
    read = trace.open(small_trace)
    counted = trace.summarize(read, trace.Selection.parse(thread=["B"], begin=500e-9))
    assert picked(counted.calls, "label", "calls") == [("fft.rows", 1)]
    assert picked(counted.waits, "count") == [(2,)]
    assert picked(counted.ranks, "rank", "span", "waiting") == [
        (1, 400, pytest.approx(100 / 400)),
        (2, 400, 1),
    ]
    # What arrived isn't told to be lost because its sender is not selected.
    assert (counted.unmatched_sends, counted.unmatched_receives) == (0, 0)


def test_the_command_takes_a_selection(pse, small_trace):
    done = pse("trace", "summary", small_trace, "--processor", "root", "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert [row["rank"] for row in json.loads(done.out)["ranks"]] == [0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--thread", "Z"],
            "error: the trace has no thread thread_Z; it has thread_A, thread_B\n"
            "help: name one that the trace has; `pse trace summary` lists them\n",
        ),
        (
            ["--rank", "x"],
            "error: rank 'x': expected a number or a range like 0-3\n"
            "help: for example:  --rank 2   or  --rank 0-3\n",
        ),
        (
            ["--from", "5"],
            "error: the time window lies outside of the run, which lasts from 0 to 0.000001 s\n"
            "help: choose a window that begins before 0.000001 s and ends after 0 s\n",
        ),
        (
            ["--from", "5", "--until", "4"],
            "error: the time window ends at 4 s, before it begins at 5 s\nhelp: exchange the two times\n",
        ),
    ],
)
def test_the_command_says_what_there_is_to_select(pse, small_trace, words, message):
    done = pse("trace", "summary", small_trace, *words)
    assert (done.code, done.out, done.err) == (2, "", message)


def test_calls_in_segments_are_told_apart_by_the_lines_of_the_calls_that_lead_there(tmp_path):
    known = small_definitions(processors=0)
    places = ("small.coven:9:3 → 5:7", "small.coven:9:20 → 5:7", "small.coven:12:3 → 5:7")
    sites = tuple(dataclasses.replace(known.sites[0], id=n, place=place) for n, place in enumerate(places))
    trace.write_definitions(tmp_path, dataclasses.replace(known, sites=sites, edges=()))
    begin, end = EventType.MODULE_ENTER, EventType.MODULE_LEAVE
    rest = {"tph": 1, "a": NONE, "c": pair(0, NONE)}
    times = [{"time": time, "type": (begin, end)[time % 2], "site": time // 2} for time in range(6)]
    write_rank(tmp_path, 0, [row | rest for row in times])
    opened = trace.open(tmp_path)
    out = io.StringIO()
    text.print_summary(trace.summarize(opened), Console(file=out, width=160))
    assert all(line in out.getvalue() for line in (" 9:3 → 5:7 ", " 9:20 → 5:7 ", " 12 → 5 "))
    assert Names(opened).spoken_site(2) == f"{sites[2].label} (line 12 → 5)"
