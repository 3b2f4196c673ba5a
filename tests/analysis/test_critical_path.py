"""The critical path of runs with known numbers."""

import numpy as np

from pse.analysis import (
    StepKind,
    critical_path,
)
from tests.analysis.rows import LOADER, ROWS, call, phase, receive, send, wait


def test_the_critical_path_covers_the_run_without_gaps(pipeline):
    steps = critical_path(pipeline).steps
    assert (steps["begin"][0], steps["end"][-1]) == (0, pipeline.span)
    assert (steps["begin"][1:] == steps["end"][:-1]).all()
    assert [(StepKind(s["kind"]).name, int(s["rank"]), int(s["end"] - s["begin"])) for s in steps] == [
        ("START", 0, 1000), ("CALL", 0, 4000), ("ENGINE", 0, 100), ("HANDOVER", 1, 50), ("ENGINE", 1, 50),
        ("CALL", 1, 3900), ("ENGINE", 1, 100), ("HANDOVER", 0, 100), ("ENGINE", 0, 100), ("CALL", 0, 500),
        ("END", 0, 100),
    ]  # fmt: skip


def test_shares_of_the_critical_path_add_up(pipeline):
    counted = critical_path(pipeline).shares()
    assert counted[0] == ("load (line 3) · thread_A", "load", 4000, 1)
    assert ("hand-over", "hand-over", 150, 2) in counted
    assert sum(time for *_, time, _ in counted) == pipeline.span


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


def test_an_empty_trace_has_no_path(written):
    assert not len(critical_path(written(phase(0, 1), phase(5, 1))).steps)
