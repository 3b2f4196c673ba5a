"""Threads that are folded into others: only where none of their calls could have overlapped."""

import itertools
import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of
from pse_testing.program_composer import Composer

from pse.language.check._ir import (
    Assign,
    CallSite,
    For,
    If,
    Parallel,
    ResolvedProgram,
    Statement,
    Swap,
    While,
)
from pse.language.types._expressions import Binary, Expression, Name, Number
from pse.program import defined_tags, fold_threads, number_statements, place_threads, read_names

TAGS = ("t0", "t1", "t2", "t3")
LABELS = ("thread_B", "thread_C", "thread_D")


def folded(program: ResolvedProgram, *, parallel: bool = True) -> dict[str, str]:
    """Give which thread runs on which, by label."""
    placed = fold_threads(program, place_threads(program), parallel=parallel)
    return {key.label: onto.label for key, onto in placed.folded.items()}


def in_parallel(*calls: tuple[str, tuple[str, ...], tuple[str, ...]], rounds: bool = True, inflight=None):
    """A program of calls in PARALLEL, each with its label, what it reads, and what it makes."""
    c = Composer()
    c.array(*TAGS)
    c.scalar("k", counter=True)
    body = c.parallel(
        *(c.call("f", label, *reads, makes=made, parallel=True) for label, reads, made in calls)
    )
    return c.program("sample", c.loop("k", "n", body, inflight=inflight) if rounds else body)


def test_an_exchange_between_two_steps_runs_on_their_thread(samples):
    assert folded(samples["heat"]) == {"thread_C": "thread_B"}


@pytest.mark.parametrize("name", ["fft2d", "nbody"])
def test_threads_whose_calls_overlap_stay_apart(samples, name):
    assert folded(samples[name]) == {}


def test_where_a_processor_has_several_partitions_threads_in_parallel_stay_apart(samples):
    assert folded(samples["heat"], parallel=False) == {}


CHAIN = (("thread_B", ("t0",), ("t1",)), ("thread_C", ("t1",), ("t0",)))


def test_a_chain_that_goes_round_is_one_thread():
    assert folded(in_parallel(*CHAIN)) == {"thread_C": "thread_B"}


def test_a_chain_that_begins_anew_in_every_round_stays_two():
    assert folded(in_parallel(("thread_B", (), ("t1",)), ("thread_C", ("t1",), ("t2",)))) == {}
    once = in_parallel(("thread_B", (), ("t1",)), ("thread_C", ("t1",), ("t2",)), rounds=False)
    assert folded(once) == {"thread_C": "thread_B"}


def test_rounds_in_flight_overlap():
    assert folded(in_parallel(*CHAIN, inflight=2)) == {}


def test_a_third_thread_is_folded_into_the_first_that_it_never_overlaps():
    three = (
        ("thread_B", ("t0",), ("t1",)),
        ("thread_C", ("t0",), ("t2",)),
        ("thread_D", ("t1", "t2"), ("t0",)),
    )
    assert folded(in_parallel(*three)) == {"thread_D": "thread_B"}


def test_a_serial_run_and_a_huge_program_keep_their_threads(random_program, samples):
    heat = samples["heat"]
    assert fold_threads(heat, place_threads(heat, serial=True), parallel=True).folded == {}
    assert folded(random_program(2000, 3)) == {}


@st.composite
def programs(draw: st.DrawFn) -> ResolvedProgram:
    """Programs of few tags, so that there are chains."""
    c = Composer()
    c.array(*TAGS)
    c.scalar("s")
    counters = itertools.count()
    tags = st.lists(st.sampled_from(TAGS), max_size=2, unique=True)

    def call() -> CallSite:
        reads, changes = draw(tags), tuple(draw(st.lists(st.sampled_from(TAGS), max_size=1)))
        made, label = draw(st.lists(st.sampled_from((*TAGS, "s")), max_size=1)), draw(st.sampled_from(LABELS))
        return c.call("f", label, *reads, changes=changes, makes=tuple(made), parallel=True)

    def condition() -> Expression:
        return Binary(">", Name(draw(st.sampled_from((*TAGS, "s")))), Number(0))

    def body(depth: int) -> tuple[Statement, ...]:
        return tuple(statement(depth) for _ in range(draw(st.integers(1, 3))))

    def statement(depth: int) -> Statement:
        kinds = ["call", "call", "call", "swap", "assign", *["for", "while", "if"] * (depth < 2)]
        match draw(st.sampled_from(kinds)):
            case "call":
                return c.parallel(call())
            case "swap":
                return Swap(*draw(st.permutations(TAGS))[:2], c.span())
            case "assign":
                return Assign("s", Name(draw(st.sampled_from(TAGS))), c.span())
            case "for":
                flight = draw(st.sampled_from([None, None, 2]))
                return c.loop(f"k{next(counters)}", "n", *body(depth + 1), inflight=flight)
            case "while":
                return While(condition(), Number(9), body(depth + 1), c.span())
        return If(condition(), body(depth + 1), body(depth + 1), c.span())

    return c.program("drawn", *body(0))


class Run:
    """One run of a program: how often loops go round, and which branches are taken, is drawn.

    It finds out of which calls it is certain, by what they read, that they are over when another begins.
    """

    def __init__(self, program: ResolvedProgram, seed: int) -> None:
        self.random, self.over = random.Random(seed), dict[str, frozenset[int]]()
        self.calls: list[tuple[int, frozenset[int]]] = []  # the site of each call, and the calls before it
        self.run(program.body, frozenset())

    def known(self, names: Iterable[str]) -> frozenset[int]:
        return frozenset[int]().union(*(self.over.get(name, frozenset()) for name in names))

    def run(self, body: Iterable[Statement], after: frozenset[int]) -> None:
        for statement in body:
            match statement:
                case CallSite():
                    before = after | self.known(read_names(statement))
                    self.calls.append((statement.id, before))
                    made = before | {len(self.calls) - 1}
                    self.over |= dict.fromkeys(defined_tags(statement), made)
                case Assign():
                    self.over[statement.tag] = self.known(read_names(statement))
                case Swap():
                    left, right = self.known([statement.left]), self.known([statement.right])
                    self.over |= {statement.left: right, statement.right: left}
                case Parallel():
                    self.run(statement.body, after)
                case If():
                    taken = self.random.choice((statement.then, statement.otherwise))
                    self.run(taken, after | self.known(read_names(statement)))
                case For() | While():
                    self.rounds(statement, after)

    def rounds(self, loop: For | While, after: frozenset[int]) -> None:
        entry = dict(self.over)
        for _ in range(self.random.randint(0, 5)):
            if isinstance(loop, For) and loop.inflight is not None:
                self.over = dict(entry)
            condition = self.known(read_names(loop)) if isinstance(loop, While) else frozenset[int]()
            self.run(loop.body, after | condition)
        if isinstance(loop, For) and loop.inflight is not None:
            self.over = entry

    def overlapping(self) -> set[frozenset[int]]:
        """Give the sites of calls that may overlap."""
        pairs = itertools.combinations(range(len(self.calls)), 2)
        return {
            frozenset((self.calls[first][0], self.calls[second][0]))
            for first, second in pairs
            if first not in self.calls[second][1]
        }


@settings(max_examples=some_of(300))
@given(program=programs(), seed=st.integers(0, 2**32))
def test_calls_of_folded_threads_never_overlap_in_any_run(program, seed):
    placed = fold_threads(program, place_threads(program), parallel=True)
    sites, plain = number_statements(program).sites, place_threads(program)
    overlapping = Run(program, seed).overlapping()
    for one, other in itertools.combinations(sites, 2):
        if plain.thread_of(one) != plain.thread_of(other) and placed.thread_of(one) == placed.thread_of(
            other
        ):
            assert frozenset((one.id, other.id)) not in overlapping
