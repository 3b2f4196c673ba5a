"""What the server offers while a text is typed, and how it shows and changes texts."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from lsprotocol import types
from pse_testing.example_counts import nightly, some_of
from pse_testing.expectations import mended
from pygls.workspace import PositionCodec

from pse.errors import UsageError
from pse.language import Severity, Span, check_program, format_program
from pse.lsp import (
    _actions as actions,
    _completion as completion,
    _outline as outline,
    _refactorings as refactorings,
)
from pse.lsp._analysis import Analysis, Lines, OpenFiles
from pse.lsp._formatting import line_edits
from pse.modules import Finder

from .conftest import PROGRAMS, analysed, position

HEAT = (PROGRAMS / "heat.coven").read_text()
WRITTEN = [
    path
    for path in sorted(PROGRAMS.rglob("*.coven"))
    if "\nprogram " in path.read_text() and "PARALLEL" in path.read_text()
]
MALFORMED = sorted((Path(__file__).parents[1] / "language" / "programs").glob("*.coven"))


def offered(typed):
    """Give what is offered at the end of a line that is typed after `swap(u, v)` in the heat equation."""
    before = HEAT.replace("    swap(u, v)\n", f"    swap(u, v)\n    {typed}\n")
    analysis = analysed(HEAT, str(PROGRAMS / "heat.coven"))
    lines = Lines(before, PositionCodec())
    at = position(before, f"swap(u, v)\n    {typed}", len(f"swap(u, v)\n    {typed}"))
    return {item.label for item in completion.complete(lines, analysis, OpenFiles({}), at)}


@pytest.mark.parametrize(
    ("typed", "there", "absent"),
    [
        ("thread_A ", {"step", "gather", "save"}, {"while", "thread_B"}),
        ("", {"thread_A", "thread_B", "thread_C", "while", "for", "exchange", "u"}, {"f64", "param"}),
        ("exchange(", {"u", "v", "periodic = ", "procs"}, {"while", "step"}),
        ("step(u) -> ", {"u", "v", "residual"}, {"NX", "step"}),
        ("gather(u) -> all @ ", {"block", "root", "cyclic", "replicated"}, {"u", "step"}),
        ("var ", {"f64", "c128", "i64", "bool"}, {"u", "step"}),
        ("let y = ", {"residual", "tol", "sqrt", "NX"}, {"while", "thread_A"}),
        ("PARALLEL over ", {"P"}, {"u", "NX"}),
        ("// ", set(), {"u", "step", "while"}),
        ('print("u', set(), {"u", "step", "while"}),
        ('print("a \\" u', set(), {"u", "step", "while"}),
        ('print("a", u', {"u"}, {"while"}),
    ],
)
def test_what_fits_is_offered_and_nothing_else(typed, there, absent):
    found = offered(typed)
    assert there <= found
    assert not absent & found


def test_tags_that_are_made_further_down_are_not_offered():
    assert {"u", "v"} <= offered("print(")
    assert "field" not in offered("print(")


def test_members_files_modules_and_options_are_offered():
    fft = (PROGRAMS / "fft2d.coven").read_text()
    analysis = analysed(fft, str(PROGRAMS / "fft2d.coven"))

    def at_end(text):
        lines = Lines(text, PositionCodec())
        end = types.Position(len(lines.lines) - 1, len(lines.lines[-1]))
        return {i.label for i in completion.complete(lines, analysis, OpenFiles({}), end)}

    assert at_end("coven 1\nprogram p {\n thread_B fft.") == {"rows"}
    assert {"heat.c", "gravity.c", "kernels/"} <= at_end('coven 1\nimport "')
    assert {'"heat.c"', '"kernels/"'} <= at_end("coven 1\nimport ")
    assert "for" not in at_end("coven 1\nprogram p {\n}\nimport ")
    assert at_end('coven 1\nimport "heat.c" { ') == {"init", "step"}
    assert {"arena", "queue_depth"} <= at_end("coven 1\noptions { ")
    assert {"import", "param", "segment", "program"} <= at_end("coven 1\n")
    assert at_end("coven 1\nparam f64 dt = 1e-3 ") == {"live", "where"}
    assert "live" not in at_end("coven 1\nparam f64 dt = ")


def test_records_are_offered_where_types_stand(tmp_path):
    (tmp_path / "bodies.c").write_text("//@ coven record Body { f64 x }\n")
    head = 'coven 1\nimport "bodies.c" { Body }\nimport "bodies.c" as sky\nrecord Cell { f64 p }\n'
    analysis = analysed(head + "program p { }\n", str(tmp_path / "p.coven"))

    def at_end(text):
        lines = Lines(head + text, PositionCodec())
        end = types.Position(len(lines.lines) - 1, len(lines.lines[-1]))
        return {i.label for i in completion.complete(lines, analysis, OpenFiles({}), end)}

    assert {"Body", "Cell", "sky.Body", "f64"} <= at_end("program p {\n  var ")
    assert {"Body", "Cell"} <= at_end('program p {\n  load("a.npy") -> ')
    assert at_end("program p {\n  var sky.") == {"Body"}
    assert {"Body", "Cell"} <= at_end("segment s(")
    assert "Body" in at_end('import "bodies.c" { ')


def test_the_interface_of_the_call_at_hand_is_shown():
    text = HEAT.replace('save("heat.npy", field)', 'save("heat.npy", ')
    lines, analysis = Lines(text, PositionCodec()), analysed(HEAT)
    shown = completion.signature_help(lines, analysis, position(text, '"heat.npy", ', 12))
    assert shown.signatures[0].label == 'save(file, a, like = "")'
    assert shown.active_parameter == 1
    assert completion.signature_help(lines, analysis, position(text, "swap", 0)) is None


def test_the_outline_has_items_and_statements():
    heat = {symbol.name: symbol for symbol in outline.document_symbols(analysed(HEAT))}
    assert list(heat) == ["heat.c", "NX", "NY", "tol", "P", "heat"]
    loop = next(one for one in heat["heat"].children if one.name.startswith("while"))
    assert [call.name for call in loop.children] == ["PARALLEL over P", "swap"]


def test_blocks_and_comments_fold():
    text = "// one\n// two\ncoven 1\nprogram p {\n  if procs > 1 {\n    print(1)\n  }\n}\n"
    found = sorted((f.start_line, f.end_line) for f in outline.folding(analysed(text)))
    assert found == [(0, 1), (3, 6), (4, 5)]


def test_words_are_coloured_by_what_they_mean():
    text = "coven 1\nparam i64 N = 4\nprogram p {\n  thread_A print(N)\n}\n"
    data, line, column, found = outline.semantic_tokens(analysed(text)).data, 0, 0, []
    lines = text.split("\n")
    for down, right, length, kind, _ in zip(*[iter(data)] * 5, strict=True):
        line, column = line + down, right + (column if not down else 0)
        found.append((lines[line][column : column + length], outline.TOKEN_TYPES[kind]))
    assert ("param", "keyword") in found
    assert found[-3:] == [("thread_A", "label"), ("print", "function"), ("N", "parameter")]


def test_hints_say_which_thread_and_which_distribution_nobody_wrote():
    text = """coven 1
partition P = procs
program p {
  var f64[8] x
  fill(1.0) -> x
  scatter(x) -> xs @ block(0)
  PARALLEL { thread_B copy(xs) -> ys  thread_B sum(ys) -> s reduce t(sum) }
  thread_A print(t)
}
"""
    everywhere = types.Range(types.Position(0, 0), types.Position(99, 0))
    hints = [(h.position.line + 1, h.label) for h in outline.hints(analysed(text), everywhere)]
    assert sorted(hints) == [(5, "thread_A "), (6, "thread_A "), (7, " @ block(0)")]


@pytest.mark.parametrize("path", MALFORMED[::3], ids=lambda path: path.stem)
def test_an_offered_edit_mends_what_it_is_offered_for(path, finder):
    text = path.read_text()
    analysis = Analysis(text, path.name, PositionCodec(), finder)
    for diagnostic in analysis.inspection.diagnostics:
        edits = actions.mend(analysis, finder, diagnostic)
        if edits is not None:
            changed = actions.edited(analysis.lines, edits)
            left = check_program(changed, path.name, modules=finder).diagnostics
            before = [d.message for d in analysis.inspection.diagnostics if d.code == diagnostic.code]
            assert [d.message for d in left].count(diagnostic.message) < before.count(diagnostic.message)


@pytest.mark.parametrize(
    "name",
    [
        *("w0601_no_such_thread", "e0011_no_version", "e0202_unknown_module", "e0302_output_missing"),
        *("e0312_scatter_first", "e0312_replicate_first", "e0318_scatter_how", "e0607_no_partitions"),
        *("w0201_unused_tag", "w0203_unused_parameter"),
    ],
)
def test_the_edit_is_what_the_help_says(name, finder):
    path = Path(MALFORMED[0]).with_name(f"{name}.coven")
    text = path.read_text()
    analysis = Analysis(text, path.name, PositionCodec(), finder)
    edits = actions.mend(analysis, finder, analysis.inspection.diagnostics[0])
    assert edits is not None
    assert actions.edited(analysis.lines, edits) == mended(text)


def test_a_call_moves_to_another_thread_by_one_word():
    at = position(HEAT, "thread_C exchange")
    offers = {a.title: a for a in refactorings.refactorings(analysed(HEAT), types.Range(at, at))}
    assert list(offers) == [
        "Move exchange to thread_A",
        "Move exchange to thread_B",
        "Move exchange to thread_D",
    ]
    (edit,) = next(iter(offers["Move exchange to thread_B"].edit.changes.values()))
    assert (edit.range.start, edit.range.end.character - edit.range.start.character) == (at, 8)


def test_selected_statements_become_a_segment_that_checks():
    text = """coven 1
program p {
  var f64[8] x
  fill(1.0) -> x
  copy(x) -> y
  sum(y) -> s
  print(s)
}
"""
    analysis = analysed(text)
    chosen = types.Range(types.Position(4, 0), types.Position(5, 99))
    (made,) = segments_offered(analysis, chosen)
    changed = applied(text, made)
    assert "segment part(f64[8] @ root x) -> (f64 s) {\n  copy(x) -> y\n  sum(y) -> s\n}" in changed
    assert "  part(x) -> s\n" in changed
    assert not analysed(changed).inspection.diagnostics


@settings(max_examples=some_of(60), deadline=None)
@given(st.sampled_from(WRITTEN), st.data())
def test_whatever_segment_is_offered_checks(path, data):
    text = path.read_text()
    analysis = analysed(text, str(path))
    lines = text.count("\n")
    first = data.draw(st.integers(text[: text.index("program ")].count("\n") + 1, lines - 1))
    last = min(first + data.draw(st.integers(1, 6)), lines)
    chosen = types.Range(types.Position(first, 0), types.Position(last, 0))
    for made in segments_offered(analysis, chosen):
        found = analysed(applied(text, made), str(path)).inspection.diagnostics
        assert [d for d in found if d.severity is Severity.ERROR] == []


@settings(max_examples=some_of(60), deadline=None)
@given(st.sampled_from(WRITTEN), st.data())
def test_a_segment_that_is_taken_apart_again_leaves_the_same_bytes(path, data):
    text = path.read_text()
    lines = text.count("\n")
    first = data.draw(st.integers(text[: text.index("program ")].count("\n") + 1, lines - 1))
    chosen = types.Range(types.Position(first, 0), types.Position(min(first + 2, lines), 0))
    for made in segments_offered(analysed(text, str(path)), chosen):
        changed = applied(text, made)
        name = re.search(r"^segment (part\d*)", changed, re.MULTILINE)[1]
        assert replaced(changed, name, path) == text


def replaced(text, name, path=PROGRAMS / "text.coven"):
    """Replace the last call of a segment by its statements."""
    at = types.Position(text[: text.rindex(f"{name}(")].count("\n"), 0)
    offers = refactorings.refactorings(analysed(text, str(path)), types.Range(at, at))
    (made,) = [action for action in offers if action.title == f"Replace the call by the statements of {name}"]
    return applied(text, made)


def test_a_call_is_replaced_by_the_statements_of_its_segment():
    text = """coven 1
param i64 n = 8
segment half(f64[n] x, f64 by) -> (f64[n] y, f64 s) {
  let t = by / 2     // a real
  copy(x) -> z
  axpy(t, x, inout z)
  copy(z) -> y
  sum(z) -> s
}
program p {
  fill(1.0) -> f64[n] z
  half(z, n) -> w, t
  half(w, 1.5) -> v, s
  print(v, s, t)
}
"""
    changed = replaced(text, "half")
    assert "  let by = f64(1.5)\n  let t2 = by / 2     // a real\n" in changed
    assert "  copy(w) -> z2\n  axpy(t2, w, inout z2)\n  copy(z2) -> v\n  sum(z2) -> s\n" in changed
    changed = replaced(changed, "half")
    assert "  let by2 = f64(n)\n" in changed
    assert "segment" not in changed
    assert [d for d in analysed(changed).inspection.diagnostics if d.severity is Severity.ERROR] == []


def test_what_would_not_check_as_a_segment_is_refused_with_the_reason():
    text = (
        "coven 1\nprogram p {\n  zero() -> f64[4] x\n  copy(x) -> y\n  for k in 0 .. 3 {\n    break\n  }\n}\n"
    )
    analysis = analysed(text)
    chosen = types.Range(types.Position(5, 0), types.Position(5, 99))
    assert not segments_offered(analysis, chosen)
    with pytest.raises(UsageError, match="can't be a segment: `break` stands in no loop"):
        refactorings.extract_segment(analysis, [Span("", 6, 5, 6, 10)], "part")


def segments_offered(analysis, chosen):
    return [a for a in refactorings.refactorings(analysis, chosen) if "segment" in a.title]


def applied(text, action):
    lines = Lines(text, PositionCodec())
    changes = next(iter(action.edit.changes.values()))
    edits = (actions.Edit(_span(lines, edit.range), edit.new_text) for edit in changes)
    return actions.edited(lines.lines, tuple(edits))


def _span(lines, place):
    return Span("", *lines.place(place.start), *lines.place(place.end))


def test_formatting_is_that_of_pse_fmt_and_changes_only_lines_that_differ():
    text = HEAT.replace("    swap(u, v)", "  swap( u,v )")
    lines = Lines(text, PositionCodec())
    (edit,) = line_edits(lines, format_program(text, "heat.coven"), None)
    assert (edit.range.start.line, edit.range.end.line, edit.new_text) == (16, 17, "    swap(u, v)\n")
    elsewhere = types.Range(types.Position(0, 0), types.Position(3, 0))
    assert not line_edits(lines, format_program(text, "heat.coven"), elsewhere)


@given(
    st.lists(st.sampled_from(["a", "b", "", "c d"]), max_size=9),
    st.lists(st.sampled_from(["a", "b", ""]), max_size=9),
)
@settings(max_examples=some_of(200), deadline=None)
def test_line_edits_make_any_text_of_any_other(old, new):
    before, after = "\n".join(old), "\n".join(new)
    lines = Lines(before, PositionCodec())
    edits = [actions.Edit(_span(lines, e.range), e.new_text) for e in line_edits(lines, after, None)]
    assert actions.edited(lines.lines, tuple(edits)) == after


@pytest.mark.parametrize("step", [11, *nightly(3)])
@pytest.mark.parametrize("path", MALFORMED[::17], ids=lambda path: path.stem)
def test_beginnings_of_a_program_are_survived(path, step):
    """A text that is being typed is mostly wrong: nothing raises, whatever is asked."""
    text = path.read_text().split("// expect")[0]
    finder = Finder()
    for end in range(0, len(text), step):
        analysis = Analysis(text[:end], str(PROGRAMS / path.name), PositionCodec(), finder)
        place = analysis.whole().end
        completion.complete(analysis, analysis, OpenFiles({}), place)
        completion.signature_help(analysis, analysis, place)
        outline.semantic_tokens(analysis)
        outline.document_symbols(analysis)
        outline.folding(analysis)
        outline.hints(analysis, analysis.whole())
        refactorings.refactorings(analysis, analysis.whole())
