"""Definitions: what is written comes back, what isn't sound is refused with its place."""

import json

import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.traces import small_definitions

from pse import trace

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
SCALAR = st.one_of(
    TEXT, st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), st.booleans(), st.none()
)


@given(parameters=st.dictionaries(TEXT, SCALAR), environment=st.dictionaries(TEXT, st.lists(SCALAR)))
@settings(max_examples=some_of(50), deadline=None)
def test_definitions_are_read_as_they_were_written(parameters, environment):
    written = small_definitions(parameters=parameters, environment=environment)
    assert trace.Definitions.from_json(written.to_json()) == written


def test_definitions_are_written_in_one_step(tmp_path):
    trace.write_definitions(tmp_path, small_definitions())
    assert [path.name for path in tmp_path.iterdir()] == ["definitions.json"]
    assert trace.read_definitions(tmp_path) == small_definitions()


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(trace.TraceError, match=r"definitions.json can't be written: No such file"):
        trace.write_definitions(tmp_path / "nowhere", small_definitions())


UNSOUND = [
    ({"text_sha256": "abc"}, "text_sha256 must have 64 hexadecimal digits, not 'abc'"),
    ({"started": "yesterday"}, "started must be an ISO 8601 time with its offset from UTC, not 'yesterday'"),
    ({"started": "2025-01-31T12:00:00"}, "started must be an ISO 8601 time with its offset"),
    ({"program": 5}, "Definitions.program: expected str, not 5"),
    ({"parameters": {"z": 1j}}, r"Definitions.parameters: expected .*, not \{'z': 1j\}"),
    ({"sites": [1]}, r"Definitions.sites: expected tuple\[pse"),
    ({"edges": (trace.EdgeDefinition(0, "u", 7, ()),)}, r"edge 0 \(u\) names .* exist: \[7\]"),
    ({"edges": (trace.EdgeDefinition(0, "u", None, (1, 9)),)}, r"call sites that don't exist: \[9\]"),
    ({"edges": (trace.EdgeDefinition(3, "u", 0, ()),) * 2}, "edge 3 is defined twice"),
    ({"loops": (trace.LoopDefinition(-1, "k", ""),)}, "loop -1: the number must be from 0"),
    (
        {"ranks": (trace.RankDefinition(1, "root", "t", None, "h"),)},
        r"ranks must be listed in order from 0, not \[1\]",
    ),
]


@pytest.mark.parametrize(("change", "message"), UNSOUND)
def test_what_is_not_sound_is_refused(change, message):
    with pytest.raises(trace.TraceError, match=message):
        small_definitions(**change)


def test_a_region_is_root_or_parallel():
    with pytest.raises(trace.TraceError, match="rank 4: the region must be root or parallel, not 'side'"):
        trace.RankDefinition(4, "side", "thread_A", None, "host")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"color": "red"}, "definitions: unknown: color"),
        ({"sites": [5]}, r"definitions.sites\[0\]: expected an object, found 5"),
        (
            {"ranks": [{"rank": 0}]},
            r"definitions.ranks\[0\]: missing: host, processor, region, thread",
        ),
        ({"sites": "none"}, "Definitions.sites: expected"),
    ],
)
def test_json_of_another_shape_is_refused(change, message):
    values = json.loads(small_definitions().to_json()) | change
    with pytest.raises(trace.TraceError, match=message):
        trace.Definitions.from_json(json.dumps(values))


def test_create_removes_an_older_trace_and_nothing_else(small_trace):
    (small_trace / "notes.txt").write_text("mine")
    trace.create(small_trace)
    assert [path.name for path in small_trace.iterdir()] == ["notes.txt"]


def test_create_makes_the_directory(tmp_path):
    trace.create(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_create_says_when_it_can_not(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(trace.TraceError, match=r"no trace can be written to .*file: File exists") as caught:
        trace.create(tmp_path / "file")
    assert caught.value.help == "name a directory that you may write to"


def test_a_copy_of_the_program_lies_beside_them(small_trace):
    text = "program small\r\n  # ü\n"
    trace.write_definitions(small_trace, small_definitions(text_sha256=trace.digest(text)))
    assert trace.open(small_trace).program_text is None
    trace.write_program(small_trace, text)
    read = trace.open(small_trace)
    assert (read.program_text, read.problems) == (text, ())


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"program other\n", "program.coven isn't the text that ran"), (b"\xff", "it isn't UTF-8 text")],
)
def test_a_changed_copy_is_not_taken_for_the_program(small_trace, data, message):
    (small_trace / "program.coven").write_bytes(data)
    read = trace.open(small_trace)
    assert read.program_text is None
    (problem,) = read.problems
    assert message in problem
