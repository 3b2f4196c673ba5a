"""Which cores ranks use: what `pin` may say, what it means, and what a run shows of it."""

import json
import os
import subprocess
import sys

import pytest
from pse_testing.harness import compile_program

from pse.errors import UsageError
from pse.language.types._options import read_pin
from pse.program import place_threads
from pse.runtime._channel import sleep_exactly, wake_soon
from pse.runtime.launch import find_mpiexec, rank_environment
from pse.runtime.rank._cores import choose_cores, cores_text

PROGRAM = """coven 1
import "k.py" { make, show }
partition P = procs
program pinned {
  thread_A make(8 * procs) -> all
  thread_A scatter(all) -> x @ block(0)
  PARALLEL over P { thread_B show(x)  thread_C transpose(x) -> y @ block(0)  thread_B show(y) }
}
"""
MODULES = """
import os
import numpy as np

#@ coven module make(in i64 n, out f64 x[n, n])
def make(n):
    return np.zeros((n, n))

#@ coven module show(in f64 x[m, n])
def show(x):
    print("may start", os.environ.get("OMP_NUM_THREADS"))
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "k.py").write_text(MODULES)
    (tmp_path / "p.coven").write_text(PROGRAM)
    return tmp_path / "p.coven"


@pytest.mark.parametrize("good", ["off", "compact", "spread", "0", "0,2,4-7", "3-3"])
def test_pin_takes_words_and_lists(good):
    assert read_pin(good) == good


@pytest.mark.parametrize("bad", ["", "on", "0,", "-1", "3-1", "0 1", "a-b", "0-1-2"])
def test_pin_takes_nothing_else(bad):
    assert read_pin(bad) is None


@pytest.mark.parametrize(
    ("pin", "expected"),
    [
        ("off", [None] * 7),
        ("compact", [{4, 6, 8}, {4}, {4}, {6}, {6}, {8}, {8}]),
        ("spread", [{4}, {6}, {8}, {4}, {6}, {8}, {4}]),
        ("8,4", [{8, 4}, {8}, {8}, {4}, {4}, {8}, {8}]),
    ],
)
def test_ranks_get_cores_as_the_option_pin_says(program, pin, expected):
    placement = place_threads(compile_program(program.read_text(), program))
    assert [choose_cores(pin, placement, [0] * 7, rank, [4, 6, 8]) for rank in range(7)] == expected


def test_every_node_counts_its_own_processors(program):
    placement = place_threads(compile_program(program.read_text(), program))
    nodes = [0, 0, 0, 1, 1, 1, 1]
    chosen = [choose_cores("compact", placement, nodes, rank, [0, 1]) for rank in range(7)]
    assert chosen == [{0, 1}, {0}, {0}, {0}, {0}, {1}, {1}]


def test_a_core_that_is_not_there_is_named(program):
    placement = place_threads(compile_program(program.read_text(), program))
    with pytest.raises(UsageError, match=r"pin = 0,7: core 7 doesn't exist.*ranks may use 0-1,5"):
        choose_cores("0,7", placement, [0] * 7, 0, [0, 1, 5])


def test_cores_are_written_as_runs():
    assert cores_text([3, 1, 0, 7, 8]) == "0-1,3,7-8"


def test_the_scheduler_takes_what_it_is_asked():
    assert wake_soon()
    assert sleep_exactly()


@pytest.mark.mpi
def test_a_run_shows_who_sits_where(pse, program):
    core = sorted(os.sched_getaffinity(0))[-1]
    ended = pse("run", program.name, "-p", "2", "-o", f"pin={core}", "--report", "json", cwd=program.parent)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["cores"] == [str(core)] * 5
    ended = pse("run", program.name, "-p", "2", "-o", "pin=99999", cwd=program.parent)
    assert ended.code == 2
    assert "pin = 99999: core 99999 doesn't exist" in ended.err
    assert ended.err.count("error:") == 1


@pytest.mark.mpi
def test_libraries_start_as_many_threads_as_a_rank_has_cores_unless_told_otherwise(pse, program, monkeypatch):
    cores = max(1, len(os.sched_getaffinity(0)) // 5)
    for told, started in ((None, cores), ("7", 7)):
        monkeypatch.delenv("OMP_NUM_THREADS") if told is None else monkeypatch.setenv("OMP_NUM_THREADS", told)
        ended = pse("run", program.name, "-p", "2", "-q", cwd=program.parent)
        assert ended.out.split("\n")[:-1] == [f"may start {started}"] * 4, ended.err


@pytest.mark.mpi
def test_no_launcher_binds_ranks_to_cores_by_itself():
    found, cores = find_mpiexec(), len(os.sched_getaffinity(0))
    rank = f"import os, sys; sys.exit(len(os.sched_getaffinity(0)) != {cores})"
    environment = rank_environment(os.environ, found)
    subprocess.run(
        [found.path, "-n", "2", sys.executable, "-c", rank], env=environment, timeout=60, check=True
    )
