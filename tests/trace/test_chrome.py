"""Traces as JSON for Perfetto and Chrome: whole, nested, flows that meet, counters that add up."""

import gzip
import json
from collections import Counter, defaultdict

import pytest
from click.testing import CliRunner

from pse import trace
from pse.analysis import wait_ends
from pse.cli import main
from pse.trace import NONE, EventType, MessageFlag, TextKind, ValueKind, pair
from pse.trace.interchange import export_chrome

E = EventType


def events(directory, to, **selected):
    """Export a trace and parse it."""
    assert export_chrome(trace.open(directory), to, trace.Selection(**selected)) == []
    return json.loads(to.read_text())["traceEvents"]


def of(found, phase, **fields):
    return [e for e in found if e["ph"] == phase and all(e[name] == value for name, value in fields.items())]


def slices(found):
    """Name, begin and end of all slices by process and thread; fails if they don't nest."""
    stacks, made = defaultdict(list), defaultdict(list)
    for event in found:
        key = (event["pid"], event["tid"])
        if event["ph"] == "B":
            stacks[key].append(event)
        elif event["ph"] == "E":
            begin = stacks[key].pop()
            made[key].append(
                (begin["name"], begin["ts"], event["ts"], {**begin["args"], **event.get("args", {})})
            )
    assert not any(stacks.values())
    return made


def test_processors_are_processes_and_threads_threads(small_trace, tmp_path):
    found = events(small_trace, tmp_path / "out.json")
    names = {(e["pid"], e["tid"], e["name"]): e["args"] for e in of(found, "M")}
    assert names[1, 1, "process_name"]["name"].startswith("root (")
    assert names[2, 2, "process_name"]["name"].startswith("p0 (")
    assert names[2, 2, "thread_name"] == {"name": "thread_B (rank 1)"}
    assert names[2, 2, "process_sort_index"] == {"sort_index": 2}
    assert {key[:2] for key in names} == {(1, 1), (2, 2), (3, 3)}


def test_calls_and_waits_are_slices_that_nest_and_end(small_trace, tmp_path):
    """Rank 1 is within a call and rank 2 within a wait at the end; both end with the trace."""
    found = slices(events(small_trace, tmp_path / "out.json"))
    first, second = found[1, 1]
    assert first[:3] == ("load_frame", 0.0, 0.4)
    assert first[3] == {"TPH": 1, "at": "programs/small.coven:9:14", "CPU time (ms)": 0.0003, "returned": 0}
    assert (second[3]["failed"], second[3]["returned"]) == (True, 7)
    assert [name for name, *_ in found[2, 2]] == ["wait: input", "fft.rows"]
    (wait,) = found[3, 3]
    assert wait == ("wait: input", 0.0, 0.9, {"TPH": 1, "rank": 0, "tag": "image"})


@pytest.mark.parametrize(
    ("begin", "end"), [(None, 0.0), (0.0, 0.0), (None, 1e-7), (1e-7, 2e-7), (9e-7, None)]
)
def test_a_window_of_time_may_be_small(small_trace, tmp_path, begin, end):
    found = slices(events(small_trace, tmp_path / "out.json", begin=begin, end=end))
    first, last = round((begin or 0) * 1e9), 1000 if end is None else round(end * 1e9)  # ns
    times = [
        (round(1e3 * left), round(1e3 * right))
        for place, made in found.items()
        for _, left, right, _ in made
        if place != (3, 3)  # Its wait never ended.
    ]
    assert all(left <= last and first <= right for left, right in times)


def test_both_ends_of_a_hand_over_have_one_flow(small_trace, tmp_path):
    found = events(small_trace, tmp_path / "out.json")
    (finish,) = of(found, "f")
    (start,) = of(found, "s", id=finish["id"])
    assert 0 < int(finish["id"], 16) < 2**64  # Perfetto takes no other names.
    assert (start["pid"], finish["pid"], finish["bp"]) == (1, 2, "e")
    assert start["name"] == finish["name"] == "image"
    (around,) = [e for e in of(found, "X", pid=2) if e["ts"] == finish["ts"]]
    assert around["name"] == "receive image"
    assert around["args"]["bytes"] == 2048
    assert around["dur"] > 0
    assert len(of(found, "s")) == 2  # The other was never received.


def test_messages_among_partitions_are_flows_in_their_order(tmp_path):
    """Of two alike, the first sent is the first that came; their collective operations are async slices."""
    home = tmp_path / "trace"
    home.mkdir()
    head = {"site": 1, "tph": 1, "c": pair(3, 4), "flags": MessageFlag.COPIED}
    for rank, kind in enumerate((E.PARTITION_SEND, E.PARTITION_RECEIVE)):
        with trace.Recorder(home, rank) as recorder:
            for time in (100, 200):
                recorder.record_at(time + rank, kind, a=8, b=pair(1 - rank, 7), **head)
            both = {"site": 1, "tph": 1, "flags": 12, "b": pair(3 + rank, 1), "c": pair(NONE, 1)}
            recorder.record_at(300, E.PARTITION_COLLECTIVE_BEGIN, a=8, **both)
            recorder.record_at(400, E.PARTITION_COLLECTIVE_END, a=300, **both)
    found = events(home, tmp_path / "out.json")
    starts, finishes = of(found, "s"), of(found, "f")
    assert [e["id"] for e in starts] == [e["id"] for e in finishes]
    assert len({e["id"] for e in starts}) == 2
    assert of(found, "X", name="send to partition 4")[0]["args"]["tag"] == 7
    names = [e["name"] for phase in "be" for e in of(found, phase, cat="collective")]
    assert names == [f"allreduce of partition {3 + rank} · rank {rank}" for rank in (0, 1)] * 2


def test_queues_and_memory_are_counters(small_trace, tmp_path):
    found = of(events(small_trace, tmp_path / "out.json"), "C")
    memory = [(e["pid"], e["args"]["bytes"]) for e in found if e["name"].startswith("memory")]
    assert memory == [(1, 4096), (2, -4096)]
    queues = {e["name"]: e["args"]["entries"] for e in found if e["name"].startswith("queue")}
    assert queues == {
        "queue image from rank 0 · thread_B (rank 1)": 1,
        "queue image from rank 0 · thread_B (rank 2)": 0,
    }


MPI = [
    {"time": 10, "type": E.MPI_COMMUNICATOR, "a": pair(1, 0), "b": pair(0, 1)},
    {"time": 20, "type": E.REGION_ENTER, "a": 1},
    {"time": 30, "type": E.REGION_LEAVE, "a": 1, "b": 20},
    {"time": 40, "type": E.COUNTER, "a": 9, "flags": ValueKind.FLOATING, "b": 0x7FF0000000000000},
    {"time": 41, "type": E.COUNTER, "a": 9, "flags": ValueKind.FLOATING, "b": 0x4029000000000000},
    {"time": 42, "type": E.COUNTER, "a": 9, "flags": ValueKind.SIGNED, "b": 2**64 - 3},
]


@pytest.fixture
def mpi_trace(tmp_path):
    """Two ranks without definitions; rank 0 sends two messages with one tag, rank 1 receives them."""
    directory = tmp_path / "mpi"
    trace.create(directory)
    for rank in (0, 1):
        with trace.Recorder(directory, rank) as recorder:
            for row in MPI:
                place = {"c": pair(2, rank)} if row["type"] == E.MPI_COMMUNICATOR else {}
                recorder.record_at(**row | place)
            for time in (50, 60):
                kind = E.MPI_RECEIVE if rank else E.MPI_SEND
                recorder.record_at(time=time, type=kind, a=8, b=pair(1 - rank, 99), c=pair(1, 0))
        path = directory / f"rank-{rank:05}.events"
        path.rename(directory / f"rank-{rank:05}.mpi.events")
    return directory


def test_messages_of_mpi_are_flows_in_their_order(mpi_trace, tmp_path):
    found = events(mpi_trace, tmp_path / "out.json")
    starts = {e["id"]: e["ts"] for e in of(found, "s")}
    finishes = {e["id"]: e["ts"] for e in of(found, "f")}
    assert starts == finishes
    assert sorted(starts.values()) == [0.04, 0.05]
    assert Counter(e["tid"] for e in of(found, "M", name="process_name")) == {1: 1, 2: 1}
    assert len({e["pid"] for e in of(found, "M")}) == 1  # One host is one process.


def test_values_that_json_does_not_know_are_left_out(mpi_trace, tmp_path):
    found = [e["args"]["value"] for e in of(events(mpi_trace, tmp_path / "out.json"), "C", tid=1)]
    assert found == [12.5, -3]


def test_names_of_any_kind_are_valid_json(tmp_path):
    name = 'quote " newline \n tab \t ünïcode \u2028'
    trace.create(tmp_path / "odd")
    with trace.Recorder(tmp_path / "odd", 0) as recorder:
        recorder.text(TextKind.MARKER, 1, name)
        recorder.record(E.MARKER, a=1, b=2**64 - 1)
        recorder.record(E.MARKER, a=77)
    (tmp_path / "odd" / "rank-00000.events").rename(tmp_path / "odd" / "rank-00000.mpi.events")
    marks = of(events(tmp_path / "odd", tmp_path / "out.json"), "i")
    assert [(mark["name"], mark["args"]["first"]) for mark in marks] == [(name, 2**64 - 1), ("marker 77", 0)]


def test_a_selection_leaves_whole_calls(small_trace, tmp_path):
    found = events(small_trace, tmp_path / "out.json", ranks=frozenset({0}), begin=5.5e-7, end=6e-7)
    assert [made[:3] for made in slices(found)[1, 1]] == [("load_frame", 0.5, 0.7)]


def test_an_export_of_a_selection_has_its_modules_only(small_trace, tmp_path):
    found = slices(events(small_trace, tmp_path / "out.json", modules=frozenset({"rows"})))
    assert {name for made in found.values() for name, *_ in made} == {"wait: input", "fft.rows"}


@pytest.fixture
def pse():
    return lambda *arguments: CliRunner().invoke(main, ["trace", *map(str, arguments)])


def test_export_to_chrome_writes_the_ranks_that_are_asked_for(small_trace, tmp_path, pse):
    done = pse("export", small_trace, "--to", "chrome", "-o", tmp_path / "out.json.gz", "--rank", "0-1")
    assert (done.exit_code, done.output) == (0, "")
    found = json.loads(gzip.decompress((tmp_path / "out.json.gz").read_bytes()))["traceEvents"]
    assert {e["tid"] for e in found} == {1, 2}


def test_ends_that_fit_to_nothing_are_told(tmp_path, pse):
    trace.create(tmp_path / "trace")
    with trace.Recorder(tmp_path / "trace", 0) as recorder:
        recorder.record(E.WAIT_END, a=pair(NONE, NONE), flags=1)
    done = pse("export", tmp_path / "trace", "--to", "chrome", "-o", tmp_path / "out.json")
    assert done.exit_code == 0
    assert "warning: rank 0: 1 end of a call or wait doesn't match its begin" in done.stderr
    assert json.loads((tmp_path / "out.json").read_text())


@pytest.mark.parametrize("form", ["otf2", "chrome"])
def test_an_output_that_is_there_is_left_alone(small_trace, tmp_path, pse, form):
    if form == "otf2":
        pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
    kept = tmp_path / "kept"
    kept.write_text("precious")
    done = pse("export", small_trace, "--to", form, "-o", kept)
    assert done.exit_code == 2
    assert "kept already exists" in done.stderr
    assert "name another path with -o, or remove this one first" in done.stderr
    assert kept.read_text() == "precious"


@pytest.mark.parametrize("form", ["otf2", "chrome"])
def test_a_directory_that_is_missing_is_not_made(small_trace, tmp_path, pse, form):
    if form == "otf2":
        pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
    done = pse("export", small_trace, "--to", form, "-o", tmp_path / "none" / "out")
    assert done.exit_code == 2
    assert f"cannot write {tmp_path}/none/out: there is no directory {tmp_path}/none" in done.stderr
    assert f"help: make it with: mkdir -p {tmp_path}/none" in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("form", ["otf2", "chrome"])
def test_what_selects_nothing_writes_nothing(small_trace, tmp_path, pse, form):
    if form == "otf2":
        pytest.importorskip("otf2", reason="the package otf2 (extra pse[otf2]) is not installed")
    done = pse("export", small_trace, "--to", form, "-o", tmp_path / "out", "--rank", "9")
    assert done.exit_code == 2
    assert "the trace has no rank 9; it has 0, 1, 2" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_directory_without_a_trace_is_refused(tmp_path, pse):
    done = pse("export", tmp_path, "--to", "chrome", "-o", tmp_path / "out.json")
    assert done.exit_code == 2
    assert "is not a trace" in done.stderr


def test_waits_have_flows_from_what_ended_them(small_trace, tmp_path):
    """Arrows lead from who ended the wait to who waited, never back in time: Perfetto drops those."""
    opened = trace.open(small_trace)
    ends, texts = wait_ends(opened)
    ends["time"][0] = ends["until"][0] + 5  # It lost its core before it noted what it had done.
    known = ends[ends["late"] != NONE]
    assert len(known)
    export_chrome(opened, tmp_path / "out.json", causes=(ends, texts))
    found = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    flows = defaultdict(dict)
    for event in found:
        if event.get("name") == "ends a wait":
            flows[event["id"]][event["ph"]] = (event["tid"] - 1, round(1000 * event["ts"]))
    assert sorted((one["s"], one["f"]) for one in flows.values()) == sorted(
        ((int(end["late"]), int(min(end["time"], end["until"]))), (int(end["rank"]), int(end["until"])))
        for end in known
    )
    told = {(event["tid"] - 1, event["name"]) for event in of(found, "X", cat="cause")}
    first = known[0]
    assert (int(first["late"]), f"{texts[first['how']]}: ends the wait of rank {first['rank']}") in told
