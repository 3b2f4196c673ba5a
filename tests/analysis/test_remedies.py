"""What the report says may help against the longest waits."""

import numpy as np
import pytest
from pse_testing.planted_waits import PlantedWaits
from pse_testing.traces import small_definitions, write_rank

from pse.analysis import CallPath, Cube, Location, analyze, remedies
from pse.analysis.cube._metrics import LISTED_WAITS, ancestors
from pse.trace import Phase, write_definitions
from tests.analysis.rows import call, phase, receive, send, wait

PLACE = "ring.py:9"


def waiting(metric: str, times: list[float], routine: str = "MPI_Recv", kind: str = "routine") -> Cube:
    """Every rank runs for 100 ns; in a routine below a function it waits for some of them."""
    paths = (
        CallPath(-1, "program", "ring"),
        CallPath(0, "function", "main", PLACE),
        CallPath(1, kind, routine),
    )
    values = {name: np.zeros((3, len(times))) for name in ("time", *ancestors(metric))}
    values["time"][0] = 100
    for name in ancestors(metric)[:-1]:
        values[name][2] = times
    return Cube(paths, tuple(Location("", "node0", rank) for rank in range(len(times))), values)


def test_a_sentence_names_the_ranks_that_wait_the_share_and_the_line():
    (sentence,) = remedies(waiting("mpi_latesender", [60, 0, 30, 1]))
    assert sentence.startswith(
        f"Late sender: ranks 0 and 2 wait 23 % of all time in MPI_Recv ({PLACE}). Post the "
    )
    (sentence,) = remedies(waiting("mpi_latesender", [60, 0, 0]))
    assert "rank 0 waits 20 % of all time" in sentence
    (sentence,) = remedies(waiting("mpi_latesender", [10] * 8))
    assert sentence.startswith("Late sender: 8 ranks wait 10 %")


@pytest.mark.parametrize(
    ("name", "where"),
    [("ring.coven", "before, between or after its calls"), ("program", "outside of MPI")],
)
def test_a_rank_that_is_late_in_no_call_is_told_so(name, where):
    cube = waiting("mpi_latesender", [60, 0])
    costs = np.zeros((3, 2))
    costs[0, 1] = 60
    paths = (CallPath(-1, "program", name), CallPath(0, "module", "main", PLACE), cube.call_paths[2])
    values = {**cube.values, "delay_latesender": costs}
    (sentence,) = remedies(Cube(paths, cube.locations, values))
    assert f"rank 1 is late, in {name}, {where}. " in sentence


@pytest.mark.parametrize(("own", "said"), [(0, True), (9, False)])
def test_how_to_see_functions_is_said_where_a_rank_is_late_in_none_and_the_trace_has_none(own, said):
    cube = waiting("mpi_latesender", [60, 0])
    costs, execution = np.zeros((3, 2)), np.zeros((3, 2))
    costs[0, 1], execution[0, 1], execution[1, 1] = 60, 40, own
    values = {**cube.values, "delay_latesender": costs, "execution": execution}
    (sentence,) = remedies(Cube(cube.call_paths, cube.locations, values))
    assert ("compile with -finstrument-functions, or name regions with pse_regions.h. " in sentence) is said


def test_of_one_sided_communication_it_is_said_that_nobody_is_known_to_be_late():
    cube = waiting("mpi_latesender", [0, 0], "MPI_Win_wait")
    cube.values["mpi_other"] = np.array([[0, 0], [0, 0], [40, 0.0]])
    (sentence,) = remedies(cube)
    assert sentence == (
        f"One-sided communication: rank 0 is 20 % of all time in MPI_Win_wait ({PLACE})."
        " For whom it waits there, the trace does not tell."
    )
    assert [*remedies(cube, 0)] == []


def test_waits_of_the_runtime_itself_get_no_sentence():
    cube = waiting("mpi_wait_nxn", [60, 0], "MPI_Allgather")
    paths = (CallPath(-1, "program", "ring.coven"), *cube.call_paths[1:])
    assert list(remedies(Cube(paths, cube.locations, cube.values))) == []


@pytest.mark.parametrize(("source", "words"), [("same", "MPI_ANY_TAG"), ("different", "MPI_ANY_SOURCE")])
def test_messages_in_wrong_order_are_for_a_receive_that_takes_any(source, words):
    cube = waiting("mpi_latesender_wo", [60, 0])
    values = {**cube.values, f"mpi_lswo_{source}": cube.values["mpi_latesender_wo"]}
    (sentence,) = remedies(Cube(cube.call_paths, cube.locations, values))
    assert words in sentence


def called_from_two(metric: str) -> Cube:
    """Ranks wait in one function that two others call, for a rank that is late in one that both call."""
    names = ("ring", "first", "halo", "MPI_Recv", "work", "second", "halo", "MPI_Recv", "work")
    parents = (-1, 0, 1, 2, 1, 0, 5, 6, 5)
    paths = tuple(
        CallPath(parent, "program" if parent < 0 else "routine", name, place)
        for parent, name, place in zip(
            parents, names, ("", "a.py:1", PLACE, "", "b.py:5", "c.py:1", PLACE, "", "b.py:5"), strict=True
        )
    )
    values = {name: np.zeros((9, 2)) for name in ("time", *ancestors(metric), "delay_latesender")}
    values["time"][0] = 100
    for name in ancestors(metric)[:-1]:
        values[name][[3, 7], 0] = 20, 40
    values["delay_latesender"][[4, 8], 1] = 20, 40
    return Cube(paths, tuple(Location("", "node0", rank) for rank in range(2)), values)


def test_one_function_that_several_call_is_told_once():
    (sentence,) = remedies(called_from_two("mpi_latesender"))
    assert sentence.startswith(f"Late sender: rank 0 waits 30 % of all time in MPI_Recv of halo ({PLACE}). ")
    assert "For 100 % of such waits in the whole program rank 1 is late, in work (b.py:5). " in sentence


def test_a_function_of_which_no_place_is_known_is_told_with_the_one_that_calls_it():
    cube = waiting("mpi_latesender", [60, 0])
    paths = (*cube.call_paths[:1], CallPath(0, "routine", "main", PLACE), CallPath(1, "routine", "a.so+0x2d"))
    paths += (CallPath(2, "routine", "MPI_Recv"),)
    values = {name: np.insert(rows, 2, 0, axis=0) for name, rows in cube.values.items()}
    (sentence,) = remedies(Cube(paths, cube.locations, values))
    assert f" in MPI_Recv of a.so+0x2d, called from main ({PLACE}). " in sentence


@pytest.mark.parametrize(
    ("far", "title", "beyond"),
    [
        (0, "Late sender", ""),
        (1, "Late sender", ", 2 % of that between metahosts"),
        (15, "Late sender", ", 25 % of that between metahosts"),
        (60, "Late sender (grid)", ""),
    ],
)
def test_waits_within_and_between_metahosts_are_one_sentence(far, title, beyond):
    cube = waiting("mpi_latesender", [60, 0])
    grid = np.zeros((3, 2))
    grid[2, 0] = far
    (sentence,) = remedies(
        Cube(cube.call_paths, cube.locations, {**cube.values, "mpi_latesender_grid": grid})
    )
    assert sentence.startswith(f"{title}: rank 0 waits 30 % of all time in MPI_Recv ({PLACE}){beyond}. ")
    assert ("If the link between metahosts is slow" in sentence) == (far > 1)


def test_a_receive_that_was_posted_early_gets_another_remedy():
    (sentence,) = remedies(waiting("mpi_latesender", [60, 0], routine="MPI_Waitall"))
    assert "MPI_Irecv" not in sentence
    assert "let these send before their other work" in sentence


@pytest.mark.parametrize("metric", LISTED_WAITS)
def test_every_wait_has_a_remedy_of_two_sentences(metric):
    (sentence,) = remedies(
        waiting(metric, [50, 50], kind="wait" if metric.startswith("queue") else "routine")
    )
    assert sentence.count(". ") >= 1
    assert sentence.endswith(".")


def test_where_inflight_is_the_limit_the_advice_says_so():
    (sentence,) = remedies(waiting("iteration_wait", [50, 50], kind="wait"))
    assert "The loop's inflight is the limit" in sentence


def test_a_tag_that_all_wait_for_as_long_as_for_an_iteration_is_late_for_that_reason():
    cube = waiting("queue_empty", [50, 50], kind="wait")
    values = {**cube.values, "iteration_wait": cube.values["queue_empty"]}
    sentence, _ = remedies(Cube(cube.call_paths, cube.locations, values))
    assert sentence.startswith("Queue empty")
    assert "The loop's inflight is the limit" in sentence


def test_a_larger_arena_is_no_remedy_for_readers_that_are_slower():
    (sentence,) = remedies(waiting("arena_wait", [50, 50], kind="wait"))
    assert "make these faster" in sentence
    assert "a larger arena helps only for a while" in sentence


def in_turn(directory, waits, *, is_alone=False):
    """Rank 0 reads what rank 1 loads, alone on its thread or not: it waits so long for each piece."""
    reads, loads, now = [*phase(0, Phase.START)], [*phase(0, Phase.START)], 100
    for number, time in enumerate(waits, 1):
        come = now + time
        loads += [*call(0, now, come - 20), *send(come - 10, 0, 0, 0, number)]
        loads += [] if is_alone else call(2, come, come + 5)
        reads += [*wait(1, now, come, edge=0), *receive(come, 1, 0, 1, number), *call(1, come, come + 50)]
        now = come + 50
    for rank, rows in enumerate((reads, loads)):
        write_rank(directory, rank, [*rows, *phase(now, Phase.DONE), *phase(now, Phase.END)])
    write_definitions(directory, small_definitions(processors=1))
    return analyze(directory)


ONCE = [([900], True), ([900, 30, 30], True), ([300, 300, 300], False)]


@pytest.mark.parametrize(("waits", "is_once"), ONCE)
def test_a_thread_of_its_own_is_no_remedy_for_what_is_waited_for_once(tmp_path, waits, is_once):
    (sentence, *_) = remedies(in_turn(tmp_path, waits))
    assert sentence.startswith("Queue empty: rank 0 waits")
    assert ("Each waits once, as at the start" in sentence) == is_once
    assert ("give it a thread of its own" in sentence) == (not is_once)


def test_what_is_alone_on_its_thread_gets_no_other_one(tmp_path):
    (sentence, *_) = remedies(in_turn(tmp_path, [300, 300, 300], is_alone=True))
    assert "_frame is the slowest call before the tag, and alone on its thread: make it faster" in sentence
    assert "give it a thread" not in sentence


def test_short_waits_get_no_remedy_and_top_limits_them():
    assert [*remedies(waiting("mpi_latesender", [0.5, 0]))] == []
    assert [*remedies(waiting("mpi_latesender", [50, 0]), top=0)] == []


def ring(directory, ranks, step, rounds, shifts):
    """All ranks call a function, in which each receives some times from the rank `step` before it."""
    program = PlantedWaits(ranks, [list(range(ranks))])
    for _ in range(rounds):
        for rank in range(ranks):
            program.enter(rank, "exchange")
        for _ in range(shifts):
            begin = program.together(*range(ranks))
            for rank in range(ranks):
                late = begin + 100 * rank
                row = program.send(rank, late + 1, (rank + step) % ranks, 0, 7)
                program.call(rank, "MPI_Bsend", late, late + 2, row)
            for rank in range(ranks):
                row = program.receive(begin + 990, (rank - step) % ranks, 0, 7)
                program.call(rank, "MPI_Recv", begin + 100 * rank + 2, begin + 999, row)
        for rank in range(ranks):
            program.leave(rank)
    return analyze(program.write(directory / "run"))


@pytest.mark.parametrize(
    ("ranks", "step", "rounds", "shifts", "is_ring"),
    [
        (5, 1, 1, 4, True),
        (5, 2, 3, 4, True),
        (3, 1, 2, 3, True),  # Data comes home.
        (5, 1, 3, 1, False),  # Neighbours exchange.
        (4, 2, 1, 3, False),  # Pairs.
        (2, 1, 1, 1, False),
    ],
)
def test_data_that_goes_round_all_ranks_is_for_a_collective_operation(
    tmp_path, ranks, step, rounds, shifts, is_ring
):
    cube = ring(tmp_path, ranks, step, rounds, shifts)
    assert cube.problems == ()
    assert cube.total("ring_shifts") == (ranks * rounds * shifts if is_ring else 0)
    (sentence,) = remedies(cube, top=1)
    assert (f"Data goes round all ranks in {ranks - 1} shifts" in sentence) == is_ring
