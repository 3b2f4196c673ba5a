"""Partitions that move: what is decided, and that real runs give the same bits with and without."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.jobs import Job, beside_python

from pse.runtime.distribution import _load_balancer as balance
from pse.runtime.distribution._load_balancer import better, imbalance

EXAMPLES = Path(__file__).parents[3] / "examples"


@st.composite
def loads(draw):
    """Owners, loads and processors."""
    processors = draw(st.integers(1, 6))
    size = st.integers(0, 10**9) | st.sampled_from([0, 1, 10**6])
    some = draw(st.lists(st.tuples(st.integers(0, processors - 1), size), max_size=40))
    return [owner for owner, _ in some], [load for _, load in some], processors


def busiest(owners, loads, processors):
    return int(np.bincount(owners, loads, processors).max()) if owners else 0


@settings(deadline=None)
@given(loads())
def test_who_moves_makes_the_busiest_processor_less_busy(drawn):
    owners, costs, processors = drawn
    found = better(owners, costs, processors)
    before = busiest(owners, costs, processors)
    if found is not None:
        assert all(0 <= owner < processors for owner in found)
        assert busiest(found, costs, processors) < before * (1 - balance.WORTH)
        assert better(found, costs, processors) is None


@settings(deadline=None)
@given(loads(), st.sets(st.integers(0, 40)))
def test_who_is_bound_stays_and_counts(drawn, bound):
    owners, costs, processors = drawn
    found = better(owners, costs, processors, bound=bound)
    if found is not None:
        assert all(found[p] == owner for p, owner in enumerate(owners) if p in bound)
        assert busiest(found, costs, processors) < busiest(owners, costs, processors) * (1 - balance.WORTH)


@settings(deadline=None)
@given(loads())
def test_no_move_of_one_partition_would_help_more(drawn):
    owners, costs, processors = drawn
    found = list(better(owners, costs, processors) or owners)
    least = busiest(found, costs, processors)
    for partition in range(len(found)):
        for other in range(processors):
            moved = [*found[:partition], other, *found[partition + 1 :]]
            assert busiest(moved, costs, processors) >= least * (1 - balance.WORTH) - 1


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 200), st.randoms(use_true_random=False))
def test_many_alike_end_up_even(processors, each, chance):
    costs = [chance.randint(900, 1100) for _ in range(each * processors)]
    owners = better([0] * len(costs), costs, processors) or [0] * len(costs)
    assert imbalance(owners, costs, processors) <= 1 + 0.25 / each + 2 * balance.WORTH


def test_few_move_where_few_must():
    owners, costs = [p // 8 for p in range(64)], [10] * 64
    costs[3] = 60
    found = better(owners, costs, 8)
    assert 4 <= sum(a != b for a, b in zip(owners, found, strict=True)) <= 8


def test_a_move_that_costs_more_than_it_gains_is_left():
    owners, costs = [0, 0, 1, 1], [1000, 1000, 100, 100]
    assert better(owners, costs, 2, cost=9 * balance.WINDOWS * 100) is not None
    assert better(owners, costs, 2, cost=10 * balance.WINDOWS * 100) is None


@functools.cache
def ran(balance, shared_memory):
    """Run the example; gives its report."""
    options = ("-o", f"balance={balance}", "-o", f"shared_memory={shared_memory}", "--report", "json")
    sizes = ("-D", "points=2048", "-D", "steps=6000", "-D", "rounds=9")
    job = Job([beside_python("pse"), "run", "uneven.coven", "-p", "2", *sizes, *options], directory=EXAMPLES)
    assert job.wait() == 0, job.err
    return json.loads(job.out)


@pytest.mark.mpi
@pytest.mark.usefixtures("nothing_left_behind")
@pytest.mark.parametrize("shared_memory", ["on", "off"])
def test_real_runs_move_partitions_and_give_the_same_bits(shared_memory):
    still, moving = ran("off", "on"), ran("2", shared_memory)
    assert still["moves"] is None
    assert moving["figures"] == still["figures"]
    assert moving["moves"]["times"] >= 1
    assert moving["moves"]["partitions"] >= 1
