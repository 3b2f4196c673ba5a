"""The coscheduled communicator does on several nodes what it does on one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pse_testing.example_counts import nightly
from pse_testing.jobs import THREE_NODES, TWO_NODES, beside_python, needs_cliques, unseen_until

pytestmark = [pytest.mark.mpi, needs_cliques()]
PROGRAMS = Path(__file__).parent / "programs"

FAILURES = {
    "deadlock": "rank 0 in Recv from rank 1 with tag 0, rank 1 in Recv from rank 2 with tag 1 and rank 2 in",
    "mismatch": "collective operations don't fit together: rank 0 in Barrier of 0 B and rank",
    "truncated": "a message from rank 0 with tag 0 is longer than its buffer of 8 bytes",
    "left": "rank 0 in Recv from rank 1 and rank 2 in Recv from rank 1, and other ranks have left",
    "gathered": "TruncationError: a rank has more for this one than there is room for in the buffer",
    "full": "rank 0 in Send to rank 1 with tag 0 (messages that wait have taken all buffers), rank 1 in",
}
"""What ranks wait for is told of those of all nodes."""

STRICT_FAILURES = {
    "deadlock:strict": FAILURES["deadlock"],
    # There are no slices any more, so the first to wait is told at once: rank 0 may not wait yet.
    "left:strict": "rank 2 in Recv from rank 1, and other ranks have left",
}


@pytest.mark.parametrize("mode", ["early", "strict"])
@pytest.mark.parametrize(
    ("ranks", "nodes"),
    [(2, TWO_NODES), (3, TWO_NODES), *nightly((5, THREE_NODES))],
    ids=["1+1", "2+1", "2+2+1"],
)
def test_operations_give_what_mpi_gives(mpiexec, ranks, nodes, mode):
    ended = mpiexec(ranks, PROGRAMS / "same_as_mpi.py", mode, env=nodes, timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize(
    ("nodes", "mode"), [("2", "strict"), ("5", "early"), *nightly(("2", "early"), ("5", "strict"))]
)
def test_messages_of_all_sizes_arrive_whichever_way_they_go(mpiexec, nodes, mode):
    env = TWO_NODES | {"MPIR_CVAR_NUM_CLIQUES": nodes}
    ended = mpiexec(5, PROGRAMS / "payload_sizes.py", mode, env=env, timeout=120)
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(("mode", "least", "most"), [("early", 2, 4), ("strict", 4, 6)])
@pytest.mark.parametrize(
    ("ranks", "nodes"), [(3, 2), (5, 3), *nightly((5, 5))], ids=["2+1", "2+2+1", "1+1+1+1+1"]
)
def test_a_slice_takes_messages_along_a_tree(mpiexec, ranks, nodes, mode, least, most):
    """Strict ones two down and two up, and at most two more with which nodes ask for the next."""
    ended = mpiexec(
        ranks,
        PROGRAMS / "message_count.py",
        mode,
        nodes,
        env=TWO_NODES | {"MPIR_CVAR_NUM_CLIQUES": str(nodes)},
    )
    first, messages, last = map(int, ended.out.split())
    assert first >= 20, ended.err
    assert least * (nodes - 1) * (first - 1) <= messages <= most * (nodes - 1) * (last + 1)


@pytest.mark.parametrize(("mode", "programs"), [("early", "2"), ("strict", "1")])
def test_random_programs_have_the_same_schedule_each_time(mpiexec, mode, programs):
    ended = mpiexec(3, PROGRAMS / "same_schedule.py", programs, mode, env=TWO_NODES, timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize("buffers", ["0", "4"])
def test_senders_that_wait_for_buffers_have_the_same_schedule_each_time(mpiexec, buffers):
    ended = mpiexec(4, PROGRAMS / "few_buffers.py", "2", buffers, env=TWO_NODES, timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize("seeds", ["3", *nightly("8")])
@pytest.mark.parametrize("mode", ["early", "strict"])
def test_programs_with_more_operations_than_buffers_end(mpiexec, mode, seeds):
    ended = mpiexec(3, PROGRAMS / "pending.py", "bcs", seeds, "400", mode, env=TWO_NODES, timeout=120)
    assert (ended.code, ended.out) == (0, ""), ended.err


@pytest.mark.parametrize(("case", "words"), [*FAILURES.items(), *STRICT_FAILURES.items()])
def test_what_a_rank_does_wrong_is_told_on_several_nodes(mpiexec, case, words):
    ended = mpiexec(3, PROGRAMS / "wrong.py", case, "1" if case == "truncated" else "0", env=TWO_NODES)
    assert words in ended.out, ended.err


@pytest.mark.parametrize("teller", [1, 2], ids=["other node", "same node"])
def test_who_waits_for_a_leader_that_has_ended_is_told(mpiexec, teller):
    ended = mpiexec(3, PROGRAMS / "wrong.py", "gathered", teller, env=TWO_NODES)
    assert re.match(rf"DeadlockError: deadlock: .*rank {teller} in Barrier.*, and other", ended.out)


def test_a_strobe_sender_that_leaves_with_an_error_ends_the_others(mpiexec):
    ended = mpiexec(3, PROGRAMS / "wrong.py", "abandoned", "1", env=TWO_NODES)
    assert "and other ranks have left" in ended.out, ended.err


@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize(
    ("ranks", "victim", "mode"),
    [
        (2, 0, ""),
        (3, 1, ":strict"),
        (5, 3, ""),
        *nightly((2, 0, ":strict"), (3, 1, ""), (5, 3, ":strict")),
    ],
)
def test_a_rank_that_is_killed_on_another_node_is_named(tmp_path, monkeypatch, ranks, victim, mode):
    for name, value in TWO_NODES.items():
        monkeypatch.setenv(name, value)
    command = [beside_python("mpiexec"), "-n", str(ranks), *unseen_until(tmp_path / "said"), sys.executable]
    command += [str(PROGRAMS / "wrong.py"), f"killed{mode}", str((victim + 1) % 2), str(tmp_path / "said")]
    subprocess.run(command, capture_output=True, timeout=60, check=False)
    said = f"RankDiedError: rank {victim} of the coscheduled communicator ended and did not free it"
    assert (tmp_path / "said").read_text().startswith(said)


def test_strobes_that_come_before_a_node_has_ended_the_slice_are_counted(mpiexec):
    ended = mpiexec(3, PROGRAMS / "late_node.py", env=TWO_NODES)
    late, retries, length = map(int, ended.out.split())
    assert (late >= 12, retries >= 10, length > 1_000_000) == (True, True, True), ended.err
    assert "warning: more than 1 % of the time slices of 1000 µs came late, so from slice " in ended.err
