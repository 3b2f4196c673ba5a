"""The critical path of runs with known numbers."""

import numpy as np
from pse_testing.planted_waits import PlantedWaits

from pse.analysis import StepKind, analyze, critical_path, critical_path_text
from pse.trace import Phase
from tests.analysis.rows import LOADER, ROWS, call, phase, receive, send, wait


def test_the_critical_path_covers_the_run_without_gaps_until_its_last_call_ends(pipeline):
    steps = critical_path(pipeline).steps
    assert (steps["begin"][0], steps["end"][-1]) == (0, 9900)
    assert (steps["begin"][1:] == steps["end"][:-1]).all()
    assert [(StepKind(s["kind"]).name, int(s["rank"]), int(s["end"] - s["begin"])) for s in steps] == [
        ("START", 0, 1000), ("CALL", 0, 4000), ("ENGINE", 0, 100), ("HANDOVER", 1, 50), ("ENGINE", 1, 50),
        ("CALL", 1, 3900), ("ENGINE", 1, 100), ("HANDOVER", 0, 100), ("ENGINE", 0, 100), ("CALL", 0, 500),
    ]  # fmt: skip


def test_shares_of_the_critical_path_add_up(pipeline):
    counted = critical_path(pipeline).shares()
    assert counted[0] == ("load (line 3) · thread_A", "load", 4000, 1)
    assert ("hand-over", "hand-over", 150, 2) in counted
    assert sum(time for *_, time, _ in counted) == 9900


def test_what_runs_beside_the_critical_path_is_not_on_it(written):
    """Where nothing else ran the path is all of it; a rank that nobody waits for changes nothing."""
    beside = [*phase(0, 1), *call(1, 100, 7000), *phase(9000, 4)]
    path = critical_path(written(LOADER, ROWS, beside))
    assert set(np.unique(path.steps["rank"])) == {0, 1}
    alone = critical_path(written([*phase(0, 1), *call(0, 0, 5000)]))
    assert [StepKind(s["kind"]).name for s in alone.steps] == ["CALL"]
    assert int((alone.steps["end"] - alone.steps["begin"]).sum()) == alone.activity.trace.span


def test_clocks_that_disagree_do_not_make_the_path_run_in_circles(written):
    """Each rank seems to have sent within the other's wait, before its own had ended."""
    opened = written(
        [
            *phase(0, 2),
            *wait(2, 100, 200, edge=1),
            *receive(205, 1, 1, 1),
            *call(2, 210, 300),
            *send(150, 0, 0, 1),
        ],
        [
            *phase(0, 2),
            *wait(1, 100, 190, edge=0),
            *receive(195, 0, 0, 0),
            *call(1, 205, 299),
            *send(160, 1, 1, 0),
        ],
    )
    steps = critical_path(opened).steps
    assert (steps["begin"][1:] == steps["end"][:-1]).all()
    assert int((steps["end"] - steps["begin"]).sum()) == opened.span


def test_a_rank_without_work_that_writes_the_last_event_is_not_on_the_path(written):
    """Rank 1 is done at 9210 and writes its last event after rank 0, whose last call ends at 9900."""
    trace = written(LOADER, [*ROWS[:-2], *phase(30000, Phase.DONE), *phase(90000, Phase.END)])
    path, cube = critical_path(trace), analyze(trace)
    assert path.length == cube.total("critical_path") == 9900
    idle = cube.exclusive("idle_end").sum(axis=0).tolist()
    assert idle == [50, 90000 - 9210]  # From 9950 on, when rank 0 was done, and from 9210 on.
    assert cube.total("time") == 10000 + 90000
    parts = ("execution", "waiting", "idle_end")
    assert sum(cube.total(name) for name in parts) == cube.total("time")
    on_path = [share.time for share in path.shares() if share.kind in ("load", "rows", "save")]
    modules = [number for number, own in enumerate(cube.call_paths) if own.kind == "module"]
    assert sum(on_path) == cube.exclusive("critical_path")[modules].sum() == 4000 + 3900 + 500


def test_an_empty_trace_has_no_path(written):
    path = critical_path(written(phase(0, 1), phase(5, 1)))
    assert list(critical_path_text(path)) == [
        "the trace shows no calls and no waits: there is no path to find"
    ]


def test_where_nobody_calls_mpi_the_path_is_all_time_of_the_last_rank(tmp_path):
    planted = PlantedWaits(2, [[0, 1]])
    for rank, time in ((0, 100), (1, 300)):
        planted.enter(rank, "solve")
        planted.now[rank] += time
        planted.leave(rank)
    trace = planted.write(tmp_path / "run")
    path = critical_path(trace)
    assert path.shares() == [("program", "program", path.length, 1)]
    assert set(path.steps["rank"].tolist()) == {1}
    assert path.length == analyze(trace).total("critical_path") > 300
    assert next(critical_path_text(path)).endswith(": 0 hand-overs, 1 of 2 ranks")
