"""``pse ace fit``, ``report`` and ``compare`` as a user has them, on results with planted truth."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from pse_testing.planted_measurements import planted_cycles, planted_exchanges, planted_loggp, planted_results

from pse.cli import main
from pse.emulate import Model, Results
from pse.runtime.launch import find_mpiexec


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Two results that differ in one rank, one of a single launch, one without rows."""
    path = tmp_path_factory.mktemp("results")
    slow = planted_cycles(seed=1, cycles=100)
    slow["communication"][slow["rank"] == 2] *= 1.5
    planted_results(planted_cycles(cycles=100), planted_exchanges()).save(path / "plain.ace")
    planted_results(slow, planted_exchanges(seed=1)).save(path / "slow.ace")
    planted_results(planted_cycles(launches=1, cycles=20), planted_exchanges(launches=1)).save(
        path / "one.ace"
    )
    planted_results().save(path / "empty.ace")
    with_loggp = planted_results(planted_cycles(launches=3, cycles=20), planted_exchanges(launches=3))
    launches = [planted_loggp(launch) for launch in range(3)]
    Results(with_loggp.cycles, with_loggp.exchanges, {**with_loggp.metadata, "launches": launches}).save(
        path / "loggp.ace"
    )
    return path


@pytest.fixture
def call(directory, monkeypatch):
    monkeypatch.chdir(directory)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words):
        done = CliRunner().invoke(main, ["ace", *words])
        assert "Traceback" not in done.output
        return done

    return call


def test_fit_prints_and_writes_a_model(call, tmp_path):
    done = call("fit", "plain.ace", "--pairs", "-o", str(tmp_path / "model.json"))
    assert done.exit_code == 0, done.output
    for words in (
        "cost of a message (piecewise)",
        "0 B to 8 KiB",
        "the protocol changes between 8 KiB and 16 KiB",
    ):
        assert words in done.output
    assert "0 → 1" in done.output
    assert Model.load(tmp_path / "model.json").switches == ((8192, 16384),)


def test_fit_prints_the_papers_line_as_json(call):
    found = json.loads(call("fit", "plain.ace", "--paper", "--json").stdout)
    assert found["mode"] == "paper"
    assert len(found["segments"]) == 1


def test_one_launch_is_said_to_give_no_intervals(call):
    assert "1 launch: too few for intervals, which need 3" in call("fit", "one.ace").output


def test_report_names_the_slow_rank(call):
    done = call("report", "slow.ace")
    assert done.exit_code == 0, done.output
    for words in (
        "run time, without barriers",
        "dispersion",
        "rank 2 of `halo`: communication takes 1.49 times",
    ):
        assert words in done.output
    assert "no link or rank is slow" in call("report", "plain.ace", "--by", "rank").output


def test_loggp_is_in_reports_models_and_json(call, tmp_path):
    done = call("report", "loggp.ace")
    assert done.exit_code == 0, done.output
    for words in (
        "LogGP: medians of 2 ranks and 3 launches",
        "o_s",
        "overhead of sending",
        "MPI_Send of 1 B",
    ):
        assert words in done.output
    assert "LogGP" in call("fit", "loggp.ace", "-o", str(tmp_path / "model.json")).output
    latency = next(one for one in Model.load(tmp_path / "model.json").loggp if one.symbol == "L")
    assert (latency.value, latency.unit) == (2e-6, "s")
    found = json.loads(call("report", "loggp.ace", "--json").stdout)
    assert [one["symbol"] for one in found["loggp"]] == ["o_s", "o_r", "L", "g", "G"]
    assert "LogGP" not in call("report", "plain.ace").output


def test_report_prints_json_of_one_or_several(call):
    found = json.loads(call("report", "slow.ace", "--json", "--alone", "plain.ace").stdout)
    assert found["run_times"][0]["name"] == found["loaded"][0]["name"] == "halo"
    assert found["disturbances"][0]["kind"] == "slow rank"
    several = json.loads(call("report", "slow.ace", "plain.ace", "--json").stdout)
    assert [*several] == ["slow.ace", "plain.ace"]
    assert several["plain.ace"]["disturbances"] == []


def test_report_compares_with_applications_alone(call):
    assert (
        "communication beside other applications over alone"
        in call("report", "slow.ace", "--alone", "plain.ace").output
    )


def test_report_writes_pictures_and_tables(call, tmp_path):
    for view in ("error", "dispersion", "applications", "costs", "matrix"):
        done = call("report", "plain.ace", "slow.ace", "--view", view, "-o", str(tmp_path / f"{view}.png"))
        assert done.exit_code == 0, done.output
        assert (tmp_path / f"{view}.png").stat().st_size > 10_000
    assert call("report", "one.ace", "-o", str(tmp_path / "cycles.csv")).exit_code == 0
    lines = (tmp_path / "cycles.csv").read_text().splitlines()
    assert lines[0].startswith("launch,application,application_name,rank,cycle,size")
    assert len(lines) == 81


def test_compare_names_what_differs(call):
    done = call("compare", "plain.ace", "slow.ace")
    assert done.exit_code == 0, done.output
    assert "rank 2 of `halo`, 1 KiB, load 50 %: median communication +" in done.output
    assert "permutation test of launches" in done.output
    assert "no difference is shown" in call("compare", "plain.ace", "plain.ace").output
    found = json.loads(call("compare", "plain.ace", "slow.ace", "--json").stdout)
    assert found["differences"][0]["real"]


def test_compare_says_which_applications_it_leaves_out(call, tmp_path):
    other = str(tmp_path / "other.ace")
    planted_results(planted_cycles(cycles=20), planted_exchanges(), name="noise").save(other)
    done = call("compare", "plain.ace", other)
    assert "no difference is shown; no application was compared, only links" in done.output
    left_out = "note: left out, since only the {} result has it: `{}`, 1 KiB, load 50 %"
    for which, name in (("first", "halo"), ("second", "noise")):
        assert left_out.format(which, name) in done.output
    assert "left out" not in call("compare", "plain.ace", "slow.ace").output


def test_constant_times_have_no_dispersion(call, tmp_path):
    cycles = planted_cycles(cycles=20)
    cycles["communication"], cycles["barrier"] = 1.1e-6, 0
    planted_results(cycles).save(tmp_path / "same.ace")
    (found,) = [
        one
        for one in json.loads(call("report", str(tmp_path / "same.ace"), "--json").stdout)["dispersion"]
        if one["metric"] == "communication"
    ]
    assert (found["sigma"], found["variance"]) == (0, 0)
    printed = call("report", str(tmp_path / "same.ace")).output
    assert "0 ns" in printed
    assert "0.000 ns" not in printed


@pytest.mark.mpi
def test_under_mpiexec_one_rank_executes_what_is_not_for_all(directory):
    for words, code in ((("report", "one.ace"), 0), (("report", "none.ace"), 2)):
        command = [find_mpiexec().path, "-n", "2", sys.executable, "-m", "pse", "ace", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=directory)
        assert (done.returncode, done.stdout.count("dispersion")) == (code, 1 - code // 2)
        assert done.stderr.count("there is no directory none.ace") == code // 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "none.ace"), "there is no directory none.ace"),
        (("fit", "empty.ace"), "there are no measured exchanges to fit a model to"),
        (("fit", "one.ace", "-o", "none/model.json"), "there is no directory none"),
        (("report", "empty.ace"), "these results have no cycles"),
        (("report", "one.ace", "--view", "error"), "view error has no file to go to"),
        (
            ("report", "one.ace", "--view", "errors", "-o", "a.png"),
            "there is no view 'errors' of measurements",
        ),
        (("report", "one.ace", "-o", "a.xls"), "it must end in"),
        (("report", "one.ace", "plain.ace", "-o", "a.csv"), "a.csv would hold the cycles of one measurement"),
        (("compare", "one.ace", "one.ace"), "1 launch and 1 are too few"),
        (("compare", "empty.ace", "plain.ace"), "have nothing in common to compare"),
        (("compare", "plain.ace", "slow.ace", "--level", "nan"), "nan is not a finite number"),
        (("compare", "plain.ace", "slow.ace", "--least", "inf"), "inf is not a finite number"),
        (("compare", "plain.ace", "slow.ace", "--top", "0"), "0 is not in the range"),
        (("run", "none.toml", "--time", "nan"), "nan is not a finite number"),
        (("run", "none.toml", "-o", "x" * 300 + ".ace"), "File name too long"),
        (("run", "."), "help: write it as results.ace"),
        (("sensitivity", ".", "--network", "none.json", "--draws", "99999999999"), "is not in the range"),
        (("sensitivity", ".", "--network", "none.json"), "cannot read the model none.json"),
        (
            ("run", "none.toml"),
            "error: cannot read the configuration none.toml: No such file or directory\n"
            'help: give a TOML file that has at least [[applications]], and below it pattern = "pairwise"\n',
        ),
    ],
)
def test_what_can_not_be_done_is_named(call, words, message):
    done = call(*words)
    assert done.exit_code == 2
    assert message in done.output
