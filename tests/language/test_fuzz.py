"""Programs that nobody would write: the checker and the formatter answer all of them, and quickly."""

import re

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pse_testing.example_counts import some_of, tried

from pse.errors import ProgramError
from pse.language import (
    bind_parameters,
    check_program,
    format_program,
    parse_program,
    render_diagnostics,
    to_json,
)
from pse.language.diagnostics._diagnostic import has_errors
from pse.language.io._source_file import decode

RELAXED = settings(max_examples=some_of(120), deadline=None, suppress_health_check=list(HealthCheck))

WORDS = st.sampled_from(
    [
        *(
            "coven 1",
            "import",
            "param",
            "partition",
            "options",
            "segment",
            "program",
            "let",
            "var",
            "for",
            "in",
        ),
        *("while", "max", "if", "else", "PARALLEL", "over", "reduce", "halo", "inflight", "where", "as"),
        *("{", "}", "(", ")", "[", "]", ",", "=", "->", "..", "...", "@", ";", "+", "-", "*", "/", "**", "<"),
        *(
            "x",
            "N",
            "P",
            "t.make",
            "f64",
            "i64",
            "block(0)",
            "thread_A",
            "procs",
            "0",
            "1",
            "2.5",
            '"s"',
            '"',
        ),
        *("// c\n", "# c\n", "\n", "$", "é", "64KiB", "not", "true", "swap(x, y)", "t.use(x)"),
    ]
)

NAMES = st.sampled_from(["x", "y", "z", "n", "N", "P", "k"])
EXPRESSIONS = st.recursive(
    st.one_of(
        NAMES, st.integers(0, 9).map(str), st.sampled_from(["procs", "2.5", "true", '"a"', "10 ** 30"])
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "**", "<", "==", "and"]), inner).map(
            lambda t: f"({' '.join(t)})"
        ),
        inner.map(lambda e: f"-{e}"),
        inner.map(lambda e: f"max({e}, 2)"),
    ),
    max_leaves=5,
)
OUTPUTS = st.tuples(
    NAMES, st.sampled_from(["", " @ block(0)", " @ root", " @ cyclic(0)", " reduce s(sum)"])
).map("".join)
LABELS = st.sampled_from(["", "thread_A ", "thread_B "])
CALLS = st.one_of(
    st.builds("{}t.make({}) -> {}".format, LABELS, EXPRESSIONS, OUTPUTS),
    st.builds("{}t.{}({})".format, LABELS, st.sampled_from(["use", "change", "square", "bump"]), NAMES),
    st.builds("{}t.norm({}) -> {}".format, LABELS, NAMES, OUTPUTS),
    st.builds("{}t.{}({}, {})".format, LABELS, st.sampled_from(["pair", "scale", "sized"]), NAMES, NAMES),
    st.builds(
        "{}{}({}) -> {}".format,
        LABELS,
        st.sampled_from(
            ["scatter", "gather", "copy", "transpose", "shift", "replicate", "redistribute", "seg"]
        ),
        NAMES,
        OUTPUTS,
    ),
    st.builds("swap({}, {})".format, NAMES, NAMES),
    st.builds("print({}, {})".format, NAMES, EXPRESSIONS),
    st.builds("let {} = {}".format, NAMES, EXPRESSIONS),
    st.builds("{} = {}".format, NAMES, EXPRESSIONS),
    st.builds(
        "var {} {}".format, st.sampled_from(["f64", "i64", "f64[N]", "f64[N] @ block(0)", "f64[n, 2]"]), NAMES
    ),
)
STATEMENTS = st.recursive(
    CALLS,
    lambda inner: st.builds(
        lambda head, body: head + " {\n" + "\n".join(body) + "\n}",
        st.one_of(
            st.builds("for k in 0 .. {}".format, EXPRESSIONS),
            st.builds("for k in 0 .. {} inflight 2".format, EXPRESSIONS),
            st.builds("while {} max 3".format, EXPRESSIONS),
            st.builds("if {}".format, EXPRESSIONS),
            st.just("PARALLEL over P"),
        ),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)
PROGRAMS = st.lists(STATEMENTS, max_size=8).map(
    lambda body: (
        'coven 1\nimport "tools.c" as t\nparam i64 N = 8\npartition P = 2 * procs\n'
        "segment seg(f64[N] a) -> (f64[N] b) { copy(a) -> b }\nprogram p {\n" + "\n".join(body) + "\n}\n"
    )
)


def answer(text, finder):
    """Check a text, print what is found, and go as far as it goes."""
    result = check_program(text, "fuzz.coven", modules=finder)
    assert (result.program is None) == has_errors(result.diagnostics)
    printed = render_diagnostics(result.diagnostics, {"fuzz.coven": text})
    assert printed.count("fuzz.coven:") >= len(result.diagnostics)
    to_json(result.diagnostics)
    lines = text.split("\n")
    for diagnostic in result.diagnostics:
        if diagnostic.span.path == "fuzz.coven":
            assert 1 <= diagnostic.span.line <= len(lines)
            assert 1 <= diagnostic.span.column <= len(lines[diagnostic.span.line - 1]) + 1
    if result.program is not None:
        bind_parameters(result.program, {"N": "-3"}, 2)
    return result


@tried(30)
def test_any_grammatical_program_is_answered(finder, examples):
    @settings(RELAXED, max_examples=examples)
    @given(PROGRAMS)
    def check(text):
        assert parse_program(text, "fuzz.coven").diagnostics == ()
        answer(text, finder)

    check()


@RELAXED
@given(PROGRAMS)
def test_formatting_grammatical_programs_is_idempotent(text):
    once = format_program(text, "fuzz.coven")
    assert format_program(once, "fuzz.coven") == once
    assert re.sub(r"\s", "", once) == re.sub(r"\s", "", text)


@RELAXED
@given(st.lists(WORDS, max_size=60).map(" ".join))
@example("program p { }}")
@example("import { { {")
def test_any_words_are_answered(finder, text):
    answer(text, finder)
    answer(f"coven 1\nprogram p {{ {text}", finder)
    answer(f"coven 1\nprogram p {{ {text}\n}}\n", finder)


@RELAXED
@given(st.lists(st.one_of(WORDS, st.just("// note\n"), st.just(";")), max_size=40).map(" ".join))
@example("; \n \n // note\n")
def test_formatting_keeps_words_and_comments(text):
    text = f"coven 1 // head\n options {{ arena = auto # tail\n }} program p {{ {text}\n}}\n"
    if has_errors(parse_program(text, "fuzz.coven").diagnostics):
        with pytest.raises(ProgramError, match="has syntax errors and was left as it is"):
            format_program(text, "fuzz.coven")
        return
    once = format_program(text, "fuzz.coven")
    assert format_program(once, "fuzz.coven") == once
    assert re.sub(r"[\s;]", "", once) == re.sub(r"[\s;]", "", text)


@RELAXED
@given(st.binary(max_size=400))
@example(b"coven 1\n\xff")
@example(b"\xef\xbb\xbfcoven 1\nprogram p { }\n")
@example(b"coven 1\r\nprogram p { print(1) }\r\n")
def test_any_bytes_are_answered(finder, data):
    text, diagnostics = decode(data, "fuzz.coven")
    if diagnostics:
        assert text == ""
        render_diagnostics(diagnostics, {})
    else:
        answer(text, finder)


@RELAXED
@given(st.text(max_size=200))
def test_any_text_is_answered(finder, text):
    answer(text, finder)
