"""``pse bcs report``: what it prints and draws, and what it refuses."""

import json

import numpy as np
import pytest

from pse import bcs
from pse._abi.coschedule import SLICE_DTYPE


@pytest.fixture
def folder(tmp_path):
    """Two ranks' reports, and ten slices."""
    for rank in range(2):
        calls = bcs.Distribution(2, 3_000_000 * (rank + 1), 1_000_000, 2_000_000, np.zeros(9, np.uint64))
        sizes = bcs.Distribution(2, 80, 40, 40, np.zeros(9, np.uint64))
        bcs.Report(rank, calls, calls, {"Send": calls}, {"Send": sizes}).save(tmp_path / f"mmds-0-{rank}.npy")
    slices = np.zeros(10, SLICE_DTYPE)
    slices["slice"], slices["gtts"], slices["np2pmsm"] = np.arange(5, 15), 1000, 3
    slices["length"] = [250_000] * 7 + [500_000] * 3
    np.save(tmp_path / "emds-0.npy", slices)
    return tmp_path


def test_calls_of_all_ranks_are_added_up(pse, folder):
    ended = pse("bcs", "report", folder)
    rows = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert rows[:3] == [
        "2 ranks",
        "routine least greatest total count mean",
        "Send 1.00 ms 2.00 ms 9.00 ms 4 2.25 ms",
    ]
    assert (
        "10 slices of 250 µs, from slice 12 on of 500 µs, 0 at a time of their own; exchange and" in ended.out
    )
    assert "scheduling take 1.00 µs" in ended.out
    assert "30 messages, 0 collective operations" in ended.out


def test_one_rank_and_some_slices_can_be_asked_for(pse, folder):
    found = json.loads(pse("bcs", "report", folder, "--rank", "1", "--slices", "6:8", "--json").out)
    assert [row["total"] for row in found["routines"]] == [6, 6, 6]
    assert (found["slices"]["count"], found["slices"]["first"], found["slices"]["last"]) == (3, 6, 8)


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_report_draws_slices_into_a_file(pse, folder, name):
    assert pse("bcs", "report", folder, "-o", folder / name, "--metric", "bpts").code == 0
    assert (folder / name).stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent"], "error: there is no directory absent"),
        (
            [".", "--communicator", "3"],
            "error: . has no files of the monitors for communicator 3\nhelp: record it: PSE_BCS_MMDS=. ",
        ),
        (
            [".", "--rank", "7", "--communicator", "1"],
            "error: . has no files of the monitors for communicator 1 and rank 7",
        ),
        ([".", "--slices", "1-3"], "error: slices are '1-3'; they must be two numbers\nhelp: for example"),
        ([".", "--slices", "100:200"], "error: there are no slices 100 to 200\nhelp: there are 5 to 14"),
        (
            [".", "-o", "a.png", "--metric", "get"],
            "error: slices have no metric 'get'\nhelp: did you mean `getts`?",
        ),
        ([".", "-o", "a.doc"], "error: the format can't be told from the name a.doc"),
    ],
)
def test_what_is_not_there_is_told(pse, folder, arguments, words):
    ended = pse("bcs", "report", *arguments, cwd=folder)
    assert ended.code == 2
    assert ended.err.startswith(words)


@pytest.fixture
def folders(folder, tmp_path_factory):
    """The same, and a folder of another node, which has kept fewer slices and has two rows in one of them."""
    other = tmp_path_factory.mktemp("other")
    slices = np.load(folder / "emds-0.npy")[[2, 3, 3, 4, 5, 6, 7, 8, 9]]
    slices["gtts"][0], slices["bpts"], slices["ncollmsm"] = 5000, 1, 1
    np.save(other / "emds-0-1.npy", slices)
    return folder, other


def test_slices_of_several_nodes_are_put_together(pse, folders):
    merged = bcs.load_slices(folders)
    assert merged["slice"].tolist() == list(range(7, 15))
    assert merged["gtts"].tolist() == [5000, 2000, *[1000] * 6]
    assert merged["np2pmsm"].tolist() == [6, 9, *[6] * 6]
    assert (merged["bpts"] == 1).all()
    found = json.loads(pse("bcs", "report", *folders, "--slices", "7:9", "--json").out)
    assert (found["slices"]["count"], found["slices"]["messages"]) == (3, 21)
    assert [(row["node"], row["slices"], row["np2pmsm"]) for row in found["nodes"]] == [(0, 3, 9), (1, 3, 12)]
    rows = [line.split()[:5] for line in pse("bcs", "report", *folders).out.splitlines()]
    assert ["1", "8", "1.00", "ms", "27"] in rows or ["1", "8", "1.00", "µs", "27"] in rows


def test_damaged_files_are_told(pse, folder):
    for name in ("emds-0.npy", "mmds-0-1.npy"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        ended = pse("bcs", "report", folder)
        assert (ended.code, ended.out) == (2, "")
        assert name in ended.err
        (folder / name).write_bytes(whole)
