"""The modules that the docstrings of `pse.modules.messaging` show, run on partitions."""

import doctest
import importlib

import numpy as np
import pytest
from pse_testing.harness import compile_program, make_job, run

from pse.modules.load._imports import import_python

PARTITIONS = 4
PROGRAM = f"""coven 1
import "shown.py" as m
partition P = {PARTITIONS}
program shown {{
  var f64[16] @ block(0) x
  var f64[16] @ block(0) y
  var f64[16] @ block(0) z
  var f64[16, 3] @ block(0) w
  var f64[16, 3] @ block(0) v
  var i64[16] @ block(0) lengths
  var f64 average = 0
  var f64 corners = 0
  var f64 largest = 0
  var f64 dealt = 0
  var f64 before = 0
  PARALLEL over P {{
    thread_B m.seed() -> x
    thread_B m.phase(x)
    thread_B m.normalize(x) -> y
    thread_B m.shift(y) -> z
    thread_B m.counts(z) -> lengths
    thread_B m.mean(z) -> own reduce average(max)
    thread_B m.corner() -> is_corner reduce corners(sum)
    thread_B m.largest_part(x) -> part reduce largest(max)
    thread_B m.deal(x) -> size reduce dealt(sum)
    thread_B m.offsets(x) -> offset reduce before(max)
    thread_B random(1) -> w
    thread_B m.exchange_parts(w) -> v
  }}
  thread_A gather(z) -> shifted
  thread_A m.keep("shifted", shifted)
  PARALLEL over P {{ thread_B m.agree(z) }}
  thread_A gather(z) -> agreed
  thread_A gather(lengths) -> counted
  thread_A gather(w) -> given
  thread_A gather(v) -> exchanged
  thread_A m.keep("agreed", agreed)
  thread_A m.keep("counted", counted)
  thread_A m.keep("given", given)
  thread_A m.keep("exchanged", exchanged)
  thread_A m.note(average, corners, largest, dealt, before)
}}
"""
OWN = """
kept = {}


#@ coven module keep(in string name, in T value[...])
def keep(name, value):
    kept[name] = value.copy()


#@ coven module note(in f64 average, in f64 corners, in f64 largest, in f64 dealt, in f64 before)
def note(*values):
    kept["numbers"] = values
"""


def shown() -> str:
    """Write a file of the modules that docstrings show."""
    modules = [
        importlib.import_module(f"pse.modules.messaging.{name}")
        for name in ("_collectives", "_messages", "_requests")
    ]
    tests = [test for module in modules for test in doctest.DocTestFinder().find(module, globs={})]
    defined = [one.source for test in tests for one in test.examples if one.source.startswith("@pse.module")]
    return "\n\n".join(["import numpy as np\n\nimport pse\nfrom pse import partition\n", *defined, OWN])


@pytest.fixture(scope="module", params=[1, 3])
def kept(request, tmp_path_factory):
    """What reached the root, on one processor and on several."""
    folder = tmp_path_factory.mktemp("shown")
    (folder / "shown.py").write_text(shown())
    run(make_job(compile_program(PROGRAM, folder / "shown.coven"), request.param))
    return import_python(str(folder / "shown.py"), "shown.py").kept


def test_modules_send_and_receive(kept):
    pieces = 0.5 * (1 + np.eye(PARTITIONS))
    assert np.array_equal(kept["shifted"].reshape(PARTITIONS, -1), np.roll(pieces, 1, axis=0))


def test_modules_take_part_in_collective_operations(kept):
    assert np.array_equal(kept["agreed"].reshape(PARTITIONS, -1), [[0.5, 0.5, 0.5, 1]] * PARTITIONS)
    assert (kept["counted"] == 4).all()
    parts = kept["given"].reshape(PARTITIONS, PARTITIONS, -1)
    assert np.array_equal(kept["exchanged"].reshape(parts.shape), parts.swapaxes(0, 1))
    assert kept["numbers"] == (0.625, 1, 0, 16, 12)
