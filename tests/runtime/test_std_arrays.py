"""Standard modules that compute with distributed arrays: what NumPy gives for the whole array."""

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

MODULES = """
import numpy as np
given, told = {}, {}

#@ coven module draw(in string name, out T x[...])
def draw(name, x):
    x[...] = given[name]
#@ coven module own(in T x[m, n], out T s, out bool odd)
def own(x):
    return x.sum(), bool(x.sum() > 0)
#@ coven module tell(in string name, in T x[...])
def tell(name, x):
    told[name] = x.copy()
#@ coven module note(in string name, in T s)
def note(name, s):
    told[name] = s
#@ coven module piece(in T s, in bool b, in T x[m, n], out f64 y[1], out bool c[1], out f64 z[m, n])
def piece(s, b, x):
    return np.array([s], float), np.array([b]), x.astype(float)
"""
PLACES = [
    {"processors": 1},
    {"processors": 3, "nodes": lambda rank: rank % 2},
    {"processors": 2, "shared_memory": False, "local_limit": 1 << 20},
]


@pytest.fixture(scope="module")
def play(tmp_path_factory):
    """Run a program's body: ``play(body, given, …)`` gives what it told, by name."""
    folder = tmp_path_factory.mktemp("std")
    (folder / "m.py").write_text(MODULES)
    module = import_python(str(folder / "m.py"), "m.py")

    def played(body, given=None, partition="P = 4", values=None, processors=2, **how):
        module.given, module.told = given or {}, {}
        text = f"""coven 1
import "m.py" {{ draw, own, tell, note, piece }}
param i64 N = 1
param i64 M = 1
partition {partition}
program std {{
{body}
}}
"""
        program = compile_program(text, folder / "p.coven")
        run(make_job(program, processors, values=values, **how), poison=True)
        return dict(module.told)

    return played


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("partition", ["P = 1", "P = 5"])
def test_a_scan_gives_every_partition_what_those_before_it_have(play, place, partition):
    count = int(partition[-1])
    x = np.random.default_rng(4).normal(size=(2 * count, 3))
    body = """
  var f64[N, M] x
  var f64[N, M] @ block(0) pieces
  draw("x") -> x
  scatter(x) -> pieces
  PARALLEL over P {
    thread_B own(pieces) -> s, odd
    thread_C scan(s) -> t
    thread_B scan(s, op = "min") -> least
    thread_B scan(odd, "any") -> b
    thread_B scan(pieces, "max") -> most
    thread_B piece(t, b, most) -> y @ block(0), c @ block(0), z
    thread_C piece(least, odd, most) -> u @ block(0), _c @ block(0), _z
  }
  gather(y) -> sums
  gather(c) -> flags
  gather(z) -> peaks
  gather(u) -> smallest
  tell("sums", sums)
  tell("flags", flags)
  tell("peaks", peaks)
  tell("smallest", smallest)"""
    told = play(body, {"x": x}, partition, {"N": 2 * count, "M": 3}, **place)
    parts = x.reshape(count, 2, 3)
    sums = np.array([part.sum() for part in parts])
    np.testing.assert_allclose(told["sums"], np.cumsum(sums))
    np.testing.assert_array_equal(told["smallest"], np.minimum.accumulate(sums))
    np.testing.assert_array_equal(told["flags"], np.logical_or.accumulate(sums > 0))
    np.testing.assert_array_equal(told["peaks"].reshape(parts.shape), np.maximum.accumulate(parts))
