"""``pse advise`` as a user has it: on a real run, and on recorded ones."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pse import trace
from pse.advise.model._cost_model import MeasuredCosts

PROGRAM = """\
coven 1
import "work.py" { wait, work }
param i64 units = 6
program real {
  for k in 0 .. units {
    thread_A wait(k) -> x     // sleeps
    thread_A work(x) -> y     // sleeps too
  }
}
"""

WORK = '''\
"""Modules that wait: a busy machine makes little difference to them."""

import time


#@ coven module wait(in i64 k, out f64 x[8])
def wait(k, x):
    time.sleep(0.03)
    x[...] = k


#@ coven module work(in f64 x[8], out f64 y[8])
def work(x, y):
    time.sleep(0.03)
    y[...] = x
'''


@pytest.mark.mpi
def test_from_a_run_to_a_better_program(pse: Callable, tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(WORK)
    path = tmp_path / "real.coven"
    path.write_text(PROGRAM)
    done = pse("run", "real.coven", "--trace", "trace", cwd=tmp_path)
    assert done.code == 0, done.err
    amount = MeasuredCosts(trace.open(tmp_path / "trace")).cores(None).amount
    assert 0 < amount <= len(os.sched_getaffinity(0))
    found = pse("advise", "trace", "--json", "--apply", cwd=tmp_path)
    assert found.code == 0, found.err
    advice = json.loads(found.out)
    assert 0.5 < advice["simulated"] / advice["measured"] < 2
    assert advice["gain"] > 0.2
    assert [edit["after"] for edit in advice["proposal"]] == ["thread_B"]
    assert "real.coven: written" in found.err
    assert "// sleeps" in path.read_text()
    checked = pse("check", "real.coven", cwd=tmp_path)
    assert checked.code == 0
    again = pse("advise", "trace", cwd=tmp_path)
    assert again.code == 0, again.err
    assert "was changed since this run" in again.out


def test_the_proposal_is_shown_before_it_is_written(pse: Callable, pipeline: Path, tmp_path: Path) -> None:
    before = (tmp_path / "program.coven").read_text()
    shown = pse("advise", pipeline, cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert "proposed" in shown.out
    assert "44 % less" in shown.out
    assert "write it with --apply" in shown.out
    assert (tmp_path / "program.coven").read_text() == before
    written = pse("advise", pipeline, "--apply", cwd=tmp_path)
    assert written.out.rstrip().endswith("program.coven: written")
    assert (tmp_path / "program.coven").read_text() != before


def test_threads_that_bring_nothing_are_not_praised(pse: Callable, pipeline: Path, tmp_path: Path) -> None:
    shown = pse(
        "advise", pipeline, "--threads", "compute=thread_C", "--threads", "transfer=thread_C", cwd=tmp_path
    )
    assert shown.code == 0, shown.err
    assert "these threads bring nothing: calls wait for each other all the same" in shown.out
    assert "of its own" not in shown.out


def test_a_changed_program_is_not_offered_to_be_written(
    pse: Callable, pipeline: Path, tmp_path: Path
) -> None:
    path = tmp_path / "program.coven"
    (pipeline / "program.coven").write_text(path.read_text())
    path.write_text(path.read_text() + "// changed\n")
    shown = pse("advise", pipeline, cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert (
        "program.coven was changed since this run; the advice is for what ran, --apply leaves it" in shown.out
    )
    assert "write it with --apply" not in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no trace"),
        (["trace", "--link", "fast"], "expected a rate"),
        (["trace", "-p", "0"], "not a number of processors"),
    ],
)
def test_what_is_wrong_is_said(
    pse: Callable, pipeline: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = pse("advise", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
