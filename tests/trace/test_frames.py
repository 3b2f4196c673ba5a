"""Data frames: what numbers stand for, in seconds."""

import sys

import pytest

from pse import trace

pandas = pytest.importorskip("pandas")


@pytest.fixture
def read(small_trace):
    return trace.open(small_trace)


def test_module_calls_have_names_and_seconds(read):
    frame = read.frame("module_calls")
    names = ["rank", "processor", "thread", "host", "label", "module", "partition"]
    assert frame[names].iloc[0].tolist()[:3] == [0, "root", "thread_A"]
    assert frame["label"].tolist() == ["load_frame", "load_frame", "fft.rows"]
    assert frame["module"].tolist() == ["load_frame", "load_frame", "rows"]
    assert frame["processor"].tolist() == ["root", "root", "0"]
    assert frame["partition"].isna().tolist() == [True, True, False]
    assert frame["enter"].tolist() == pytest.approx([0, 500e-9, 600e-9])
    assert frame["duration"].tolist() == pytest.approx([400e-9, 200e-9, 300e-9])


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("waits", "reason", ["input", "input"]),
        ("messages", "tag", ["image"]),
        ("messages", "descriptor", [True]),
        ("memory", "bytes", [4096, -4096]),
        ("queue_depths", "depth", [1, 0]),
        ("routine_calls", "routine", []),
    ],
)
def test_every_table_has_a_frame(read, name, column, values):
    assert read.frame(name)[column].tolist() == values


def test_a_frame_of_a_selection_has_its_rows_only(read):
    selection = trace.Selection.parse(thread=["B"])
    assert read.frame("module_calls", selection)["label"].tolist() == ["fft.rows"]


def test_an_unknown_table_is_named(read):
    with pytest.raises(trace.TraceError, match="there is no table 'calls'") as caught:
        read.frame("calls")
    assert "module_calls, waits, messages" in caught.value.help


def test_without_pandas_it_is_said_what_to_install(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(trace.TraceError, match="data frames need pandas") as caught:
        read.frame("waits")
    assert "pse[notebook]" in caught.value.help
