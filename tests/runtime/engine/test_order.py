"""One order of collective calls: with any number of TPHs in flight, ranks never meet at different calls.

All ranks are threads here; what stands in for a communicator blocks its rank until all have come, as MPI
does, and fails the run if they have come to different calls.
"""

import random
import threading
import time

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.harness import compile_program, make_job, run

from pse.errors import ProgramError
from pse.runtime.plan._communicators import Communicator, members

MODULES = """
import numpy as np

#@ coven module make(in i64 n, in i64 k, out f64 x[n])
def make(n, k):
    return np.arange(n, dtype=float) + k

#@ coven module meet(in f64 x[n], in i64 k, in comm c, out f64 y[n]) collective
def meet(x, k, c):
    c.meet(k)
    return x + 1

#@ coven module work(in f64 x[n], in i64 k, in comm c, out f64 y[n])
def work(x, k, c):
    c.dawdle(k)
    return x + 1

#@ coven module work_alone(in f64 x[n], out f64 y[n])
def work_alone(x):
    return x + 1

#@ coven module alone(in comm c, out i64 n)
def alone(c):
    return c.size

#@ coven module wanted(in f64 x[n], in i64 k, in i64 steps)
def wanted(x, k, steps):
    assert (x == np.arange(len(x)) + k + steps).all(), x
"""
PLACES = {
    "one node": {},
    "two nodes": {"nodes": lambda rank: rank % 2},
    "no shared memory": {"shared_memory": False},
}
PATIENCE = 50.0
"""Seconds that a rank waits for the others: they must come, however slow the machine is."""


class Meeting:
    """Where the ranks of one call site meet."""

    def __init__(self, size):
        self.size, self.barrier = size, threading.Barrier(size)
        self.said = [None] * size


class Comm:
    """What the module gets on one rank; `log` takes the order in which the rank's thread came to meet."""

    def __init__(self, meeting, place, site, log, chance):
        self.meeting, self.place, self.site, self.log, self.chance = meeting, place, site, log, chance
        self.size = meeting.size

    def meet(self, k):
        self.log.append((self.site, k))
        self.meeting.said[self.place] = k
        self.meeting.barrier.wait(PATIENCE)
        assert set(self.meeting.said) == {k}, f"ranks met at different calls: {self.meeting.said}"
        self.meeting.barrier.wait(PATIENCE)

    def dawdle(self, k):
        time.sleep(self.chance.choice([0, 0, 1e-4, 1e-3]))


class Meetings:
    """Communicators for every rank of a job, and who came in which order."""

    def __init__(self, job, seed=0):
        self.job = job
        self.logs = [[] for _ in job.nodes]
        self.chances = [random.Random((seed, rank).__hash__()) for rank in range(len(job.nodes))]
        self.sites = [site for site in job.liveness.walk.sites if site.takes_communicator]
        self.meetings = {site.id: Meeting(len(members(job, site))) for site in self.sites}

    def of(self, rank):
        """Give a rank's communicators."""
        return {
            site.id: Communicator(
                Comm(
                    self.meetings[site.id], members(self.job, site).index(rank), site.id,
                    self.logs[rank], self.chances[rank],
                )
            )
            for site in self.sites
            if rank in members(self.job, site)
        }  # fmt: skip

    def assert_one_order(self):
        """Check that all ranks of a thread came to the same calls in the same order."""
        for key in self.job.liveness.placement.keys:
            first, *others = [self.logs[rank] for rank in self.job.ranks_of(key)]
            assert all(log == first for log in others), key


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The modules of these programs."""
    folder = tmp_path_factory.mktemp("order")
    (folder / "k.py").write_text(MODULES)
    return folder


def program(folder, body, steps, *, frames=8, inflight=3):
    """A program that sends frames through `body`, a list of (thread, module) in PARALLEL."""
    calls = [f"thread_{t} {module}(x{i}, k) -> x{i + 1}" for i, (t, module) in enumerate(body)]
    text = f"""coven 1
import "k.py" {{ make, meet, work, wanted, alone }}
partition P = procs
program order {{
  for k in 0 .. {frames} inflight {inflight} {{
    make(4 * procs, 4 * procs * k) -> all
    scatter(all) -> x0 @ block(0)
    PARALLEL over P {{
      {"; ".join(calls)}
    }}
    gather(x{len(body)}) -> result @ root
    wanted(result, 4 * procs * k, {steps})
  }}
}}
"""
    return compile_program(text, folder / "order.coven")


STEPS = st.lists(
    st.tuples(st.sampled_from("BC"), st.sampled_from(["meet", "work", "work"])), min_size=2, max_size=7
)


@settings(  # Not shrunk: a smaller program seldom meets its ranks in the same order.
    max_examples=some_of(25),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(
    body=STEPS,
    processors=st.integers(1, 4),
    inflight=st.integers(1, 6),
    depth=st.integers(1, 3),
    place=st.sampled_from(sorted(PLACES)),
    seed=st.integers(0, 2**16),
)
def test_ranks_meet_whatever_is_in_flight(folder, body, processors, inflight, depth, place, seed):
    body = [("B", "meet"), *body, ("C", "meet")]
    job = make_job(
        program(folder, body, len(body), inflight=inflight),
        processors,
        depths=lambda thread: depth,
        **PLACES[place],
    )
    meetings = Meetings(job, seed)
    run(job, communicators=meetings.of, timeout=PATIENCE)
    meetings.assert_one_order()


def test_a_tree_of_ranks_agrees(folder):
    job = make_job(program(folder, [("B", "work"), ("B", "meet"), ("B", "meet")], 3), 12)
    meetings = Meetings(job)
    run(job, communicators=meetings.of)
    meetings.assert_one_order()
    assert len(meetings.logs[job.ranks_of(job.liveness.placement.keys[-1])[0]]) == 16


def test_iterations_in_iterations_keep_the_order(folder):
    text = """coven 1
import "k.py" { make, meet, work }
partition P = procs
program order {
  for k in 0 .. 4 inflight 3 {
    make(4 * procs, k) -> all
    scatter(all) -> x @ block(0)
    for j in 0 .. 3 {
      PARALLEL over P {
        for i in 0 .. 3 inflight 2 {
          thread_B work(x, i) -> y
          thread_B meet(y, 100 * k + 10 * j + i) -> z
          thread_C meet(z, 100 * k + 10 * j + i) -> u
        }
      }
    }
  }
}
"""
    job = make_job(compile_program(text, folder / "nested.coven"), 3)
    meetings = Meetings(job)
    run(job, communicators=meetings.of)
    meetings.assert_one_order()
    assert [len(log) for log in meetings.logs] == [0] + 6 * [36]


def test_a_root_thread_is_alone_in_its_communicator(folder):
    text = """coven 1
import "k.py" { make, alone, wanted }
program one { alone() -> n  make(3, n) -> x  wanted(x, 1, 0) }
"""
    job = make_job(compile_program(text, folder / "one.coven"), 3)
    meetings = Meetings(job)
    run(job, communicators=meetings.of)
    assert [meeting.size for meeting in meetings.meetings.values()] == [1]


@pytest.mark.parametrize(("partitions", "how"), [("2 * procs", {}), ("procs - 1", {})])
def test_a_communicator_needs_one_partition_on_each_processor(folder, partitions, how):
    text = f"""coven 1
import "k.py" {{ make, meet }}
partition P = {partitions}
program order {{
  make(12, 0) -> all
  scatter(all) -> x @ block(0) over P
  PARALLEL over P {{ thread_B meet(x, 0) -> y }}
}}
"""
    job = make_job(compile_program(text, folder / "many.coven"), 2, **how)
    count = {"2 * procs": 4, "procs - 1": 1}[partitions]
    message = (
        rf"many\.coven:7:.*: meet takes a communicator, which has a rank for each partition; P has {count} "
        "partitions? on 2 processors"
    )
    with pytest.raises(ProgramError, match=message):
        Meetings(job)


@pytest.mark.parametrize("place", PLACES)
def test_partitions_without_a_communicator_move_around_those_with_one(folder, place):
    text = """coven 1
import "k.py" { make, meet, work_alone, wanted }
partition P = procs
partition Q = 3 * procs
program order {
  make(6 * procs, 0) -> all
  scatter(all) -> x @ block(0) over P
  scatter(all) -> u @ block(0) over Q
  for k in 0 .. 8 {
    PARALLEL over Q { thread_C work_alone(u) -> v }
    PARALLEL over P { thread_B meet(x, k) -> y  thread_C meet(y, k) -> z }
    swap(x, z)
    swap(u, v)
  }
  gather(x) -> result @ root
  wanted(result, 0, 16)
  gather(u) -> other @ root
  wanted(other, 0, 8)
}
"""
    job = make_job(compile_program(text, folder / "around.coven"), 3, balance=1, **PLACES[place])
    meetings, moved = Meetings(job), []

    def deal():
        chance = random.Random(3)

        def decide(owners, loads, processors, cost, bound):
            assert bound == {0, 1, 2}
            then = tuple(o if p in bound else chance.randrange(processors) for p, o in enumerate(owners))
            moved.append(then != tuple(owners))
            return then

        return decide

    run(job, communicators=meetings.of, decide=deal)
    meetings.assert_one_order()
    assert any(moved)


def test_ranks_are_in_the_order_of_partitions(folder, tmp_path):
    (tmp_path / "place.py").write_text(
        "def turn(n, procs):\n    return [(i + 1) % procs for i in range(n)]\n"
    )
    placed = f"{tmp_path}/place.py:turn"
    job = make_job(program(folder, [("B", "work"), ("B", "meet")], 2), 3, placement=placed)
    meetings = Meetings(job)
    ranks = job.ranks_of(job.liveness.placement.keys[-1])
    assert members(job, meetings.sites[0]) == [ranks[1], ranks[2], ranks[0]]
    run(job, communicators=meetings.of)
    meetings.assert_one_order()
