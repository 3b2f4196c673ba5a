"""The node's board: inboxes, doorbells, slots, and opening it from another process."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pse._abi.channel import NO_SITE
from pse._abi.waiting import RANK_TEXTS, RankState
from pse.runtime._channel import Board

PROGRAMS = Path(__file__).parents[1] / "programs"
CEXT = Path(__file__).parents[3] / "cext"
WRONG = {1: "out of order", 2: "damaged", 3: "a wake-up was lost", 4: "something is left", 5: "no board"}


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    """Compile the checks in C together with the channel's sources."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("board") / "board_check.so"
    rooms = [CEXT / name for name in ("channel", "backoff")]
    sources = [PROGRAMS / "board_check.c", *(file for room in rooms for file in room.glob("*.c"))]
    flags = ["-std=gnu11", "-O2", "-Wall", "-shared", "-fPIC", "-pthread"]
    flags += [f"-I{folder}" for folder in (*rooms, CEXT / "abi" / "include")]
    subprocess.run([compiler, *flags, *sources, "-o", library], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
@pytest.mark.parametrize("producers", [1, 2, 7])
def test_an_inbox_keeps_every_message_and_the_order_of_each_producer(checks, producers, processes):
    # Many times as many messages as the inbox has places: it is full again and again.
    result = checks.check_inbox(producers, ctypes.c_uint64(30_000 // producers), int(processes))
    assert result == 0, WRONG[result]


@pytest.mark.parametrize("crowded", [False, True], ids=["spinning", "yielding"])
def test_no_wake_up_is_lost_in_100_000_hand_overs(checks, crowded):
    result = checks.check_doorbell(ctypes.c_uint64(100_000), int(crowded))
    assert result == 0, WRONG[result]


def test_a_bell_that_rang_before_is_not_waited_for():
    board = Board.create(2, 1, 0, 0)
    seen = board.bell(1)
    board.ring(1)
    assert board.wait(1, seen, 60)
    assert not board.wait(1, board.bell(1), 0.001)


def test_a_slot_says_what_its_rank_does():
    board = Board.create(2, 3, 1, 1)
    assert board.slot(1).state == RankState.ABSENT
    board.start(1, 4711)
    slot = board.slot(1)
    assert (slot.pid, slot.state, slot.site, slot.sleeping) == (
        4711,
        RankState.STARTING,
        NO_SITE,
        False,
    )
    for state in (RankState.RUNNING, RankState.DONE, RankState.FAILED):
        board.set_state(1, state)
        assert board.slot(1).state == state
    assert board.slot(0).pid == 0
    assert (
        RANK_TEXTS[RankState.ABSENT],
        RANK_TEXTS[RankState.RUNNING],
        RANK_TEXTS[RankState.DONE],
        RANK_TEXTS[RankState.FAILED],
    ) == (
        "absent",
        "running",
        "done",
        "failed",
    )


def test_statistics_of_a_new_board_are_zero():
    board = Board.create(2, 3, 1, 1)
    assert all(set(board.statistics(rank, site)) == {0} for rank in range(2) for site in range(3))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda board: board.slot(2), "rank 2 of 2"),
        (lambda board: board.ring(7), "rank 7 of 2"),
        (lambda board: board.wait(2, 0, 0.0), "rank 2 of 2"),
        (lambda board: board.statistics(1, 3), "rank 1 of 2, call site 3 of 3"),
        (lambda board: board.statistics(2, 0), "rank 2 of 2, call site 0 of 3"),
    ],
)
def test_what_is_not_on_the_board_is_refused(ask, message):
    with pytest.raises(IndexError, match=f"^{message}$"):
        ask(Board.create(2, 3, 1, 1))


def test_one_rank_reports():
    board = Board.create(2, 1, 0, 0)
    other = Board.attach(os.getpid(), board.fd)
    assert [board.claim_report(), other.claim_report(), board.claim_report()] == [True, False, False]


OTHER = """
import sys
from pse._abi.waiting import RankState
from pse.runtime._channel import Board
board = Board.attach(int(sys.argv[1]), int(sys.argv[2]))
print(board.size, flush=True)
board.start(1, 17)
board.set_state(1, RankState.RUNNING)
seen = board.bell(1)
board.ring(0)
assert board.wait(1, seen, 60), "nobody rang"
print("rung", flush=True)
"""


def test_another_process_opens_the_board_and_is_woken():
    board = Board.create(3, 4, 5, 2)
    seen = board.bell(0)
    command = [sys.executable, "-c", OTHER, str(os.getpid()), str(board.fd)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert board.wait(0, seen, 60), "the other process did not ring"
        assert (board.slot(1).pid, board.slot(1).state) == (17, RankState.RUNNING)
        board.ring(1)
        out, _ = other.communicate(timeout=60)
    assert (out, other.returncode) == ("(3, 4, 5, 2)\nrung\n", 0)


@pytest.mark.parametrize("size", [0, 10, 1 << 16], ids=["empty", "short", "zeros"])
def test_a_foreign_file_is_refused(size):
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        with pytest.raises(
            OSError, match=rf"cannot open the board of process {os.getpid()}: Protocol error$"
        ):
            Board.attach(os.getpid(), file.fileno())


def test_a_board_cut_short_is_refused():
    board = Board.create(3, 4, 5, 2)
    os.ftruncate(board.fd, os.fstat(board.fd).st_size + 4096)
    with pytest.raises(OSError, match="Protocol error"):
        Board.attach(os.getpid(), board.fd)


def test_a_descriptor_that_is_not_there_is_refused():
    with pytest.raises(OSError, match="cannot open the board of process 2147483647: No such file"):
        Board.attach(2147483647, 3)


def test_queues_are_shown_where_something_waits():
    board = Board.create(2, 1, 3, 0)
    assert [board.queues(rank) for rank in range(2)] == [{}, {}]
    with pytest.raises(IndexError, match=r"^rank 2 of 2$"):
        board.queues(2)
