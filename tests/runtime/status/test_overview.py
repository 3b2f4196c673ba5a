"""What whoever watches a run is shown: loops, threads, queues, memory; as a drawing, as lines, as JSON."""

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from pse_testing.jobs import PROGRAMS, beside_python
from rich.console import Console

from pse._abi.waiting import RankState
from pse.runtime._channel import Board
from pse.runtime.request._prepared import Request
from pse.runtime.request._request import prepare
from pse.runtime.status import _overview as overview_module, _progress as plain
from pse.runtime.status._loop_progress import LoopCounts
from pse.runtime.status._node_discovery import NodeDiscovery
from pse.runtime.status._overview import Line, LoopLine, MemoryLine, Observer, Overview, QueueLine, ThreadLine
from pse.runtime.status._progress import Progress, ProgressStream, loop_text
from pse.runtime.status._progress_choice import choose_progress
from pse.runtime.status._terminal_progress import LiveProgress, draw_overview

OVERVIEW = Overview(
    program="p.coven",
    processors=2,
    ranks=5,
    seconds=12.3,
    loops=[
        LoopLine("k:6", 3, 12, False),
        LoopLine("while:9", 4, 100, True),
        LoopLine("i:20", 5, None, False),
    ],
    sites=[Line("thread_B", f"work:{n}", n, float(n), 0.5, "waiting for input") for n in range(30)],
    threads=[ThreadLine("thread_B", 4, 0.75, 0.5, "2 in a module, 2 waiting for input")],
    queues=[QueueLine("x", "thread_B", 2, 2, 2)],
    memory=[MemoryLine("node 0", 1 << 20, 1 << 21, 1 << 30)],
    hidden=1,
)


@pytest.fixture
def prepared(monkeypatch):
    """loops.coven, ready for two processors: rank 0 is the root's, 1 and 2 are threads B."""
    monkeypatch.chdir(PROGRAMS)
    return prepare(Request("loops.coven", {}, processors=2))


def text_of(overview, width=80, height=None):
    console = Console(file=io.StringIO(), width=width, height=height or 100)
    console.print(draw_overview(overview, height))
    return console.file.getvalue()


def test_an_overview_survives_json():
    assert Overview.from_json(json.loads(json.dumps(OVERVIEW.to_json()))) == OVERVIEW


@pytest.mark.parametrize("width", [80, 140])
def test_everything_is_drawn_within_the_width(width):
    text = text_of(OVERVIEW, width)
    assert max(map(len, text.splitlines())) <= width
    for words in (
        "p.coven  2 processors, 5 ranks, 12 s",
        "3 of 12 (25 %)",
        "4 of at most 100",
        "work:29",
        "75 %",
        "1.00 MiB now, 2.00 MiB at most",
        "1 rank on other machines can't be seen from here",
    ):
        assert words in text


def test_a_plain_line_gives_no_share_of_calls_that_are_too_short_to_tell():
    assert str(Line("thread_C", "tiny:12", 24, 145e-6, 3.82, "waiting for input")) == (
        "thread_C  tiny:12  24 calls  145 µs  – CPU  waiting for input"
    )
    assert "  95 % CPU  " in str(Line("thread_B", "spin:11", 24, 2.8, 0.95, "running"))


@pytest.mark.parametrize(("limit", "end"), [(4, "at most 2 of 4"), (0, "at most 2")])
def test_a_plain_line_of_a_queue_names_its_limit_if_it_has_one(limit, end):
    queue = QueueLine("x", "thread_B", 1, 2, limit)
    lines = plain.other_lines(replace(OVERVIEW, threads=[], queues=[queue], memory=[]))
    assert lines == [f"queue x of thread_B  1 waiting  {end}"]


def test_a_low_terminal_shows_the_busiest_call_sites():
    text = text_of(OVERVIEW, height=24)
    assert len(text.splitlines()) <= 24
    assert "work:29" in text
    assert "work:0 " not in text
    assert "call sites with less to do" in text


MANY = replace(
    OVERVIEW,
    sites=[Line(f"thread_{n}", f"work:{n}", n, float(n), 0.5, "running") for n in range(50)],
    threads=[ThreadLine(f"thread_{n}", 1, n / 50, 0.5, "starting") for n in range(50)],
)


@pytest.mark.parametrize("height", [24, 40, 60])
def test_a_low_terminal_shows_the_busiest_of_many_threads(height):
    lines = text_of(MANY, height=height).splitlines()
    assert len(lines) <= height
    assert any(line.startswith("work:49 ") for line in lines)
    assert any(line.startswith("thread_49 ") for line in lines)
    assert any(re.fullmatch(r"… and \d+ threads with less to do *", line) for line in lines)
    assert any("2.00 MiB at most" in line for line in lines)


def test_lines_of_call_sites_fit_a_terminal(prepared, monkeypatch):
    monkeypatch.setenv("LINES", "20")
    live = LiveProgress(Board.create(*prepared.board_size), prepared, io.StringIO())
    console = Console(file=io.StringIO(), width=80, height=20)
    console.print(live.draw(MANY))
    assert len(console.file.getvalue().splitlines()) <= 20
    assert "work:49" in console.file.getvalue()


def test_plain_lines_of_many_threads_are_few(prepared, monkeypatch):
    out = io.StringIO()
    lines = Progress(Board.create(*prepared.board_size), prepared, out)
    monkeypatch.setattr(lines.observer, "observe", lambda: MANY)
    lines.update()
    lines.update()
    told = out.getvalue().splitlines()
    assert told[-3] == "[  12.3 s] … and 25 call sites with less to do"
    assert told[-1] == (
        "[  12.3 s] nothing new: "
        "thread_0, thread_1, thread_2, thread_3, thread_4, thread_5 and 44 more starting"
    )


def test_totals_of_loops_follow_from_the_program(prepared):
    """The loop over `i` has no call of its own but under `if`: nobody can say how far it is."""
    observer = Observer(Board.create(*prepared.board_size), prepared)
    found = [(line.name.partition(":")[0], line.total, line.bound) for line in observer.observe().loops]
    assert found == [("k", 5, False), ("j", 15, False), ("while", 7, True)]


def test_loops_of_unrolled_iterations_are_told_apart(monkeypatch, tmp_path):
    (tmp_path / "levels.coven").write_text(
        """coven 1
program levels {
  var f64 s[l in 0 .. 2] = l
  for l in 0 .. 2 {
    for k in 0 .. 3 inflight 2 { print(s[l]) }
    var f64 left = 2.0
    while left > l max 5 { left = left - 1.0  print(left) }
  }
}
"""
    )
    monkeypatch.chdir(tmp_path)
    prepared = prepare(Request("levels.coven", {}, processors=1))
    names = [loop.name for loop in LoopCounts(prepared).loops]
    assert names == ["k [l = 0]:5", "while [l = 0]:7", "k [l = 1]:5", "while [l = 1]:7"]


def test_a_rank_of_another_machine_is_not_made_up(prepared, monkeypatch):
    monkeypatch.setattr(overview_module, "HIDDEN_PATIENCE", 0.0)
    board = Board.create(*prepared.board_size)
    observer = Observer(board, prepared)
    assert observer.observe().hidden == 0, "nobody has begun yet"
    for rank in (0, 1):
        board.start(rank, os.getpid())
        board.set_state(rank, RankState.RUNNING)
    overview = observer.observe()
    assert overview.hidden == 1
    assert [(line.thread, line.ranks) for line in overview.threads] == [("root thread_A", 1), ("thread_B", 1)]
    assert "1 rank on other machines can't be seen from here; numbers are those of the other 2" in text_of(
        overview, 100
    )


def test_a_call_that_has_not_ended_uses_the_cpu_as_its_rank_does(prepared, monkeypatch):
    board = Board.create(*prepared.board_size)
    observer = Observer(board, prepared)
    site = prepared.sites[0]
    [rank, *_] = observer._ranks(prepared.placement.thread_of(site))
    board.start(rank, os.getpid())
    began = time.monotonic_ns() - 4_000_000_000
    slots = [board.slot(n) for n in range(prepared.ranks)]
    slots[rank] = slots[rank]._replace(site=site.id, since=began, state=RankState.RUNNING)
    done = [[board.statistics(n, one.id) for one in prepared.sites] for n in range(prepared.ranks)]
    used = iter((1.0, 1.75))
    monkeypatch.setattr(overview_module, "cpu_seconds", lambda pid: next(used))
    for at in (1_000_000_000, 2_000_000_000):
        monkeypatch.setattr(overview_module.time, "monotonic_ns", lambda at=at: began + at)
        observer._take_sample(slots, done)
    line = observer._sites(slots, done, set())[0]
    assert (line.calls, line.seconds, line.share) == (0, 2.0, 0.75)


def test_call_sites_are_of_the_ranks_in_sight(prepared, monkeypatch):
    monkeypatch.setattr(overview_module, "HIDDEN_PATIENCE", 0.0)
    board = Board.create(*prepared.board_size)
    board.start(0, os.getpid())
    board.set_state(0, RankState.DONE)
    states = {line.thread: line.state for line in Observer(board, prepared).observe().sites}
    assert states == {"thread_A": "done", "thread_B": "out of sight"}


def test_ranks_that_all_run_elsewhere_are_not_starting_for_ever(prepared, monkeypatch):
    monkeypatch.setattr(overview_module, "BEGIN_PATIENCE", 0.0)
    said = io.StringIO()
    lines = Progress(Board.create(*prepared.board_size), prepared, said)
    lines.update()
    assert "starting" in said.getvalue()
    lines.observer.elsewhere = True
    lines.update()
    assert "no rank can be seen from here" in said.getvalue()
    assert {line.state for line in lines.observer.observe().sites} == {"out of sight"}


ARENA = """
from pse.memory import Arena
arena = Arena.create(1 << 24)
block = arena.allocate(1000)
print(arena.statistics().in_use, flush=True)
input()
"""


def test_the_arena_of_a_rank_is_found(prepared):
    board = Board.create(*prepared.board_size)
    discovery = NodeDiscovery(board)
    discovery.look()
    assert discovery.nodes[0].memory() is None
    command = [sys.executable, "-c", ARENA]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as rank:
        in_use = int(rank.stdout.readline())
        board.start(0, rank.pid)
        again = NodeDiscovery(board)
        again.look()
        assert again.nodes[0].memory().in_use == in_use > 0
        rank.communicate("\n")


NODE = """
import os, sys
from pse.memory import Arena
from pse._abi.waiting import RankState
from pse.runtime._channel import Board
board, arena = Board.create(*map(int, sys.argv[1:])), Arena.create(1 << 24)
board.start(2, os.getpid())
board.set_state(2, RankState.RUNNING)
print("here", flush=True)
input()
"""


def test_a_node_whose_ranks_are_processes_of_this_machine_is_seen(prepared):
    """As emulated nodes are: each has a board and an arena of its own."""
    board = Board.create(*prepared.board_size)
    board.start(0, os.getpid())
    command = [sys.executable, "-c", NODE, *map(str, prepared.board_size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "here\n"
        discovery = NodeDiscovery(board)
        discovery.look()
        assert [node.ranks for node in discovery.nodes] == [(0,), (2,)]
        assert discovery.hidden() == (1,)
        assert discovery.board_of(2).slot(2).pid == other.pid
        assert discovery.nodes[1].memory().capacity == 1 << 24
        other.communicate("\n")


class Heard(io.StringIO):
    """A stream that tells when something was written."""

    def __init__(self):
        super().__init__()
        self.event = threading.Event()

    def flush(self):
        self.event.set()


def test_making_ready_is_never_silent_for_long(prepared, monkeypatch):
    monkeypatch.setattr(plain, "PLAIN_INTERVAL", 0.01)
    monkeypatch.setattr(sys, "stderr", Heard())
    with plain.announce_preparation(prepared):
        assert sys.stderr.event.wait(20)
    assert "preparing loops.coven: its modules, and plans for 3 ranks" in sys.stderr.getvalue()
    reading, writing = os.pipe()
    monkeypatch.setenv(plain.WATCHER_VARIABLE, str(writing))
    with open(reading) as told, plain.announce_preparation(prepared):
        assert "preparing loops.coven" in json.loads(told.readline())["note"]
    os.close(writing)


def test_plain_lines_never_say_nothing(prepared):
    said = io.StringIO()
    board = Board.create(*prepared.board_size)
    lines = Progress(board, prepared, said, everything=True)
    lines.update()
    board.start(0, os.getpid())
    lines.update()
    for rank in range(prepared.ranks):
        board.set_state(rank, RankState.DONE)
    lines.update()
    text = said.getvalue()
    assert "loop while:" in text
    assert "root thread_A  0 % in modules  0 % CPU  starting" in text
    assert "thread_B" in text


def test_a_process_that_asks_is_told(prepared, monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.setenv(plain.WATCHER_VARIABLE, str(writing))
    told = choose_progress(Board.create(*prepared.board_size), prepared)
    assert isinstance(told, ProgressStream)
    assert plain.WATCHER_VARIABLE not in os.environ
    told.start()
    told.printed(b"hello\n", error=False)
    os.close(reading)
    told.printed(b"nobody listens\n", error=True)
    os.close(writing)


@pytest.mark.parametrize(
    ("loop", "text"),
    [
        (LoopLine("k", 0, 0, False), "0 of 0 (100 %)"),
        (LoopLine("k", 7, None, False), "7"),
        (LoopLine("k", 7, 9, False), "7 of 9 (77 %)"),
    ],
)
def test_the_progress_of_a_loop_is_said_in_words(loop, text):
    assert loop_text(loop) == text


def on_a_terminal(*command, cwd, width=80, seconds=60, **environment):
    """Run a command on a terminal of its own; gives its exit code and all that it wrote."""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(width), "LINES": "40"} | environment
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    written, end = b"", time.monotonic() + seconds
    with contextlib.suppress(OSError):  # A terminal whose other end is closed says EIO.
        while time.monotonic() < end and (data := os.read(master, 1 << 16)):
            written += data
    os.close(master)
    return process.wait(10), written.decode()


@pytest.mark.mpi
@pytest.mark.parametrize("processors", [1, 3])
def test_a_terminal_shows_everything_while_a_program_runs(processors):
    code, written = on_a_terminal(
        *(beside_python("pse"), "run", "loops.coven", "-p", str(processors), "--live", "-D", "n=12"),
        cwd=PROGRAMS,
        PAUSE="0.03",
    )
    assert code == 0, written
    assert "iterations complete" in written
    assert "12 of 12 (100 %)" in written
    assert "shared memory" in written
    assert "in a module" in written
    assert "wall time" in written


@pytest.mark.mpi
def test_a_terminal_that_cant_be_drawn_on_gets_plain_lines():
    code, written = on_a_terminal(beside_python("pse"), "run", "loops.coven", cwd=PROGRAMS, TERM="dumb")
    assert code == 0, written
    assert "running loops.coven on 1 processor" in written
    assert "\x1b" not in written


@pytest.mark.mpi
def test_errors_come_below_what_was_shown():
    code, written = on_a_terminal(
        *(beside_python("pse"), "run", "loops.coven", "--live", "-D", "n=1000"), cwd=PROGRAMS, PAUSE="none"
    )
    assert code == 3, written
    assert "could not convert string to float: 'none'" in written.rpartition("iterations complete")[2]


@pytest.mark.mpi
def test_without_a_terminal_plain_lines_come(pse):
    done = pse("run", "loops.coven", "--live", cwd=PROGRAMS, env={"PAUSE": "0"})
    assert done.code == 0, done.err
    assert "running loops.coven on 1 processor" in done.err
    assert "\x1b" not in done.err
