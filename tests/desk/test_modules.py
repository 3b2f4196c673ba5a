"""New modules and builds."""

import pytest

from pse.desk.server._errors import Refusal
from pse.desk.server._files import Directory
from pse.desk.server._modules import build, create_module, messages
from pse.errors import UsageError

PORTS = [
    {"direction": "in", "type": "f64[n, m] @ block(0)", "name": "x"},
    {"direction": "in", "type": "i64", "name": "k"},
    {"direction": "out", "type": "f64[n, m]", "name": "y"},
    {"direction": "out", "type": "f64", "name": "largest"},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Directory(tmp_path)


@pytest.mark.parametrize("language", ["c", "c++", "cython", "fortran", "python"])
def test_a_new_module_builds_as_it_is(folder, language):
    made = create_module(folder, {"name": "smooth", "language": language, "ports": PORTS})
    assert "smooth(in f64 x[n, m] @ block(0), in i64 k, out f64 y[n, m], out f64 largest)" in made["text"]
    built = build(folder, {"path": made["path"]})
    assert (built["ok"], built["modules"]) == (True, ["smooth"]), built


def test_the_compilers_messages_are_at_their_lines(folder):
    (folder.path / "bad.c").write_text(
        "#include <stdint.h>\n//@ coven module f(in f64 x)\nint f(double x) {\n  return y;\n}\n"
    )
    built = build(folder, {"path": "bad.c"})
    assert not built["ok"]
    wrong = [m for m in built["messages"] if m["severity"] == "error"]
    assert [(m["path"], m["line"]) for m in wrong] == [("bad.c", 4)]
    assert "y" in wrong[0]["message"]


def test_what_is_wrong_with_a_directive_is_at_its_line(folder):
    (folder.path / "bad.c").write_text("\n//@ coven module f(in f64)\n")
    built = build(folder, {"path": "bad.c"})
    assert (built["ok"], built["messages"][0]["line"]) == (False, 2)


def test_a_message_without_a_line_is_about_the_first():
    assert next(messages("ld failed\nmore", "a.c"))["line"] == 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"name": "1x"}, "can't be the name"),
        ({"name": "a/b"}, "can't be the name"),
        ({"name": "x", "language": "cobol"}, "no language cobol"),
        ({"name": "x", "ports": [{"direction": "in", "type": "q9", "name": "x"}]}, "q9"),
        ({"name": "x", "ports": [{"direction": "in", "type": "f64)", "name": "x"}]}, "is not a type"),
        ({"name": "x", "ports": "x"}, "not a list"),
    ],
)
def test_a_module_that_cannot_be_is_refused(folder, asked, words):
    with pytest.raises(Refusal, match=words):
        create_module(folder, asked)
    assert not list(folder.path.iterdir())


def ports(*names, type="f64[n]"):
    return [{"direction": "in", "type": type, "name": name} for name in names]


@pytest.mark.parametrize(
    ("language", "name", "ports", "word"),
    [
        ("python", "for", ports("x"), "for"),
        ("python", "f", ports("lambda"), "lambda"),
        ("c", "int", ports("x"), "int"),
        ("c", "int", None, "int"),
        ("c", "f", ports("int"), "int"),
        ("c", "f", ports("x", type="f64[double]"), "double"),
        ("c++", "f", ports("class"), "class"),
        ("cython", "f", ports("cdef"), "cdef"),
        ("fortran", "_f", ports("x"), "_f"),
        ("fortran", "f", ports("a", "A"), "a"),
        ("fortran", "code", ports("x"), "code"),
        ("pybind11", "py", None, "py"),
        ("c", "printf", None, "printf"),
        ("c++", "malloc", ports("x"), "malloc"),
        ("c", "f", ports("o", type="object"), "o"),
    ],
)
def test_a_name_that_would_not_compile_is_refused(folder, language, name, ports, word):
    with pytest.raises(UsageError, match=f"`{word}` ") as refused:
        create_module(folder, {"name": name, "language": language, "ports": ports})
    assert refused.value.help
    assert not list(folder.path.iterdir())


def test_a_file_that_is_there_is_left(folder):
    create_module(folder, {"name": "x", "language": "python"})
    with pytest.raises(Refusal, match=r"there is a file x\.py already"):
        create_module(folder, {"name": "x", "language": "python", "ports": []})
