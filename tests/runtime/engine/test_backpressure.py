"""Queues hold back a fast producer: no value is lost or copied, and memory stays within the queue's depth.

Order is made by gates, never by time: a consumer stands still until every other rank is seen to wait.
"""

import shutil
import threading
import time
from pathlib import Path

import pytest
from pse_testing.harness import compile_program, make_job, run

from pse._abi.waiting import RankState
from pse.errors import RunError
from pse.modules.load._imports import import_python
from pse.runtime.request._options import resolve

MODULES = Path(__file__).parents[1] / "programs" / "flow.py"
MIB = 1 << 20
SIZE = 64 * MIB
WAITS_FOR_QUEUE = RankState.WAIT_CREDIT
WAITS_FOR_SPACE = RankState.WAIT_SPACE
CHAIN = """coven 1
import "flow.py" as flow
param i64 n = 8
param i64 rounds = 6
options {{ {options} }}
program chain {{
  for k in 0 .. rounds {flight} {{
    thread_A flow.produce(k, n) -> x
    thread_B flow.consume(k, x)
  }}
}}
"""


@pytest.fixture
def flow(tmp_path):
    """The modules, with empty logs, in a file of this test's own."""
    shutil.copy(MODULES, tmp_path)
    return import_python(str(tmp_path / "flow.py"), "flow.py")


class Gate:
    """Holds the consumer, once he has something, until somebody has seen what he waits for."""

    def __init__(self, flow, seen):
        self.closed, self.opened, self.seen = threading.Event(), threading.Event(), seen
        flow.on_take = self.hold

    def hold(self, k):
        self.closed.set()
        self.opened.wait()

    def watch(self, nodes):
        if self.closed.is_set() and not self.opened.is_set() and self.seen(nodes):
            self.opened.set()


def start(tmp_path, text, *, capacity=2 << 30, watch=None, processors=1, rounds=6, items=SIZE // 8, **how):
    program = compile_program(text, tmp_path / "chain.coven")
    options = resolve(program.options, (), ("thread_A", "thread_B", "thread_C"))
    values = {"n": items, "rounds": rounds}
    job = make_job(program, processors, values=values, depths=options.depth, **how)
    return run(job, capacity=capacity, watch=watch)


def expected_sums(rounds, items):
    return {
        k: sum(range(k, k + items)) if items < 100 else items * k + items * (items - 1) // 2
        for k in range(rounds)
    }


def state(nodes, rank):
    """What a rank does, on whichever node it is."""
    return max(node.board.slot(rank).state for node in nodes)


@pytest.mark.parametrize(
    ("options", "depth"),
    [
        ("", 2),
        ("queue_depth = 1", 1),
        ("queue_depth = 4", 4),
        ("queue_depth = 1 queue_depth thread_B = 3", 3),
    ],
)
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_slow_consumer_holds_its_producer_back(tmp_path, flow, options, depth, nodes):
    made = []

    def full(ranks):
        waits = state(ranks, 0) == WAITS_FOR_QUEUE  # It makes nothing more from here on.
        made[:] = [entry for entry in flow.log if entry[0] == "made"]
        return waits

    gate = Gate(flow, full)
    text = CHAIN.format(options=options, flight="")
    result = start(tmp_path, text, watch=gate.watch, nodes=lambda rank: rank % nodes)
    # One is with the consumer, and the queue is full; another node is told of the first only after its call.
    assert len(made) in ((depth + 1,) if nodes == 1 else (depth, depth + 1))
    assert flow.sums == expected_sums(6, SIZE // 8)
    assert result.sites["flow.produce"]["copied"] == 0
    if nodes == 1:
        assert result.sites["flow.produce"]["described"] == 6 * SIZE
        assert (depth + 1) * SIZE <= result.arenas[0].peak <= (depth + 1) * SIZE + MIB
    else:
        assert result.sites["flow.produce"]["remote"] == 6 * SIZE
        assert max(arena.peak for arena in result.arenas) <= (depth + 1) * SIZE + MIB


@pytest.mark.parametrize("flight", [1, 2, 3])
def test_no_more_iterations_are_in_flight_than_said(tmp_path, flow, flight):
    text = """coven 1
import "flow.py" as flow
param i64 n = 8
param i64 rounds = 12
partition P = procs
program chain {
  var i64[n] @ block(0) piece
  for k in 0 .. rounds inflight FLIGHT {
    thread_A flow.produce(k, n) -> x
    thread_B scatter(x) -> pieces @ block(0)
    PARALLEL over P { thread_C flow.middle(k, pieces) }
    thread_B gather(pieces) -> y
    thread_A flow.consume(k, y)
  }
}
""".replace("FLIGHT", str(flight)).replace("  var i64[n] @ block(0) piece\n", "")
    start(tmp_path, text, processors=3, items=8, rounds=12)
    begun, ended, most = set(), set(), 0
    for word, k in flow.log:
        if word == "begin":
            assert set(range(k - flight + 1)) <= ended, (
                f"iteration {k} began before {k - flight} was complete"
            )
            begun.add(k)
        elif word == "end":
            ended.add(k)
        most = max(most, len(begun - ended))
    assert most <= flight
    assert flow.sums == {k: s + 8 for k, s in expected_sums(12, 8).items()}


def test_iterations_overlap_as_far_as_they_may(tmp_path, flow):
    """With two in flight the second begins while the first is held: the gate would never open otherwise."""
    gate = Gate(flow, lambda nodes: ("made", 1) in flow.log)
    start(tmp_path, CHAIN.format(options="", flight="inflight 2"), watch=gate.watch, items=8)
    assert flow.sums == expected_sums(6, 8)


@pytest.mark.parametrize("shared_memory", [True, False], ids=["shared", "messages"])
def test_partitions_are_held_back_by_the_root(tmp_path, flow, shared_memory):
    text = """coven 1
import "flow.py" as flow
param i64 n = 8
param i64 rounds = 6
options { queue_depth = 1 }
partition P = procs
program chain {
  var i64[n] @ block(0) x
  for k in 0 .. rounds {
    PARALLEL over P { thread_B flow.spread(k) -> x }
    thread_A gather(x) -> y
    thread_A flow.consume(k, y)
  }
}
"""
    counts = []

    def full(nodes):
        # Both in their second round: they begin nothing more from here on.
        wait = state(nodes, 1) == state(nodes, 2) == WAITS_FOR_QUEUE
        counts[:] = [sum(entry[0] == "begin" for entry in flow.log)]
        return wait and counts[0] >= 4

    gate = Gate(flow, full)
    result = start(tmp_path, text, watch=gate.watch, processors=2, items=MIB, shared_memory=shared_memory)
    assert counts == [4]
    assert flow.sums == {k: k * MIB for k in range(6)}
    if shared_memory:
        assert result.sites["gather"]["copied"] == 0
        assert result.arenas[0].peak <= 3 * 8 * MIB + MIB


def test_a_full_arena_makes_the_producer_wait(tmp_path, flow):
    """Two values and a half fit: the queue would take five."""
    gate = Gate(flow, lambda nodes: state(nodes, 0) == WAITS_FOR_SPACE)
    text = CHAIN.format(options="queue_depth = 4", flight="")
    result = start(tmp_path, text, watch=gate.watch, capacity=5 * MIB, items=MIB // 4)
    assert flow.sums == expected_sums(6, MIB // 4)
    assert result.arenas[0].peak <= 5 * MIB


TOO_MUCH = """coven 1
import "flow.py" as flow
param i64 n = 8
param i64 rounds = 1
program greedy {
  thread_A flow.produce(1, n) -> x
  thread_A flow.produce(2, n) -> y
  thread_A flow.join(x, y) -> z
  thread_B flow.consume(0, x)
  thread_B flow.consume(1, y)
  thread_B flow.consume(2, z)
}
"""


def test_an_arena_that_is_too_small_for_good_says_who_holds_what(tmp_path, flow):
    began = time.monotonic()
    with pytest.raises(RunError) as failure:
        start(tmp_path, TOO_MUCH, capacity=5 * MIB, items=MIB // 4)
    assert time.monotonic() - began < 20
    words = failure.value.message
    assert "greedy" not in words
    assert words.splitlines()[0].endswith(
        "needs shared memory, but the arena is full and no rank will ever free any"
    )
    assert f"{tmp_path}/chain.coven:8:3: module flow.join" in words
    assert "the arena holds 4.01 MiB of 5.00 MiB" in words
    for line in (6, 7):
        assert f"2.00 MiB in 1 buffer made by flow.produce at {tmp_path}/chain.coven:{line}:3" in words
    assert "-o arena=SIZE" in failure.value.help


def test_what_is_larger_than_the_arena_is_refused_at_once(tmp_path, flow):
    words = r"module flow\.produce .*its output `\w+` is larger than the whole arena of 1\.00 MiB"
    with pytest.raises(RunError, match=rf"chain\.coven:6:3: {words}") as failure:
        start(tmp_path, TOO_MUCH, capacity=MIB, items=MIB)
    assert "-o arena=SIZE" in failure.value.help


CROSSED = """coven 1
import "crossed.py" { wait_for_inner, wait_for_outer, left, right, both, take }
program crossed {
  for k in 0 .. 2 inflight 2 {
    if k == 1 { thread_F wait_for_outer() -> h  thread_C take(h) }
    for j in 0 .. 2 inflight 1 {
      if k == 0 and j == 0 { thread_E wait_for_inner() -> g  thread_B take(g) }
      thread_B left(k) -> x
      thread_C right(k, j) -> y
      thread_D both(x, y) -> z
      thread_B take(z)
      thread_C take(z)
    }
  }
}
"""
CROSSING = """
import threading
import numpy as np

inner, outer = threading.Event(), threading.Event()

#@ coven module wait_for_inner(out f64 x[1])
def wait_for_inner():
    assert inner.wait(60)
    return np.zeros(1)

#@ coven module wait_for_outer(out f64 x[1])
def wait_for_outer():
    assert outer.wait(60)
    return np.zeros(1)

#@ coven module left(in i64 k, out f64 x[1])
def left(k):
    if k == 1:
        inner.set()
    return np.zeros(1)

#@ coven module right(in i64 k, in i64 j, out f64 x[1])
def right(k, j):
    if (k, j) == (0, 1):
        outer.set()
    return np.zeros(1)

#@ coven module both(in f64 x[n], in f64 y[n], out f64 z[n])
def both(x, y):
    return x + y

#@ coven module take(in f64 x[n])
def take(x):
    pass
"""


def test_full_queues_of_loops_in_loops_do_not_lock(tmp_path):
    """Thread B begins the second inner loop before the first one's second round, thread C after it."""
    (tmp_path / "crossed.py").write_text(CROSSING)
    program = compile_program(CROSSED, tmp_path / "crossed.coven")
    run(make_job(program, 1, depths=lambda thread: 1))
