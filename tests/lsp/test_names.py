"""What the server says about names: their meaning, places, declarations and new names."""

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from pse.errors import UsageError
from pse.lsp import _hover as hovering, _navigation as navigation
from pse.lsp._analysis import Lines

from .conftest import PROGRAMS, analysed, position

HEAT = (PROGRAMS / "heat.coven").read_text()
NBODY = (PROGRAMS / "nbody.coven").read_text()


def hover(text, mark, within=0):
    shown = hovering.hover(analysed(text), position(text, mark, within))
    return shown.contents.value if shown else None


def applied(text, edits):
    """Apply edits of one line each, from the last to the first."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = edit.range.start, edit.range.end
        line = lines[start.line]
        lines[start.line] = line[: start.character] + edit.new_text + line[end.character :]
    return "\n".join(lines)


def test_a_tag_shows_its_type_its_home_and_its_life():
    assert hover(HEAT, "exchange(u)", 9) == (
        "```coven\nf64[NX, NY] @ block(0, 1) halo(1) u\n```\n\n"
        "made on `thread_B in PARALLEL`; written on line 8, 11; read on line 14, 15, 17, 19, "
        "the last time on 19"
    )


@pytest.mark.parametrize(
    ("mark", "within", "words"),
    [
        ("step(u)", 0, "One explicit step with the largest stable time step"),
        ("exchange(u)", 0, "Fill the halos of an array from the neighbours"),
        ("tol max", 0, "param f64 tol = 1e-6 where tol > 0"),
        ("over P", 5, "partition P = 4 * procs as grid(2 * procs, 2)"),
        ("* procs", 2, "the number of processors, which `-p` sets"),
        ("thread_B", 0, "one rank of each processor"),
    ],
)
def test_a_name_shows_what_it_means(mark, within, words):
    assert words in hover(HEAT, mark, within)


def test_a_segment_shows_its_head():
    assert "segment ring(f64[bodies, 4] @ block(0) xm) -> (f64[bodies, 3] @ block(0) acc)" in hover(
        NBODY, "ring(xm) -> acc"
    )


def test_types_are_known_though_a_statement_is_half_written():
    broken = HEAT.replace("thread_A gather(u) -> field @ root", "thread_A gather(")
    assert "f64[NX, NY] @ block(0, 1) halo(1) v" in hover(broken, "-> v", 3)


@pytest.mark.parametrize(
    ("mark", "within", "file", "line"),
    [
        ("exchange(u)", 9, "heat.coven", 8),
        ("step(u)", 0, "heat.c", 19),
        ('"heat.c"', 2, "heat.c", 1),
        ("tol max", 0, "heat.coven", 5),
    ],
)
def test_a_definition_is_found(mark, within, file, line):
    analysis = analysed(HEAT, str(PROGRAMS / "heat.coven"))
    (found,) = navigation.definition(analysis, position(HEAT, mark, within))
    assert (found.uri.rpartition("/")[2], found.range.start.line + 1) == (file, line)


def test_references_are_all_places_of_one_tag_and_of_no_other_of_its_name():
    text = "coven 1\nprogram p {\n  if procs > 1 { let x = 1  print(x) } else { let x = 2  print(x) }\n}\n"
    analysis = analysed(text)
    found = navigation.references(analysis, position(text, "x = 1"), declaration=True)
    assert [place.range.start.character for place in found] == [21, 34]
    assert len(navigation.references(analysis, position(text, "x = 1"), declaration=False)) == 1


def test_highlights_tell_writing_from_reading():
    kinds = [h.kind for h in navigation.highlights(analysed(HEAT), position(HEAT, "residual > tol"))]
    assert sorted(kinds) == [types.DocumentHighlightKind.Read] + [types.DocumentHighlightKind.Write] * 2


@pytest.mark.parametrize("program", ["heat", "nbody", "fft2d", "matmul", "pingpong"])
def test_a_renamed_program_means_the_same(program):
    """Every name of a program gets another one, each by itself: nothing is wrong afterwards."""
    path = PROGRAMS / f"{program}.coven"
    text = path.read_text()
    analysis = analysed(text, str(path))
    named = [symbol for symbol in analysis.symbols.all if symbol.span is not None]
    for symbol in named:
        edits = navigation.rename(analysis, analysis.range(symbol.span).start, "renamed")
        assert len(edits) == len({(s.line, s.column) for s, _ in analysis.symbols.places(symbol)})
        renamed = analysed(applied(text, edits), str(path)).inspection.diagnostics
        assert not renamed, f"{symbol.name}: {renamed}"


@pytest.mark.parametrize(
    ("mark", "name", "words"),
    [
        ("u)", "v", r"`v` is in use \(line 9\)"),
        ("u)", "while", "`while` is a reserved word"),
        ("u)", "2u", "`2u` can't be the name"),
        ("exchange", "swop", "there is nothing to rename here"),
    ],
)
def test_a_name_that_cant_be_is_refused(mark, name, words):
    with pytest.raises(UsageError, match=words):
        navigation.rename(analysed(HEAT), position(HEAT, mark), name)


NAMED = """coven 1
import "m.py" { make, two as zwei }
program p {
  make(4) -> a
  zwei(a, a) -> r
  print(r)
}
"""


@pytest.mark.parametrize(
    ("mark", "name"), [("a\n", "procs"), ("a\n", "f64"), ("zwei }", "two"), ("make,", "two")]
)
def test_a_name_with_which_the_program_would_be_wrong_is_refused(tmp_path, mark, name):
    (tmp_path / "m.py").write_text(
        "#@ coven module make(in i64 n, out f64 x[n])\ndef make(n, x): ...\n"
        "#@ coven module two(in f64 x[n], in f64 y[n], out f64 s)\ndef two(x, y): ...\n"
    )
    analysis = analysed(NAMED, str(tmp_path / "p.coven"))
    assert not analysis.inspection.diagnostics
    with pytest.raises(UsageError, match=f"`{name}` ") as refused:
        navigation.rename(analysis, position(NAMED, mark), name)
    assert refused.value.help == "choose another name"


def test_columns_are_counted_in_the_units_of_the_editor():
    text = 'coven 1\nprogram p {\n  let x = 1  print("𝜋", x)\n}\n'
    analysis = analysed(text)
    found = navigation.references(analysis, types.Position(2, 6), declaration=False)
    assert found[0].range.start.character == 25, "the letter takes two units of UTF-16"


def test_a_parameter_is_renamed_throughout_its_directive():
    text = "//@ coven module step(in f64 u[n, m],\n//@   out f64 v[n, m])\nint step(void);\n"
    lines = Lines(text, PositionCodec())
    edits = navigation.rename_in_directive(lines, position(text, "n, m"), "rows")
    assert applied(text, edits).split("\n")[:2] == [
        "//@ coven module step(in f64 u[rows, m],",
        "//@   out f64 v[rows, m])",
    ]


BODIES = """coven 1
import "bodies.c" { Body, drift }
import "bodies.c" as sky
record Cell { f64 p   bool wet }
param i64 N = 4
program p {
  var Body[N] all
  var Cell[N] cells
  zero() -> all
  zero() -> cells
  drift(inout all, 0.5)
  sky.centre(all) -> sky.Body middle
  copy(all) -> Body[N] again
  copy(cells) -> Cell[N] others
  print(all, middle, again, others)
}
"""
SOURCE = """#include "bodies.h"

//@ coven record Body { i32 kind   f64 x, v }
//@ coven module drift(inout Body bodies[n], in f64 dt)
int drift(Body *bodies, double dt, int64_t n);
//@ coven module centre(in Body bodies[n], out Body middle)
int centre(const Body *bodies, Body *middle, int64_t n);
"""


@pytest.fixture
def bodies(tmp_path):
    (tmp_path / "bodies.c").write_text(SOURCE)
    return analysed(BODIES, str(tmp_path / "bodies.coven"))


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (
            "Body,",
            "record Body { i32 kind  f64 x  f64 v }\n```\n\n24 bytes: `kind` at 0, `x` at 8, `v` at 16",
        ),
        ("Body[N] again", "24 bytes"),
        ("Cell {", "16 bytes: `p` at 0, `wet` at 8"),
        ("wet", "bool wet\n```\n\nat byte 8 of `Cell`"),
        ("all, 0.5", "Body[N] @ root all"),
    ],
)
def test_a_record_shows_its_fields_and_where_they_are(bodies, mark, words):
    shown = hovering.hover(bodies, position(BODIES, mark))
    assert words in shown.contents.value


@pytest.mark.parametrize(
    ("mark", "file", "line"),
    [("Body,", "bodies.c", 3), ("Body[N] all", "bodies.c", 3), ("Cell[N] cells", "", 4)],
)
def test_the_declaration_of_a_record_is_found(bodies, mark, file, line):
    (found,) = navigation.definition(bodies, position(BODIES, mark))
    assert (found.uri.rpartition("/")[2], found.range.start.line + 1) == (file or "bodies.coven", line)


def test_a_record_and_its_fields_are_renamed_wherever_they_are_written(bodies):
    named = [symbol for symbol in bodies.symbols.all if symbol.span is not None]
    assert {symbol.kind for symbol in named} >= {"record", "field"}
    for symbol in named:
        edits = navigation.rename(bodies, bodies.range(symbol.span).start, "renamed")
        renamed = bodies.remade(applied(BODIES, edits)).inspection.diagnostics
        assert not renamed, f"{symbol.name}: {renamed}"


PYRAMID = """coven 1
param i64 L = 3
segment grow(i64 count, f64[2 ** l] v[l in 0 .. count]) -> () {
  for l in 1 .. count { sum(v[l]) -> whole  print(whole) }
}
program p {
  var f64[2 ** l] u[l in 0 .. L]
  for k in 0 .. L { fill(k + 0.5) -> u[k] }
  grow(L, u)
}
"""


def test_an_array_of_tags_and_its_indices_are_renamed_wherever_they_are_written():
    analysis = analysed(PYRAMID)
    for symbol in [symbol for symbol in analysis.symbols.all if symbol.span is not None]:
        edits = navigation.rename(analysis, analysis.range(symbol.span).start, "renamed")
        found = analysis.remade(applied(PYRAMID, edits)).inspection.diagnostics
        assert not found, f"{symbol.name}: {found}"


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (
            "u[k]",
            "f64[2 ** l] u[l in 0 .. L]\n```\n\nmade on `thread_A`; written on line 7, 8",
        ),
        ("k]", "i64 k"),
        ("v[l]", "f64[2 ** l] v[l in 0 .. count]"),
    ],
)
def test_an_array_of_tags_is_shown_as_it_is_declared(mark, words):
    shown = hovering.hover(analysed(PYRAMID), position(PYRAMID, mark))
    assert words in shown.contents.value


def test_a_field_may_be_called_as_a_tag_is_but_not_as_another_field(bodies):
    place = position(BODIES, "wet")
    assert [edit.new_text for edit in navigation.rename(bodies, place, "all")] == ["all"]
    with pytest.raises(UsageError, match=r"`p` is in use \(line 4\)"):
        navigation.rename(bodies, place, "p")
