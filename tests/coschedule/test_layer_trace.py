"""The layer's events in a trace: slices, matches, and the calls and operations of pse.bcs.Comm."""

from pathlib import Path

import pytest
from pse_testing.jobs import TWO_NODES, needs_cliques, without_late_slices

from pse import analysis, trace

PROGRAM = Path(__file__).parent / "programs" / "traced.py"

pytestmark = pytest.mark.mpi


def traced(mpiexec, ranks, folder, **env):
    variables = {"PSE_TRACE_DIRECTORY": str(folder)} | env
    ended = mpiexec(ranks, PROGRAM, env=variables)
    assert (ended.code, ended.out, without_late_slices(ended.err)) == (0, "", "")
    found = trace.open(folder)
    assert (found.ranks, found.problems) == (tuple(range(ranks)), ())
    return found


def calls_of(found, rank):
    calls, names = found.routine_calls()
    return [names[number].removeprefix("MPI_") for number in calls[calls["rank"] == rank]["routine"]]


ROUND = [
    *("Irecv", "Send", "Wait", "Irecv", "Isend", "Waitall", "Send", "Probe", "Recv"),
    *("Allreduce", "Ibarrier", "Wait", "Alltoall"),
]


@pytest.mark.parametrize(
    ("ranks", "env"), [(1, {}), (3, {}), pytest.param(3, TWO_NODES, marks=needs_cliques())]
)
def test_calls_operations_and_slices_are_in_the_trace(mpiexec, tmp_path, ranks, env):
    found = traced(mpiexec, ranks, tmp_path / "t", **env)
    for rank in range(ranks):
        assert calls_of(found, rank) == [*ROUND, *ROUND, "Bcast", "Barrier", "Barrier"]
    summary = trace.summarize(found)
    world = [row for row in summary.communicators if row.size == ranks and row.sent]
    assert [(row.sent, row.received, row.collectives) for row in world] == [(6, 6, 7)] * ranks
    assert {row.sent_bytes for row in world} == {2 * (8 * 20_001 + 8)}
    slices, matches = found.time_slices(), found.slice_matches()
    assert (slices["begin"] + slices["exchange"] <= slices["end"]).all()
    for rank in range(ranks):
        own = matches[matches["rank"] == rank]
        assert (len(own), own["collective"].sum(), own["send"].sum()) == (2 * 10 + 3, 2 * 3 + 3, 2 * 3)
        assert (own["begin"] <= own["end"]).all()
    known = [trace.query.mpi_communicators(found, rank) for rank in range(ranks)]
    begun = {}  # On the first of the nodes.
    for one in slices:
        key = known[one["rank"]][int(one["communicator"])].name, one["slice"]
        begun[key] = min(begun.get(key, one["begin"]), one["begin"])
    for one in matches:
        name = known[one["rank"]][int(one["communicator"])].name
        assert begun[name, one["slice"]] <= one["begin"]


def test_the_analysis_finds_nothing_wrong_with_it(mpiexec, tmp_path):
    folder = tmp_path / "t"
    traced(mpiexec, 3, folder)
    cube = analysis.analyze(folder)
    assert cube.problems == ()
    assert cube.total("mpi_point2point") > 0


def test_a_folder_that_cant_be_written_to_costs_the_trace_only(mpiexec, tmp_path):
    (tmp_path / "file").write_text("")
    code = "from pse import bcs\nwith bcs.Comm() as comm: comm.Barrier()\nprint('ran')"
    ended = mpiexec(1, "-c", code, env={"PSE_TRACE_DIRECTORY": str(tmp_path / "file" / "t")})
    assert (ended.code, ended.out) == (0, "ran\n")
    assert ended.err.startswith("warning: rank 0 is not traced: ")
