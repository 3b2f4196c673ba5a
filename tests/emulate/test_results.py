"""Results are written as a whole and read back as they were; what is no such directory is named."""

import json

import numpy as np
import pytest

from pse.emulate import CYCLE, EXCHANGE, Results, ResultsError, join_results
from pse.errors import UsageError


@pytest.fixture
def results():
    cycles, exchanges = np.zeros(4, CYCLE), np.zeros(3, EXCHANGE)
    cycles["compute"], cycles["application"] = np.arange(4) * 0.5, [0, 1, 0, 1]
    exchanges["seconds"] = 1e-6
    return Results(
        cycles, exchanges, {"applications": [{"name": "halo"}, {"name": "noise", "ranks": 2}], "seed": 7}
    )


def test_what_was_saved_is_loaded(results, tmp_path):
    results.save(tmp_path / "first.ace")
    found = Results.load(tmp_path / "first.ace")
    assert (found.cycles == results.cycles).all()
    assert (found.exchanges == results.exchanges).all()
    assert found.metadata == results.metadata


def test_saving_again_replaces_the_results_and_leaves_nothing_else(results, tmp_path):
    for seed in (1, 2):
        Results(results.cycles, results.exchanges, {"seed": seed}).save(tmp_path / "same.ace")
    assert Results.load(tmp_path / "same.ace").metadata == {"seed": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["same.ace"]


def test_a_frame_has_the_names_of_applications(results):
    assert results.frame()["application_name"].tolist() == ["halo", "noise", "halo", "noise"]


def test_names_that_can_not_be_written_are_refused(results, tmp_path):
    with pytest.raises(UsageError, match=r"must end in \.ace"):
        results.save(tmp_path / "first")
    with pytest.raises(UsageError, match="there is no directory"):
        results.save(tmp_path / "none/first.ace")
    (tmp_path / "mine.ace").mkdir()
    with pytest.raises(UsageError, match="holds no results"):
        results.save(tmp_path / "mine.ace")


def test_damaged_results_are_named(results, tmp_path):
    with pytest.raises(ResultsError, match="holds no results of ACE"):
        Results.load(tmp_path)
    path = results.save(tmp_path / "damaged.ace")
    (path / "cycles.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ResultsError, match="can't be read"):
        Results.load(path)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("metadata.json", b"[]", "metadata.json holds no object"),
        (
            "metadata.json",
            b'{"version": 1, "applications": [5]}',
            "applications of the metadata is not a list",
        ),
        ("metadata.json", b'{"version": 1, "launches": 5}', "launches of the metadata is not a list"),
        ("metadata.json", b'{"version": 1, "applications": [{"name": "a"}]}', "a row with the application 1"),
        ("cycles.npy", b"PK\x03\x04", "cycles.npy holds no table"),
        ("exchanges.npy", b"", "exchanges.npy holds no table"),
    ],
)
def test_what_results_can_not_have_is_named(results, tmp_path, file, text, words):
    path = results.save(tmp_path / "odd.ace")
    (path / file).write_bytes(text)
    with pytest.raises(ResultsError, match=words):
        Results.load(path)


def test_tables_with_odd_rows_are_named(results, tmp_path):
    path = results.save(tmp_path / "odd.ace")
    np.save(path / "exchanges.npy", results.exchanges.reshape(1, -1))
    with pytest.raises(ResultsError, match=r"exchanges\.npy has 2 dimensions instead of one"):
        Results.load(path)
    for column, value in (("rank", -1), ("size", -5), ("load", np.nan)):
        rows = results.cycles.copy()
        rows[column][2] = value
        with pytest.raises(ResultsError, match=f"cycles.npy has a .*{column}"):
            Results.load(Results(rows, results.exchanges, results.metadata).save(path))


def test_launches_that_are_joined_are_numbered_anew_and_have_the_same_applications(results):
    both = join_results([results, results])
    assert (both.launches, len(both.cycles)) == ((0, 1), 8)
    assert join_results([both, results]).launches == (0, 1, 2)
    assert [one["launch"] for one in both.metadata["launches"]] == [0, 1]
    for name, words in (
        ("other", "the applications `halo` and `noise`, not `halo` and `other`"),
        ("noise", "ranks"),
    ):
        applications = [{"name": "halo"}, {"name": name, "ranks": 4}]
        with pytest.raises(UsageError, match=words):
            join_results(
                [results, Results(results.cycles, results.exchanges, {"applications": applications})]
            )


def test_results_of_a_newer_version_are_refused(results, tmp_path):
    path = results.save(tmp_path / "newer.ace")
    (path / "metadata.json").write_text(json.dumps({"version": 99}))
    with pytest.raises(ResultsError, match="version 99"):
        Results.load(path)


def test_tables_with_other_columns_are_refused():
    with pytest.raises(TypeError, match="expected the columns"):
        Results(np.zeros(1, EXCHANGE), np.zeros(1, EXCHANGE), {})
    with pytest.raises(TypeError, match="expected the columns"):
        Results(np.zeros(1, CYCLE), np.zeros(1, CYCLE), {})


def test_python_users_find_the_room_as_pse_ace():
    from pse import ace

    assert ace.Results is Results
    assert "Results" in dir(ace)
