"""Runs whose threads can't overlap: one rank executes the calls of both, to the same bits."""

import json
import shutil
from pathlib import Path

import pytest
from pse_testing.jobs import PROGRAMS, Job, beside_python

pytestmark = pytest.mark.mpi

HEAT = PROGRAMS.parents[2] / "programs" / "heat.coven"
SMALL = ("-D", "NX=48", "-D", "NY=40", "-D", "tol=1e-2", "--report", "json")


@pytest.fixture
def heat(tmp_path) -> Path:
    """The program heat with one partition for each processor."""
    text = HEAT.read_text().replace("4 * procs as grid(2 * procs, 2)", "procs as grid(procs, 1)")
    assert "partition P = procs" in text
    (tmp_path / "heat.coven").write_text(text)
    shutil.copy(HEAT.with_name("heat.c"), tmp_path)
    return tmp_path


def report_of(folder: Path, *arguments: str) -> tuple[dict, bytes]:
    """Run the program there; give its report and what it saved."""
    ran = Job([beside_python("pse"), "run", "heat.coven", *SMALL, *arguments], directory=folder)
    assert ran.wait() == 0, ran.err
    return json.loads(ran.out), (folder / "heat.npy").read_bytes()


def threads_of(report: dict) -> dict[str, str]:
    """Give the thread that executed each call site."""
    return {site["label"]: site["thread"] for site in report["sites"]}


@pytest.mark.parametrize("processors", ["1", "3"])
def test_an_exchange_runs_where_the_steps_do_and_gives_the_same_bits(heat, processors):
    together, field = report_of(heat, "-p", processors)
    apart, same = report_of(heat, "-p", processors, "-o", "fold=off")
    assert (together["folded"], apart["folded"]) == ({"thread_C": "thread_B"}, {})
    assert threads_of(together)["exchange"] == "thread_B"
    assert threads_of(apart)["exchange"] == "thread_C"
    assert together["ranks"] == apart["ranks"]
    assert field == same


@pytest.mark.parametrize("change", [("-o", "balance=5"), ("--serial",)])
def test_threads_stay_apart_where_partitions_may_meet_and_where_there_is_one(heat, change):
    report, _ = report_of(heat, "-p", "1", *change)
    assert report["folded"] == {}


def test_with_several_partitions_for_a_processor_threads_stay_apart(heat):
    text = (heat / "heat.coven").read_text()
    (heat / "heat.coven").write_text(
        text.replace("procs as grid(procs, 1)", "2 * procs as grid(2 * procs, 1)")
    )
    report, _ = report_of(heat)
    assert report["folded"] == {}
