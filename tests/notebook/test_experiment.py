"""`pse.experiment`: which runs, in which order, what is kept of them, and what is made of it."""

import json
import math
import os
import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

import pse  # noqa: E402
from pse.notebook import NotebookError  # noqa: E402
from pse.notebook._errors import Interrupted  # noqa: E402
from pse.notebook._frames import Experiment, make_frame  # noqa: E402
from pse.notebook._medians import median  # noqa: E402
from pse.notebook._programs import checked  # noqa: E402
from pse.notebook._running import Job  # noqa: E402
from pse.notebook._sweep import RUNS, SWEEP, Notes, Run, fingerprint, make_sweep  # noqa: E402

# Medians


@pytest.mark.parametrize("count", range(1, 40))
def test_the_interval_of_a_median_holds_it_as_often_as_it_says(count):
    """Of all ways in which values lie on both sides of the true median, count those with it inside."""
    found = median([float(value) for value in range(1, count + 1)])
    low, high = int(found.low), int(found.high)
    inside = sum(math.comb(count, below) for below in range(low, high))
    assert found.confidence == pytest.approx(inside / 2**count)
    assert low + high == count + 1, "it is symmetric"
    narrower = sum(math.comb(count, below) for below in range(low + 1, high - 1)) / 2**count
    assert narrower < 0.95, "it is the narrowest"
    assert found.confidence >= 0.95 or low == 1


def test_a_median_doesnt_care_for_order():
    assert median([3.0, 1.0, 2.0, 10.0]).median == 2.5
    assert median([2.0]) == (2.0, 2.0, 2.0, 0.0)


# Sweeps


def test_a_sweep_is_the_product_of_its_lists_in_rounds():
    sweep = make_sweep([1, 2], {"N": [8, 16], "tol": 1e-3}, 3, ["N", "tol"])
    assert len(sweep.points) == 4
    assert sweep.points[1] == (("procs", 1), ("N", 16), ("tol", 1e-3))
    order = list(sweep.order())
    assert order == list(sweep.order()), "it is the same every time"
    rounds = [[point for point, repeat in order if repeat == number] for number in range(3)]
    assert all(sorted(points) == sorted(sweep.points) for points in rounds)
    assert [repeat for _, repeat in order] == [0] * 4 + [1] * 4 + [2] * 4
    assert len({tuple(points) for points in rounds}) > 1, "points are shuffled"


@pytest.mark.parametrize(
    "given",
    [
        (n for n in (1, 2)),
        range(1, 3),
        np.array([1, 2]),
        [np.int64(1), np.int32(2)],
        pd.Series([1, 2]),
        {1: 0, 2: 0}.keys(),
    ],
)
def test_values_come_in_any_kind_of_list(given):
    assert make_sweep([1], {"N": given}, np.int64(2), ["N"]).points == [
        (("procs", 1), ("N", 1)),
        (("procs", 1), ("N", 2)),
    ]


@pytest.mark.parametrize(
    ("given", "value"), [("ab", "ab"), (np.float64(0.5), 0.5), (np.array(3), 3), (True, True)]
)
def test_a_single_value_is_a_list_of_one(given, value):
    (point,) = make_sweep(2, {"N": given}, 1, ["N"]).points
    assert point == (("procs", 2), ("N", value))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1], {"M": [1]}, 5, ["N"]), "the program has no parameter 'M'\nhelp: its parameters: N"),
        (([1], {"N": []}, 5, ["N"]), "N has no values"),
        (([1], {"N": [1, 1]}, 5, ["N"]), "contains a value twice"),
        (([0], {}, 5, []), "processors must be a whole number of at least 1, not 0"),
        (([1], {}, 0, []), "repeats must be a whole number of at least 1, not 0"),
        (([1], {"N": [[1]]}, 5, ["N"]), "can't be the value of a parameter"),
        (([1], {"N": [None]}, 5, ["N"]), "None can't be the value of a parameter"),
        (([1], {"N": {"a": 1}}, 5, ["N"]), "{'a': 1} can't be the value of a parameter"),
        (([1], {"N": [math.nan]}, 5, ["N"]), "nan can't be the value of a parameter"),
        (([2.0], {}, 5, []), "processors must be a whole number of at least 1, not 2.0"),
    ],
)
def test_wrong_sweeps_are_refused(arguments, words):
    with pytest.raises(NotebookError) as caught:
        make_sweep(*arguments)
    assert words in str(caught.value)


# What is kept

POINT = (("procs", 2), ("N", 8))
DESCRIBED = {
    "format": 1,
    "program": "a",
    "modules": {},
    "names": ["N", "procs"],
    "options": [],
    "place": "",
}


@pytest.fixture
def place(tmp_path):
    return tmp_path / "e"


def notes(directory, order=("procs", "N"), **change):
    return Notes(directory, order, DESCRIBED | change)


def test_what_is_written_down_is_there_again(place):
    runs = [Run(POINT, 0, 1.5, {"error": 1e-9}), Run(POINT, 1, None, {}, "no room"), Run(POINT, 1, 2.5, {})]
    with notes(place) as kept:
        for run in runs:
            kept.write(run)
    with notes(place) as again:
        assert again.runs() == [runs[0], runs[2]], "the last of two counts"
    assert all(json.loads(line) for line in (place / RUNS).read_text().splitlines())


def test_parameters_may_come_in_another_order(place):
    with notes(place) as kept:
        kept.write(Run(POINT, 0, 1.5, {}))
    with notes(place, ("N", "procs")) as again:
        (run,) = again.runs()
    assert run.point == POINT[::-1]


def test_half_a_line_is_no_run(place):
    with notes(place) as kept:
        kept.write(Run(POINT, 0, 1.5, {}))
    with open(place / RUNS, "ab") as file:
        file.write(b'{"point": [["pro')
    with notes(place) as again:
        assert len(again.runs()) == 1
        again.write(Run(POINT, 1, 1.5, {}))
        assert [run.repeat for run in again.runs()] == [0, 1]


def test_a_foreign_line_is_named(place):
    with notes(place) as kept:
        (place / RUNS).write_text('{"point": 3}\n')
        with pytest.raises(NotebookError, match=r"runs\.jsonl:1: the line does not describe a run"):
            kept.runs()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"program": "b"}, "the program's text has changed"),
        ({"modules": {"m.c": "1"}}, "a module has changed"),
        ({"names": ["procs"]}, "the sweep is over other parameters"),
        ({"options": ["arena=1GiB"]}, "the options have changed"),
        ({"place": "2 nodes"}, "they were made on another machine or cluster"),
    ],
)
def test_runs_of_something_else_are_not_gone_on_with(place, change, words):
    with notes(place) as kept:
        kept.write(Run(POINT, 0, 1.5, {}))
    with pytest.raises(NotebookError) as caught, notes(place, **change):
        pass
    assert words in caught.value.message
    assert "another directory=" in caught.value.help


def test_where_nothing_has_gone_well_something_else_begins(place):
    with notes(place) as kept:
        kept.write(Run(POINT, 0, None, {}, "no room"))
    with notes(place, names=["procs"]) as kept:
        assert kept.runs() == []


def test_two_experiments_dont_write_into_one_directory(place):
    with (
        notes(place),
        pytest.raises(NotebookError, match="another experiment is writing its runs into"),
        notes(place),
    ):
        pass
    with notes(place):
        pass


@pytest.mark.parametrize("text", ["{", "[1]", "3"])
def test_a_sweep_with_a_damaged_record_is_refused(place, text):
    place.mkdir()
    (place / SWEEP).write_text(text)
    with pytest.raises(NotebookError, match=r"is damaged, or was not written by pse"), notes(place):
        pass


def test_a_file_in_place_of_the_directory_of_runs_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotebookError, match="runs can't be saved in"), notes(tmp_path / "file"):
        pass


def test_the_fingerprint_follows_program_modules_and_place(folder, monkeypatch):
    job = Job(checked("squares.coven"), 1)
    before = fingerprint(job, ["procs"])
    (folder / "squares.py").write_text((folder / "squares.py").read_text() + "\n")
    after = fingerprint(job, ["procs"])
    assert before["program"] == after["program"]
    assert before["modules"] != after["modules"]
    monkeypatch.setenv("PSE_HOSTS", "a,b")
    assert fingerprint(job, ["procs"])["place"] == f"a,b on {after['place']}"


# The data frame


@pytest.fixture(scope="module")
def scaling():
    """A sweep whose times are known: a tenth of the work can't be shared."""
    chance = random.Random(1)
    sweep = make_sweep([1, 2, 4], {"N": [100, 200], "tol": 0.1}, 7, ["N", "tol"])
    runs = [
        Run(
            point, repeat, dict(point)["N"] * (0.1 + 0.9 / dict(point)["procs"]) + chance.random(), {"e": 1.0}
        )
        for point, repeat in sweep.order()
    ]
    return make_frame(sweep, runs, "heat.coven")


def test_the_frame_has_a_row_for_each_point(scaling):
    assert isinstance(scaling, pd.DataFrame)
    assert list(scaling["procs"]) == [1, 1, 2, 2, 4, 4]
    assert (scaling["low"] <= scaling["median"]).all()
    assert (scaling["median"] <= scaling["high"]).all()
    assert set(scaling["confidence"]) == {0.984375}
    four = scaling[(scaling.procs == 4) & (scaling.N == 200)].iloc[0]
    assert four["speedup"] == pytest.approx(1 / (0.1 + 0.9 / 4), rel=0.02)
    assert four["efficiency"] == pytest.approx(four["speedup"] / 4)
    assert four["speedup_low"] < four["speedup"] < four["speedup_high"]
    assert len(scaling.raw) == 42
    assert {"procs", "N", "repeat", "seconds", "error", "e"} <= set(scaling.raw)


def test_a_figure_may_have_the_name_of_a_column():
    sweep = make_sweep([1], {}, 1, [])
    (row,) = make_frame(sweep, [Run(sweep.points[0], 0, 1.5, {"seconds": 9.0})], "p").raw.to_dict("records")
    assert (row["seconds"], row["figure seconds"]) == (1.5, 9.0)


def test_speedup_and_efficiency_are_drawn_beside_the_ideal(scaling):
    for draw, ideal in ((scaling.draw_speedup, [1, 2, 4]), (scaling.draw_efficiency, [1, 1, 1])):
        axes = draw().axes[0]
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels == ["ideal", "N = 100", "N = 200"]
        assert list(axes.lines[0].get_ydata()) == ideal
        assert axes.get_xlabel() == "processors"
        assert axes.get_ylim()[0] == 0


def test_many_processors_stand_on_scales_of_factors():
    sweep = make_sweep([1, 2, 64], {"N": [1, 2]}, 1, ["N"])
    runs = [Run(point, 0, 1.0, {}) for point in sweep.points if point != (("procs", 1), ("N", 2))]
    axes = make_frame(sweep, runs, "p").draw_speedup().axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylabel() == "speedup over the fewest of each line"
    assert [text.get_text() for text in axes.texts] == ["a single run of each"]


def test_rows_of_an_experiment_can_be_drawn(scaling):
    axes = scaling[scaling["N"] == 200].sort_values("median").draw_speedup().axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ideal", "heat.coven"]
    for other in (pd.concat([scaling, scaling]), scaling[["procs", "median"]]):
        with pytest.raises(NotebookError, match="lacks columns of an experiment's result"):
            other.draw_speedup()
    assert list(scaling.groupby("N")["median"].count()) == [3, 3]


def test_a_point_without_a_run_has_no_numbers():
    sweep = make_sweep([1, 2], {}, 2, [])
    one, two = sweep.points
    frame = make_frame(sweep, [Run(two, 0, 1.0, {}), Run(one, 0, None, {}, "no room")], "p.coven")
    assert list(frame["failed"]) == [1, 0]
    assert math.isnan(frame["median"][0])
    assert frame["speedup"][1] == 1.0, "the fewest processors that ran are the base"
    assert frame.draw_speedup().axes[0].get_ylabel() == "speedup over 2 processors"
    nothing = make_frame(sweep, [], "p.coven")
    assert nothing["runs"].sum() == 0
    with pytest.raises(NotebookError, match="all runs failed"):
        nothing.draw_speedup()


# All of it

EVEN = "coven 1\nparam i64 N where N % procs == 0\nprogram even {\n  thread_A print(N)\n}\n"


@pytest.mark.mpi
def test_an_experiment_survives_a_failed_point_and_goes_on(folder, capsys):
    frame = pse.experiment("squares.coven", procs=[1], n=[2, 4], wrong=[0, 3], repeats=1)
    assert isinstance(frame, Experiment)
    failed = frame[frame["failed"] > 0]
    assert [(row.n, row.wrong) for row in failed.itertuples()] == [(4, 3)]
    (error,) = frame.raw["error"].dropna()
    assert "3 is not liked" in error
    assert list(frame.raw["last"].dropna().sort_values()) == [4, 4, 16]
    assert capsys.readouterr().out == "", "what modules print is nobody's business here"

    lines = (folder / "squares.experiment" / RUNS).read_text().splitlines()
    again = pse.experiment("squares.coven", procs=[1], wrong=[0, 3], n=[2, 4], repeats=1, progress=False)
    after = (folder / "squares.experiment" / RUNS).read_text().splitlines()
    assert len(after) == len(lines) + 1, "only what failed is tried again"
    assert again["runs"].sum() == 3
    (folder / "squares.coven").write_text("// new\n" + (folder / "squares.coven").read_text())
    with pytest.raises(NotebookError, match="the program's text has changed"):
        pse.experiment("squares.coven", procs=[1], n=[2, 4], wrong=[0, 3])


def test_an_interrupted_experiment_goes_on(folder, monkeypatch):
    done = []

    def run(job, shown):
        if len(done) == 4:
            raise Interrupted
        done.append((job.processors, job.defines["n"]))
        return SimpleNamespace(report=SimpleNamespace(wall_seconds=float(len(done)), figures={"last": 1.0}))

    monkeypatch.setattr(Job, "run", run)
    with pytest.raises(KeyboardInterrupt, match="4 of 12 runs are saved; the same call continues"):
        pse.experiment("squares.coven", procs=[1, 2], n=[2, 3, 4], repeats=2)
    assert len(done) == 4
    done.append(())  # It goes on without an interruption now.
    frame = pse.experiment("squares.coven", procs=[1, 2], n=[2, 3, 4], repeats=2)
    del done[4]
    assert len(done) == 12
    assert len(set(done[:6])) == 6, "every point once"
    assert sorted(done[:6]) == sorted(done[6:])
    assert list(frame["runs"]) == [2] * 6
    more = pse.experiment("squares.coven", procs=[1, 2, 4], n=[2, 3, 4], repeats=3)
    assert len(done) == 27, "only what is new"
    assert list(more["runs"]) == [3] * 9


def test_an_impossible_point_is_a_failed_one(folder):
    frame = pse.experiment(EVEN, procs=[1, 2], N=[3], repeats=1, progress=False)
    assert list(frame["failed"]) == [0, 1]
    assert "N % procs" in frame.raw["error"].dropna().item()


def test_what_is_wrong_with_all_points_is_said_at_once(folder, monkeypatch):
    for wrong, words in (
        ({"procs": [2], "N": [3, 5]}, "N % procs"),
        ({"N": [2], "options": {"queue_dept": 1}}, "did you mean `queue_depth`?"),
        ({"N": [2], "timeout": 0}, "timeout must be a positive number of seconds, not 0"),
        ({"N": [2], "timeout": True}, "timeout must be a positive number of seconds, not True"),
        ({"params": [("N", 2)]}, "params must be a dictionary"),
        ({"N": [2], "params": {"N": 3}}, "the parameter 'N' is given twice"),
        ({"N": [2], "cluster": 3}, "cluster must be a pse.cluster.Cluster or the name of one, not 3"),
    ):
        with pytest.raises(NotebookError) as caught:
            pse.experiment(EVEN, **wrong, progress=False)
        assert words in str(caught.value)
    assert not list(folder.glob("*.experiment")), "nothing was begun"
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(NotebookError, match="there is no mpiexec"):
        pse.experiment("squares.coven")


def test_where_every_point_fails_it_stops_after_a_round(folder, monkeypatch):
    def run(job, shown):
        tried.append(job.defines["n"])
        raise NotebookError(f"no luck with {job.defines['n']}")

    tried = []
    monkeypatch.setattr(Job, "run", run)
    with pytest.raises(NotebookError, match="of all points failed, the last with: no luck with") as caught:
        pse.experiment("squares.coven", n=[2, 3, 4], repeats=5, progress=False)
    assert sorted(tried) == ["2", "3", "4"]
    assert RUNS in caught.value.help


def test_a_program_that_changes_meanwhile_ends_it(folder, monkeypatch):
    def run(job, shown):
        (folder / "squares.py").write_text((folder / "squares.py").read_text() + "\n")
        return SimpleNamespace(report=SimpleNamespace(wall_seconds=1.0, figures={}))

    monkeypatch.setattr(Job, "run", run)
    with pytest.raises(NotebookError, match="a module has changed"):
        pse.experiment("squares.coven", n=[2, 3], progress=False)
    assert not (folder / "squares.experiment" / RUNS).read_text()


@pytest.mark.mpi
def test_a_run_that_takes_too_long_has_failed(folder):
    with pytest.raises(NotebookError, match="the run failed: the run took longer than 1 s"):
        pse.experiment("squares.coven", n=[1], pause=[60], timeout=1, progress=False)
    (line,) = (folder / "squares.experiment" / RUNS).read_text().splitlines()
    assert json.loads(line)["error"] == (
        "the run took longer than 1 s and was stopped\nhelp: give it a longer timeout, or a smaller problem"
    )


def test_parameters_with_the_names_of_columns():
    sweep = make_sweep([1], {"runs": [7], "seconds": [3]}, 1, ["runs", "seconds"])
    frame = make_frame(sweep, [Run(sweep.points[0], 0, 1.5, {})], "p")
    assert (frame["runs"][0], frame["param runs"][0], frame["param seconds"][0]) == (1, 7, 3)
    assert (frame.raw["seconds"][0], frame.raw["param seconds"][0]) == (1.5, 3)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_takes_no_runs_is_named(folder):
    folder.chmod(0o555)
    with pytest.raises(NotebookError, match="runs can't be saved in"):
        pse.experiment("squares.coven")
