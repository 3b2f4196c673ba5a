"""What the monitor of the coscheduled layer says, and its files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse import bcs
from pse.errors import UsageError

PROGRAM = Path(__file__).parent / "programs" / "monitored.py"
SIZES = ("0", "1", "7", "8", "9", "100", "4096", "4097", "70000")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("monitored")


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_counts_and_sizes_are_those_of_the_program(mpiexec, folder, ranks):
    variables = {"PSE_BCS_MMDS": f"{folder / 'm'}{ranks}", "PSE_BCS_EMDS": f"{folder / 'e'}{ranks}"}
    ended = mpiexec(ranks, PROGRAM, *SIZES, env=variables)
    assert (ended.code, ended.out) == (0, "as expected\n"), ended.err
    reports = [bcs.Report.load(folder / f"m{ranks}" / f"mmds-0-{rank}.npy") for rank in range(ranks)]
    assert [report.rank for report in reports] == list(range(ranks))
    assert all(report.latencies["Recv"].count == len(SIZES) for report in reports)
    rows = {row["routine"]: row for row in reports[0].rows()}
    assert rows["Recv"]["bytes"] == sum(map(int, SIZES))
    assert rows["computation"]["total"] > 5
    slices = np.load(folder / f"e{ranks}" / "emds-0.npy")
    assert slices["np2pmsm"].sum() == len(SIZES) * ranks


@pytest.mark.mpi
def test_a_communicator_takes_what_the_environment_chooses(mpiexec, tmp_path):
    code = "from pse import bcs\nwith bcs.Comm() as comm: [comm.Barrier() for _ in range(9)]"
    chosen = {
        "PSE_BCS_MMDS": str(tmp_path), "PSE_BCS_MMDS_RANKS": "1", "PSE_BCS_MMDS_METRICS": "Barrier",
        "PSE_BCS_MMDS_RESOLUTION": "0", "PSE_BCS_EMDS": str(tmp_path), "PSE_BCS_EMDS_SLICES": "2:4",
    }  # fmt: skip
    ended = mpiexec(2, "-c", code, env=chosen)
    assert ended.code == 0, ended.err
    (report,) = bcs.load_reports(tmp_path)
    assert (report.rank, report.latencies["Barrier"].resolution) == (1, 0)
    assert [row["routine"] for row in report.rows()] == ["Barrier"]
    assert bcs.load_slices(tmp_path)["slice"].tolist() == [2, 3, 4]
    wrong = chosen | {"PSE_BCS_MMDS_METRICS": "Barier"}
    ended = mpiexec(1, "-c", code, env=wrong)
    assert "PSE_BCS_MMDS_METRICS names 'Barier', and there is no such metric" in ended.err


@settings(deadline=None, max_examples=some_of(40))
@given(st.lists(st.integers(0, 2**40), max_size=20), st.integers(0, 2**40))
def test_a_report_comes_back_from_its_file(tmp_path_factory, counts, total):
    path = tmp_path_factory.mktemp("reports") / "one.npy"
    one = bcs.Distribution(3, total, 1, 2, np.array(counts, np.uint64))
    bcs.Report(7, one, one, {"Send": one}, {"Send": one, "Igather": one}).save(path)
    read = bcs.Report.load(path)
    assert (read.rank, list(read.latencies), list(read.sizes)) == (7, ["Send"], ["Send", "Igather"])
    assert read.computation.total == total
    assert np.array_equal(read.sizes["Igather"].bins, counts)


def test_a_file_that_is_no_report_is_refused(tmp_path):
    one = bcs.Distribution(0, 0, 0, 0, np.zeros(5, np.uint64))
    bcs.Report(0, one, one, {}, {}).save(tmp_path / "whole.npy")
    whole = (tmp_path / "whole.npy").read_bytes()
    for length in range(0, len(whole), 50):
        (tmp_path / "cut.npy").write_bytes(whole[:length])
        with pytest.raises(UsageError, match=r"cut\.npy is not a report of a process"):
            bcs.Report.load(tmp_path / "cut.npy")
    (tmp_path / "words.npy").write_text("not numbers")
    with pytest.raises(UsageError, match="is not a report of a process: it has no array of NumPy"):
        bcs.Report.load(tmp_path / "words.npy")
    with pytest.raises(UsageError, match="there is no file"):
        bcs.Report.load(tmp_path / "absent.npz")


def test_edges_of_bins_grow():
    edges = bcs.Distribution(0, 0, 0, 0, np.zeros(200, np.uint64)).edges().astype(float)
    assert edges[0] == 0
    assert (np.diff(edges) > 0).all()
    assert (np.diff(edges[8:]) <= edges[8:-1] / 8).all()
