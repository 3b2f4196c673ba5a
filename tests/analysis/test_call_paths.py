"""Call paths of programs and of damaged traces; waits of the runtime by their reasons."""

import dataclasses

import pytest
from pse_testing.traces import (
    call_rows,
    region_rows,
    small_definitions,
    text_rows,
    wait_rows,
    write_rank,
    write_trace,
)

from pse import trace
from pse.analysis import analyze
from pse.trace import NONE, EventType, LoopDefinition, TextKind, WaitReason
from pse.trace.interchange import export_otf2

E = EventType
PLACE = "programs/small.coven"
LOOPS = (LoopDefinition(NONE, "", f"{PLACE}:4:1"), LoopDefinition(0, "k", f"{PLACE}:8:3"))
METRICS = {
    WaitReason.INPUT: "queue_empty",
    WaitReason.EXCLUSIVE: "readers_wait",
    WaitReason.SPACE: "arena_wait",
    WaitReason.CREDIT: "queue_full",
    WaitReason.REMOTE: "transfer_wait",
    WaitReason.ORDER: "order_wait",
    WaitReason.START: "start_wait",
    WaitReason.ITERATION: "iteration_wait",
    WaitReason.PARTITIONS: "partition_parked",
}


@pytest.fixture
def program(tmp_path):
    """One rank: a wait for each reason, and a call of a module in two loops that calls MPI."""
    known = small_definitions(processors=1)
    sites = (known.sites[0], dataclasses.replace(known.sites[1], loops=LOOPS))
    reasons = [
        row
        for number, reason in enumerate(METRICS)
        for row in wait_rows(100 + 20 * number, 110 + 20 * number + number, reason, site=1)
    ]
    module = call_rows(1, 1000, 2000)
    inside = [*text_rows(1, "MPI_Barrier", time=1100), *region_rows(1, 1200, 1500)]
    ranks = [[], [*reasons, module[0], *inside, module[1]]]
    return analyze(write_trace(tmp_path / "run", ranks, dataclasses.replace(known, sites=sites)))


def by_path(cube, metric):
    values = cube.exclusive(metric).sum(axis=1)
    return {cube.path_text(path): values[path] for path in values.nonzero()[0]}


def test_a_call_path_is_program_loops_call_site_module_routine(program):
    site = "small.coven / loop (line 4) / loop k (line 8) / fft.rows (line 12)"
    assert by_path(program, "mpi_synchronization") == {f"{site} / rows / MPI_Barrier": 300}
    assert by_path(program, "execution")[f"{site} / rows"] == 700


def test_each_reason_to_wait_has_a_metric(program):
    for number, (reason, metric) in enumerate(METRICS.items()):
        ((path, time),) = by_path(program, metric).items()
        assert time == 10 + number, reason
        assert "fft.rows (line 12) / wait for " in path
    assert program.total("waiting") == sum(10 + number for number in range(len(METRICS)))


def calls(*rows):
    return [*text_rows(1, "outer"), *text_rows(2, "inner"), *rows]


def enter(number, time):
    return {"type": E.REGION_ENTER, "time": time, "a": number}


def leave(number, time, begin):
    return {"type": E.REGION_LEAVE, "time": time, "a": number, "b": begin}


@pytest.mark.parametrize(
    ("rows", "times", "problems"),
    [
        (  # The end of the inner call is missing.
            calls(enter(1, 10), enter(2, 20), leave(1, 50, 10)),
            {"program / outer": 10, "program / outer / inner": 30},
            ["rank 0: 1 call whose end is not in the trace"],
        ),
        (  # Its begin is.
            calls(enter(1, 10), leave(2, 30, 5), leave(1, 50, 10)),
            {"program / outer": 40},
            ["rank 0: 1 call whose begin is not in the trace"],
        ),
        (  # The rank was killed.
            calls(enter(1, 10), enter(2, 20), leave(2, 30, 20), enter(2, 40), leave(2, 45, 40)),
            {"program / outer": 20, "program / outer / inner": 15},
            ["rank 0: 1 call whose end is not in the trace"],
        ),
    ],
)
def test_calls_without_begin_or_end_are_counted_and_the_rest_is_kept(tmp_path, rows, times, problems):
    trace.create(tmp_path / "run")
    write_rank(tmp_path / "run", 0, rows).rename(tmp_path / "run" / "rank-00000.mpi.events")
    cube = analyze(tmp_path / "run")
    found = by_path(cube, "execution")
    assert {path: found[path] for path in times} == times
    assert list(cube.problems) == problems


def test_an_export_has_as_many_calls_without_end_as_the_trace(tmp_path):
    """With the callers that were found on the stack: `outer` called MPI."""
    rows = [
        *text_rows(1, "MPI_Recv"),
        *text_rows(2, "outer"),
        {"type": E.CALLERS, "time": 90, "a": 1, "b": 2},
    ]
    rows += [enter(1, 100) | {"b": 1}, {"type": E.PHASE, "time": 200}]
    run = write_trace(tmp_path / "run", [rows], None)
    export_otf2(run, tmp_path / "out")
    problems = (
        "rank 0: 2 calls whose end is not in the trace, among them MPI_Recv: "
        "`pse trace why DIR --rank 0 --at end` tells what it waited for",
    )
    assert analyze(run).problems == analyze(tmp_path / "out" / "traces.otf2").problems == problems


def test_of_routines_that_ranks_never_left_the_first_ones_are_named(tmp_path):
    routines = [f"MPI_{name}" for name in ("Waitall", "Recv", "Send", "Wait", "Probe")]
    run = write_trace(tmp_path / "run", [[enter(n, 10 + n) for n in range(5)]] * 3, None, routines)
    assert analyze(run).problems == (
        "rank 0: 5 calls whose end is not in the trace, among them MPI_Waitall, MPI_Recv, MPI_Send and 2 "
        "more: `pse trace why DIR --rank 0 --at end` tells what it waited for; ranks 1-2 likewise",
    )


def test_a_region_has_one_call_path_where_a_killed_rank_does_not_know_its_place(tmp_path):
    """`inner` is defined in two files, so that of rank 2 may be any of them."""

    def rank(*places):
        texts = [row for number, place in places for row in text_rows(number, place, TextKind.REGION_PLACE)]
        return calls(*texts, *region_rows(1, 100, 200), *region_rows(2, 300, 400))

    rows = [rank(), rank((1, "a.c:3:1"), (2, "a.c:9:1")), rank((2, "b.c:9:1")), rank((1, "a.c:3:1"))]
    cube = analyze(write_trace(tmp_path / "run", rows, None))
    assert [(path.name, path.place) for path in cube.call_paths[1:]] == [
        *(("outer", "a.c:3:1"), ("inner", "")),
        *(("inner", "a.c:9:1"), ("inner", "b.c:9:1")),
    ]
    assert by_path(cube, "visits")["program / outer"] == 4
