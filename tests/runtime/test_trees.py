"""Scalars go up and down along trees: the same bits wherever partitions live, and few messages at the top."""

import doctest
import operator
import random

import numpy as np
import pytest
from harness import compile_program, load_once, make_job, run
from hypothesis import given
from hypothesis import strategies as st
from oracle import in_tree

from pse.modules.imports import import_python
from pse.runtime import projection, trees
from pse.runtime.projection import project
from pse.runtime.tables import DTYPES, CallKind, Tables

MODULES = """
import numpy as np

told = {}
given = None

# @ coven module draw(in i64 n, out f64 x[n])
def draw(n, x):
    x[...] = given

# @ coven module own(in f64 x[n], in f64 more, out f64 v)
def own(x, more):
    return float(x.sum()) + more

# @ coven module tell(in i64 round, in f64 total, in f64 x[n])
def tell(round, total, x):
    told.setdefault(round, set()).add(float(total).hex())

# @ coven module show(in f64 total)
def show(total):
    told["end"] = float(total).hex()
"""
PROGRAM = """coven 1
import "m.py" {{ draw, own, tell, show }}
partition P = {count}
program trees {{
  var f64 total = 0.0
  thread_A draw(P) -> all
  thread_A scatter(all) -> x @ block(0)
  for k in 0 .. 3 {{
    PARALLEL over P {{
      thread_B own(x, total) -> v reduce total(sum)
      thread_C tell(k, total, x)
    }}
  }}
  thread_A show(total)
}}
"""


def test_the_examples_hold():
    assert doctest.testmod(trees).failed == 0


@given(st.integers(1, 3000))
def test_every_place_but_the_top_is_below_one(places):
    seen = [(child, trees.above(child)) for place in range(places) for child in trees.below(place, places)]
    assert [child for child, _ in seen] == list(range(1, places))
    assert all(child == trees.below(place, places)[which - 1] for child, (place, which) in seen)


@pytest.fixture
def play(tmp_path):
    """Run the program: ``play(count, processors, …)`` gives what ranks were told, by round."""
    (tmp_path / "m.py").write_text(MODULES)
    module = import_python(str(tmp_path / "m.py"), "m.py")

    def played(count, processors, values, **how):
        module.told.clear()
        module.given = values
        program = compile_program(PROGRAM.format(count=count), tmp_path / "trees.coven")
        run(make_job(program, processors, **how))
        return dict(module.told)

    return played


def expected(values):
    """What ranks are told in three rounds."""
    total, found = 0.0, []
    for _ in range(3):
        total = in_tree(operator.add, [value + total for value in values])
        found.append(total.hex())
    return {0: {found[0]}, 1: {found[1]}, 2: {found[2]}, "end": found[2]}


@pytest.mark.parametrize(
    ("processors", "how"),
    [
        (1, {}),
        (3, {"placement": "cyclic"}),
        (3, {"nodes": lambda rank: rank % 2}),
        (2, {"shared_memory": False}),
        (12, {"nodes": lambda rank: rank % 3}),
    ],
)
def test_a_sum_has_the_same_bits_wherever_partitions_live(play, processors, how):
    chance = random.Random(7)
    values = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-8, 8) for _ in range(90)]
    assert play(90, processors, np.array(values), **how) == expected(values)


def test_one_partition_for_each_of_many_processors(play):
    chance = random.Random(3)
    values = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-8, 8) for _ in range(20)]
    assert play("procs", 20, np.array(values)) == expected(values)


def test_nobody_tells_or_hears_more_than_a_few(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text(MODULES)
    made = []

    class Watched(Tables):
        """Tables that can be looked at after they are frozen."""

        def plan(self, *arguments):
            made.append(self)
            return super().plan(*arguments)

    monkeypatch.setattr(projection, "Tables", Watched)
    job = make_job(compile_program(PROGRAM.format(count="procs"), tmp_path / "trees.coven"), 100)
    edges = job.edges.size
    for rank in range(len(job.nodes)):
        project(job, rank, load_once)
    for tables in made:
        calls = [dict(zip(DTYPES["calls"].names, row, strict=True)) for row in tables.rows["calls"]]
        combining = [call["pushes"] for call in calls if call["kind"] == CallKind.COMBINE]
        assert all(pushes <= trees.ARITY for pushes in combining)
        assert all(len(ranks) <= trees.ARITY for ranks in tables.forwards.values())
        assert all(0 <= edge < edges for edge in tables.forwards)
