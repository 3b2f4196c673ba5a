"""Recorded programs: what ranks computed and sent is replayed without the program."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import pse.trace
from pse._abi.emulate import StepKind
from pse.emulate import (
    ConfigurationError,
    PatternError,
    RecordedProgram,
    Step,
    measure,
    read_configuration,
    record_program,
    simulate,
)
from pse.emulate.recorded._conversion import _without
from pse.emulate.recorded._program import load_program
from pse.runtime.launch import find_mpiexec
from pse.trace.query import Communicators

pytestmark = pytest.mark.mpi

PROGRAM = """\
from mpi4py import MPI
import time
import numpy as np
comm = MPI.COMM_WORLD
own, other, all = np.ones(100), np.ones(100), np.ones(300)
comm.Barrier()
for turn in range(4):
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass
    request = comm.Isend(own, (comm.rank + 1) % 3)
    comm.Recv(other, (comm.rank - 1) % 3)
    request.Wait()
    comm.Allreduce(MPI.IN_PLACE, own)
    comm.Bcast(own, 1)
    comm.Gather(own, all if comm.rank == 2 else None, 2)
    comm.Alltoall(all, all.copy())
half = comm.Split(comm.rank > 0, -comm.rank)
half.Barrier()
half.Bcast(own, half.size - 1)
line = comm.Create_cart([3], periods=[False])
line.Neighbor_allgather(own, np.ones(200))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record a small program of MPI on three ranks; give the directory that it ran in."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "ring.py").write_text(PROGRAM)
    (folder / "trace.conf").write_text("module trace\n  argument directory ring\n")
    job = [find_mpiexec().path, "-n", "3", sys.executable, "ring.py"]
    pse_tools = [sys.executable, "-m", "pse", "tools", "run", "-c", "trace.conf", "--", *job]
    subprocess.run(pse_tools, check=True, cwd=folder, timeout=120, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def program(recorded):
    """Make an emulated application's program of the run."""
    return record_program(pse.trace.open(recorded / "ring"))


def test_messages_and_collective_operations_are_those_of_the_program(program):
    for rank, steps in enumerate(program.steps):
        kinds = Counter(step.kind for step in steps if step.group == 0)
        sent = [(step.peer, step.bytes) for step in steps if step.kind == StepKind.ISEND]
        assert sent[:4] == [((rank + 1) % 3, 800)] * 4
        of_parts = (StepKind.ALLREDUCE, StepKind.BROADCAST, StepKind.GATHER, StepKind.ALLTOALL)
        assert [kinds[kind] for kind in of_parts] == [4] * 4
        assert {step.bytes for step in steps if step.kind in of_parts} == {800}
        roots = {step.kind: step.peer for step in steps if step.group == 0}
        assert (roots[StepKind.BROADCAST], roots[StepKind.GATHER]) == (1, 2)


def test_compute_times_are_those_between_routines(program):
    for steps in program.steps:
        computed = [step.seconds for step in steps if step.kind == StepKind.COMPUTE]
        assert sum(seconds > 0.0019 for seconds in computed) >= 4
    assert program.compute >= 0.008


def test_operations_of_communicators_have_groups_of_ranks(program):
    assert program.notes == ()
    assert program.groups == ((2, 1),)
    for rank, steps in enumerate(program.steps):
        found = [(step.kind, step.peer, step.bytes) for step in steps if step.group == 1]
        known = [(StepKind.BARRIER, 0, 0), (StepKind.BROADCAST, 1, 800)]
        assert found == (known if rank else [])


def test_neighborhood_operations_are_messages_to_the_neighbors(program):
    last = [[step.peer for step in steps if step.kind == StepKind.ISEND][4:] for steps in program.steps]
    assert [sorted(peers) for peers in last] == [[1], [0, 2], [1]]


def test_what_the_trace_does_not_name_is_said(monkeypatch, recorded):
    monkeypatch.setattr(Communicators, "neighbors", lambda self, rank: {})
    program = record_program(pse.trace.open(recorded / "ring"))
    assert program.notes == ("left out: 1 collective operation among neighbors, whom the trace doesn't name",)


def test_a_group_meets_without_the_others():
    meet, alone = Step(StepKind.BARRIER, group=1), Step(StepKind.COMPUTE, seconds=5.0)
    assert simulate([[meet], [alone], [meet]], groups=[(0, 2)]) == [1.0, 5.0, 1.0]
    with pytest.raises(PatternError, match="rank 0 is in barrier"):
        simulate([[meet], [alone], []], groups=[(0, 2)])


def test_a_program_is_written_and_read(program, tmp_path):
    assert load_program(str(program.save(tmp_path / "ring.npz"))) == program
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with pytest.raises(PatternError, match="is not a recorded program"):
        load_program(str(tmp_path / "other.npz"))
    with pytest.raises(PatternError, match="cannot read the recorded program"):
        load_program(str(tmp_path / "none.npz"))


def test_a_recorded_run_is_replayed_from_the_command_line(recorded):
    words = [sys.executable, "-m", "pse", "ace", "from-trace", "ring"]
    done = subprocess.run(words, cwd=recorded, capture_output=True, text=True, timeout=60)
    assert "ring.toml: 3 ranks, 12.5 KiB in messages" in done.stdout
    again = subprocess.run(words, cwd=recorded, capture_output=True, text=True, timeout=60)
    assert again.returncode == 2
    assert "ring.toml exists" in again.stderr
    file = recorded / "ring.toml"
    head = '[run]\nwaits = "sleep"\nlaunches = 1\nmost_launches = 1\n[exchanges]\nalpha = 1e-5\nbeta = 1e-9\n'
    file.write_text(head + file.read_text() + "cycles = 2\n")
    found = measure(read_configuration(file))
    assert len(found.cycles) == 6
    assert (found.cycles["compute"] >= found.cycles["calculated"] - 1e-6).all()
    assert found.cycles["calculated"].min() >= 0.008
    file.write_text(file.read_text().replace("ranks = 3", "ranks = 4"))
    with pytest.raises(ConfigurationError, match="recorded on 3 ranks, and the application has 4"):
        read_configuration(file)


def test_time_in_holes_is_no_computing():
    spans, holes = np.array([[0, 10], [20, 30]]), np.array([[25, 40], [2, 3], [2, 5], [12, 21]])
    assert list(_without(spans, holes)) == [(0, 2), (5, 10), (21, 25)]


def test_computing_is_the_mean_of_ranks():
    steps = ((Step(StepKind.COMPUTE, seconds=2.0),), (Step(StepKind.ISEND, 0, 5), Step(StepKind.WAITALL)))
    assert (RecordedProgram(steps).compute, RecordedProgram(steps).bytes) == (1.0, 5)
