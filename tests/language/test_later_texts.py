"""What is taken over from an earlier text: the parse of a text that was edited is that of the text alone."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse.language import inspect_program, parse_program
from pse.language.syntax import scan
from pse.modules import Finder

HERE = Path(__file__).parent
TEXTS = [
    path.read_text()
    for folder in (HERE / "programs", HERE.parents[1] / "programs")
    for path in sorted(folder.glob("*.coven"))
]
WRITTEN = st.sampled_from(
    [
        *(
            "",
            "\n",
            " ",
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            '"',
            "/*",
            "*/",
            "//",
            "->",
            "?",
            "=",
            "1 +",
            ";",
            "x",
        ),
        *("for i in 0..3 {\n", "if a {\n", "else {\n", "step 2", "param i64 n = 8 live\n", "let y = 1\n"),
        *("record B { f64 x }\n", 'import "a" {\nB }\n', 'import "a" as x\n', "copy(x) -> f64 y\n", "é"),
    ]
)
EDIT = st.tuples(st.floats(0, 1), st.sampled_from([0, 0, 0, 1, 5, 40]), WRITTEN)
LARGE = "coven 1\nprogram p {\n  var f64[8] a\n" + "".join(f"  copy(a) -> b{k}\n" for k in range(300)) + "}\n"


def edited(text, edit):
    place, removed, written = edit
    start = int(place * len(text))
    return text[:start] + written + text[start + removed :]


def places(tokens):
    return [(t.type, str(t), t.line, t.column, t.end_line, t.end_column) for t in tokens]


@settings(max_examples=some_of(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(TEXTS), st.lists(EDIT, min_size=1, max_size=5))
@example(LARGE, [(0.0, 0, "\n"), (0.5, 0, "{"), (0.5, 1, ""), (0.9, 5, "(")])
@example("coven 1\nprogram p {\n  if a {\n    print(1)\n  }\n}\n", [(0.865, 0, "\n")])
@example("coven 1\n;\n;\nprogram p {\n;\n  print(1)\n  print(1)\n;\n}\n", [(0.5, 0, ";\n")])
def test_an_edited_text_is_parsed_as_if_it_were_new(text, edits):
    known, scanned = parse_program(text, "p.coven"), scan(text, "p.coven")
    for edit in edits:
        text = edited(text, edit)
        known, scanned = parse_program(text, "p.coven", known), scan(text, "p.coven", before=scanned)
        alone = scan(text, "p.coven")
        assert repr(known) == repr(parse_program(text, "p.coven"))
        assert places(scanned.tokens) == places(alone.tokens)
        assert places(scanned.comments) == places(alone.comments)


def test_a_text_that_ends_within_a_statement_that_was_known_is_parsed_as_if_it_were_new():
    text = "coven 1\nprogram p {\n  for k in 0 .. 3 {\n    print(k)\n    print(k)\n  }\n}\n"
    for end in range(len(text)):
        before = parse_program(text, "p.coven")
        assert parse_program(text[:end], "p.coven", before) == parse_program(text[:end], "p.coven")


def test_statements_that_did_not_change_are_the_same_objects():
    first = parse_program(LARGE, "p.coven")
    second = parse_program(LARGE.replace("-> b150\n", "-> other\n"), "p.coven", first)
    old, new = (result.tree.items[-1].body.statements for result in (first, second))
    assert [number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] is not pair[1]] == [
        151
    ]
    assert parse_program(LARGE, "other.coven", first).tree.span.path == "other.coven"


@pytest.mark.parametrize("written", ["copy(a) -> b7", "copy(a -> c", "copy(none) -> c", "\ncopy(a) -> c"])
def test_an_edited_program_is_checked_as_if_it_were_new(written, finder):
    before = inspect_program(LARGE, "p.coven", modules=finder)
    text = LARGE.replace("copy(a) -> b150", written)
    found = inspect_program(text, "p.coven", modules=finder, before=before)
    alone = inspect_program(text, "p.coven", modules=finder)
    assert repr(found) == repr(alone)
    assert found.diagnostics


def test_only_what_an_edit_changes_is_checked_again(finder):
    text = LARGE.replace("var f64[8] a\n", "var f64[8] a\n  zero() -> a\n")
    first = inspect_program(text, "p.coven", modules=finder)
    renamed = text.replace("-> b150\n", "-> other\n")
    second = inspect_program(renamed, "p.coven", modules=finder, before=first)
    pairs = zip(first.program.body, second.program.body, strict=True)
    assert [number for number, (old, new) in enumerate(pairs) if old is not new] == [151]


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("zero() -> a\n zero() -> b\n print(a)\n print(b)", ("zero() -> b", "")),
        ("zero() -> a\n zero() -> b\n print(a)\n print(b)", ("-> b", "-> a")),
        ("zero() -> a\n zero() -> b\n print(a)\n thread_B zero() -> b\n print(b)", (" print(b)", "")),
        ("zero() -> a\n if n > 1 { zero() -> b }\n print(a)\n print(b)", ("print(a)", "zero() -> b")),
        ("zero() -> a\n zero() -> b\n for k in 0 .. n { copy(b) -> a }\n print(a)", ("zero() -> b", "")),
    ],
)
def test_paths_of_a_text_that_was_edited_are_followed_as_if_it_were_new(text, edit):
    old = f"coven 1\nparam i64 n = 8\nprogram p {{\n var f64[8] a\n var f64[8] b\n {text}\n}}\n"
    new, known = old.replace(*edit), inspect_program(old, "p.coven", modules=Finder())
    wrong = [inspect_program(one, "p.coven", modules=Finder()).diagnostics for one in (old, new)]
    assert wrong[0] != wrong[1]
    for text, found in ((new, wrong[1]), (old, wrong[0]), (new, wrong[1])):
        known = inspect_program(text, "p.coven", modules=Finder(), before=known)
        assert known.diagnostics == found
