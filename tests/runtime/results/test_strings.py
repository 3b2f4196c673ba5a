"""Strings that a program builds while it runs, in every place, with the characters of Python's str()."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.harness import compile_program, make_job, run

from pse.errors import RunError
from pse.modules.load._imports import import_python

MODULES_C = """
#include <stdint.h>
#include <string.h>
//@ coven module bytes_of(in string s, in i64 n, out u8 a[n])
int bytes_of(const char *s, int64_t n, uint8_t *a) { memset(a, 0, n); memcpy(a, s, strlen(s)); return 0; }
//@ coven module half(in i64 k, out f64 x)
int half(int64_t k, double *x) { *x = k / 2.0; return 0; }
"""
MODULES_PY = """
heard, values = [], []
#@ coven module hear(in string words)
def hear(words):
    heard.append(words)
#@ coven module any_value(in T value)
def any_value(value):
    heard.append(value)
#@ coven module named(in i64 k, in string words = "no words")
def named(k, words):
    heard.append(f"{k}: {words}")
#@ coven module spell(in u8 a[n])
def spell(a):
    heard.append(bytes(a).rstrip(b"\\0").decode())
#@ coven module real(in i64 k, out f64 x)
def real(k):
    return values[k]
#@ coven module integer(in i64 k, out i64 x)
def integer(k):
    return values[k]
#@ coven module pair(in i64 k, out c128 x)
def pair(k):
    return values[k]
#@ coven module truth(in i64 k, out bool x)
def truth(k):
    return values[k]
"""
HEAD = """coven 1
import "texts.c" as c
import "texts.py" as py
param i64 N = 3
param string name = "frame"
param c128 z = 2
partition P = procs
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strings")
    (folder / "texts.c").write_text(MODULES_C)
    (folder / "texts.py").write_text(MODULES_PY)
    return folder


def hear(folder, body, *, processors=2, values=(), **parameters):
    """Run a program; give what its modules were told, in order."""
    program = compile_program(f"{HEAD}program sample {{\n{body}\n}}\n", folder / "sample.coven")
    module = import_python(str(folder / "texts.py"), "texts.py")
    module.heard.clear()
    module.values[:] = values
    run(make_job(program, processors, **parameters), poison=True)
    return list(module.heard)


PLACES = {
    "a counter": ('for k in 0 .. 3 { py.hear("x" + k) }', ["x0", "x1", "x2"]),
    "a counter in front": ('for k in 0 .. 2 { py.hear(k + "x" + k * 2) }', ["0x0", "1x2"]),
    "iterations in flight": (
        'for k in 0 .. 4 inflight 2 { let s = name + k  thread_A py.hear(s + ".npy") }',
        [f"frame{k}.npy" for k in range(4)],
    ),
    "let of a parameter": ("let s = name + N + (N > 2)  py.hear(s)", ["frame3true"]),
    "let, and another from it": (
        'for k in 0 .. 2 { let s = "a" + k  let t = s + s  py.hear(t) }',
        ["a0a0", "a1a1"],
    ),
    "a variable that grows": (
        'var string s = "a" + N  for k in 0 .. 3 { s = s + k }  py.hear(s)  s = "b"  py.hear(s)',
        ["a3012", "b"],
    ),
    "a variable of each type": (
        "var f64 x = 1  var i64 i = 2  var bool b = false  var c128 w = 2  var f32 f = 0.5\n"
        "for k in 0 .. 2 { x = x / 4  i = i - 5  b = not b  w = w * 2  f = f + 1\n"
        'py.hear("x" + x + " " + i + " " + b + " " + w + " " + f) }',
        ["x0.25 -3 true (4+0j) 1.5", "x0.0625 -8 false (8+0j) 2.5"],
    ),
    "functions and arithmetic": (
        'for k in 1 .. 3 { py.hear("" + sqrt(k * 4.0) + max(k, 1) + min(0.5, k) + floor(k / 2.0) + -k) }',
        ["2.010.50-1", "2.828427124746190320.51-2"],
    ),
    "what a module gives": ('for k in 0 .. 3 { c.half(k) -> x  py.hear("x" + x) }', ["x0.0", "x0.5", "x1.0"]),
    "a compiled module": (
        'for k in 0 .. 3 { c.bytes_of("é" + k, 8) -> a  py.spell(a) }',
        ["é0", "é1", "é2"],
    ),
    "a compiled module in another thread": (
        "for k in 0 .. 3 { let s = name + k  thread_A c.bytes_of(s + s, 20) -> a  thread_B py.spell(a) }",
        [f"frame{k}frame{k}" for k in range(3)],
    ),
    "an input given by name, and a default": (
        'for k in 0 .. 2 { py.named(k, words = "w" + k)  py.named(k) }',
        ["0: w0", "0: no words", "1: w1", "1: no words"],
    ),
    "a module of any type": (
        'for k in 0 .. 2 { let s = "v" + k  py.any_value(s)  py.any_value("u" + k) }',
        ["v0", "u0", "v1", "u1"],
    ),
    "conditions": (
        'var string s = "a"  for k in 0 .. 3 { if s == "a" + "bb" or s < "ab" { py.hear(s + "!") }\n'
        's = s + "b" } while s != "abbbbb" max 9 { s = s + "b" }  py.hear(s)',
        ["a!", "abb!", "abbbbb"],
    ),
    "a condition on a parameter": ('if name == "frame" { py.hear("yes") } else { py.hear("no") }', ["yes"]),
    "a swap": ('var string s = "a"  var string t = "b"  swap(s, t)  py.hear(s + t)', ["ba"]),
    "a complex parameter": ('var c128 w = 1  w = w + z  py.hear("w" + w * z)', ["w(6+0j)"]),
}
SEGMENTS = """segment twice(string s, i64 n) -> () {
  for k in 0 .. n { py.hear(s + k) }
}
"""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("processors", [1, 3])
def test_strings_are_built_in_every_place(folder, place, processors):
    body, expected = PLACES[place]
    assert hear(folder, body, processors=processors) == expected


def test_strings_made_of_values_of_partitions_reach_their_calls(folder):
    body = """for k in 0 .. 2 { PARALLEL over P {
      thread_B c.half(k) -> x reduce y(sum)
      let s = "x" + x
      thread_B py.hear(s + "," + k)
    }
    thread_A py.hear("y" + y) }"""
    assert sorted(hear(folder, body, processors=3)) == sorted(
        [*["x0.0,0"] * 3, *["x0.5,1"] * 3, "y0.0", "y1.5"]
    )


def test_all_partitions_of_a_processor_get_strings(folder):
    body = "PARALLEL over P { thread_B c.half(N) -> x  thread_B py.hear(name + x) }"
    program = f"{HEAD.replace('P = procs', 'P = 2 * procs')}program sample {{\n{body}\n}}\n"
    checked = compile_program(program, folder / "several.coven")
    module = import_python(str(folder / "texts.py"), "texts.py")
    module.heard.clear()
    run(make_job(checked, 2), poison=True)
    assert module.heard == ["frame1.5"] * 4


def test_segments_take_strings(folder):
    program = compile_program(
        HEAD + SEGMENTS + 'program p { for k in 0 .. 2 { let s = "s" + k  twice(s, 2)  twice("t" + k, 1) } }',
        folder / "segments.coven",
    )
    module = import_python(str(folder / "texts.py"), "texts.py")
    module.heard.clear()
    run(make_job(program, 2), poison=True)
    assert module.heard == ["s00", "s01", "t00", "s10", "s11", "t10"]


def test_a_string_that_is_too_long_stops_the_run_with_its_place(folder):
    with pytest.raises(RunError, match=r"sample.coven:10:2: .*longer than 65,536 characters"):
        hear(folder, 'var string s = "ab"  for k in 0 .. 16 {\n s = s + s }\n py.hear(s)')


def joined(folder, module, values):
    """Join each value with strings on both sides."""
    body = f'for k in 0 .. {len(values)} {{ py.{module}(k) -> x  py.hear("<" + x + ">") }}'
    return hear(folder, body, processors=1, values=values)


REALS = st.floats(allow_nan=True, allow_infinity=True)
POWERS = st.integers(-1074, 1023).map(lambda power: math.ldexp(1.0, power))
SHORT = st.builds(
    lambda digits, power: float(f"{digits}e{power}"), st.integers(0, 999), st.integers(-320, 305)
)


@given(values=st.lists(REALS | POWERS | SHORT, min_size=1, max_size=40))
@settings(max_examples=some_of(40), deadline=None)
def test_reals_are_joined_as_python_writes_them(folder, values):
    assert joined(folder, "real", values) == [f"<{value}>" for value in values]


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40))
@settings(max_examples=some_of(15), deadline=None)
def test_integers_are_joined_as_python_writes_them(folder, values):
    assert joined(folder, "integer", values) == [f"<{value}>" for value in values]


@given(values=st.lists(st.builds(complex, REALS, REALS), min_size=1, max_size=20))
@settings(max_examples=some_of(20), deadline=None)
def test_complex_numbers_are_joined_as_python_writes_them(folder, values):
    assert joined(folder, "pair", values) == [f"<{value}>" for value in values]


def test_every_power_of_two_is_joined_as_python_writes_it(folder):
    values = [math.ldexp(1.0, power) for power in range(-1074, 1024)]
    assert joined(folder, "real", values) == [f"<{value}>" for value in values]


def test_truth_values_are_joined_as_programs_write_them(folder):
    assert joined(folder, "truth", [True, False, np.True_]) == ["<true>", "<false>", "<true>"]
