"""Recorded programs: what ranks computed and sent is replayed without the program."""

import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from pse_testing.jobs import compile_mpi_tools

import pse.trace
from pse._abi.emulate import StepKind
from pse.advise import AdviceError, sensitivity, sensitivity_text
from pse.emulate import (
    ConfigurationError,
    Dispersion,
    Model,
    PatternError,
    RecordedProgram,
    Step,
    measure,
    read_configuration,
    record_program,
    replay,
    simulate,
)
from pse.emulate.recorded._conversion import _without
from pse.emulate.recorded._program import load_program
from pse.runtime.launch import find_mpiexec
from pse.trace import TraceError
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


OF_ALL = ("MPI_Allreduce", "MPI_Gather", "MPI_Alltoall")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record a small program of MPI on three ranks; give the directory that it ran in."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "ring.py").write_text(PROGRAM)
    (folder / "trace.conf").write_text("module trace\n  argument directory ring\n")
    job = [find_mpiexec().path, "-n", "3", sys.executable, "ring.py"]
    compile_mpi_tools()
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


def test_neighbourhood_operations_are_messages_to_the_neighbours(program):
    last = [[step.peer for step in steps if step.kind == StepKind.ISEND][4:] for steps in program.steps]
    assert [sorted(peers) for peers in last] == [[1], [0, 2], [1]]


def test_what_the_trace_does_not_name_is_said(monkeypatch, recorded):
    monkeypatch.setattr(Communicators, "neighbours", lambda self, rank: {})
    program = record_program(pse.trace.open(recorded / "ring"))
    assert program.notes == (
        "left out: 1 collective operation among neighbours, whom the trace doesn't name",
    )


@pytest.fixture
def damaged(recorded, tmp_path):
    """Give a copy of the trace, and the file of rank 1 in it."""
    copy = shutil.copytree(recorded / "ring", tmp_path / "copy")
    return copy, next(copy.glob("rank-00001*"))


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_trace_without_the_file_of_a_rank_is_refused(damaged, rank):
    copy, _ = damaged
    next(copy.glob(f"rank-0000{rank}*")).unlink()
    opened = pse.trace.open(copy)
    assert opened.problems == (f"rank {rank}: the trace has none of its events",)
    with pytest.raises(TraceError, match=f"copy lacks the events of rank {rank}: without them") as caught:
        record_program(opened)
    assert caught.value.help == "record the program again"


@pytest.mark.parametrize("data", [b"", b"garbage" * 1000])
def test_a_trace_with_an_unreadable_file_is_refused_with_the_cause(damaged, data):
    copy, file = damaged
    file.write_bytes(data)
    network = Model(1e-6, 1e-9, dispersion=Dispersion((1.0,), ((0, (0.5, 1.5)),)))
    for use in (record_program, lambda opened: sensitivity(opened, network)):
        with pytest.raises(TraceError, match="lacks the events of rank 1") as caught:
            use(pse.trace.open(copy))
        assert caught.value.help.startswith("rank 1: ")


def test_what_a_cut_file_lacks_is_noted_with_the_program_and_its_sensitivity(damaged):
    copy, file = damaged
    opened = pse.trace.open(copy)
    begin = file.stat().st_size - opened.events(1).nbytes
    with file.open("r+b") as cut:
        cut.truncate(begin + opened.events(1).nbytes // 2)
    problems = pse.trace.open(copy).problems
    program = record_program(pse.trace.open(copy))
    assert problems
    assert program.notes[: len(problems)] == problems
    assert any(note.endswith("of which the trace has one end only") for note in program.notes)
    network = Model(1e-6, 1e-9, dispersion=Dispersion((1.0,), ((0, (0.5, 1.5)),)))
    found = sensitivity(copy, network, draws=10)
    assert found.notes == program.notes
    assert f"note: {problems[0]}" in [*sensitivity_text(found)]


def test_a_group_meets_without_the_others():
    meet, alone = Step(StepKind.BARRIER, group=1), Step(StepKind.COMPUTE, seconds=5.0)
    assert simulate([[meet], [alone], [meet]], groups=[(0, 2)]) == [1.0, 5.0, 1.0]
    with pytest.raises(PatternError, match="rank 0 is in barrier"):
        simulate([[meet], [alone], []], groups=[(0, 2)])


def test_a_recorded_run_varies_with_the_network_by_call_paths(recorded):
    factors = tuple(np.linspace(0.5, 1.5, 11))
    network = Model(0.1, 1e-9, dispersion=Dispersion((1.0,), ((0, factors),)))
    found = sensitivity(recorded / "ring", network, draws=100)
    with pytest.raises(AdviceError, match="it has no program to look at"):
        sensitivity(recorded / "ring", network, program="ring.coven")
    assert found.launches == 0
    names = [one.site.rpartition(" / ")[2].removesuffix("_c") for one in found.sites]
    assert dict(zip(names, [(one.messages, one.noun) for one in found.sites], strict=True)) == {
        "MPI_Isend": (12, "message"),
        "MPI_Neighbor_allgather": (4, "message"),
        **dict.fromkeys(OF_ALL, (4, "collective operation")),
        "MPI_Bcast": (5, "collective operation"),
        "MPI_Barrier": (2, "collective operation"),
        **dict.fromkeys(("MPI_Comm_split", "MPI_Cart_create"), (1, "collective operation")),
    }
    assert found.low < found.median < found.high
    assert sum(one.share for one in found.sites) == pytest.approx(1, abs=0.2)


def test_a_replayed_message_takes_what_its_draw_says():
    steps = (
        (Step(StepKind.COMPUTE, seconds=1.0), Step(StepKind.ISEND, 1, 8), Step(StepKind.BARRIER)),
        (Step(StepKind.RECEIVE, 0, 8), Step(StepKind.BARRIER)),
        (Step(StepKind.COMPUTE, seconds=3.5), Step(StepKind.BARRIER)),
    )
    seen = []

    def cost(rank, place, step, ranks):
        seen.append((rank, place, step.kind, tuple(ranks)))
        return np.array([2.0, 3.0]) if step.kind == StepKind.ISEND else np.array([0.5, 0.0])

    assert replay(RecordedProgram(steps), cost, 2).tolist() == [4.0, 4.0]
    assert seen == [(0, 1, StepKind.ISEND, ()), (0, 2, StepKind.BARRIER, (0, 1, 2))]
    with pytest.raises(PatternError, match="wait for each other for ever"):
        replay(RecordedProgram(((Step(StepKind.RECEIVE, 1),), ())), cost, 2)


def test_a_program_is_written_and_read(program, tmp_path):
    assert load_program(str(program.save(tmp_path / "ring.npz"))) == program
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with pytest.raises(PatternError, match="is not a recorded program"):
        load_program(str(tmp_path / "other.npz"))
    with pytest.raises(PatternError, match="cannot read the recorded program"):
        load_program(str(tmp_path / "none.npz"))
    whole = (tmp_path / "ring.npz").read_bytes()
    (tmp_path / "part.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PatternError, match="it is damaged, or a file of another kind"):
        load_program(str(tmp_path / "part.npz"))
    (tmp_path / "wrong.npz").write_bytes(whole[:60] + bytes(40) + whole[100:])
    with pytest.raises(PatternError, match="is damaged"):
        load_program(str(tmp_path / "wrong.npz"))


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
