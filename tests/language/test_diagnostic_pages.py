"""Every diagnostic has a page in the manual, with an example that works, and `pse explain` prints it."""

import re
from pathlib import Path

import pytest
from pse_testing.expectations import expected_in

from pse.language import bind_parameters, check_program, read_program
from pse.language.check._ir import ModuleReference
from pse.language.diagnostics._pages import code_pages
from pse.modules import Finder, find_unbuildable

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "docs" / "diagnostics.md"
SHIPPED = ROOT / "pse" / "language" / "diagnostics" / "codes.md"
ENTRIES = {code: page.text for code, page in code_pages().items()}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^With `-p (\d+)(?: -D (\w+)=(\S+))?`\.$", re.MULTILINE)
SUFFIX = {"c": "c", "python": "py"}

TOO_LARGE_TO_PRINT = {
    "E0008": b"coven 1\nprogram p { let x = " + b"(" * 101 + b")" * 101 + b" }\n",
    "E0009": b"// " + b"x" * 2_000_000,
    "E0010": b"coven 1\nprogram p {\n" + b"let ]\n" * 60 + b"}\n",
    "E0013": b"coven 1\n\0\0",
    "E0014": b"coven 1\n// caf\xe9\n",
    "E0211": b"coven 1\nsegment s0() -> () { print(1) }\n"
    + b"".join(b"segment s%d() -> () { s%d() s%d() }\n" % (i, i - 1, i - 1) for i in range(1, 16))
    + b"program p { s15() }\n",
}

WORDS = {
    "E0008": ("nesting too deep: more than 100 levels", "name an inner part with `let`, or use a segment"),
    "E0009": (
        "the program has 2,000,003 characters; at most 1,048,576 are read",
        "replace repeated statements by loops and segments, if it is a program",
    ),
    "E0010": (
        "too many errors; the rest of the file is not read",
        "correct the errors above, then check again",
    ),
    "E0013": ("this is not a text file: it contains null bytes", "give the path of a .coven file"),
    "E0014": ("this file is not UTF-8: byte 0xe9 does not belong here", "save the file as UTF-8"),
    "E0211": (
        "the program has more than 20,000 calls with its segments inlined",
        "use loops instead of repeated segments",
    ),
}
"""Message and help of those; `tests/language/programs` and `tests/modules` have those of all others."""


def test_the_manual_is_what_ships_with_the_package():
    assert MANUAL.resolve() == SHIPPED


def test_every_code_in_the_source_has_a_page():
    rooms = (ROOT / "pse" / "language", ROOT / "pse" / "modules")
    source = "".join(path.read_text() for room in rooms for path in room.rglob("*.py"))
    assert set(re.findall(r'"([EW]0\d{3})"', source)) == ENTRIES.keys()
    assert SHIPPED.read_text().count("\n## ") == len(ENTRIES)


@pytest.mark.parametrize("code", ENTRIES)
def test_every_page_says_what_to_do(code):
    assert "**Remedy.** " in ENTRIES[code]
    assert ENTRIES[code].startswith(tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ`"))


@pytest.mark.parametrize("code", ENTRIES)
def test_the_example_of_a_code_produces_it(code, finder, tmp_path):
    found = diagnose(code, finder, tmp_path)
    assert code in [diagnostic.code for diagnostic in found]
    words = {(d.message, d.help) for d in found if d.code == code}
    assert code not in WORDS or words == {WORDS[code]}


def test_the_words_of_every_code_are_tested():
    listed = [
        *sorted((ROOT / "tests/language/programs").glob("*.coven")),
        ROOT / "tests/modules/malformed_modules.txt",
    ]
    tested = {code for path in listed for code, *_ in expected_in(path.read_text())}
    assert tested | WORDS.keys() == ENTRIES.keys()
    assert WORDS.keys() == TOO_LARGE_TO_PRINT.keys()


def diagnose(code, finder, tmp_path):
    """Run the example of an entry and give its diagnostics."""
    if code in TOO_LARGE_TO_PRINT:
        path = tmp_path / "example.coven"
        path.write_bytes(TOO_LARGE_TO_PRINT[code])
        text, diagnostics = read_program(str(path))
        return diagnostics or check_program(text, str(path), modules=finder).diagnostics
    language, example = FENCE.search(ENTRIES[code]).groups()
    if language == "coven":
        result = check_program(example, "example.coven", modules=finder)
        command = COMMAND.search(ENTRIES[code])
        if command is None:
            return result.diagnostics
        procs, name, value = command.groups()
        bound = bind_parameters(result.program, {name: value} if name else {}, int(procs))
        return bound.diagnostics
    (tmp_path / f"module.{SUFFIX[language]}").write_text(example)
    program = tmp_path / "example.coven"
    text = f'coven 1\nimport "module.{SUFFIX[language]}" as m\nprogram p {{ print(1) }}\n'
    program.write_text(text)
    result = check_program(text, str(program), modules=Finder())
    return [*result.diagnostics, *find_unbuildable(_modules(program, language))]


def _modules(program, language):
    """Give the modules of the program's only import, if it is one that is built."""
    if language != "c":
        return []
    file = Finder().find("module.c", str(program))
    return [ModuleReference(s.name, s, file.source, file.path, 1, file.language) for s in file.signatures]
