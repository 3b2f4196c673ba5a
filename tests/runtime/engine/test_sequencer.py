"""What the sequencer does with small programs: orders that once went wrong, reductions, failures, hand-
overs.
"""

import re
import struct
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from pse_testing.example_counts import nightly
from pse_testing.harness import compile_program, make_job, run
from pse_testing.oracle import Oracle

from pse.errors import RunError
from pse.language.types._expressions import Binary, Number
from pse.modules.load._imports import import_python

PROGRAMS = Path(__file__).parents[1] / "programs"
HEAD = """coven 1
import "kernels.c" as k
import "pykernels.py" as py
import "more.c" as more
import "more.py" as pymore
param i64 N = 6
param i64 M = 4
partition P = procs
"""
MORE_C = """
#include <stdint.h>
//@ coven module fails(in i64 code)
int fails(int64_t code) { return (int)code; }
const char *coven_error(int code) { return code == 7 ? "seven is too many" : 0; }
//@ coven module first(in f64 a[n], out f64 x)
int first(const double *a, double *x, int64_t n) { *x = n > 0 ? a[0] : 0; return 0; }
"""
MORE_PY = """
import numpy as np
values = {}
#@ coven module listed(in i64 which, in i64 n, out f64 a[n])
def listed(which, n, a):
    a[...] = values[which]
#@ coven module wrong(in i64 n, out f64 a[n])
def wrong(n):
    return np.zeros(n + 1)
#@ coven module raises(in i64 n)
def raises(n):
    raise KeyError("nothing under this name")
#@ coven module seen(in f64 a[n])
def seen(a):
    pass
#@ coven module told(in string words, in bool flag, in i32 small = 4, in f64 x = 0.5)
def told(words, flag, small, x):
    values[words] = (flag, small, x)
#@ coven module turned(inout i64 n, inout f64 x)
def turned(n, x):
    n += 2
    x *= -1
#@ coven module typed(in c128 a, in c64 b, inout c128 c, inout c64 d, inout f32 e, inout i32 f, inout T g)
def typed(a, b, *changed):
    values["typed"] = (type(a), type(b), *(value.dtype for value in changed))
    changed[0][...] += 1j
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Modules that are compiled once for all tests; what those in Python hold is each `Sample`'s own."""
    folder = tmp_path_factory.mktemp("sequencer")
    for name in ("kernels.c", "pykernels.py"):
        text = (PROGRAMS / name).read_text().replace("ELEMENT", "f64").replace("CTYPE", "double")
        (folder / name).write_text(text)
    (folder / "more.c").write_text(MORE_C)
    (folder / "more.py").write_text(MORE_PY)
    return folder


class Sample:
    """One small program, ready to be run again and again."""

    def __init__(self, folder, body):
        text = HEAD + "program sample {\n" + body.strip("\n") + "\n}\n"
        self.program = compile_program(text, folder / "sample.coven")
        self.more = import_python(str(folder / "more.py"), "more.py")
        self.more.values.clear()
        self.noting = import_python(str(folder / "pykernels.py"), "pykernels.py")
        self.noting.kept.clear()
        self.notes = {}
        self.noting.sink = lambda label, k, value: self.notes.setdefault((label, k), []).append(value)

    def run(self, processors=1, *, depth=2, tidy=lambda: None, **how):
        self.notes.clear()
        self.job = make_job(self.program, processors, depths=lambda thread: depth, **how)
        return run(self.job, poison=True, tidy=tidy)

    def expected(self):
        return Oracle(self.program, self.job.environment, self.job.processors).run()

    def check(self, processors=1, **how):
        result = self.run(processors, **how)
        expected = self.expected()
        assert self.notes.keys() == expected.keys()
        for key, values in expected.items():
            np.testing.assert_array_equal(self.notes[key], values, err_msg=str(key))
        return result


REGRESSIONS = {
    "every sender of a dropped value is told": """
  var f64[N, M] @ block(0) x
  for j in 0 .. 50 { PARALLEL over P { thread_B k.make(j) -> x } }
  thread_A gather(x) -> w
  thread_A py.note("w", 0, w)
""",
    "a swapped value leaves its queue": """
  thread_A k.fill(1, N, M) -> y
  for j in 0 .. 5 {
    thread_A k.fill(j, N, M) -> x
    swap(x, y)
  }
  thread_B py.note("x", 0, x)
  thread_B py.note("y", 0, y)
""",
    "a counter that a call reads last still counts": """
  for j in 0 .. 3 {
    thread_A k.fill(j, N, M) -> x
    for l in j .. 3 { thread_A k.fill(l, N, M) -> x }
    thread_A py.note("x", 7, x)
  }
""",
    "partitions at different rounds keep their parts apart": """
  var f64[N, M] @ block(0) x
  for j in 0 .. 60 {
    PARALLEL over P {
      thread_B k.make(j) -> x
      if j % 3 == 0 { thread_B k.total(x) -> t reduce s(sum) }
    }
    thread_A gather(x) -> w
    thread_A py.note("w", j, w)
  }
""",
    "a swap of what was never there": """
  thread_A k.fill(1, N, M) -> x
  thread_A k.fill(2, N, M) -> y
  thread_B py.note("x", 0, x)
  for j in 0 .. 3 {
    swap(x, y)
    thread_A k.bump(x, 1.0)
  }
  thread_A py.note("y", 0, y)
""",
    "a dead branch leaves what was sent to it": """
  thread_A k.fill(3, N, M) -> a
  for j in 0 .. 8 {
    thread_A k.step(a, 1.0) -> b
    if j % 2 == 1 { thread_B py.note("b", j, b) } else { thread_A scatter(b) -> c @ block(1) }
    thread_A k.bump(a, 2.0)
  }
""",
    "what is being sent is not changed": """
  thread_A k.fill(3, N, M) -> a
  thread_A scatter(a) -> x @ block(0)
  PARALLEL over P {
    thread_B k.step(x, 1.0) -> y
    thread_C k.bump(x, 1.0)
    thread_D k.add(x, y) -> z
  }
  thread_A gather(z) -> b
  thread_A py.note("b", 0, b)
""",
    "a tag of outside is read by every iteration in flight": """
  thread_A k.fill(3, N, M) -> a
  thread_A scatter(a) -> c @ block(0)
  for j in 0 .. 9 inflight 3 {
    PARALLEL over P { thread_B k.step(c, 1.0 * j) -> d }
    thread_A gather(d) -> e
    thread_C k.add(a, e) -> f
    thread_D py.note("f", j, f)
  }
  PARALLEL over P { thread_B k.bump(c, 5.0) }
  thread_A gather(c) -> g
  thread_A py.note("g", 0, g)
""",
    "an inner loop in flight runs again in the same iteration": """
  thread_A k.fill(1, N, M) -> y
  for j in 0 .. 4 inflight 2 {
    for w in 0 .. 5 {
      for l in 0 .. 3 inflight 2 {
        thread_A k.fill(100 * j + 10 * w + l, N, M) -> x
        if (w + l) % 2 == 0 { thread_B py.note("x", 100 * j + 10 * w + l, x) }
      }
    }
  }
  thread_A py.note("y", 0, y)
""",
    "a real tag that an integer is assigned to divides as a real": """
  var f64 s = 2.5
  var i64 n = 5
  s = n
  s = s / 4
  thread_A py.note_value("s", 0, s)
""",
    "iterations in flight inside iterations in flight": """
  thread_A k.fill(3, N, M) -> a
  for j in 0 .. 4 inflight 2 {
    thread_B k.step(a, 1.0 * j) -> b
    for l in 0 .. 3 inflight 2 {
      thread_C k.step(b, 1.0 * l) -> c
      thread_D py.note("c", 10 * j + l, c)
    }
  }
""",
}


@pytest.mark.parametrize("name", REGRESSIONS)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("sizes", [(1, 3), pytest.param((2,), marks=pytest.mark.nightly)])
def test_programs_that_once_went_wrong_give_right_values(folder, name, depth, sizes, monkeypatch):
    body = REGRESSIONS[name]
    if "reduce s(" in body:
        body = "  var f64 s = 0.0\n" + body + '  thread_A py.note_value("s", 0, s)\n'
    sample = Sample(folder, body)
    monkeypatch.setenv("PSE_TEST_SPIN", "40")
    for processors in sizes:
        sample.check(processors, depth=depth)
        sample.check(processors, depth=depth, nodes=lambda rank: rank % 2)


STRESS = """
  var f64[N, M] @ block(0) u
  var f64 s = 1.0
  thread_A k.fill(1, N, M) -> a
  thread_A scatter(a) -> v @ block(0)
  for j in 0 .. 40 {
    PARALLEL over P {
      thread_A k.step(v, s) -> u
      thread_B transpose(u) -> w @ block(0)
      thread_C transpose(w) -> x @ block(1)
      thread_D redistribute(x) -> v @ block(0)
      thread_A k.total(v) -> t reduce s(max)
    }
    thread_B gather(v) -> b
    thread_C k.bump(b, s)
    thread_D py.note("b", j, b)
  }
"""


@pytest.mark.parametrize("spin", [20, 200])
@pytest.mark.parametrize("processors", [1, 3, *nightly(2)])
@pytest.mark.parametrize("depth", [1, 2])
def test_threads_of_random_speed_never_wait_for_each_other_for_ever(
    folder, monkeypatch, spin, processors, depth
):
    monkeypatch.setenv("PSE_TEST_SPIN", str(spin))
    Sample(folder, STRESS).check(processors, depth=depth)


# Hand-overs.


def test_a_hand_over_on_a_node_copies_nothing(folder):
    body = """
  thread_A k.fill(3, N, M) -> a
  thread_A scatter(a) -> c @ block(0)
  PARALLEL over P {
    thread_B k.bump(c, 2.0)
    thread_C k.step(c, 1.0) -> d
  }
  thread_A gather(d) -> e
  thread_B py.note("e", 0, e)
"""
    result = Sample(folder, body).check(3)
    assert {label: site["copied"] for label, site in result.sites.items()} == dict.fromkeys(result.sites, 0)
    assert result.sites["scatter"]["described"] == 6 * 4 * 8
    assert result.sites["k.bump"]["described"] == result.sites["k.step"]["described"] == 6 * 4 * 8


@pytest.mark.parametrize("rounds", [0, 1, 7])
def test_what_is_read_after_a_loop_is_handed_over_once(folder, rounds):
    """The first two of three processors are on the root's node; the loop stands in another one."""
    body = f"""
  var f64[N, M] @ block(0) u
  var f64[N, M] @ block(0) v
  thread_A k.fill(3, N, M) -> a
  thread_A scatter(a) -> w @ block(0)
  PARALLEL over P {{ thread_B k.step(w, 1.0) -> u }}
  for i in 0 .. 2 {{
    for j in 0 .. {rounds} {{
      PARALLEL over P {{
        thread_B k.step(u, 1.0) -> v
        thread_C k.bump(v, 1.0)
      }}
      swap(u, v)
    }}
    thread_D gather(u) -> b
    thread_D py.note("b", i, b)
  }}
"""
    result = Sample(folder, body).check(3, nodes=lambda rank: int(rank >= 4))
    whole = 6 * 4 * 8
    made = result.sites["k.bump"]
    assert result.sites["gather"]["calls"] == 2
    # All goes to thread_B in every round, and to the root after each loop.
    assert made["described"] + made["remote"] == 2 * rounds * whole + 2 * whole


def test_small_buffers_stay_out_of_the_arena(folder):
    result = Sample(folder, '  thread_A k.fill(3, N, M) -> a\n  thread_A py.note("a", 0, a)').check(
        local_limit=1 << 20
    )
    assert result.arenas[0].allocations == 0


def test_a_value_that_python_keeps_is_never_overwritten(folder):
    body = """
  thread_A k.fill(3, N, M) -> a
  for j in 0 .. 6 {
    thread_A py.pykeep(a) -> t
    thread_A k.bump(a, 1.0)
    thread_A py.pybump(a)
  }
  thread_A py.note("a", 0, a)
"""
    sample = Sample(folder, body)

    def let_go():
        kept = sample.noting.kept
        assert len(kept) == 3
        assert all((now == then).all() for now, then in kept)
        kept.clear()

    sample.check(tidy=let_go)


# Reductions.


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("sum", [1e16, 1.0, -1e16]),
        ("sum", [0.1, 0.2, 0.3]),
        ("prod", [1e200, 1e200, 1e-300]),
        ("min", [2.0, float("nan"), 1.0]),
        ("max", [float("nan"), 2.0, 3.0]),
        ("max", [-0.5, -2.0, float("-inf")]),
    ],
)
def test_reductions_go_in_the_order_of_partitions(folder, monkeypatch, operation, values):
    combine = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}[operation]
    body = f"""
  var f64 s = 0.0
  thread_A pymore.listed(0, 3) -> a
  thread_A scatter(a) -> b @ block(0)
  for j in 0 .. 20 {{
    PARALLEL over P {{ thread_B more.first(b) -> x reduce s({operation}) }}
    thread_A py.note_value("s", j, s)
  }}
"""
    monkeypatch.setenv("PSE_TEST_SPIN", "50")
    sample = Sample(folder, body)
    sample.more.values[0] = values
    sample.run(3)
    with np.errstate(over="ignore"):
        expected = struct.pack("d", combine(combine(values[0], values[1]), values[2]))
    got = {struct.pack("d", value.real) for found in sample.notes.values() for value in found}
    if np.isnan(struct.unpack("d", expected)):
        assert np.isnan([struct.unpack("d", bits)[0] for bits in got]).all()
    else:
        assert got == {expected}


# Arguments.


def test_python_gets_scalars_as_their_types_say(folder):
    sample = Sample(
        folder,
        "  let x = 3\n"
        '  thread_A pymore.told("here", x > 2, x = 2)\n'
        '  thread_A pymore.told("there", false, 7)',
    )
    sample.run()
    assert sample.more.values == {"here": (True, 4, 2.0), "there": (False, 7, 0.5)}
    assert [type(value) for value in sample.more.values["here"]] == [bool, int, float]


def test_scalars_are_changed_in_place_by_python(folder):
    body = """
  var i64 n = 5
  var f64 x = 2
  for j in 0 .. 3 { thread_A pymore.turned(n, x) }
  thread_B py.note_value("n", 0, n)
  thread_B py.note_value("x", 0, x / 4)
"""
    sample = Sample(folder, body)
    sample.run()
    assert {label: complex(values[0]) for (label, _), values in sample.notes.items()} == {"n": 11, "x": -0.5}


def test_scalars_reach_python_with_the_types_that_directives_and_tags_say(folder):
    body = """
  var c128 c = 1.0
  var c64 d = 1
  var f32 e = 1
  var i32 f = 1
  var c128 g = 1
  thread_A pymore.typed(2.0, 2, c, d, e, f, g)
  thread_B py.note_value("c", 0, c)
"""
    sample = Sample(folder, body)
    sample.run()
    declared = (complex, complex, np.complex128, np.complex64, np.float32, np.int32)
    assert sample.more.values == {"typed": (*declared, np.complex128)}
    assert complex(sample.notes["c", 0][0]) == 1 + 1j


# Failures.


WHO = r"\(root thread_A, rank 0, host [^,)]+"
FAILURES = [
    (
        "  thread_A more.fails(7)",
        rf"sample\.coven:10:3: module more\.fails \[.*more\.c:3\] {WHO}\) returned 7: seven is too many$",
        None,
    ),
    ("  thread_A more.fails(8)", r"module more\.fails .* returned 8$", "coven_error"),
    (
        "  for j in 0 .. 3 inflight 2 { thread_A more.fails(j) }",
        rf"{WHO}, iteration 1\) returned 1$",
        "coven_error",
    ),
    (
        "  thread_A pymore.raises(1)",
        rf"sample\.coven:10:3: module `raises` \(.*more\.py:10\) raised KeyError: "
        rf"'nothing under this name' {WHO}\)$",
        None,
    ),
    (
        "  thread_A pymore.wrong(4) -> a\n  thread_B pymore.seen(a)",
        r"sample\.coven:10:3: .*expected shape \[4\] \(n\), got \[5\]",
        None,
    ),
    (
        "  var i64 z = 0\n  thread_A k.fill(1 / z, N, M) -> a\n  thread_A k.bump(a, 1.0)",
        r"module k\.fill .*: an argument or extent has no value: division by zero in `1 / 0`",
        None,
    ),
    (
        "  var i64 z = 0\n  let q = 5 % z\n  thread_A more.fails(q)",
        rf"sample\.coven:11:3: division by zero in `5 % 0` {WHO}\)$",
        None,
    ),
    (
        "  for j in 0 .. 1 / (N - 6) { thread_A more.fails(0) }",
        rf"sample\.coven:10:3: division by zero in `1 / 0` {WHO}\)$",
        None,
    ),
    (
        "  var f64 x = 1e300\n  let q = x * 1e10\n  thread_A more.fails(i64(q))",
        r"the value of `1e\+300 \* 10000000000\.0` is not finite",
        "`if`",
    ),
    (
        "  var f64 x = -1.0\n  if sqrt(x) > 0.0 { thread_A more.fails(0) }",
        r"`sqrt\(-1\.0\)` has no value",
        None,
    ),
    (
        "  var i64 x = 9223372036854775807\n  x = x + 1\n  thread_A more.fails(x)",
        r"the value of `9223372036854775807 \+ 1` does not fit in 64 bits",
        None,
    ),
    (
        "  for j in 0 .. 2 { thread_A k.fill(2, N, j - 3) -> a\n  thread_A k.bump(a, 1.0) }",
        r"the array `a` can't have the extent -3",
        None,
    ),
]


@pytest.mark.parametrize(("body", "message", "advice"), FAILURES)
def test_a_failure_names_its_culprit(folder, body, message, advice):
    with pytest.raises(RunError) as failure:
        Sample(folder, body).run()
    assert re.search(message, failure.value.message, re.S), failure.value.message
    assert advice is None or advice in failure.value.help


def test_an_expression_that_is_too_deep_for_the_engine_is_named(folder):
    sample = Sample(folder, "  var i64 z = 1\n  thread_A more.fails(z)")
    first, call = sample.program.body
    [given] = call.inputs
    deep = reduce(lambda inner, _: Binary("+", Number(1), inner), range(200), given.value)
    call = replace(call, inputs=(replace(given, value=deep),))
    sample.program = replace(sample.program, body=(first, call))
    words = r"module more\.fails .*: an argument or extent has no value: an expression is nested too deeply$"
    with pytest.raises(RunError, match=words) as failure:
        sample.run()
    assert failure.value.help == "give a part of it a name:  let part = …"
