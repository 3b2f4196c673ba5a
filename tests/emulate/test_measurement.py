"""Launches as MPI jobs: computed is what was asked for, every pattern runs, applications run at once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.lib.recfunctions import repack_fields

from pse._abi.emulate import StepKind
from pse.cli import main
from pse.emulate import (
    CYCLE,
    EXCHANGE,
    Application,
    Configuration,
    Model,
    RecordedProgram,
    Results,
    Step,
    Stopped,
    find_nodes,
    find_pattern,
    join_results,
    loaded_ratios,
    measure,
    precision_of,
    read_configuration,
    run_times,
)
from pse.emulate.job._cycle_measurement import Emulation, measure_communication
from pse.emulate.launches import _driver
from pse.emulate.launches._driver import _ending
from pse.emulate.patterns._registry import PATTERNS
from pse.errors import RunError, UsageError
from pse.runtime.launch import Hosts, find_mpiexec
from pse.runtime.supervise import raised_signals

pytestmark = pytest.mark.mpi

TWO = """\
[run]
launches = 1
most_launches = 1
waits = "sleep"

[exchanges]
sizes = [1, 4096]
repetitions = 3
matrix = true
loggp = true

[[applications]]
name = "halo"
pattern = "cartesian"
ranks = 3
sizes = [8, 2048]
loads = [20, 100]
cycles = 4
blocking = false

[[applications]]
name = "noise"
pattern = "pairwise"
ranks = 2
sizes = 1024
cycles = 6
synchronous = false
start = 0.002
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Measure two applications on five ranks."""
    file = tmp_path_factory.mktemp("two") / "two.toml"
    file.write_text(TWO)
    return measure(read_configuration(file))


def test_every_setting_has_its_cycles_together_and_alone(two):
    frame = two.frame()
    counts = frame.groupby(["application_name", "size", "load"]).size().to_dict()
    halo = {("halo", size, load): 3 * 4 for size in (8, 2048) for load in (20.0, 100.0)}
    alone = {("halo alone", *key[1:]): count for key, count in halo.items()}
    noise = {("noise", 1024, 50.0): 4 * 2 * 6, ("noise alone", 1024, 50.0): 2 * 6}
    assert counts == halo | alone | noise


def test_cycles_say_beside_what_they_ran(two):
    frame = two.frame()
    keys = ["launch", "application", "rank", "cycle", "size", "load"]
    assert not frame.duplicated([*keys, "setting"]).any()
    besides = [f"`halo` ({size}, {load} %)" for size in ("8 B", "2 KiB") for load in (20, 100)]
    noise = frame[frame["application_name"] == "noise"]
    assert noise.groupby("beside").size().to_dict() == dict.fromkeys(besides, 2 * 6)
    assert {*frame[frame["application_name"] == "halo"]["beside"]} == {"`noise` (1 KiB, 50 %)"}
    assert {*frame[frame["application_name"].str.endswith("alone")]["beside"]} == {""}


def test_run_times_and_ratios_are_of_each_run_and_of_what_ran_beside_it(two):
    alone = next(one for one in run_times(two) if one.name == "noise alone")
    beside = [one for one in run_times(two) if one.name == "noise"]
    assert [one.predicted for one in beside] == pytest.approx([alone.predicted] * 4)
    assert len({one.beside for one in beside}) == 4
    assert len([one for one in loaded_ratios(two) if one.name == "noise"]) == 4
    assert {one.beside for one in run_times(two) if one.name != "noise"} == {""}


def test_results_of_old_which_do_not_say_what_ran_beside_are_read(two, tmp_path):
    path = two.save(tmp_path / "old.ace")
    names = [name for name in CYCLE.names if name != "setting"]
    np.save(path / "cycles.npy", repack_fields(two.cycles[names]))
    facts = {key: value for key, value in two.metadata.items() if key != "settings"}
    (path / "metadata.json").write_text(json.dumps({"version": 1, **facts}))
    old = Results.load(path)
    assert {*old.frame()["setting"]} == {-1}
    noise, alone = (
        next(one for one in run_times(old) if one.name == name) for name in ("noise", "noise alone")
    )
    assert noise.predicted == pytest.approx(alone.predicted)
    # What is added says it.
    both = join_results([old, two])
    assert len([one for one in run_times(both) if one.name == "noise"]) == 5


def test_compute_times_follow_from_load_and_predicted_communication(two):
    cycles = two.cycles
    communication = cycles["predicted"] - cycles["calculated"]
    assert (communication > 0).all()
    assert cycles["calculated"] == pytest.approx(communication * 100 / cycles["load"] - communication)
    assert (cycles["compute"] >= cycles["calculated"] * 0.999 - 1e-8).all()
    assert (cycles["communication"] > 0).all()
    names = two.frame()["application_name"]
    assert (cycles["barrier"][names == "noise"] == 0).all()
    assert (cycles["barrier"][names == "halo"] > 0).all()


def test_a_cycle_begins_after_the_one_before_has_ended(two):
    own = two.cycles[(two.cycles["application"] == 4 - 1) & (two.cycles["rank"] == 0)]
    lasted = own["compute"] + own["communication"] + own["barrier"]
    assert (np.diff(own["start"]) >= lasted[:-1] - 1e-7).all()


def test_phase_one_measured_all_pairs(two):
    pairs = {(int(row["rank"]), int(row["partner"])) for row in two.exchanges}
    assert pairs == {(one, other) for one in range(5) for other in range(5) if one != other}
    assert (two.exchanges["seconds"] > 0).all()
    assert len(two.metadata["launches"][0]["loggp"]) == 4


def test_metadata_says_what_was_measured_and_where(two, tmp_path):
    metadata = two.metadata
    assert [one["name"] for one in metadata["applications"]] == ["halo", "noise", "halo alone", "noise alone"]
    assert metadata["applications"][2]["alone"] == "halo"
    assert (metadata["ranks"], metadata["waits"], metadata["prediction"]) == (5, "sleep", "load")
    assert json.loads((two.save(tmp_path / "two.ace") / "metadata.json").read_text())["hosts"]


def test_all_patterns_run_inside_an_mpi_job(tmp_path):
    find_pattern("pairwise")
    applications = [
        f'[[applications]]\npattern = "{name}"\nname = "{name} {blocking}"\nranks = 4\n'
        f"cycles = 3\nsizes = 64\nblocking = {str(blocking).lower()}\n"
        for name in sorted(PATTERNS)
        for blocking in (True, False)
        if find_pattern(name).problem(4, {}) is None
    ]
    script = tmp_path / "each.py"
    script.write_text(
        "import dataclasses, sys\nfrom pse.ace import read_configuration, run_launch\n"
        "asked = read_configuration(sys.argv[1], 1000)\n"
        "for one in asked.applications:\n"
        "    own = dataclasses.replace(asked, applications=(one,), ranks=4)\n"
        "    found = run_launch(own)\n"
        "    if found:\n        print(one.name, len(found.cycles), flush=True)\n"
    )
    head = '[run]\nwaits = "sleep"\n[exchanges]\nalpha = 1e-6\nbeta = 1e-9\n'
    (tmp_path / "all.toml").write_text(head + "".join(applications))
    command = [find_mpiexec().path, "-n", "4", sys.executable, str(script), str(tmp_path / "all.toml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(applications)
    assert all(line.endswith(" 12") for line in lines)


def test_given_parameters_predict_the_communication(tmp_path):
    file = tmp_path / "given.toml"
    file.write_text(
        "[exchanges]\nalpha = 1e-5\nbeta = 1e-9\n"
        '[[applications]]\npattern = "pairwise"\nsizes = 10000\nloads = 25\ncycles = 2\n'
    )
    again = [sys.executable, "-m", "pse", "ace", "run", str(file), "-o", str(tmp_path / "given.ace")]
    for extra in ([], ["--append"]):
        command = [find_mpiexec().path, "-n", "2", *again, *extra]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    assert "2 launches, 8 cycles, 0 exchanges" in done.stdout
    found = Results.load(tmp_path / "given.ace")
    assert found.cycles["predicted"] == pytest.approx([16e-5] * 8)
    assert sorted({*found.cycles["launch"].tolist()}) == [0, 1]


def test_a_fitted_model_predicts_the_same_on_all_ranks(tmp_path):
    file = tmp_path / "fitted.toml"
    file.write_text(
        '[run]\nprediction = "model"\nwaits = "sleep"\n[exchanges]\nsizes = [1, 100, 9000]\nrepetitions = 3\n'
        '[[applications]]\npattern = "alltoall"\nsizes = 100\ncycles = 2\n'
    )
    words = [sys.executable, "-m", "pse", "ace", "run", str(file), "-o", str(tmp_path / "fitted.ace")]
    done = subprocess.run(
        [find_mpiexec().path, "-n", "3", *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    cycles = Results.load(tmp_path / "fitted.ace").cycles
    assert len({*cycles["predicted"].tolist()}) == 1
    assert cycles["calculated"] == pytest.approx(cycles["predicted"] / 2)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("loads = 0", "expected a percentage from 1 to 100"),
        ("nodes = [7]", "there is no node 7: the job has 1"),
    ],
)
def test_bad_configurations_end_a_job_with_one_message(line, problem, tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(f'[[applications]]\npattern = "pairwise"\n{line}\n')
    command = [find_mpiexec().path, "-n", "2", sys.executable, "-m", "pse", "ace", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count(problem) == 1
    assert "bad.toml:3:" in done.stderr
    assert "Traceback" not in done.stderr


def test_options_that_a_launch_inside_a_job_can_not_have_are_refused(tmp_path):
    file = tmp_path / "pair.toml"
    file.write_text(PAIR)
    pse_ace = [sys.executable, "-m", "pse", "ace", "run", str(file), "--launches", "3", "--hosts", "a"]
    done = subprocess.run(
        [find_mpiexec().path, "-n", "2", *pse_ace], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode != 0
    assert done.stderr.count("error: --launches and --hosts can't be chosen inside an MPI job") == 1
    assert not (tmp_path / "pair.ace").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-o", "none/pair.ace"], "there is no directory none"),
        (["--launches", "0"], "0 is not in the range"),
        (["--append", "-o", "taken.ace"], "taken.ace exists and holds no results"),
    ],
)
def test_what_a_job_can_not_do_is_said_by_one_rank(words, problem, tmp_path):
    (tmp_path / "taken.ace").mkdir()
    (tmp_path / "pair.toml").write_text(PAIR)
    command = [find_mpiexec().path, "-n", "2", sys.executable, "-m", "pse", "ace", "run", "pair.toml", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count(problem) == 1
    assert "Traceback" not in done.stderr


def test_hosts_that_can_not_be_read_are_named(tmp_path):
    file = tmp_path / "pairs.toml"
    file.write_text('[[applications]]\npattern = "pairwise"\nranks = 2\n')
    words = ["ace", "run", str(file), "-o", str(tmp_path / "pairs.ace"), "--hostfile", str(tmp_path / "none")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "none': No such file or directory" in done.stderr
    assert not (tmp_path / "pairs.ace").exists()


def test_a_precision_is_that_of_the_worst_setting():
    cycles = np.zeros(40, CYCLE)
    cycles["launch"], cycles["load"] = np.repeat(np.arange(10), 4), np.tile([10, 80], 20)
    cycles["compute"] = 1.0
    assert precision_of(cycles) == 0
    cycles["compute"][cycles["load"] == 80] += np.repeat(np.arange(10), 2) / 10
    assert 10 < precision_of(cycles) < 60
    assert precision_of(cycles[cycles["launch"] < 2]) == np.inf


def test_an_application_in_the_background_runs_until_the_others_have_ended(tmp_path):
    file = tmp_path / "background.toml"
    file.write_text(
        '[run]\nlaunches = 1\nmost_launches = 1\nwaits = "sleep"\n[exchanges]\nalpha = 1e-4\nbeta = 0\n'
        '[[applications]]\nname = "pairs"\npattern = "pairwise"\nranks = 2\nloads = [20, 50]\ncycles = 30\n'
        '[[applications]]\nname = "late"\npattern = "pairwise"\nranks = 2\ncycles = 5\nstart = 0.02\n'
        '[[applications]]\nname = "traffic"\npattern = "circular"\nranks = 3\nloads = 100\ncycles = 2\n'
        "background = true\n"
    )
    counts = measure(read_configuration(file)).frame().groupby("application_name").size().to_dict()
    together = {"pairs": 2 * 2 * 30, "late": 2 * 2 * 5, "traffic": 2 * 3 * 2}
    alone = {"pairs alone": 2 * 2 * 30, "late alone": 2 * 5, "traffic alone": 3 * 2}
    assert counts == together | alone


def test_further_cycles_are_executed_as_long_as_others_go_on():
    executed = []

    class OneRank(_SlowAfterPauses):
        rank = 0

        def run(self, variants, cycles, *, synchronous):
            executed.append(cycles)

    ends = iter([False, False, True])
    others = SimpleNamespace(have_ended=lambda: next(ends))
    traffic = Application("traffic", "circular", 2, (8,), (100.0,), background=True)
    given = Configuration((traffic,), 2, alpha=1e-6, beta=0.0)
    rows = np.zeros(4, CYCLE)
    rows["communication"] = 1e-3
    Emulation(traffic, OneRank(), given, Model(1e-6, 0.0)).go_on(8, 100.0, rows, others)
    assert executed == [20, 20]


class _SlowAfterPauses:
    """A group of two ranks whose messages take longer the longer the ranks computed before."""

    def align(self):
        pass

    def greatest(self, value):
        return value

    mean = greatest

    def run(self, variants, cycles):
        gap = sum(step.seconds for step in variants[0])
        return {"communication": np.full(cycles, 1e-3 + 0.1 * gap)}


def test_communication_is_predicted_as_it_is_after_computing_at_the_load():
    steps = [[Step(StepKind.SEND, 1, 8)]]
    assert measure_communication(_SlowAfterPauses(), steps, 100) == pytest.approx(1e-3)
    assert measure_communication(_SlowAfterPauses(), steps, 100, 50) == pytest.approx(1e-3 / 0.9, rel=2e-3)


def test_a_terminated_driver_ends_its_launch():
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Who ignores it passes that on.
    launch = subprocess.Popen(["sleep", "100"], start_new_session=True)
    signal.signal(signal.SIGINT, before)
    with pytest.raises(Stopped) as left, raised_signals(Stopped), _ending(launch):
        os.kill(os.getpid(), signal.SIGTERM)
    assert left.value.number == signal.SIGTERM
    assert launch.wait() == -signal.SIGINT
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


PAIR = '[run]\nlaunches = 3\n[exchanges]\nalpha = 1e-6\nbeta = 0\n[[applications]]\npattern = "pairwise"\n'


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """A configuration whose launches are made up: the numbers that were asked for; a function may end one."""
    numbers = []

    def launch(configuration, number, directory, hosts):
        if len(numbers) == 2 and ends:
            raise ends[0]
        numbers.append(number)
        cycles = np.zeros(3, CYCLE)
        cycles["launch"], cycles["communication"] = number, 1e-6
        facts = {**configuration.facts(), "launches": [{"launch": number}]}
        return Results(cycles, np.zeros(0, EXCHANGE), facts)

    ends = []
    monkeypatch.setattr(_driver, "_launch", launch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.toml").write_text(PAIR)
    return numbers, ends


def run_pair(*words):
    return CliRunner().invoke(main, ["ace", "run", "pair.toml", "-n", "2", "--time", "1e6", *words])


def test_how_long_a_launch_takes_is_said_before_it_if_messages_have_given_costs(launched):
    text = PAIR + "cycles = 1000\nloads = [20, 50]\nsizes = 1000\n"
    Path("pair.toml").write_text(text.replace("alpha = 1e-6\nbeta = 0\n", "sizes = 1000\n"))
    assert "a launch takes" not in run_pair().stderr
    Path("pair.toml").write_text(text.replace("alpha = 1e-6\nbeta = 0\n", "alpha = 1\nbeta = 1e-3\n"))
    # There and back at 2 s a message: 1,000 cycles of 4 s, 5 and 2 times as long with computing.
    assert "by α and β as given a launch takes 28,000 s" in run_pair("-o", "given.ace").stderr


def test_a_launch_takes_as_long_as_a_recorded_program_computes(launched):
    steps = Step(StepKind.COMPUTE, seconds=3.0), Step(StepKind.BARRIER)
    RecordedProgram((steps, steps)).save("own.npz")
    text = '[exchanges]\nalpha = 1e-6\nbeta = 0\n[[applications]]\nprogram = "own.npz"\ncycles = 10\n'
    Path("pair.toml").write_text(text)
    assert "by α and β as given a launch takes 30.0 s" in run_pair("-o", "given.ace").stderr


def test_launches_that_are_appended_are_launches_of_their_own(launched):
    assert "pair.ace: 3 launches, 9 cycles" in run_pair().output
    assert "pair.ace: 6 launches, 18 cycles" in run_pair("--append").output
    assert launched[0] == [0, 1, 2, 3, 4, 5]
    with open("pair.toml", "a") as file:
        file.write('name = "other"\n')
    done = run_pair("--append")
    assert done.exit_code == 2
    assert "the earlier results are of the applications `pairwise-0`, not `other`" in done.stderr
    assert len(launched[0]) == 6


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("alpha = 1e-6", "alpha = 3e-6", "alpha = 1e-06, not 3e-06"),
        ("launches = 3", 'launches = 3\nwaits = "mpi"', 'waits = "auto", not "mpi"'),
        ("beta = 0", "beta = 0\nsizes = [1, 8]", "exchange_sizes = [], not [1, 8]"),
        ('"pairwise"', '"pairwise"\nloads = [20, 50]', "loads of `pairwise-0` = [50.0], not [20.0, 50.0]"),
        ('"pairwise"', '"pairwise"\ncycles = 7', "cycles of `pairwise-0` = 1000, not 7"),
    ],
)
def test_results_that_were_measured_otherwise_are_not_added_to(launched, old, new, difference):
    run_pair()
    Path("pair.toml").write_text(PAIR.replace(old, new))
    done = run_pair("--append")
    assert done.exit_code == 2
    assert f"the earlier results were measured with {difference}\n" in done.stderr
    assert "help: measure with the same values, or choose another name with -o" in done.stderr
    assert len(launched[0]) == 3


def test_how_often_is_measured_may_differ_between_launches_that_are_added(launched):
    run_pair()
    Path("pair.toml").write_text(PAIR.replace("launches = 3", "launches = 4\nprecision = 9"))
    assert "pair.ace: 7 launches" in run_pair("--append").output


def test_results_that_are_written_while_others_are_measured_are_added_to(launched, monkeypatch):
    run_pair()
    launch, other = _driver._launch, []

    def beside(*words):
        if not other:
            other.append("begun")
            other.append(run_pair("--append"))
        return launch(*words)

    monkeypatch.setattr(_driver, "_launch", beside)
    assert "pair.ace: 9 launches, 27 cycles" in run_pair("--append").output
    assert "pair.ace: 6 launches" in other[1].output
    assert Results.load("pair.ace").launches == tuple(range(9))


def test_results_that_others_wrote_of_other_applications_meanwhile_lose_nothing(
    launched, monkeypatch, tmp_path
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    launch = _driver._launch

    def beside(*words):
        Results(np.zeros(2, CYCLE), np.zeros(0, EXCHANGE), {"applications": [{"name": "new"}]}).save(
            "pair.ace"
        )
        return launch(*words)

    monkeypatch.setattr(_driver, "_launch", beside)
    done = run_pair("--append")
    assert done.exit_code == 2
    assert "the earlier results are of the applications `new`" in done.stderr
    kept = done.stderr.partition("the results are in ")[2].partition(" instead")[0]
    assert len(Results.load(kept).cycles) == 9


def test_results_that_are_replaced_are_told(launched):
    assert "replaces" not in run_pair().stderr
    assert "replaces" not in run_pair("--append").stderr
    assert (
        "warning: what is measured now will replace the 6 launches in pair.ace; --append" in run_pair().stderr
    )


def test_no_launch_begins_when_the_time_would_be_up(launched):
    done = run_pair("--time", "1e-9")
    told = "1 launch in 0 s, and 3 were asked for: another one would end after the 1e-09 s of `time`"
    assert told in done.stderr
    assert launched[0] == [0]
    assert "3 launches: medians are known to ±0.0 %" in run_pair().stderr


@pytest.mark.parametrize(
    "end",
    [
        RunError("launch 3 failed"),
        UsageError("launch 3 failed"),
        OSError("launch 3 failed"),
        KeyboardInterrupt(),
        Stopped(signal.SIGTERM),
    ],
)
def test_launches_before_one_that_fails_or_is_stopped_are_kept(launched, end):
    launched[1].append(end)
    done = run_pair()
    assert "pair.ace: 2 launches, 6 cycles" in done.output
    assert Results.load("pair.ace").launches == (0, 1)
    if isinstance(end, Exception):
        assert done.exit_code == 3
        assert "error: launch 3 failed\nhelp: 2 launches before it: what they measured is kept" in done.stderr
    else:
        number = getattr(end, "number", signal.SIGINT)
        assert done.exit_code == 128 + number
        assert done.stderr.endswith(f"stopped by {signal.Signals(number).name}\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_keeps_the_launches_before_it(tmp_path, number):
    (tmp_path / "pair.toml").write_text(PAIR + "cycles = 10\n")
    command = [sys.executable, "-m", "pse", "ace", "run", "pair.toml", "-n", "2", "--launches", "1000"]
    with subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        while "launch 2" not in (line := run.stderr.readline()):
            assert line
        run.send_signal(number)
        output, said = run.communicate(timeout=60)
    assert run.returncode == 128 + number
    assert said.endswith(f"stopped by {signal.Signals(number).name}\n")
    kept = len(Results.load(tmp_path / "pair.ace").launches)
    assert kept >= 1
    assert output.startswith(f"pair.ace: {kept} launch")


def test_results_that_can_not_be_written_are_kept_elsewhere(launched, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    save, full = Results.save, []

    def refuse(self, path):
        if not full:
            full.append(path)
            raise UsageError(f"cannot write {path}: No space left on device")
        return save(self, path)

    monkeypatch.setattr(Results, "save", refuse)
    done = run_pair()
    assert done.exit_code == 2
    kept = done.stderr.partition("the results are in ")[2].partition(" instead")[0]
    assert len(Results.load(kept).cycles) == 9


def test_nodes_are_found_before_anything_starts():
    assert find_nodes(Hosts(), 3).of_ranks == (0, 0, 0)
    here = os.uname().nodename
    assert find_nodes(Hosts(names="localhost"), 3) == ((0, 0, 0), (here,))
    assert find_nodes(Hosts(names="no-such-machine.invalid"), 2) is None
