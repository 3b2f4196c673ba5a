"""Modules that exchange messages among partitions, in programs: on any processors, nodes and placements."""

import ctypes
import random
import re
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pse_testing import harness
from pse_testing.example_counts import some_of
from pse_testing.harness import compile_program, make_job, run

from pse import partition
from pse.errors import RunError
from pse.modules import build_module
from pse.modules.load._imports import import_python
from pse.runtime.distribution._load_balancer import better

PROGRAMS = Path(__file__).parent / "programs"
HEAD = """coven 1
import "messages.c" as c
import "messages.cpp" as cpp
import "messages.py" as py
param i64 N = 24
param i64 seed = 1
param i64 what = 0
partition P = {count}
"""
PLACES = {
    "one": (1, {}),
    "three": (3, {}),
    "cyclic": (3, {"placement": "cyclic"}),
    "nodes": (3, {"nodes": lambda rank: rank % 2}),
    "unshared": (2, {"shared_memory": False}),
}


def play(body, count="6", place="one", balance=0, decide=lambda: better, **values):
    """Run a program on a place; gives what reached the root."""
    processors, how = PLACES[place]
    program = compile_program(HEAD.format(count=count) + f"program p {{ {body} }}", PROGRAMS / "p.coven")
    kept = import_python(str(PROGRAMS / "messages.py"), "messages.py").kept
    kept.clear()
    texts = {name: str(value) for name, value in values.items()}
    run(make_job(program, processors, values=texts, balance=balance, **how), decide=decide)
    return dict(kept)


def over_partitions(calls):
    """Scatter, call modules on the pieces, and keep what they made of them."""
    return f"""
      thread_A py.make(seed, N) -> x
      thread_A scatter(x) -> xs @ block(0)
      PARALLEL over P {{ {calls} }}
      thread_A gather(ys) -> y @ root
      thread_A py.keep("x", x)
      thread_A py.keep("y", y)
    """


def pieces(array, count=6):
    return np.array(array).reshape(count, -1)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", [6, 24, 6 * 5000], ids=["inside", "block", "reference"])
def test_compiled_modules_pass_arrays_around(place, size):
    got = play(over_partitions("thread_B c.ring(xs) -> ys"), place=place, N=size)
    assert np.array_equal(pieces(got["y"]), np.roll(pieces(got["x"]), 1, axis=0))


def test_one_partition_for_each_processor_needs_no_fibers():
    got = play(over_partitions("thread_B c.ring(xs) -> ys"), count="procs", place="three")
    assert np.array_equal(pieces(got["y"], 3), np.roll(pieces(got["x"], 3), 1, axis=0))


@pytest.mark.parametrize("place", ["three", "nodes"])
def test_modules_in_cpp_have_the_same_functions(place):
    got = play(over_partitions("thread_B cpp.spread(xs) -> ys"), place=place)
    assert np.array_equal(pieces(got["y"]), np.tile(pieces(got["x"])[1], (6, 1)))


def test_a_module_loads_outside_the_engine_and_is_alone_there():
    library = ctypes.CDLL(str(build_module(str(PROGRAMS / "messages.c")).library))
    x, left = (ctypes.c_double * 2)(1, 2), (ctypes.c_double * 2)()
    assert library.ring(x, left, ctypes.c_int64(2)) == -1  # COVEN_OUTSIDE
    assert (partition.index, partition.count) == (0, 1)
    with pytest.raises(RuntimeError, match="partitions exist only inside a module that the engine"):
        partition.send(0, np.zeros(1))
    with pytest.raises(AttributeError, match=r"module 'pse\.partition' has no attribute 'rank'"):
        partition.rank  # noqa: B018


def test_one_partition_talks_to_itself():
    got = play(over_partitions("thread_B c.ring(xs) -> ys"), count="1")
    assert np.array_equal(got["x"], got["y"])


def test_sums_have_the_same_bits_wherever_partitions_live():
    calls = "thread_B c.total(xs) -> sum reduce most(max), ys"
    body = over_partitions(calls) + 'thread_A py.keep_number("most", most)'
    bits = set()
    for place in PLACES:
        got = play(body, place=place)
        bits.add(got["y"].tobytes() + np.float64(got["most"]).tobytes())
        assert np.allclose(pieces(got["y"]), np.cumsum(pieces(got["x"]), axis=0))
        assert np.isclose(got["most"], got["x"].sum())
    assert len(bits) == 1


def test_an_operation_of_the_users_combines_in_order():
    bits = {
        play(over_partitions("thread_B c.join(xs) -> ys"), place=place)["y"].tobytes() for place in PLACES
    }
    assert len(bits) == 1


@settings(
    max_examples=some_of(12),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 1000),
    place=st.sampled_from(sorted(PLACES)),
    count=st.sampled_from(["2", "6", "procs"]),
)
def test_random_messages_of_python_modules_arrive(seed, place, count):
    got = play(
        over_partitions("thread_B py.random_messages(seed, xs) -> ys"), place=place, count=count, seed=seed
    )
    number = PLACES[place][0] if count == "procs" else int(count)
    pattern = import_python(str(PROGRAMS / "messages.py"), "messages.py").pattern(seed, number)
    arrived = np.bincount([target for _, target, _, _ in pattern], minlength=number)
    assert np.array_equal(pieces(got["y"], number), pieces(got["x"], number) + arrived[:, None])


@pytest.mark.parametrize("place", ["one", "cyclic", "unshared"])
def test_generators_go_on_with_what_came(place):
    got = play(over_partitions("thread_B py.conversation(xs) -> ys"), place=place)
    sums = pieces(got["x"]).sum(axis=0)
    assert np.allclose(pieces(got["y"]), sums + np.arange(1, 7)[:, None])


@pytest.mark.parametrize("module", ["plain", "returned"])
def test_what_is_posted_is_there_when_the_call_is_over(module):
    got = play(over_partitions(f"thread_B py.{module}(xs) -> ys"), place="three")
    assert np.array_equal(pieces(got["y"]), np.roll(pieces(got["x"]), 1, axis=0))


@pytest.mark.parametrize("place", ["three", "nodes"])
def test_collectives_of_python_modules_bring_each_partition_its_pieces(place):
    got = play(over_partitions("thread_B py.exchanges(xs) -> ys"), place=place)
    assert np.array_equal(got["x"], got["y"])


def test_iterations_in_flight_do_not_mix_their_messages():
    once = over_partitions("thread_B c.ring(xs) -> ys").replace("seed", "k")
    body = f"for k in 0 .. 6 inflight 3 {{ {once} }}"
    got = play(body, place="three", count="procs")
    assert np.array_equal(pieces(got["y"], 3), np.roll(pieces(got["x"], 3), 1, axis=0))


def test_loops_inside_parallel_call_collectives_again_and_again():
    calls = (
        "thread_B c.ring(xs) -> ys  for k in 0 .. 5 { thread_B c.ring(ys) -> zs  thread_B c.ring(zs) -> ys }"
    )
    got = play(over_partitions(calls), place="cyclic")
    assert np.array_equal(pieces(got["y"]), np.roll(pieces(got["x"]), 11, axis=0))


def test_a_slow_module_is_no_deadlock():
    body = over_partitions("thread_B c.ring(xs) -> ys  thread_B c.slow(ys)")
    for place in ("three", "unshared"):
        got = play(body, place=place)
        assert np.array_equal(pieces(got["y"])[0], pieces(got["x"])[5])


WRONG = "thread_B c.ring(xs) -> ys  thread_B c.wrong(what, ys)"
SITE = r"\S*p\.coven:\d+:\d+"
WHO = rf"{SITE}: module c\.wrong, partition"
FAULTS = {
    0: rf"{WHO} \d, exchanges messages with partition 7, which does not exist$",
    1: rf"{WHO} (\d), expects 4 f64 with tag 7 from partition \d, which sent 1 f64\n"
    rf"  {SITE}: sent by module c\.wrong$",
    2: "deadlock: 6 partitions wait for each other\n"
    rf"(  partition \d \(module c\.wrong, {SITE}\) waits for a message with tag 3 from partition \d\n?)"
    "{6}$",
    3: rf"{SITE}: deadlock: not all partitions call barrier\(\) in module c\.wrong\n"
    r"  it was called by partitions 0, 2 to 5\n  it was not called by partition 1$",
    4: "deadlock: partitions wait for messages that nobody will ever send\n"
    rf"  partition 0 \(module c\.wrong, {SITE}\) waits for a message with tag 5 from partition 1, "
    "which will never send it$",
    5: rf"{WHO} 0, sent 1 f64 with tag 5 to partition 1, which never received them$",
    6: rf"{WHO} \d, calls (barrier|allreduce)\(.*\) where partition \d calls "
    rf"(barrier|allreduce)\(.*\)\n  {SITE}: called by module c\.wrong$",
}


@pytest.mark.parametrize("place", ["one", "three", "unshared"])
@pytest.mark.parametrize("what", FAULTS)
def test_what_goes_wrong_is_named(what, place):
    with pytest.raises(RunError) as caught:
        play(over_partitions(WRONG), place=place, what=what)
    assert re.match(FAULTS[what], caught.value.message), caught.value.message
    assert caught.value.exit_code == 3


def test_a_deadlock_is_found_after_others_have_finished():
    """Partition 0 waits for one whose rank has nothing left to do."""
    begin = time.monotonic()
    body = "PARALLEL over P { thread_B zero() -> xs  thread_B c.wrong(4, xs) }"
    with pytest.raises(RunError, match="deadlock: partitions wait for messages that nobody will ever send"):
        play("var f64[N] @ block(0) xs " + body, count="procs", place="three")
    assert time.monotonic() - begin < 60


REFUSED = {
    0: "raised ValueError: partition [0-5] can't send to partition 6: there are 6, numbered from 0 to 5",
    1: r"raised TypeError: elements of type datetime64\[s\] can't be sent",
    2: "raised ValueError: allreduce by 'median': expected one of sum, prod, min, max, all, any, hypot",
    3: "raised ZeroDivisionError: division by zero",
    4: "yielded str: expected a request of pse.partition, a list of them, or nothing",
    5: "raised ValueError: tag -3: expected a number of at least 0",
    6: r"raised ValueError: alltoall of an array of shape \(7,\): its first axis must have the 6 partitions",
    7: "raised TypeError: forgetful.left, right. gave object.*: expected float64",
    8: "raised TypeError: .* gave float64.1.: expected float64",
    9: "raised TypeError: send to partition 0.5: expected an integer",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_python_modules_ask_wrongly_is_refused(what):
    with pytest.raises(RunError, match=REFUSED[what]):
        play(over_partitions("thread_B py.refused(what, xs) -> ys"), what=what)


def anywhere(seed):
    """Moves partitions about as chance has it, the same on every rank."""
    chance = random.Random(seed)
    return lambda owners, loads, processors, cost, bound: tuple(chance.randrange(processors) for _ in owners)


ACROSS = """
  thread_A py.make(seed, N) -> x
  thread_A scatter(x) -> xs @ block(0)
  PARALLEL over P { thread_B py.early(seed, 0, xs) }
  for k in 0 .. 5 {
    PARALLEL over P { thread_B py.late(seed, k, xs)  thread_B py.early(seed, k + 1, xs) }
  }
  PARALLEL over P { thread_B py.late(seed, 5, xs) }
  thread_A gather(xs) -> y @ root
  thread_A py.keep("y", y)
"""


@pytest.mark.parametrize("place", PLACES)
def test_messages_under_way_move_with_their_partitions(place):
    for seed in range(4):
        still = play(ACROSS, place="one", seed=seed)["y"]
        moved = play(ACROSS, place=place, seed=seed, balance=1, decide=lambda: anywhere(seed))  # noqa: B023
        assert moved["y"].tobytes() == still.tobytes()


def test_a_message_that_an_iteration_left_is_named_where_partitions_move():
    body = """
      for k in 0 .. 3 {
        for i in 0 .. 2 inflight 2 {
          thread_A py.make(i, N) -> x
          thread_A scatter(x) -> xs @ block(0)
          PARALLEL over P { thread_B c.wrong(5, xs) }
        }
      }
    """
    with pytest.raises(RunError, match=r"partition 0, sent 1 f64 with tag 5 to partition 1, which never"):
        play(body, place="three", balance=1, decide=lambda: anywhere(1))


def later(rounds: str) -> str:
    """A program that receives in a round what the one before has sent, where it lies in the arena."""
    return f"""
      thread_A py.make(seed, N) -> x
      thread_A scatter(x) -> xs @ block(0)
      for k in 0 .. {rounds} {{ PARALLEL over P {{ thread_B c.later(k, xs) }} }}
      thread_A gather(xs) -> ys
      thread_A py.keep("y", ys)
    """


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", [{}, {"balance": 1}, {"balance": 1, "decide": lambda: anywhere(3)}])
def test_large_messages_wait_over_a_pause(place, how):
    """The sender of an array that is read where it lies goes on though nobody receives before the pause."""
    still = play(later("6"), place="three", N=6 * 5000)["y"]
    assert play(later("6"), place=place, N=6 * 5000, **how)["y"].tobytes() == still.tobytes()


@pytest.mark.parametrize("balance", [0, 1], ids=["plain", "pauses"])
def test_large_messages_in_a_circle_are_no_deadlock_when_a_partition_is_late(balance):
    """Each partition goes on once the other's rank copies what it has sent: both can, when they are asked."""
    body = """
      thread_A py.make(seed, N) -> x
      thread_A scatter(x) -> xs @ block(0)
      PARALLEL over P { thread_B copy(xs) -> ys }
      for k in 0 .. 4 {
        PARALLEL over P {
          if k > 0 { thread_B c.take_over(k - 1, ys) }
          if k < 3 { thread_B c.pass_on(k, xs) }
        }
      }
      thread_A gather(ys) -> y
      thread_A py.keep("x", x)
      thread_A py.keep("y", y)
    """
    got = play(body, count="2", place="three", balance=balance, N=2 * 5000)
    assert np.array_equal(pieces(got["y"], 2), pieces(got["x"], 2)[::-1])


class LateWire(harness.Wire):
    """Tells a sender a second late that its array has left: MPI may do so at any time."""

    def __init__(self, crew):
        super().__init__(crew)
        self.leaving = [deque() for _ in crew.job.nodes]

    def release(self, rank, sequencer, buffer):
        self.leaving[rank].append((time.monotonic() + 1, buffer))

    def poll(self, rank, sequencer):
        super().poll(rank, sequencer)
        now = time.monotonic() if rank not in self.crew.finished else float("inf")
        while self.leaving[rank] and self.leaving[rank][0][0] < now:
            sequencer.sent(self.leaving[rank].popleft()[1])


def test_senders_that_are_told_late_that_their_arrays_have_left_are_no_deadlock(monkeypatch):
    monkeypatch.setattr(harness, "Wire", LateWire)
    got = play(over_partitions("thread_B c.ring(xs) -> ys"), place="nodes")
    assert np.array_equal(pieces(got["y"]), np.roll(pieces(got["x"]), 1, axis=0))
