"""Scalars go up and down along trees: the same bits wherever partitions live, and few messages at the top."""

import operator
import random

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pse_testing.harness import compile_program, load_once, make_job, run
from pse_testing.oracle import in_tree

from pse._abi.plan import CallKind, CallRow
from pse.modules.load._imports import import_python
from pse.runtime.distribution import _trees as trees
from pse.runtime.plan import _plan_builder as plan_builder
from pse.runtime.plan._iteration_completion import completion_of
from pse.runtime.plan._projection import project
from pse.runtime.plan._tables import Tables

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


def test_sums_are_right_with_one_partition_on_each_of_many_processors(play):
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

    monkeypatch.setattr(plan_builder, "Tables", Watched)
    job = make_job(compile_program(PROGRAM.format(count="procs"), tmp_path / "trees.coven"), 100)
    edges = job.edges.size
    for rank in range(len(job.nodes)):
        project(job, rank, load_once)
    assert len(made) == len(job.nodes)
    for tables in made:
        combining = [call.pushes for call in tables.rows[CallRow] if call.kind == CallKind.COMBINE]
        assert all(pushes <= trees.ARITY for pushes in combining)
        assert all(len(ranks) <= trees.ARITY for ranks in tables.forwards.values())
        assert all(0 <= edge < edges for edge in tables.forwards)


@st.composite
def node_lists(draw):
    """Ranks in some order, each on a node."""
    ranks = draw(st.permutations(range(draw(st.integers(1, 60)))))
    nodes = draw(st.lists(st.integers(0, 40), min_size=len(ranks), max_size=len(ranks)))
    return ranks, nodes


@given(node_lists())
def test_everybody_gets_it_once_and_every_node_from_outside_once(drawn):
    ranks, nodes = drawn
    tree = trees.NodeTree.over(ranks, nodes)
    assert sorted(tree.through(ranks[0])) == sorted(ranks)
    told = [(rank, other) for rank in ranks for other in tree.below(rank)]
    assert sorted(other for _, other in told) == sorted(ranks[1:])
    assert sum(nodes[rank] != nodes[other] for rank, other in told) == len(set(nodes)) - 1
    for rank in ranks:
        assert sum(nodes[rank] != nodes[other] for other in tree.below(rank)) <= trees.NODES


@given(node_lists(), st.integers(1, 10**6))
def test_counts_get_everywhere(drawn, most):
    """Play what the engine does with `IterationCompletion`: all have counted, then messages come."""
    ranks, nodes = drawn
    ranks = sorted(ranks)
    parts = {rank: completion_of(ranks, nodes, rank) for rank in ranks}
    own = {rank: (most * (rank + 7)) % 11 for rank in ranks}
    boards = {node: {rank: own[rank] if nodes[rank] == node else 0 for rank in ranks} for node in set(nodes)}
    queue = []

    def tell(rank):
        least = min(boards[nodes[rank]][other] for other in parts[rank].counted)
        queue.extend((other, parts[rank].speaker, least) for other in parts[rank].told)

    for rank in ranks:
        tell(rank)
    while queue:
        rank, source, count = queue.pop()
        board, mine = boards[nodes[rank]], parts[rank]
        grew, board[source] = board[source] < count, max(board[source], count)
        if source == mine.top:
            queue.extend((other, source, count) for other in mine.relayed if grew)
        if source in mine.counted and grew:
            tell(rank)
    for rank in ranks:
        assert min(boards[nodes[rank]][other] for other in parts[rank].watched) == min(own.values())
        assert len(parts[rank].told) <= trees.NODES
        assert len(parts[rank].relayed) <= trees.NODES


SPREAD = """coven 1
import "s.py" { begin, look }
partition P = procs
program spread {
  for k in 0 .. 12 inflight 3 {
    thread_A begin(k) -> made
    thread_A replicate(made) -> x
    PARALLEL over P {
      thread_B look(x, k)
      thread_C look(x, k)
    }
    thread_D look(x, k)
  }
}
"""
SPREADING = """
import numpy as np

# @ coven module begin(in i64 k, out f64 x[12000])
def begin(k):
    return np.arange(12000) + 1000.0 * k

# @ coven module look(in f64 x[n], in i64 k)
def look(x, k):
    assert (x == np.arange(12000) + 1000.0 * k).all()
"""


@pytest.mark.parametrize(
    ("local_limit", "capacity"),
    [(1, 64 << 20), (1 << 20, 64 << 20), (1 << 20, 1 << 18)],
    ids=["in the arena", "small", "a full arena"],
)
def test_an_array_gets_to_each_node_once(tmp_path, monkeypatch, local_limit, capacity):
    monkeypatch.setattr(trees, "NODES", 2)
    (tmp_path / "s.py").write_text(SPREADING)
    program = compile_program(SPREAD, tmp_path / "spread.coven")
    job = make_job(program, 9, nodes=lambda rank: rank // 4, local_limit=local_limit)
    nodes = len(set(job.nodes))
    assert nodes == 5
    result = run(job, capacity=capacity)
    assert result.sites["replicate"]["remote"] == 12 * 12000 * 8 * (nodes - 1)
