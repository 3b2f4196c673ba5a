"""Colours of programs outside of editors."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

pytest.importorskip("pygments", reason="Pygments comes with the manual's tools")

from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String

from pse.lsp.highlighting import CovenLexer

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "programs").glob("*.coven"))
LINE = 'thread_B fft.rows(img, "a\\n", 64KiB, 1e-6) -> rows @ block(0)  // all\n'


def test_words_have_their_kinds():
    found = {text: kind for kind, text in CovenLexer().get_tokens(LINE)}
    expected = {
        "thread_B": Name.Label,
        "fft.rows": Name.Function,
        "img": Name,
        "64KiB": Number,
        "1e-6": Number.Float,
        "->": Operator,
        "block": Name.Decorator,
        "// all": Comment.Single,
        "\\n": String.Escape,
    }
    assert {text: found[text] for text in expected} == expected


def test_a_range_is_not_a_number():
    tokens = [(text, kind) for kind, text in CovenLexer().get_tokens("for k in 0..n inflight 3 { }")]
    assert ("0", Number.Integer) in tokens
    assert ("..", Operator) in tokens
    assert ("inflight", Keyword) in tokens


def test_live_is_a_word_behind_a_parameters_default_and_a_name_elsewhere():
    line = "param f64 dt = 1e-3 live where dt > 0\nprint(live) -> live\n"
    found = [kind for kind, text in CovenLexer().get_tokens(line) if text == "live"]
    assert found == [Keyword, Name, Name]


def test_a_record_is_told_from_a_tag_of_that_name():
    tokens = [
        (text, kind) for kind, text in CovenLexer().get_tokens("record Body { f64 x }\ncopy(record) -> y")
    ]
    assert [kind for text, kind in tokens if text == "record"] == [Keyword, Name]
    assert ("Body", Name.Class) in tokens


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_has_no_word_without_a_kind_and_none_is_lost(path):
    text = path.read_text()
    tokens = list(CovenLexer().get_tokens(text))
    assert "".join(part for _, part in tokens) == text
    assert Error not in {kind for kind, _ in tokens}


def test_the_package_names_it_to_pygments():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    points = [
        EntryPoint(name, value, "pygments.lexers") for name, value in declared["pygments.lexers"].items()
    ]
    assert [point.load() for point in points] == [CovenLexer]
    assert (CovenLexer.aliases, CovenLexer.filenames) == (["coven"], ["*.coven"])
