"""Arrays of tags: what the checker makes of them, beyond the programs with their expected diagnostics."""

import pytest

from pse.language import bind_parameters, check_program, inspect_program
from pse.language.check._ir import Assign, If, call_sites
from pse.language.types import render_type

LEVELS = """coven 1
import "tools.c" as t
param i64 L = 3
param i64 N = 16
segment up(i64 count, f64[N / 2 ** l] v[l in 0 .. count], i64 at) -> () { t.use(v[at]) }
program p {
  var f64[N / 2 ** l] u[l in 0 .. L]
  t.make(N) -> u[0]
  for l in 0 .. L - 1 {
    t.halve(u[l]) -> u[l + 1]
    if l > 0 { t.pair(u[l - 1], u[l - 1]) }
  }
  for l in L - 1 .. -1 step -1 { up(L, u, l) }
}
"""


def checked(text, finder, **values):
    result = check_program(text, "p.coven", modules=finder, values=values)
    assert result.program is not None, result.diagnostics
    return result.program


def calls(program):
    """Give the calls of a program with their arrays."""
    for site in call_sites(program.body):
        tags = [argument.tag for argument in site.inputs if argument.tag]
        yield (site.module.name, *tags, *(output.tag for output in site.outputs))


def test_each_iteration_has_tags_of_its_own(finder):
    program = checked(LEVELS, finder)
    assert list(calls(program)) == [
        ("make", "u[0]"),
        ("halve", "u[0]", "u[1]"),
        ("halve", "u[1]", "u[2]"),
        ("pair", "u[0]", "u[0]"),
        ("use", "u[2]"),
        ("use", "u[1]"),
        ("use", "u[0]"),
    ]
    types = [render_type(tag.type) for name, tag in program.tags.items() if name.startswith("u[")]
    assert types == ["f64[N] @ root", "f64[N / 2] @ root", "f64[N / 4] @ root"]


def test_call_sites_have_the_iterations_of_all_unrolled_loops_around_in_their_labels(finder):
    inner = "for s in 0 .. 2 { t.use(v[at + s])  for k in 0 .. 2 { t.use(v[at]) } }"
    text = LEVELS.replace("t.use(v[at])", inner).replace("up(L, u, l)", "if l < L - 1 { up(L, u, l) }")
    labels = [site.label for site in call_sites(checked(text, finder).body)]
    assert labels == [
        "t.make", "t.halve [l = 0]", "t.halve [l = 1]", "t.pair [l = 1]",
        *(f"t.use [l = {level}, s = {s}]" for level in (1, 0) for s in (0, 1) for _ in range(2)),
    ]  # fmt: skip


def test_the_check_holds_for_the_values_of_parameters_that_it_was_made_for(finder):
    program = checked(LEVELS, finder, L="2")
    assert [name for name in program.tags if name.startswith("u[")] == ["u[0]", "u[1]"]
    assert program.assumed == {"L": 2}
    assert not bind_parameters(program, {"L": "2", "N": "8"}, 1).diagnostics
    (refused,) = bind_parameters(program, {"L": "3"}, 1).diagnostics
    assert refused.code == "E0609"
    assert refused.message == "the program was checked for L = 2, not for 3"
    assert refused.help == "its arrays of tags depend on it: check it again, with this value"


def test_a_parameter_without_a_value_cannot_say_how_many_tags_there_are(finder):
    text = LEVELS.replace("L = 3", "L")
    first = check_program(text, "p.coven", modules=finder).diagnostics[0]
    assert (first.code, first.help) == ("E0327", "give the parameter a default:  param i64 L = 4")
    assert check_program(text, "p.coven", modules=finder, values={"L": "3"}).program is not None


def test_a_condition_that_another_value_breaks_is_told_before_what_depends_on_it(finder):
    text = LEVELS.replace("L = 3", "L = 3 where 2 ** L <= N").replace("N = 16", "")
    text = text.replace("param i64 L", "param i64 N = 16\nparam i64 L").replace("\nparam i64 \n", "\n")
    first = check_program(text, "p.coven", modules=finder, values={"N": "4"}).diagnostics[0]
    assert (first.code, first.label) == ("E0601", "L = 3, N = 4")
    assert check_program(text, "p.coven", modules=finder).program is not None


def test_a_tag_of_another_type_in_each_iteration_is_to_be_an_array_of_tags(finder):
    text = LEVELS.replace(
        "t.make(N) -> u[0]", "for l in 0 .. L { t.make(N + l) -> u[0]\n t.make(N + l) -> x }"
    )
    text = text.replace("f64[N / 2 ** l] u[l in", "f64[N + l] u[l in").replace("-> u[0]\n", "-> u[l]\n")
    said = [one.help for one in check_program(text, "p.coven", modules=finder).diagnostics]
    assert (
        "declare an array of tags with the bounds of the loop, `var … x[l in …]`, and write  -> x[l]" in said
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [("L = 3", "L = 4"), ("L = 3", "L = 1"), ("u[l - 1], u", "u[l], u"), ("l > 0", "l > 1"), ("at])", "0])")],
)
def test_an_edited_program_is_checked_as_if_it_were_new(finder, old, new):
    before = inspect_program(LEVELS, "p.coven", modules=finder)
    text = LEVELS.replace(old, new)
    assert text != LEVELS
    found = inspect_program(text, "p.coven", modules=finder, before=before)
    assert repr(found) == repr(inspect_program(text, "p.coven", modules=finder))


def test_what_follows_a_break_runs_only_if_no_iteration_has_left_the_loop(finder):
    body = (
        "  var f64 x[l in 0 .. 3] = 1.0\n  for l in 0 .. 3 { if x[l] > l { break }  print(l) }\n  print(9)\n"
    )
    program = checked(f"coven 1\nprogram p {{\n{body}}}\n", finder)
    *_, start, first, last = program.body
    assert isinstance(start, Assign)
    assert isinstance(first, If)
    nested = first.otherwise[-1]
    assert isinstance(nested, If), "the second iteration stands behind what the first one decides"
    assert isinstance(nested.otherwise[-1], If)
    assert last.label == "print"


def test_loops_around_each_other_are_not_unrolled_without_end(finder, monkeypatch):
    monkeypatch.setattr("pse.language.check._statements.MAX_CALLS", 20)
    loops = "for k in 0 .. 5 { for l in 0 .. 5 { x[l] = x[k] } }"
    text = f"coven 1\nprogram p {{\n  var f64 x[l in 0 .. 5] = 0.0\n  {loops}\n  print(x[0])\n}}\n"
    (found,) = check_program(text, "p.coven", modules=finder).diagnostics
    assert (found.code, found.help) == ("E0211", "use an index in fewer loops around each other")
    assert found.message == "the loops that are unrolled have more than 20 iterations together"
