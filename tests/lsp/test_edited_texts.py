"""What is known of a text that was edited is what is known of the text alone, however little is done anew."""

import re
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings, strategies as st
from pse_testing.example_counts import some_of
from pygls.workspace import PositionCodec

from pse.lsp import _outline as outline
from pse.lsp._analysis import Analysis
from pse.modules import Finder

from .conftest import PROGRAMS

SMALL = Path(__file__).parents[1] / "language" / "programs"
TEXTS = [path.read_text() for path in sorted([*SMALL.glob("*.coven"), *PROGRAMS.glob("*.coven")])]
SEGMENTS = """coven 1
param i64 n = 8
partition P = 4
segment grow(f64[n] x) -> (f64[n] y) {
  copy(x) -> y
  axpy(1.0, x, y)
}
segment unused(i64 m) -> () {
  var f64[m] z
  zero() -> z
  print(z)
}
program p {
  let m = 2 * n
  var f64[m] a
  var f64[n] @ block(0) over P u
  zero() -> a
  zero() -> u
  sum(u) -> s
  for k in 0 .. 4 {
    var f64[k + 1] b
    fill(1.0) -> b
    let half = k / 2
    thread_B copy(b) -> c
    thread_B print(c, half)
  }
  var f64[n] v
  fill(2.0) -> v
  grow(v) -> w
  grow(w) -> w2
  if s > 1.0 {
    print(w2)
  } else {
    thread_C print(a)
  }
}
"""
"""Of everything that the check of a statement depends on there is something in it."""

PLACE = st.floats(0, 1, exclude_max=True)
WORDS = st.sampled_from(["copy", "a", "b", "n", "m", "k", "v", "w", "s", "f64", "i64", "2", "P", "thread_B"])


def line_of(lines, place):
    return int(place * len(lines))


def without(lines, one, _other, _word):
    return [line for number, line in enumerate(lines) if number != line_of(lines, one)]


def twice(lines, one, other, _word):
    there = line_of(lines, other)
    return [*lines[:there], lines[line_of(lines, one)], *lines[there:]]


def further_down(lines, one, _other, _word):
    return [*lines[: line_of(lines, one)], "", *lines[line_of(lines, one) :]]


def commented(lines, one, _other, _word):
    """Change a line, and nothing of what the text means."""
    number = line_of(lines, one)
    return [*lines[:number], f"{lines[number]} // changed", *lines[number + 1 :]]


def with_word(lines, one, other, word):
    """Write another word in the place of one."""
    number = line_of(lines, one)
    words = list(re.finditer(r"\w+", lines[number]))
    if not words:
        return lines
    old = words[line_of(words, other)]
    line = lines[number]
    return [*lines[:number], line[: old.start()] + word + line[old.end() :], *lines[number + 1 :]]


EDITS = st.sampled_from([without, twice, further_down, commented, with_word, with_word])
EDIT = st.tuples(EDITS, PLACE, PLACE, WORDS)


def known_of(analysis):
    """Give all that the server knows of a text and shows of it."""
    inspection = analysis.inspection
    symbols = [(s.name, s.kind, s.span, s.scope, analysis.symbols.places(s)) for s in analysis.symbols.all]
    return {
        "diagnostics": repr(inspection.diagnostics),
        "tags": inspection.tags,
        "program": inspection.program,
        "places": inspection.program and [str(site.span) for site in inspection.program.body],
        "symbols": symbols,
        "tokens": outline.semantic_tokens(analysis).data,
        "outline": repr(outline.document_symbols(analysis)),
    }


@settings(max_examples=some_of(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(st.just(SEGMENTS), st.sampled_from(TEXTS)), st.lists(EDIT, min_size=1, max_size=5))
@example(SEGMENTS, [(commented, 0.95, 0.0, "a"), (commented, 0.3, 0.0, "a"), (further_down, 0.6, 0.0, "a")])
@example(SEGMENTS, [(commented, 0.95, 0.0, "a"), (with_word, 0.5, 0.4, "w"), (with_word, 0.1, 0.0, "n")])
@example(SEGMENTS, [(twice, 0.0, 0.75, "copy"), (twice, 0.0, 0.5, "copy")])
def test_an_edited_text_is_known_as_if_it_were_new(text, edits):
    path, finder = str(PROGRAMS / "text.coven"), Finder()
    kept = Analysis(text, path, PositionCodec(), finder)
    for edit, *how in edits:
        text = "\n".join(edit(text.split("\n"), *how))
        kept = kept.remade(text)
        assert known_of(kept) == known_of(Analysis(text, path, PositionCodec(), finder))


def test_a_name_means_the_first_of_that_name_that_is_visible():
    symbols = Analysis(SEGMENTS, str(PROGRAMS / "text.coven"), PositionCodec(), Finder()).symbols
    for line, written in enumerate(SEGMENTS.split("\n"), 1):
        seen = {}
        for symbol in symbols.visible(line, len(written) + 1):
            seen.setdefault(symbol.name, symbol)
        names = {symbol.name for symbol in symbols.all}
        assert {name: symbols.meant(name, line, len(written) + 1) for name in names} == {
            name: seen.get(name) for name in names
        }
