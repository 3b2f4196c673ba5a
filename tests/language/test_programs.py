"""Programs with their expected diagnostics in comments at the end of the file: code, place, and the words.

::

    // expect E0312 15:22
    //   message: distribution mismatch: `img` is @ root, but `fft_rows` needs @ block(0)
    //   help: scatter it first:  scatter(img) -> rows @ block(0)
    // mended +15:  scatter(img) -> rows @ block(0)
    // mended 15:   thread_B fft_rows(rows)

The line of the help stands there if, and only if, the diagnostic has one.  The last lines do what the helps
say: a line is inserted before the 15th, which is replaced; `-15` removes it.  Then the program is correct.
"""

import re
from pathlib import Path

import pytest

from pse.language import (
    bind_parameters,
    check_program,
    format_program,
    parse_program,
    render_diagnostics,
    to_json,
)

PROGRAMS = sorted(Path(__file__).with_name("programs").glob("*.coven"))
PARSED = [path for path in PROGRAMS if not path.stem.startswith("e00")]
EXPECTATION = re.compile(
    r"^// expect ([EW]\d{4}) (\d+):(\d+)\n//   message: (.+)\n(?://   help: (.+)\n)?", re.MULTILINE
)
MENDED = re.compile(r"^// mended ([+-]?)(\d+)(?::(.*))?$", re.MULTILINE)
WRONG_ELSEWHERE = ("e0511_import_of_bad_directive", "w0301_frame_of_an_uncut_axis")  # In modules.
SAMPLES = ("fft2d", "heat", "nbody")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program_has_its_diagnostics(path, finder):
    text = path.read_text()
    expected = [
        (code, int(line), int(column), message, help)
        for code, line, column, message, help in EXPECTATION.findall(text)
    ]
    assert len(expected) == text.count("// expect "), "each expectation has its message"
    result = check_program(text, path.name, modules=finder)
    found = [(d.code, d.span.line, d.span.column, d.message, d.help or "") for d in result.diagnostics]
    assert found == expected, render_diagnostics(result.diagnostics, {path.name: text})
    errors = [code for code, *_ in expected if code.startswith("E")]
    assert (result.program is None) == bool(errors)
    assert to_json(result.diagnostics)["errors"] == len(errors)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program_is_correct_after_what_its_helps_say(path, finder):
    text = path.read_text()
    fixes = MENDED.findall(text)
    needed = EXPECTATION.search(text) is not None and path.stem not in WRONG_ELSEWHERE
    assert bool(fixes) == needed, "the file says how it is mended if something is wrong in it"
    mended = apply_fixes(text, fixes)
    diagnostics = check_program(mended, path.name, modules=finder).diagnostics
    if needed:
        severe = [d for d in diagnostics if d.code.startswith("E") or d.code == path.stem[:5].upper()]
        assert not severe, render_diagnostics(severe, {path.name: mended})


def apply_fixes(text, fixes):
    """Change lines of a text: replace one, insert before one (+), or remove one (-)."""
    lines = {number: [line] for number, line in enumerate(text.split("\n"), 1)}
    for sign, number, line in fixes:
        at = lines[int(number)]
        if sign == "+":
            at.insert(len(at) - 1, line)
        else:
            at[-1:] = [line] if sign == "" else []
    return "\n".join(line for at in lines.values() for line in at)


@pytest.mark.parametrize(
    ("character", "help"), [("ß", "names have letters from a to z, digits"), ("$", "remove it")]
)
def test_a_letter_that_names_cant_have_is_told_from_other_characters(finder, character, help):
    (found,) = check_program(
        f"coven 1\nprogram p {{ print({character}) }}\n", "p.coven", modules=finder
    ).diagnostics[:1]
    assert found.code == "E0001"
    assert found.help.startswith(help)


def test_at_least_eighty_programs_are_malformed():
    malformed = [path for path in PROGRAMS if EXPECTATION.search(path.read_text())]
    assert len(malformed) >= 80


@pytest.mark.parametrize("path", PARSED, ids=lambda path: path.stem)
def test_formatting_is_idempotent_and_keeps_the_program(path):
    text = path.read_text()
    once = format_program(text, path.name)
    assert format_program(once, path.name) == once
    assert shape(parse_program(once, path.name).tree) == shape(parse_program(text, path.name).tree)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_canonical_and_bind(name, finder):
    path = Path(__file__).with_name("programs") / f"{name}.coven"
    text = path.read_text()
    assert format_program(text, path.name) == text
    program = check_program(text, path.name, modules=finder).program
    environment, diagnostics = bind_parameters(program, {}, 2)
    assert diagnostics == ()
    assert {"procs", "P"} <= environment.keys()


def shape(node):
    """Give a syntax tree without its places."""
    if isinstance(node, tuple):
        return tuple(shape(child) for child in node)
    if not hasattr(node, "__dataclass_fields__"):
        return node
    fields = {name: getattr(node, name) for name in node.__dataclass_fields__ if not name.endswith("span")}
    return type(node).__name__, tuple((name, shape(value)) for name, value in fields.items())
