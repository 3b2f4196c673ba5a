"""Delay costs and the critical path of traces in which it is known what late ranks did instead of coming."""

import sys
import tracemalloc

import numpy as np
import pytest
from pse_testing.jobs import beside_python
from pse_testing.planted_waits import ROUTINES, PlantedWaits
from pse_testing.traces import write_trace

from pse.analysis import (
    analyze,
    critical_path,
    cube_text,
    read_cube,
    remedies,
    severities_json,
    wait_chain,
    wait_chain_text,
    write_cube,
)
from pse.analysis.waits._backward_walk import SPAN_DTYPE, path_runs, stays_in_mpi
from pse.trace import NONE, Collective, EventType, Phase, pair
from pse.trace.query import mpi_collectives
from tests.analysis.rows import LOADER, ROWS, call, phase
from tests.analysis.test_planted_waits import assert_explained

OF_ALL = {
    "MPI_Barrier": (Collective.BARRIER, 0),
    "MPI_Comm_dup": (Collective.CREATE_COMMUNICATOR, 0),
    "MPI_Win_fence": (Collective.WINDOW, 1),
    "MPI_File_sync": (Collective.FILE, 2),
}
"""Operations of all ranks, and which of the communicator's windows and files they are on."""


def planted(directory, *calls, ranks=3):
    """A trace of calls: rank, routine, begin, end; of sends and receives the other rank too.

    Those from ``>name`` to ``<name`` are in this function; ``thread`` tells the thread from there on (and
    when it was started), and ``received`` the sender of a message that is received in such a function.
    """
    made = PlantedWaits(ranks, [list(range(ranks))])
    for rank, name, begin, end, *other in calls:
        if name == "thread":
            made.rows[rank].append(
                {"time": begin, "type": EventType.THREAD, "a": end, "b": other[0] if other else 0}
            )
            continue
        if name == "received":
            made.rows[rank].append(made.receive(begin, end, 0, 0))
            continue
        if name[0] in "<>":
            number = ROUTINES.index(name[1:])
            row = {"time": begin, "type": EventType.REGION_ENTER, "a": number}
            if name[0] == "<":
                row = {"time": end, "type": EventType.REGION_LEAVE, "a": number, "b": begin}
            made.rows[rank].append(row)
            continue
        inside = []
        if name in ("MPI_Send", "MPI_Ssend"):
            inside = [made.send(rank, begin + 1, other[0], 0, 0, mode=1 if name == "MPI_Ssend" else 0)]
        elif name == "MPI_Recv":
            inside = [made.receive(end - 1, other[0], 0, 0)]
        elif name in OF_ALL:
            operation, shared = OF_ALL[name]
            common = {"flags": operation, "c": pair(1, 0)}
            inside = [
                {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": begin, "a": NONE, "b": shared, **common},
                {"type": EventType.MPI_COLLECTIVE_END, "time": end, **common},
            ]
        made.call(rank, name, begin, end, *inside)
    return write_trace(directory, made.rows, None)


def values_of(cube, metric):
    """Values by the name that call paths end in, and rank."""
    found = cube.exclusive(metric)
    return {
        (cube.call_paths[path].name, cube.locations[place].rank): found[path, place]
        for path, place in zip(*found.nonzero(), strict=True)
    }


CHAIN = (
    *[(2, "solve", 1000, 1500), (2, "MPI_Send", 1500, 1506, 1)],
    *[(1, "MPI_Recv", 1000, 1509, 2), (1, "MPI_Send", 1600, 1606, 0)],
    (0, "MPI_Recv", 1000, 1609, 1),
)
"""Rank 2 is late for rank 1, which is late for rank 0 for that reason, and for 100 ns of its own."""


@pytest.fixture
def chain(tmp_path):
    return analyze(planted(tmp_path / "run", *CHAIN))


def test_costs_go_to_what_the_late_rank_did_longer_and_through_chains_of_waits(chain):
    short = {("solve", 2): 500, ("program", 1): 91, ("MPI_Recv", 1): 9}
    assert values_of(chain, "delay_latesender") == short
    assert values_of(chain, "delay_latesender_longterm") == {("solve", 2): 500}
    assert chain.total("delay") == chain.total("mpi_latesender") == 1100


def test_the_critical_path_goes_from_wait_to_wait(chain):
    assert values_of(chain, "critical_path") == {
        ("program", 2): 1000,
        ("solve", 2): 500,
        ("MPI_Recv", 1): 9,
        ("program", 1): 91,
        ("MPI_Recv", 0): 9,
    }
    beyond = values_of(chain, "critical_path_imbalance")
    assert beyond["solve", 2] == pytest.approx(500 - 500 / 3)
    assert beyond["program", 2] == pytest.approx((1091 - (1000 + 1091 + 1000) / 3) * 1000 / 1091)


def test_the_report_says_where_late_ranks_were_and_the_way_of_the_critical_path(chain):
    lines = [*cube_text(chain)]
    at = lines.index("where ranks were while others waited for them, by call path")
    assert lines[at + 1].split(maxsplit=4)[2:] == ["21", "%", "program / solve (rank 2 1.00 µs)"]
    at = lines.index("the critical path of 1.61 µs, by call path")
    assert lines[at + 1].strip().startswith("1.09 µs    68 %  program (rank 2 1.00 µs, rank 1 91 ns)")
    assert "333 ns more than ranks on average" in lines[at + 2]
    assert any(
        "For 91 % of these waits rank 2 is late, in solve. " in sentence for sentence in remedies(chain)
    )
    assert severities_json(chain)["root_causes"]["delay_latesender"]["solve"] == [0, 0, 0.5]


def test_all_that_causes_a_kind_of_wait_is_named(tmp_path):
    """Rank 0 waits 600 ns for rank 1 in solve, then 400 ns for rank 2 in halo."""
    cube = analyze(planted(
        tmp_path / "run",
        *[(1, "solve", 1000, 1600), (1, "MPI_Send", 1600, 1606, 0), (0, "MPI_Recv", 1000, 1609, 1)],
        *[(2, "halo", 1000, 2009), (2, "MPI_Send", 2009, 2016, 0), (0, "MPI_Recv", 1609, 2019, 2)],
    ))  # fmt: skip
    sentences = [*remedies(cube)]
    assert len(sentences) == 1
    assert "60 % are for rank 1, in solve; 40 % are for rank 2, in halo. " in sentences[0]


TWO_PLACES = (
    *[(1, "solve", 1000, 1600), (1, "MPI_Send", 1600, 1606, 0)],
    *[(0, ">exchange", 1000, 1610), (0, "MPI_Recv", 1000, 1609, 1), (0, "<exchange", 1000, 1610)],
    *[(2, "halo", 1000, 2009), (2, "MPI_Send", 2009, 2016, 0)],
    (0, "MPI_Recv", 1611, 2019, 2),
)
"""Rank 0 waits 600 ns for rank 1 in solve, then in another place 398 ns for rank 2 in halo."""


def test_each_call_path_has_the_causes_of_its_own_waits(tmp_path):
    cube = analyze(planted(tmp_path / "run", *TWO_PLACES))
    causes = {}
    for row in cube.causes:
        place = cube.path_text(row["path"]).removeprefix("program / ")
        cause = cube.call_paths[row["cause"]].name, cube.locations[row["location"]].rank
        causes.setdefault(place, {})[cause] = row["value"]
    assert causes["exchange / MPI_Recv"] == {("solve", 1): 600}
    assert causes["MPI_Recv"].keys() == {("halo", 2)}
    assert cube.causes["value"].sum() == cube.total("delay") == cube.total("mpi_latesender")
    one, other = remedies(cube)
    assert "in MPI_Recv of exchange. For 100 % of these waits rank 1 is late, in solve. " in one
    assert "For 100 % of these waits rank 2 is late, in halo. " in other
    lines = [line.strip() for line in cube_text(cube) if "caused by" in line]
    assert lines == [
        "caused by: 600 ns in program / solve (rank 1 600 ns)",
        "caused by: 398 ns in program / halo (rank 2 398 ns)",
    ]


def test_causes_go_through_chains_of_waits_to_the_call_path_that_waited_last(chain):
    """Of rank 0's 600 ns rank 2 causes 500, by making rank 1 late."""
    (path,) = {row["path"] for row in chain.causes}  # Both wait in one call path.
    costs = chain.causes_of("mpi_latesender", path)
    assert costs.sum() == chain.total("delay")
    assert np.array_equal(costs, chain.exclusive("delay"))


def test_a_cube_keeps_the_causes_of_waits_in_its_file(tmp_path, chain):
    write_cube(chain, tmp_path / "chain.npz")
    assert np.array_equal(read_cube(tmp_path / "chain.npz").causes, chain.causes)


@pytest.mark.parametrize("top", [0, 1])
def test_a_report_without_lists_says_nothing_of_them(chain, top):
    lines = [*cube_text(chain, top)]
    assert ("the longest waits, by call path" in lines) == bool(top)
    assert not [line for line in lines if line.startswith("no rank waited")]


def test_only_what_ranks_did_since_they_last_synchronized_counts(tmp_path):
    """Before the first barrier rank 1 is late in halo, before the second one rank 0 in solve."""
    cube = analyze(planted(
        tmp_path / "run",
        *[(0, "MPI_Barrier", 1000, 1910), (1, "halo", 1000, 1900), (1, "MPI_Barrier", 1900, 1910)],
        *[(0, "solve", 1910, 2510), (0, "MPI_Barrier", 2510, 2520)],
        *[(1, "solve", 1910, 2110), (1, "halo", 2110, 2160), (1, "MPI_Barrier", 2160, 2520)],
        ranks=2,
    ))  # fmt: skip
    assert values_of(cube, "mpi_barrier_wait") == {("MPI_Barrier", 0): 900, ("MPI_Barrier", 1): 350}
    assert values_of(cube, "delay_barrier") == {("halo", 1): 900, ("solve", 0): 350}
    assert "delay_barrier_longterm" not in cube.values


@pytest.mark.parametrize("name", [*OF_ALL][1:])
def test_operations_on_communicators_windows_and_files_synchronize(tmp_path, name):
    """As in the barriers above; between, a rank that leaves without the other one does not wait for it."""
    trace = planted(
        tmp_path / "run",
        *[(0, name, 1000, 1910), (1, "halo", 1000, 1900), (1, name, 1900, 1910)],
        *[(0, name, 1910, 1920), (1, name, 1950, 1960)],
        *[(0, "solve", 1920, 2510), (0, name, 2510, 2520)],
        *[(1, "solve", 1960, 2110), (1, "halo", 2110, 2160), (1, name, 2160, 2520)],
        ranks=2,
    )
    cube = analyze(trace)
    assert values_of(cube, "mpi_other_wait") == {(name, 0): 900, (name, 1): 350}
    costs = values_of(cube, "delay_other")
    assert costs["halo", 1] == 900
    assert costs.keys() == {("halo", 1), ("solve", 0)}
    assert values_of(cube, "critical_path") == {("program", 1): 1000, ("halo", 1): 900} | {
        (name, 0): 30, ("solve", 0): 590}  # fmt: skip
    (sentence,) = remedies(cube)
    assert (
        f"in {name}. Of these waits 72 % are for rank 1, in halo; 28 % are for rank 0, in solve. " in sentence
    )
    assert_explained(cube)


def test_a_program_may_make_a_communicator_in_every_step(tmp_path):
    """What is found, and the memory for it, are as with one communicator for all steps."""
    steps, found, peaks = 1500, [], []
    for name, made in (("one", 1), ("many", steps)):
        rows = PlantedWaits(2, [[0, 1]] * made)
        for step in range(steps):
            begin, common = 1000 * (step + 1), {"c": pair(1 + step % made, 0), "flags": Collective.BARRIER}
            late = {"a": ROUTINES.index("halo")}
            rows.rows[1].append({"time": begin, "type": EventType.REGION_ENTER, **late})
            rows.rows[1].append({"time": begin + 500, "type": EventType.REGION_LEAVE, "b": begin, **late})
            for rank, come in ((0, begin), (1, begin + 500)):
                rows.call(rank, "MPI_Barrier", come, begin + 510,
                    {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": come, "a": NONE, **common},
                    {"type": EventType.MPI_COLLECTIVE_END, "time": begin + 510, **common})  # fmt: skip
        trace = rows.write(tmp_path / name)
        tracemalloc.start()
        found.append(values_of(analyze(trace), "delay_barrier"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert found == [{("halo", 1): 500 * steps}] * 2
    assert peaks[1] < 2 * peaks[0]


def test_operations_on_two_windows_are_told_apart(tmp_path):
    """Each rank goes to another one first."""
    run = planted(tmp_path / "run", ranks=2)
    rows = PlantedWaits(2, [[0, 1]])
    for rank, order in ((0, (1, 2)), (1, (2, 1))):
        for shared, begin, end in zip(order, (1000, 2000), (1500, 2500), strict=True):
            common = {"flags": Collective.WINDOW, "c": pair(1, 0)}
            rows.call(rank, "MPI_Win_fence", begin + 100 * rank, end,
                {"type": EventType.MPI_COLLECTIVE_BEGIN, "time": begin + 100 * rank, "a": NONE, "b": shared,
                 **common},
                {"type": EventType.MPI_COLLECTIVE_END, "time": end, **common})  # fmt: skip
    assert analyze(rows.write(tmp_path / "two")).problems == analyze(run).problems == ()
    assert mpi_collectives(rows.write(tmp_path / "three"))["ordinal"].tolist() == [
        *(1 << 32, 2 << 32),
        *(2 << 32, 1 << 32),
    ]


def test_a_late_receiver_costs_what_it_did_before_it_posted(tmp_path):
    calls = [(0, "MPI_Ssend", 1000, 1310, 1), (1, "halo", 1000, 1300), (1, "MPI_Recv", 1300, 1320, 0)]
    cube = analyze(planted(tmp_path / "run", *calls, ranks=2))
    assert values_of(cube, "delay_latereceiver") == {("halo", 1): 300}


def test_who_waits_for_a_thread_does_no_work(tmp_path):
    """Rank 0 is last at the barrier: its thread 1 waited for rank 2, and thread 0 for that."""
    cube = analyze(planted(
        tmp_path / "run",
        *[(2, "solve", 1000, 1500), (2, "MPI_Send", 1500, 1506, 0), (2, "MPI_Barrier", 1510, 1620)],
        *[(0, ">Thread.join", 1000, 1600), (0, "thread", 1000, 1), (0, "MPI_Recv", 1000, 1509, 2)],
        *[(0, "thread", 1509, 0), (0, "<Thread.join", 1000, 1600), (0, "MPI_Barrier", 1605, 1620)],
        (1, "MPI_Barrier", 1000, 1620),
    ))  # fmt: skip
    assert values_of(cube, "thread_wait") == {("Thread.join", 0): 600}
    assert cube.total("mpi_barrier_wait") == 605 + 95
    costs = values_of(cube, "delay")
    assert ("Thread.join", 0) not in costs
    assert costs["solve", 2] > 1000  # Of rank 0's wait, and through it of those at the barrier.
    assert cube.total("delay") == cube.total("mpi_barrier_wait") + cube.total("mpi_latesender")


LATE_THREAD = (
    *[(0, "MPI_Recv", 1000, 1509, 1), (0, "solve", 1509, 1700)],
    *[(1, "solve", 1000, 1090), (1, ">exchange", 1090, 1680), (1, "thread", 1100, 1)],
    *[(1, ">halo", 1100, 1520), (1, "thread", 1110, 0), (1, "MPI_Recv", 1110, 1160, 2)],
    *[(1, "thread", 1500, 1), (1, "MPI_Send", 1500, 1506, 0), (1, "<halo", 1100, 1520)],
    *[(1, "thread", 1680, 0), (1, "<exchange", 1090, 1680)],
    *[(2, "solve", 1000, 1150), (2, "MPI_Send", 1150, 1156, 1)],
)
"""Thread 1 of rank 1 is late for rank 0 in halo; thread 0, which started it, waits for rank 2 meanwhile."""


def test_of_a_rank_with_threads_the_one_that_comes_late_is_the_cause(tmp_path):
    cube = analyze(planted(tmp_path / "run", *LATE_THREAD))
    assert values_of(cube, "mpi_latesender") == {("MPI_Recv", 0): 500, ("MPI_Recv", 1): 40}
    causes = {("solve", 1): 90, ("exchange", 1): 10, ("halo", 1): 400, ("solve", 2): 40}
    assert values_of(cube, "delay_latesender") == causes
    assert "delay_latesender_longterm" not in cube.values


FIRST_CALLS = (
    *[(0, ">Thread.join", 1000, 1520), (0, "thread", 1500, 2), (0, "MPI_Send", 1500, 1506, 1)],
    *[(0, "thread", 1520, 0), (0, "<Thread.join", 1000, 1520)],
    *[(1, ">Thread.join", 1000, 1520), (1, "thread", 1100, 2), (1, "MPI_Recv", 1100, 1510, 0)],
    *[(1, "thread", 1520, 0), (1, "<Thread.join", 1000, 1520), (1, "solve", 1520, 1700)],
)
"""Thread 2 of each rank, of which the trace has nothing before, sends and receives; thread 0 waits for it."""


def test_the_critical_path_goes_from_a_first_receive_of_a_thread_to_the_late_one(tmp_path):
    trace = planted(tmp_path / "run", *FIRST_CALLS, ranks=2)
    by_call_path = values_of(analyze(trace), "critical_path")
    late = {("program", 0): 1500, ("MPI_Recv", 1): 10, ("Thread.join", 1): 10, ("solve", 1): 180}
    assert by_call_path == late
    assert sum(late.values()) == critical_path(trace).length
    assert ("program · thread 2", "program", 500, 1) in critical_path(trace).shares()


def test_a_thread_that_the_trace_does_not_know_yet_has_no_begin(tmp_path):
    chain = wait_chain(planted(tmp_path / "run", *FIRST_CALLS, ranks=2), 1, 1300)
    assert [(link.rank, link.thread, link.begin, link.end) for link in chain.links] == [
        *[(1, 2, 1100, 1510), (0, 2, None, 1500)]
    ]
    said = "  until 0.000002 s; the trace has nothing of this thread before, nor when it started"
    assert said in [*wait_chain_text(chain)]


STARTED = tuple((*row, 700) if row[1:] == ("thread", 1500, 2) else row for row in FIRST_CALLS)
"""The same, but the trace has when thread 2 of rank 0 was started."""


def test_a_thread_begins_when_it_was_started(tmp_path):
    trace = planted(tmp_path / "run", *STARTED, ranks=2)
    shares = critical_path(trace).shares()
    assert ("program · thread 2", "program", 800, 1) in shares
    assert values_of(analyze(trace), "critical_path")["program", 0] == 1500
    assert [(link.rank, link.thread, link.begin) for link in wait_chain(trace, 1, 1300).links] == [
        *[(1, 2, 1100), (0, 2, 700)]
    ]


def test_the_critical_path_goes_along_one_thread_at_a_time(tmp_path):
    cube = analyze(planted(tmp_path / "run", *LATE_THREAD))
    before = {("program", 1): 1000, ("solve", 1): 90, ("exchange", 1): 10, ("halo", 1): 400}
    assert values_of(cube, "critical_path") == before | {("MPI_Recv", 0): 9, ("solve", 0): 191}


def test_the_path_of_a_trace_is_told_by_threads(tmp_path):
    trace = planted(tmp_path / "run", *LATE_THREAD)
    path, cube = critical_path(trace), analyze(trace)
    assert path.length == cube.total("critical_path") == 1700
    assert path.shares() == [
        ("start", "start", 1100, 1),
        ("program · thread 1", "program", 400, 1),
        ("end", "end", 191, 1),
        ("message", "hand-over", 9, 1),
        ("thread", "hand-over", 0, 1),
    ]


def test_a_wait_that_another_thread_began_before_both_ranks_synchronized_is_no_work(tmp_path):
    """Thread 1 of rank 1 sends late since it waited for rank 2; thread 0 has met rank 0 meanwhile."""
    cube = analyze(planted(
        tmp_path / "run",
        *[(1, "thread", 1000, 1), (1, ">MPI_Recv", 1000, 1500), (1, "thread", 1100, 0)],
        *[(1, "MPI_Recv", 1100, 1205, 0), (1, "thread", 1499, 1), (1, "received", 1499, 2)],
        *[(1, "<MPI_Recv", 1000, 1500), (1, "MPI_Send", 1520, 1526, 0)],
        *[(0, "MPI_Send", 1200, 1206, 1), (0, "MPI_Recv", 1210, 1529, 1)],
        *[(2, "solve", 1000, 1490), (2, "MPI_Send", 1490, 1496, 1)],
    ))  # fmt: skip
    waits = {("MPI_Recv", 0): 310, ("MPI_Recv", 1): 490 + 100}
    assert values_of(cube, "mpi_latesender") == waits
    within, own = 290, (20 - 4) + 10  # Rank 0 was in the program, too, for 4 ns.
    passed_on = pytest.approx(310 * within / (within + own), abs=0.01)
    assert values_of(cube, "delay_latesender_longterm") == {("solve", 2): passed_on}
    assert cube.total("delay") == pytest.approx(cube.total("mpi_latesender"), abs=0.01)


def test_a_join_leads_to_the_thread_that_ended_last(tmp_path):
    """Rank 0 sends late, since its thread 0 waited for its thread 2, and not for thread 1, which goes on."""
    cube = analyze(planted(
        tmp_path / "run",
        *[(0, "thread", 1000, 1), (0, ">exchange", 1000, 1900), (0, "thread", 1010, 0)],
        *[(0, ">Thread.join", 1010, 1500), (0, "thread", 1010, 2), (0, "halo", 1010, 1410)],
        *[(0, "thread", 1500, 0), (0, "<Thread.join", 1010, 1500), (0, "MPI_Send", 1500, 1506, 1)],
        *[(0, "thread", 1900, 1), (0, "<exchange", 1000, 1900)],
        (1, "MPI_Recv", 1010, 1509, 0),
        ranks=2,
    ))  # fmt: skip
    assert "delay_latesender" not in cube.values  # Thread 0 itself did nothing.
    assert values_of(cube, "delay_latesender_longterm") == {("halo", 0): 490}


def test_the_time_until_mpi_is_started_makes_nobody_late(tmp_path):
    """Rank 1 starts later, but both leave MPI_Init at one time."""
    calls = [
        *[(0, "MPI_Init", 100, 900), (0, "MPI_Recv", 900, 1240, 1)],
        *[(1, "halo", 100, 800), (1, "MPI_Init", 800, 900), (1, "solve", 900, 1230)],
        (1, "MPI_Send", 1230, 1236, 0),
    ]
    cube = analyze(planted(tmp_path / "run", *calls, ranks=2))
    assert values_of(cube, "delay_latesender") == {("solve", 1): 330}
    assert_explained(cube)


def test_waits_between_calls_have_root_causes_and_are_on_the_same_critical_path(pipeline):
    """Of what the waits last, 150 ns are after another rank handed over."""
    cube = analyze(pipeline)
    assert cube.total("delay") == cube.total("delay_queue_empty") == cube.total("queue_empty") - 150
    costs = values_of(cube, "delay_queue_empty")
    assert (costs["load", 0], costs["rows", 1]) == (4000, 3900)
    on_path = values_of(cube, "critical_path")
    shares = {share.kind: share.time for share in critical_path(pipeline).shares()}
    assert (on_path["load", 0], on_path["rows", 1], on_path["save", 0]) == (
        *(shares["load"], shares["rows"]),
        shares["save"],
    )
    assert cube.total("critical_path") == critical_path(pipeline).length == 9900
    (sentence,) = remedies(cube, top=1)
    assert " are for rank 0, in load (small.coven:3:1); " in sentence


def test_waits_between_calls_for_a_rank_on_another_metahost_have_a_grid_version(pipeline, tmp_path):
    (tmp_path / "sites").write_text("FZJ ranks 0\nBRS ranks 1\n")
    cube = analyze(pipeline, metahosts=tmp_path / "sites")
    without = analyze(pipeline)
    assert cube.total("queue_empty_grid") == cube.total("queue_empty") == without.total("queue_empty") > 0
    (sentence,) = remedies(cube, top=1)
    assert sentence.startswith("Queue empty (grid): ")
    assert "queue_empty_grid" not in without.values


def test_waits_of_which_no_begin_is_in_the_trace_are_left_out(written):
    late = [row for row in ROWS if row["type"] != EventType.WAIT_BEGIN]
    cube = analyze(written(LOADER, late))
    assert "rank 1: 2 calls whose begin is not in the trace" in " ".join(cube.problems)
    assert values_of(cube, "delay_queue_empty").keys() == {("rows", 1), ("small.coven", 1)}


def test_what_a_rank_did_that_is_missing_in_the_trace_is_not_another_ones(written):
    """Rank 0 gets its tags from rank 1, of which there is no file; rank 2 is not late for anybody."""
    cube = analyze(written(LOADER, None, phase(0, Phase.START) + call(1, 1000, 5000)))
    assert cube.total("queue_empty") > 0
    assert "delay_queue_empty" not in cube.values


def test_who_wants_no_root_causes_gets_none_and_the_same_waits(tmp_path, chain):
    without = analyze(planted(tmp_path / "again", *CHAIN), root_causes=False)
    assert not any(name.startswith(("delay", "critical")) for name in without.values)
    assert np.array_equal(without.values["mpi_latesender"], chain.values["mpi_latesender"])
    assert "critical path" not in "\n".join(cube_text(without))


def test_waits_that_end_at_one_tick_of_a_coarse_clock_are_all_on_the_path():
    """Rank 2 wakes rank 1, which wakes rank 0 at the same time."""
    spans = np.array([(0, 0, 900, 900, False), (1, 0, 800, 800, False), (2, 0, 800, 800, False)], SPAN_DTYPE)
    ranks, begins, times = np.array([0, 1]), np.array([100, 100]), np.array([500, 500])
    runs = path_runs(spans, stays_in_mpi(ranks, begins, np.array([1, 2]), times, 0))
    assert runs[["rank", "begin", "end"]].tolist() == [(0, 500, 900), (1, 500, 500), (2, 0, 500)]
    runs = path_runs(spans, stays_in_mpi(ranks, begins, np.array([1, 0]), times, 0))  # In a circle.
    assert (runs["end"] - runs["begin"]).sum() == 900


def test_the_last_to_enter_the_end_of_mpi_ends_the_path():
    """Rank 0 waits there for rank 1, and writes the last event."""
    spans = np.array([(0, 0, 500, 910, False), (1, 0, 800, 900, False)], SPAN_DTYPE)
    runs = path_runs(spans, stays_in_mpi(*np.empty((4, 0), int), 0))
    assert runs[["rank", "begin", "end"]].tolist() == [(1, 0, 900)]


PASSED_ON = """
from mpi4py import MPI

world, data = MPI.COMM_WORLD, bytearray(8)


def pass_on():
    if world.rank == 1:
        world.Ssend(data, 0)
    elif world.rank == 0:
        world.Recv(data, 1)
        world.Send(data, 2)
    else:
        world.Recv(data, 0)


world.Barrier()
for _ in range(3):
    pass_on()
"""


@pytest.mark.mpi
def test_a_delay_that_the_tool_delay_plants_in_a_real_run_comes_back(pse, tmp_path):
    """Rank 1 comes 2 s late once: rank 0 waits for it, and rank 2 for rank 0."""
    (tmp_path / "passed.py").write_text(PASSED_ON)
    delay = (
        "module delay\n  argument microseconds 2000000\n  argument routines MPI_Ssend\n  argument every 2\n"
    )
    (tmp_path / "tools.conf").write_text(f"{delay}module trace\n  argument directory passed\n")
    command = [beside_python("mpiexec"), "-n", "3", sys.executable, "passed.py"]
    done = pse("tools", "run", "-c", "tools.conf", "--", *command, cwd=tmp_path)
    assert done.code == 0, done.err
    cube = analyze(tmp_path / "passed", root_causes=True)
    paths = [cube.path_text(number) for number in range(len(cube.call_paths))]
    where = paths.index("program / passed.py / pass_on"), 1
    for metric in ("delay_latesender", "delay_latesender_longterm"):
        assert cube.exclusive(metric)[where] == pytest.approx(2e9, rel=0.02)
