"""The tool check: finds what is wrong and who did it, says nothing of what is right, never hangs."""

import re
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
LEFT = ("request", "persistent", "communicator", "datatype", "window")

pytestmark = pytest.mark.mpi


@pytest.fixture
def check(program, stacked_program):
    """Run cases of faults.c under the tool: the output on stderr, and how it ended."""
    faults = program("faults", (PROGRAMS / "faults.c").read_text(), "-g")

    def run(ranks, *cases, argument=""):
        return stacked_program(ranks, f"module check\n{argument}", faults, *cases)

    return run


def test_what_is_expected_fits_a_terminal(check):
    said = check(3, "deadlock").err
    end = "and each\n            collective operation all ranks of its communicator\n"
    expected = said[said.index("  expected: ") : said.index(end)] + end
    assert max(map(len, expected.splitlines())) < 80


def line_of(routine, function):
    """Where in faults.c a function calls a routine: ``faults.c:12``."""
    lines = (PROGRAMS / "faults.c").read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if re.match(rf"static void {function}\(", line))
    return f"faults.c:{next(i for i in range(begin, len(lines)) if routine in lines[i]) + 1}"


def line_of_text(text):
    """The first line of faults.c with a text: ``faults.c:12``."""
    lines = (PROGRAMS / "faults.c").read_text().splitlines()
    return f"faults.c:{next(i for i, line in enumerate(lines) if text in line) + 1}"


def test_nothing_is_said_of_right_programs(check):
    names = re.findall(r'{"(\w+)", ', (PROGRAMS / "faults.c").read_text())
    done = check(3, *(f"{name}-ok" for name in names))
    assert (done.code, done.err) == (0, "")
    alone = {"head"}  # It needs a neighbour.
    done = check(1, *(f"{name}-ok" for name in names if name not in alone))
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(("ranks", "below"), [(1, ""), (3, ""), (3, "module coopwait\n")])
def test_nothing_is_said_of_right_programs_in_python(stacked, ranks, below):
    done = stacked(ranks, f"module check\n{below}", PROGRAMS / "correct.py")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_left_at_the_end_is_named_with_the_place_that_made_it(check, ranks):
    said = check(ranks, *LEFT).err
    posted = line_of("Irecv", "request_left")
    assert f"rank 0: MPI_Irecv from rank {ranks - 1}, tag 1 of MPI_COMM_WORLD, at {posted}\n" in said
    assert f"rank 0: MPI_Comm_dup, at {line_of('Comm_dup', 'communicator_left')}\n" in said
    assert f"rank 0: MPI_Win_create, at {line_of('Win_create', 'window_left')}\n" in said
    assert f"rank 0: MPI_Type_contiguous, at {line_of('contiguous', 'datatype_left')}\n" in said
    for what in ("a request was never completed", "a persistent request was never freed"):
        assert said.count(what) == 1  # What is alike on all ranks is told once.
    assert said.count("  the same at this place: ranks 1, 2\n") == (
        said.count("pse check") if ranks > 1 else 0
    )
    assert "expected: MPI_Comm_free" in said


COLLECTIVES = {
    "root": ("MPI_Bcast, root 1", "MPI_Bcast, root 0", "all ranks name the same root"),
    "operation": (
        "MPI_Allreduce, MPI_SUM",
        "MPI_Barrier",
        "the same collective operations in the same order",
    ),
    "reduction": ("MPI_Allreduce, MPI_MAX", "MPI_Allreduce, MPI_SUM", "the same reduction operation"),
    "count": ("2 integers of 4 bytes", "1 integers of 4 bytes", "as many elements of the same datatypes"),
    "nonblocking": ("MPI_Ibcast, root 1", "MPI_Ibcast, root 0", "all ranks name the same root"),
    "prepared": ("MPI_Bcast_init, root 1", "MPI_Bcast_init, root 0", "all ranks name the same root"),
    "missing": ("MPI_Finalize", "MPI_Barrier", "the same collective operations in the same order"),
}


@pytest.mark.parametrize("case", COLLECTIVES)
def test_collective_operations_that_do_not_fit(check, case):
    done = check(3, case)
    first, second, right = COLLECTIVES[case]
    assert done.code != 0
    assert "collective operations don't fit together on MPI_COMM_WORLD" in done.err
    assert re.search(
        rf"rank 0: [^\n]*{first}[^\n]*, at faults\.c:\d+\n  rank [12]: [^\n]*{second}[^\n]*, at faults",
        done.err,
    )
    assert re.search(rf"expected: [^\n]*{right}", done.err.replace("\n            ", " "))


def test_counts_for_each_rank_that_do_not_fit(check):
    done = check(3, "gathered")
    assert done.code != 0
    assert "a collective operation's counts don't fit together on MPI_COMM_WORLD" in done.err
    where = line_of("MPI_Gatherv", "gathered")
    for rank, (gives, takes) in enumerate([(4, 12), (4, 0), (8, 0)]):
        assert f"rank {rank}: MPI_Gatherv, root 0, gives {gives} bytes, takes {takes}, at {where}" in done.err
    done = check(3, "exchanged")
    assert "MPI_Ireduce_scatter, MPI_SUM, 3 integers" in done.err
    assert "MPI_Ireduce_scatter, MPI_SUM, 4 integers" in done.err


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_datatype_that_was_freed_is_named_with_the_place_that_freed_it(check, ranks):
    said = check(ranks, "freed").err
    assert said.count("pse check: a datatype is used after it was freed\n") == ranks
    assert f"  rank 0: MPI_Isend, at {line_of('MPI_Isend', 'datatype_freed')}\n" in said
    assert f"  rank 0: MPI_Type_free, at {line_of('MPI_Type_free', 'datatype_freed')}\n" in said


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_buffer_that_is_used_while_it_is_under_way_is_reported(check, ranks):
    said = check(ranks, "changed", "overlapping").err
    sent, received = line_of("MPI_Isend", "changed"), line_of("MPI_Irecv", "overlapping")
    assert said.count("pse check: a buffer was changed while it was being sent\n") == ranks
    assert f"  rank 0: MPI_Isend to rank {1 % ranks}, tag 1 of MPI_COMM_WORLD, at {sent}\n" in said
    assert said.count("pse check: two receives that are under way write into the same memory\n") == ranks
    assert f"  rank 0: MPI_Irecv from rank {ranks - 1}, tag 1 of MPI_COMM_WORLD, at {received}\n" in said
    assert said.count("pse check: a buffer is sent while a receive writes into it\n") == ranks


def test_races_are_reported_if_they_are_asked_for(check):
    assert "depends on timing" not in check(3, "race").err
    said = check(3, "race", argument="argument races yes\n").err
    where = line_of("MPI_Recv", "race")
    assert said.count("pse check: which message a receive gets depends on timing\n") == 1
    assert f"  rank 0: MPI_Recv from any rank of MPI_COMM_WORLD, at {where}\n" in said
    assert re.search(r"  rank [12]: MPI_Isend, tag 1, was received, at faults.c", said)
    assert "depends on timing" not in check(3, "race-ok", argument="argument races yes\n").err
    for _ in range(5):  # Which of two messages MPI shows first, and when the other, is not always the same.
        said = check(3, "rivals", argument="argument races yes\n").err
        assert said.count("pse check: which message a receive gets depends on timing\n") == 1
    assert "`argument races maybe`: expected yes or no" in check(1, argument="argument races maybe\n").err


def test_a_process_that_ends_without_mpi_finalize(check):
    said = check(3, "end").err  # The launcher ends the others when the first is gone.
    assert "pse check: the process ends, but MPI_Finalize was never called\n" in said
    assert re.search(rf"  rank [012]: MPI_Init, at {line_of_text('MPI_Init(&argc')}\n", said)


def test_communicators_without_a_name_are_told_apart(check):
    said = check(3, "unnamed").err
    names = set(re.findall(r"tag \d of (communicator \d+\.\d+ \(MPI_Comm_dup\))", said))
    assert len(names) == 2


@pytest.mark.parametrize(("case", "count"), [("duplicated", 3), ("between", 1)])
def test_messages_on_communicators_of_all_kinds(check, case, count):
    done = check(3, case)
    assert done.code == 0
    assert done.err.count("a message is received as another datatype than it was sent") == count
    assert "MPI_Send sends 8 floating-point numbers of 4 bytes to rank" in done.err


def test_a_message_received_as_another_datatype_is_reported(check):
    done = check(3, "types")
    assert done.err.count("a message is received as another datatype than it was sent") == 3
    sent, posted = line_of("MPI_Send", "datatypes"), line_of("Irecv", "datatypes")
    assert (
        f"rank 0: MPI_Send sends 2 integers of 4 bytes to rank 1 of MPI_COMM_WORLD, tag 1, at {sent}\n"
        f"  rank 1: MPI_Irecv has room for 2 floating-point numbers of 8 bytes, at {posted}\n"
    ) in done.err


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_message_that_is_too_long_is_named_before_mpi_ends_the_job(check, ranks):
    done = check(ranks, "size")
    assert "a message is longer than the buffer that receives it" in done.err
    assert "MPI_Irecv has room for 1 integers of 4 bytes" in done.err
    assert "deadlock" not in done.err


@pytest.mark.parametrize(("case", "call"), [("head", "MPI_Send"), ("wait", "MPI_Wait for MPI_Isend")])
def test_sends_that_only_buffering_lets_return(check, case, call):
    done = check(3, case)
    assert done.code == 0  # It did work here.
    assert done.err.count("a deadlock that only MPI's buffering of messages has prevented") == 1
    for rank in range(3):
        assert (
            f"rank {rank}: {call} to rank {(rank + 1) % 3}, tag 1 of MPI_COMM_WORLD, at faults.c:" in done.err
        )
    assert "MPI_Sendrecv" in done.err


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_deadlock_ends_with_who_waits_for_what(check, ranks):
    done = check(ranks, "deadlock")
    assert done.code != 0
    assert "a deadlock: no rank can continue" in done.err
    for rank in range(ranks):
        assert (
            f"rank {rank}: MPI_Wait for MPI_Irecv from rank {(rank + ranks - 1) % ranks}, tag 1" in done.err
        )


def test_a_message_that_nobody_receives_is_reported(check):
    said = check(3, "unreceived").err
    assert said.count("a message was never received") == 1  # Told once for each place.
    assert f"MPI_Isend to rank 0, tag 7 of MPI_COMM_WORLD, at {line_of('Isend', 'unreceived')}" in said


def test_a_blocking_send_that_nobody_receives_is_no_deadlock(check):
    said = check(3, "nobody").err
    assert "deadlock" not in said
    assert said.count("a send that nobody receives returns only because MPI buffers messages\n") == 1
    # Before MPICH, which refuses to finalize then, ends the job.
    assert said.count("a message was never received\n") == 1
    place = line_of("MPI_Send", "sent_to_nobody")
    assert said.count(f"MPI_Send to rank 2, tag 7 of MPI_COMM_WORLD, at {place}\n") == 2


def test_places_in_python_are_its_lines(stacked, tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text(
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n\nworld.bcast(1, root=world.rank % 2)\n"
    )
    done = stacked(3, "module check\n", script)
    assert done.code != 0
    assert re.search(r"rank 1: MPI_Bcast, root 1[^\n]*wrong\.py:4\n", done.err)
