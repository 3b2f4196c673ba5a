"""`pse.experiment`: which runs, in which order, what is kept of them, and what is made of it."""

import json
import math
import os
import random
from types import SimpleNamespace

import pytest

pd = pytest.importorskip("pandas")

import pse  # noqa: E402
from pse.notebook import NotebookError  # noqa: E402
from pse.notebook.errors import Interrupted  # noqa: E402
from pse.notebook.experiment import _duration  # noqa: E402
from pse.notebook.medians import median  # noqa: E402
from pse.notebook.programs import checked  # noqa: E402
from pse.notebook.running import Job  # noqa: E402
from pse.notebook.sweep import RUNS, SWEEP, Notes, Run, fingerprint, make_sweep  # noqa: E402
from pse.notebook.tidy import Experiment, tidy  # noqa: E402

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
    ("arguments", "words"),
    [
        (([1], {"M": [1]}, 5, ["N"]), "the program has no parameter 'M'\nhelp: its parameters: N"),
        (([1], {"N": []}, 5, ["N"]), "N has no values"),
        (([1], {"N": [1, 1]}, 5, ["N"]), "has a value twice"),
        (([0], {}, 5, []), "processors must be a whole number from 1, not 0"),
        (([1], {}, 0, []), "repeats must be a whole number from 1, not 0"),
        (([1], {"N": [[1]]}, 5, ["N"]), "a value that no parameter can have"),
        (([1], {"N": [None]}, 5, ["N"]), "a value that no parameter can have: None"),
    ],
)
def test_wrong_sweeps_are_refused(arguments, words):
    with pytest.raises(NotebookError) as caught:
        make_sweep(*arguments)
    assert words in str(caught.value)


# What is kept

POINT = (("procs", 2), ("N", 8))
DESCRIBED = {"format": 1, "program": "a", "modules": {}, "names": ["N", "procs"], "options": {}}


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "e", ("procs", "N"), DESCRIBED)


def test_what_is_written_down_is_there_again(notes):
    runs = [Run(POINT, 0, 1.5, {"error": 1e-9}), Run(POINT, 1, None, {}, "no room"), Run(POINT, 1, 2.5, {})]
    for run in runs:
        notes.write(run)
    again = Notes(notes.directory, ("procs", "N"), DESCRIBED)
    assert again.runs() == [runs[0], runs[2]], "the last of two counts"
    assert all(json.loads(line) for line in (notes.directory / RUNS).read_text().splitlines())


def test_parameters_may_come_in_another_order(notes):
    notes.write(Run(POINT, 0, 1.5, {}))
    (run,) = Notes(notes.directory, ("N", "procs"), DESCRIBED).runs()
    assert run.point == POINT[::-1]


def test_half_a_line_is_no_run(notes):
    notes.write(Run(POINT, 0, 1.5, {}))
    with open(notes.directory / RUNS, "ab") as file:
        file.write(b'{"point": [["pro')
    again = Notes(notes.directory, ("procs", "N"), DESCRIBED)
    assert len(again.runs()) == 1
    again.write(Run(POINT, 1, 1.5, {}))
    assert [run.repeat for run in again.runs()] == [0, 1]


def test_a_foreign_line_is_named(notes):
    (notes.directory / RUNS).write_text('{"point": 3}\n')
    with pytest.raises(NotebookError, match=r"runs\.jsonl:1 is no run"):
        notes.runs()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"program": "b"}, "the program's text has changed"),
        ({"modules": {"m.c": "1"}}, "a module has changed"),
        ({"names": ["procs"]}, "the sweep is over other parameters"),
        ({"options": {"arena": "1GiB"}}, "the options have changed"),
    ],
)
def test_runs_of_something_else_are_not_gone_on_with(notes, change, words):
    with pytest.raises(NotebookError) as caught:
        Notes(notes.directory, ("procs", "N"), DESCRIBED | change)
    assert words in caught.value.message
    assert "another directory=" in caught.value.help


def test_a_damaged_or_impossible_directory(notes, tmp_path):
    (notes.directory / SWEEP).write_text("{")
    with pytest.raises(NotebookError, match="is damaged, or no sweep's"):
        Notes(notes.directory, ("procs", "N"), DESCRIBED)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotebookError, match="runs can't be written down in"):
        Notes(tmp_path / "file", ("procs", "N"), DESCRIBED)


def test_the_fingerprint_follows_program_and_modules(folder):
    before = fingerprint(checked("squares.coven"), ["procs"], {})
    (folder / "squares.py").write_text((folder / "squares.py").read_text() + "\n")
    after = fingerprint(checked("squares.coven"), ["procs"], {})
    assert before["program"] == after["program"]
    assert before["modules"] != after["modules"]


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
    return tidy(sweep, runs, "heat.coven")


def test_a_row_for_each_point(scaling):
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
    (row,) = tidy(sweep, [Run(sweep.points[0], 0, 1.5, {"seconds": 9.0})], "p").raw.to_dict("records")
    assert (row["seconds"], row["figure seconds"]) == (1.5, 9.0)


def test_pictures_of_speedup_and_efficiency(scaling):
    for draw, ideal in ((scaling.draw_speedup, [1, 2, 4]), (scaling.draw_efficiency, [1, 1, 1])):
        axes = draw().axes[0]
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels == ["ideal", "N = 100", "N = 200"]
        assert list(axes.lines[0].get_ydata()) == ideal
        assert axes.get_xlabel() == "processors"
        assert axes.get_ylim()[0] == 0


def test_a_point_without_a_run_has_no_numbers():
    sweep = make_sweep([1, 2], {}, 2, [])
    one, two = sweep.points
    frame = tidy(sweep, [Run(two, 0, 1.0, {}), Run(one, 0, None, {}, "no room")], "p.coven")
    assert list(frame["failed"]) == [1, 0]
    assert math.isnan(frame["median"][0])
    assert frame["speedup"][1] == 1.0, "the fewest processors that ran are the base"
    assert frame.draw_speedup().axes[0].get_ylabel() == "speedup over 2 processors"
    nothing = tidy(sweep, [], "p.coven")
    assert nothing["runs"].sum() == 0
    with pytest.raises(NotebookError, match="no run went well"):
        nothing.draw_speedup()


# All of it


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
    with pytest.raises(KeyboardInterrupt):
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
    text = "coven 1\nparam i64 N where N % procs == 0\nprogram even {\n  thread_A print(N)\n}\n"
    frame = pse.experiment(text, procs=[2], N=[3], repeats=2, progress=False)
    assert list(frame["failed"]) == [2]
    assert "N" in frame.raw["error"][0]


def test_durations_are_for_people():
    assert [_duration(seconds) for seconds in (42, 150, 9000)] == ["42 s", "2.5 min", "2.5 h"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cant_be_written_to(folder):
    folder.chmod(0o555)
    with pytest.raises(NotebookError, match="runs can't be written down in"):
        pse.experiment("squares.coven")
