"""Syntax errors: each mistake once, at its place, in files of any size and shape, within seconds."""

import time

import pytest

from pse.errors import UsageError
from pse.language import check_program, parse_program, read_program
from pse.language.io._source_file import decode, quoted_sources

GOOD = """coven 1
import "tools.c" as t
param i64 N = 4
program p {
  thread_A t.make(N) -> x
  for k in 0 .. N {
    thread_A t.use(x)
    if N > 2 { thread_B t.use(x) } else { print(k) }
  }
  let y = N + 1
  print(y, N)
}
"""

MISTAKES = [
    ("param i64 N = 4", "param i64 N 4", 3),
    ("param i64 N = 4", "parm i64 N = 4", 3),
    ("t.make(N) -> x", "t.make(N -> x", 5),
    ("t.make(N) -> x", "t.make(N) - x", 5),
    ("for k in 0 .. N {", "for k 0 .. N {", 6),
    ("thread_A t.use(x)\n", "thread_A t.use x)\n", 7),
    ("if N > 2 {", "if N > {", 8),
    ("} else {", "} els {", 8),
    ("let y = N + 1", "let y N + 1", 10),
    ("print(y, N)", "print(y,, N)", 11),
]


@pytest.mark.parametrize(("old", "new", "line"), MISTAKES, ids=[new for _, new, _ in MISTAKES])
def test_one_mistake_is_one_diagnostic(old, new, line):
    found = parse_program(GOOD.replace(old, new, 1), "p.coven").diagnostics
    assert [d.span.line for d in found] == [line]


@pytest.mark.parametrize("start", range(len(MISTAKES) - 3))
def test_four_mistakes_are_four_diagnostics(start):
    text, lines = GOOD, set()
    for old, new, line in MISTAKES[start:]:
        if line not in lines and len(lines) < 4:
            text = text.replace(old, new, 1)
            lines.add(line)
    found = parse_program(text, "p.coven").diagnostics
    assert {d.span.line for d in found} == lines
    assert len(found) == len(lines)


def test_a_mistake_gives_no_mistakes_of_meaning(finder):
    text = GOOD.replace("t.make(N) -> x", "t.make(N -> x")
    assert {d.code for d in check_program(text, "p.coven", modules=finder).diagnostics} == {"E0004"}


def test_semicolons_and_newlines_mean_nothing():
    spread = GOOD.replace(" ", "\n  ")
    assert parse_program(spread, "p.coven").diagnostics == ()
    one_line = GOOD.replace("\n", " ; ").replace("{ ;", "{").replace("; } ;", "}")
    assert parse_program(one_line, "p.coven").diagnostics == ()


MEGABYTE = 1 << 20

HUGE = {
    "ten megabytes": "x" * (10 * MEGABYTE),
    "brackets": "$(][" * (MEGABYTE // 8),
    "braces": "{" * 10_000,
    "nested blocks": "coven 1 program p " + "{ if true " * 10_000,
    "parentheses": "coven 1 program p { let x = " + "(" * 10_000,
    "signs": "coven 1 program p { let x = " + "-" * 10_000 + "1 }",
    "sum": "coven 1 program p { let x = 1" + " + 1" * 10_000 + " }",
    "closing braces": "}" * 200_000,
    "quotes": '"a\n' * 200_000,
    "names": "a b " * 100_000,
    "statements without end": "coven 1 program p { " + "let " * 20_000,
    "one long name": "coven 1 program p { print(" + "a" * (MEGABYTE - 40) + ") }",
    "digits": "coven 1 program p { print(" + "9" * (MEGABYTE - 40) + ") }",
    "imports": "coven 1\n" + 'import "x" {\n' * 20_000,
}


def test_statements_in_a_row_are_no_deep_expression():
    assert (
        parse_program("coven 1\nprogram p {\n" + "  fft.rows(u)\n" * 300 + "}\n", "p.coven").diagnostics == ()
    )


@pytest.mark.parametrize("name", HUGE)
def test_huge_and_deep_programs_are_answered(name, finder):
    start = time.thread_time()
    found = check_program(HUGE[name], "p.coven", modules=finder).diagnostics
    assert 1 <= len(found) <= 51
    assert time.thread_time() - start < 30


@pytest.mark.parametrize("levels", [90, 99])
def test_deep_programs_within_the_limit_are_checked(levels, finder):
    text = "coven 1\nprogram p { " + "if true { " * (levels - 2) + "print(1)" + " }" * (levels - 2) + " }"
    assert check_program(text, "p.coven", modules=finder).diagnostics == ()
    sums = "coven 1\nprogram p { print(" + " + ".join(["1"] * levels) + ") }"
    assert check_program(sums, "p.coven", modules=finder).diagnostics == ()


@pytest.mark.parametrize(("levels", "codes"), [(99, set()), (100, {"E0008"})])
def test_calls_on_lines_of_their_own_are_as_deep_as_what_is_around_them(levels, codes, finder):
    opened = "print(1)\nif true {\n" * (levels - 1)
    text = f"coven 1\nprogram p {{\n{opened}print(1)\n{'}' * levels}\n"
    assert {d.code for d in check_program(text, "p.coven", modules=finder).diagnostics} == codes


def test_segments_cannot_grow_without_end(finder):
    levels = "".join(f"segment s{i}() -> () {{ if true {{ s{i - 1}() }} }}\n" for i in range(1, 80))
    text = "coven 1\nsegment s0() -> () { print(1) }\n" + levels + "program p { s79() }\n"
    assert {d.code for d in check_program(text, "p.coven", modules=finder).diagnostics} == {"E0008"}


def test_a_program_that_cannot_be_read_is_refused_with_the_reason(tmp_path):
    with pytest.raises(
        UsageError, match=r"^the program .*none\.coven cannot be read: No such file"
    ) as failure:
        read_program(str(tmp_path / "none.coven"))
    assert failure.value.exit_code == 2
    with pytest.raises(UsageError, match="is a directory, not a program"):
        read_program(str(tmp_path))
    with pytest.raises(UsageError, match="cannot be read"):
        read_program("a\0b")


def test_bytes_that_are_not_text_are_refused(finder):
    assert decode(b"\xef\xbb\xbfcoven 1\r\n", "p") == ("coven 1\r\n", ())
    (wrong,) = decode("coven 1\n// é ".encode() + b"\xe9", "p").diagnostics
    assert (wrong.code, wrong.span.line, wrong.span.column) == ("E0014", 2, 6)
    (wrong,) = decode(b"\x7fELF\0\0", "p").diagnostics
    assert wrong.code == "E0013"
    typed = 'coven 1\nimport "a\0.c" { f }\nprogram p { print(1) }\n'
    assert [d.code for d in check_program(typed, "p", modules=finder).diagnostics] == ["E0013"]


def test_sources_of_module_files_are_read_for_quoting(tmp_path, finder):
    found = check_program(
        'coven 1\nimport "broken.c" as b\nprogram p { print(1) }\n', "p", modules=finder
    ).diagnostics
    assert quoted_sources(found, {"p": ""}) == {"p": ""}  # broken.c is in the finder's table only.


def test_operators_count_for_one_expression_only(finder):
    text = "coven 1\nparam i64 N = 1\nprogram p { " + "if N + N + N + N > 3 { " * 40 + "print(1)" + " }" * 41
    assert check_program(text, "p.coven", modules=finder).diagnostics == ()
