"""Programs with their expected diagnostics in comments (`pse_testing.expectations` has the form)."""

from pathlib import Path

import pytest
from pse_testing.expectations import described, expected_in, mended, values_in

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
WRONG_ELSEWHERE = ("e0511_import_of_bad_directive", "w0301_frame_of_an_uncut_axis")  # In modules.
SAMPLES = ("fft2d", "heat", "nbody")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_malformed_program_has_the_diagnostics_it_names(path, finder):
    text = path.read_text()
    expected, values = expected_in(text), values_in(text, mended=False)
    result = check_program(text, path.name, modules=finder)
    diagnostics = bind_parameters(result.program, *values).diagnostics if values else result.diagnostics
    assert described(diagnostics) == expected, render_diagnostics(diagnostics, {path.name: text})
    errors = [code for code, *_ in expected if code.startswith("E")]
    assert (result.program is None) == bool(errors and not values)
    assert to_json(diagnostics)["errors"] == len(errors)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_program_is_correct_after_what_its_helps_say(path, finder):
    text = path.read_text()
    values = values_in(text, mended=True)
    needed = bool(expected_in(text)) and path.stem not in WRONG_ELSEWHERE
    right = mended(text)
    assert (right != text or values is not None) == needed, "the file says how it is mended if it is wrong"
    result = check_program(right, path.name, modules=finder)
    diagnostics = bind_parameters(result.program, *values).diagnostics if values else result.diagnostics
    if needed:
        severe = [d for d in diagnostics if d.code.startswith("E") or d.code == path.stem[:5].upper()]
        assert not severe, render_diagnostics(severe, {path.name: right})


@pytest.mark.parametrize(
    ("character", "help"), [("ß", "names have letters from a to z, digits"), ("¤", "remove it")]
)
def test_a_letter_that_names_cant_have_is_told_from_other_characters(finder, character, help):
    (found,) = check_program(
        f"coven 1\nprogram p {{ print({character}) }}\n", "p.coven", modules=finder
    ).diagnostics[:1]
    assert found.code == "E0001"
    assert found.help.startswith(help)


def test_at_least_eighty_programs_are_malformed():
    malformed = [path for path in PROGRAMS if expected_in(path.read_text())]
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
