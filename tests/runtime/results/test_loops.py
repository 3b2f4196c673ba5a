"""Loops that count by steps, and `break`: the iterations that there are, in order, on every rank."""

import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

MODULES = """
import numpy as np
heard = []
#@ coven module hear(in i64 k)
def hear(k):
    heard.append(k)
#@ coven module double(inout f64 x[n])
def double(x):
    x *= 2
#@ coven module whole(in f64 x[n])
def whole(x):
    heard.append(x.tolist())
#@ coven module ones(in i64 n, out f64 x[n])
def ones(n):
    return np.ones(n)
"""
HEAD = """coven 1
import "loops.py" { hear, double, whole, ones }
param i64 a = 0
param i64 b = 0
param i64 s = 1
param i64 n = 6
partition P = 3
"""
SMALL = st.integers(-9, 9)
EDGES = st.sampled_from([2**63 - 1, 2**63 - 3, -(2**63), -(2**63) + 2])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loops")
    (folder / "loops.py").write_text(MODULES)
    return folder


def hear(folder, body, values=None, **how):
    """Run a program; give what its modules were told, in order."""
    program = compile_program(f"{HEAD}program sample {{\n{body}\n}}\n", folder / "sample.coven")
    heard = import_python(str(folder / "loops.py"), "loops.py").heard
    heard.clear()
    run(make_job(program, 2, values=values or {}, **how), poison=True)
    return list(heard)


@pytest.mark.parametrize("flight", ["", " inflight 2"])
@settings(deadline=None, max_examples=some_of(25))
@given(lower=SMALL, upper=SMALL, step=SMALL.filter(bool))
def test_a_loop_has_the_values_of_its_range(folder, flight, lower, upper, step):
    body = f"for k in a .. b step s{flight} {{ thread_A hear(k) }}"
    assert hear(folder, body, {"a": lower, "b": upper, "s": step}) == list(range(lower, upper, step))


@settings(deadline=None, max_examples=some_of(10))
@given(edge=EDGES, step=st.sampled_from([2**62, -(2**62), 2**63 - 1]))
@pytest.mark.parametrize("inflight", ["", "inflight 2"])
def test_iterations_end_at_the_ends_of_the_integers(folder, edge, step, inflight):
    lower = -(2**63) if step > 0 else 2**63 - 1
    body = f"for k in a .. b step s {inflight} {{ thread_A hear(k) }}"
    assert hear(folder, body, {"a": lower, "b": edge, "s": step}) == list(range(lower, edge, step))


LEAVING = {
    "a loop that counts": ("for k in 0 .. 9 { if k == 3 { break } hear(k) }", [0, 1, 2]),
    "a loop that counts down": ("for k in 9 .. -1 step -3 { hear(k) if k < 5 { break } }", [9, 6, 3]),
    "a while": (
        "var i64 k = 0 while true max 9 { k = k + 1 if k == 4 { break } hear(k) } hear(-k)",
        [1, 2, 3, -4],
    ),
    "the inner loop of two": (
        "for j in 0 .. 3 { for k in 0 .. 9 { if k > j { break } hear(10 * j + k) } }",
        [0, 10, 11, 20, 21, 22],
    ),
    "a loop in an iteration in flight": (
        "for j in 0 .. 2 inflight 1 { for k in 0 .. 9 { if k > j { break } hear(10 * j + k) } }",
        [0, 10, 11],
    ),
    "from both branches": (
        "for k in 0 .. 9 { if k < 2 { hear(k) } else { hear(-k) break } hear(7) }",
        [0, 7, 1, 7, -2],
    ),
    "from nested branches": (
        "for k in 0 .. 9 { if k > 0 { if k > 1 { break } hear(k) } hear(10 * k) }",
        [0, 1, 10],
    ),
}


@pytest.mark.parametrize("what", LEAVING)
@pytest.mark.parametrize("serial", [False, True])
def test_break_leaves(folder, what, serial):
    body, expected = LEAVING[what]
    assert hear(folder, body, serial=serial) == expected


def test_a_loop_in_parallel_is_left_by_all_partitions_together(folder):
    body = """
      thread_A ones(n) -> x
      thread_A scatter(x) -> y @ block(0)
      PARALLEL {
        for k in n .. 0 step -2 {
          thread_B double(y)
          if k < 5 { break }
          thread_C double(y)
        }
      }
      thread_A gather(y) -> z
      thread_A whole(z)
    """
    assert hear(folder, body) == [[8.0] * 6]
