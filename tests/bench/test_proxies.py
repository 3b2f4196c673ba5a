"""Proxies over MPI and coscheduled: the results of the serial program; what is read off slices."""

import subprocess
import sys

import numpy as np
import pytest

from pse._abi.coschedule import SLICE_DTYPE
from pse.bench.peers.bcs import barriers, sage, sweep3d
from pse.runtime.launch import find_mpiexec

SERIAL = "the results are the serial program's, bit by bit"
PROXIES = (("sage",), ("sweep3d",), ("sweep3d", "--nonblocking"))
SLICE_NS = round(1e9 * barriers.SLICE)


def launch(ranks, name, *words):
    command = [
        find_mpiexec().path,
        "-n",
        str(ranks),
        sys.executable,
        "-m",
        f"pse.bench.peers.bcs.{name}",
        *words,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.mpi
@pytest.mark.parametrize("comm", ["mpi", "bcs", "bcs-strict"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_results_are_those_of_the_serial_program(ranks, comm, nothing_left_behind):
    for name, *words in PROXIES:
        done = launch(ranks, name, "--comm", comm, "--steps", "23", "--sweeps", "1", *words)
        assert (done.returncode, done.stderr) == (0, "")
        first, second = done.stdout.splitlines()
        assert f"{ranks} rank{'s' * (ranks > 1)}, {comm}: " in first
        assert second.startswith(SERIAL)


def test_results_depend_on_every_step_and_on_the_number_of_ranks():
    for module in (sage, sweep3d):
        digests = {module.oracle(ranks, 1, steps) for ranks in (1, 2, 3) for steps in (1, 2, 13)}
        assert len(digests) == 9


@pytest.mark.parametrize(("ranks", "grid"), [(1, (1, 1)), (2, (2, 1)), (4, (2, 2)), (5, (5, 1)), (6, (3, 2))])
def test_grids_are_near_squares(ranks, grid):
    assert sweep3d.grid_of(ranks) == grid


def test_each_corner_begins_once():
    ends = [sweep3d.Sweep(3, 4, 1).neighbors(sweep3d.BLOCKS * corner, -1) for corner in range(4)]
    assert [dict(upstream) for upstream in ends] == [{0: 2, 1: 1}, {1: 1}, {}, {0: 2}]


def slices(numbers, barriers_in, late_ns=0):
    """Make rows of slices that begin at their time, except the last."""
    rows = np.zeros(len(numbers), SLICE_DTYPE)
    rows["slice"], rows["timed"] = numbers, 1
    rows["begin"] = SLICE_NS * rows["slice"]
    rows["begin"][-1] += late_ns
    rows["ncollmsm"] = np.isin(numbers, barriers_in)
    return rows


def test_slices_between_barriers_are_those_that_schedule_one():
    rows = slices([8, 9, 17, 18, 26, 27, 36], [8, 17, 26, 36])
    assert barriers.slices_of_barriers(rows).tolist() == [9, 9, 10]
    assert barriers.histogram(barriers.slices_of_barriers(rows)).split() == [
        "9",
        "slices",
        "2",
        "times",
        "10",
        "slices",
        "1",
        "times",
    ]


def test_periods_and_jitter_count_the_slices_that_were_skipped():
    rows = slices([8, 9, 17, 18], [8, 17], late_ns=12_000)
    assert barriers.periods(rows).tolist() == [SLICE_NS, SLICE_NS, SLICE_NS + 12_000]
    assert barriers.jitter(rows, barriers.SLICE).tolist() == [0, 0, 12_000]


@pytest.mark.mpi
def test_a_barrier_every_nine_slices():
    """On a busy machine some come later, never earlier."""
    done = launch(2, "barriers", "--barriers", "30")
    assert (done.returncode, done.stderr) == (0, "")
    counted = [line.split() for line in done.stdout.splitlines() if " slices " in line]
    assert min(int(words[0]) for words in counted) >= 8
    assert "GETTS" in done.stdout
