"""`-o check=nan`: the first call whose output holds a NaN or infinity is named."""

import re

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.errors import RunError
from pse.modules.load._imports import import_python

MODULES_C = """
#include <complex.h>
#include <math.h>
#include <stdint.h>
//@ coven module spoil(inout f64 u[m, n], in i64 k, in i64 when, out f64 r)
int spoil(double *u, int64_t k, int64_t when, double *r, int64_t m, int64_t n) {
  if (k == when)
    u[(m - 1) * n + 2] = NAN;
  *r = k == when - 100 ? 1 / (u[0] - u[0]) : 0;
  return 0;
}
//@ coven module narrow(in f64 u[m, n], in i64 when, out c64 v[m, n])
int narrow(const double *u, int64_t when, float complex *v, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m * n; i++)
    v[i] = CMPLXF(u[i], when == -2 && i == 1 ? INFINITY : 0);
  return 0;
}
//@ coven module leave(in i64 n, out f64 a[n])
int leave(int64_t n, double *a) { (void)n, (void)a; return 0; }
"""
MODULES_PY = """
import numpy as np
seen = []
#@ coven module make(in i64 n, in i64 when, out f64 a[n, n])
def make(n, when):
    return np.full((n, n), np.inf if when == -3 else 1.0)
#@ coven module see(in T a[...])
def see(a):
    seen.append(np.array(a))
"""
PROGRAM = """coven 1
import "check.c" as c
import "check.py" as py
param i64 when = 3
partition P = 4
program sample {
  thread_A py.make(8, when) -> a
  thread_A c.leave(8) -> left
  var i64 rounds = 0
  while rounds < 2 max 9 {
    thread_A scatter(a) -> u @ block(0)
    for k in 0 .. 5 {
      PARALLEL over P {
        thread_B c.spoil(u, k, when) -> r
        thread_B c.narrow(u, when) -> _v
      }
    }
    thread_A gather(u) -> a @ root
    rounds = rounds + 1
  }
  thread_A py.see(a)
  thread_A py.see(left)
}
"""
PLACE = r"\(partition [0-3], thread_B of processor [01], rank [12], host \S+\)"
WORDS = {
    3: rf"check\.coven:14:9: module c\.spoil \[\S*check\.c:5\] {PLACE} made a NaN: "
    r"\[1, 2\] of its piece of `u` is nan, at round 0 of the `while` in line 10, k = 3",
    102: r"check\.coven:14:9: .* made an infinity: `r` is inf, at round 0 of the `while` in line 10, k = 2",
    -2: r"check\.coven:15:9: .* made an infinity: \[0, 1\] of its piece of .* is inf, at round 0 .*, k = 0",
    -3: r"check\.coven:7:3: .*\(root thread_A, .*\) made an infinity: \[0, 0\] of `a` is inf",
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finite")
    (folder / "check.c").write_text(MODULES_C)
    (folder / "check.py").write_text(MODULES_PY)
    return compile_program(PROGRAM, folder / "check.coven"), import_python(
        str(folder / "check.py"), "check.py"
    )


@pytest.mark.parametrize("shared_memory", [True, False])
@pytest.mark.parametrize("when", WORDS)
def test_the_first_call_that_makes_a_nan_or_infinity_is_named(sample, when, shared_memory):
    job = make_job(sample[0], 2, values={"when": when}, check="nan", shared_memory=shared_memory)
    with pytest.raises(RunError) as raised:
        run(job)
    assert re.search(WORDS[when], raised.value.message), raised.value.message
    assert ("this call reads no tag" in raised.value.help) == (when == -3)


@pytest.mark.parametrize("check", ["nan", "off"])
def test_finite_outputs_pass_and_nothing_is_looked_at_when_off(sample, check):
    program, module = sample
    module.seen.clear()
    run(make_job(program, 2, values={"when": -1 if check == "nan" else 3}, check=check))
    a, left = module.seen
    assert np.isnan(a).any() == (check == "off")
    assert check == "off" or not left.any(), "what a module leaves out is zero where outputs are checked"
