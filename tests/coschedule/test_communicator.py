"""The coscheduled communicator does what MPI does, by the same schedule each time, and says why it fails."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.example_counts import nightly
from pse_testing.jobs import TWO_NODES, beside_python, needs_cliques, unseen_until

from pse import bcs
from pse._abi.coschedule import DEFAULT_FAR_SLICE, DEFAULT_SLICE, SHORTEST_SLICE
from pse.text import time_text

pytestmark = pytest.mark.mpi
PROGRAMS = Path(__file__).parent / "programs"
DOCS = Path(__file__).parents[2] / "docs"
FAILURES = {
    "deadlock": "DeadlockError: deadlock: rank 0 in Recv from rank 1 with tag 0, rank 1 in Recv from "
    "rank 2 with tag 1 and rank 2 in Recv from rank 0 with tag 2, and no rank "
    "can go on\nhelp: compare what each waits for with what its peer sends",
    "mismatch": "MismatchError: collective operations don't fit together: rank 0 in Barrier of 0 B and rank",
    "sizes": "in Allreduce of 16 B",
    "operations": "in Allreduce of 16 B",
    "abandoned": "deadlock: rank 1 in Recv from rank 0 and rank 2 in Recv from rank 0, "
    "and other ranks have left",
    "truncated": "TruncationError: a message from rank 0 with tag 0 is longer than its buffer of 8 bytes",
    "gathered": "TruncationError: a rank has more for this one than there is room for in the buffer",
    "left": "deadlock: rank 0 in Recv from rank 1 and rank 2 in Recv from rank 1, and other ranks have left",
    "full": "rank 0 in Send to rank 1 with tag 0 (messages that wait have taken all buffers), rank 1 in",
}


@pytest.mark.parametrize(("ranks", "mode"), [(1, "early"), (3, "early"), (3, "strict")])
def test_operations_give_what_mpi_gives(mpiexec, ranks, mode):
    ended = mpiexec(ranks, PROGRAMS / "same_as_mpi.py", mode)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize("seeds", [5, *nightly(20)])
@pytest.mark.parametrize("mode", ["early", "strict"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_programs_with_more_operations_than_buffers_end(mpiexec, ranks, mode, seeds):
    ended = mpiexec(ranks, PROGRAMS / "pending.py", "bcs", str(seeds), "400", mode, timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize("programs", [2, *nightly(6)])
@pytest.mark.parametrize(("ranks", "buffers"), [(1, "1024"), (3, "1024"), (4, "1")])
def test_random_programs_have_the_same_schedule_each_time(mpiexec, ranks, buffers, programs):
    ended = mpiexec(ranks, PROGRAMS / "same_schedule.py", str(programs), "early", buffers, timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize("case", FAILURES)
def test_what_a_rank_does_wrong_is_told(mpiexec, case):
    ended = mpiexec(
        3, PROGRAMS / "wrong.py", case, "1" if case in ("truncated", "sizes", "abandoned") else "0"
    )
    assert FAILURES[case] in ended.out, ended.err


@pytest.mark.slow
def test_more_operations_than_can_be_are_told(mpiexec):
    ended = mpiexec(1, PROGRAMS / "wrong.py", "crowded", "0")
    said = "CommunicationError: rank 0 has 1,048,576 operations under way, the most that there may be\n"
    assert ended.out.startswith(said), ended.err


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize(
    "env", [{}, pytest.param(TWO_NODES, marks=needs_cliques())], ids=["one node", "two nodes"]
)
def test_a_killed_rank_is_noticed_within_ten_slices(tmp_path, monkeypatch, env):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    command = [beside_python("mpiexec"), "-n", "4", *unseen_until(tmp_path / "said"), sys.executable]
    command += [str(PROGRAMS / "noticed.py"), str(tmp_path / "killed"), str(tmp_path / "said")]
    subprocess.run(command, capture_output=True, timeout=60, check=False)
    slices, _, error = (tmp_path / "said").read_text().partition(" slices: ")
    assert error.startswith("rank 2 of the coscheduled communicator ended and did not free it")
    assert 0 <= int(slices) <= 10


@pytest.mark.usefixtures("nothing_left_behind")
def test_a_killed_rank_is_named(tmp_path):
    command = [beside_python("mpiexec"), "-n", "3", *unseen_until(tmp_path / "said"), sys.executable]
    command += [str(PROGRAMS / "wrong.py"), "killed", "0", str(tmp_path / "said")]
    subprocess.run(command, capture_output=True, timeout=60, check=False)
    said = "RankDiedError: rank 1 of the coscheduled communicator ended and did not free it, in slice"
    assert (tmp_path / "said").read_text().startswith(said)


@pytest.mark.parametrize(("case", "words"), [("flooded", ""), ("interrupted", "interrupted\n")])
def test_what_takes_long_goes_on(mpiexec, case, words):
    ended = mpiexec(3, PROGRAMS / "wrong.py", case, "0")
    assert (ended.code, ended.out) == (0, words), ended.err


@pytest.mark.parametrize(
    ("rank", "limit", "why"),
    [(0, "RLIMIT_FSIZE", "make .*: File too large"), (1, "RLIMIT_NOFILE", "open .*: Too many open files")],
)
@pytest.mark.parametrize("what", ["Comm", "GlobalMemory"])
def test_memory_that_one_rank_can_not_have_is_an_error_on_all(mpiexec, what, rank, limit, why):
    ended = mpiexec(2, PROGRAMS / "no_memory.py", what, rank, limit)
    said = ended.out.splitlines()
    assert (ended.code, len(said), len(set(said))) == (0, 2, 1), ended.err
    assert re.fullmatch(rf"rank {rank} can't {why}; raise that rank's limits of files and memory .*", said[0])


def test_lengths_of_slices_are_described_as_they_are():
    lengths = (SHORTEST_SLICE, DEFAULT_SLICE, DEFAULT_FAR_SLICE)
    shortest, near, far = (time_text(length, zeros=False) for length in lengths)
    told = f"at least {shortest}; if it isn't given, {near} on one node and {far} on several"
    assert told in bcs.Comm.__doc__
    assert f"time slice, which has {far} if nothing else is said" in (DOCS / "bcs.md").read_text()
    least, near, far = (length // 1000 for length in lengths)
    told = f"at least {least}; {near} if it isn't given, {far} on several nodes"
    assert told in (DOCS / "mpitools.md").read_text()


def test_wrong_arguments_are_told(mpiexec):
    ended = mpiexec(1, PROGRAMS / "wrong.py", "arguments", "0")
    assert ended.out.splitlines() == [
        "the destination is rank 1; there are ranks 0 to 0",
        "the tag is -5; it must not be negative",
        "the root is rank 1; there are ranks 0 to 0",
        "a buffer can't be used for communication: ndarray is not contiguous",
        "a buffer has 32 bytes, and bytes up to 40 of it are asked for",
        "2 counts given for 1 rank",
        "the result of a reduction has 24 bytes, and its buffer 16",
        "a time slice of 50.0 µs is too short: the shortest is 100 µs",
        "the mode is 'late'; it must be early or strict",
    ]
