"""Thread placement: labels to ranks and back, and what to say when the ranks do not fit."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from pse.language.check._ir import CallSite, ModuleReference, Parallel, ResolvedProgram, Statement
from pse.language.diagnostics._source import Span
from pse.language.types._types import Signature
from pse.program._placement import Placement, ThreadKey, place_threads
from pse.program._walk import number_statements

SPAN = Span("threads.coven", 1, 1, 1, 2)
MODULE = ModuleReference("f", Signature("f", ()), None, "pse.std", 1, "std")
LABELS = st.lists(st.sampled_from(["thread_A", "thread_B", "thread_C", "io"]), unique=True)


def program(root: list[str | None], parallel: list[str | None]) -> ResolvedProgram:
    """Root calls, with the parallel ones in between, after the first root call."""

    def calls(labels: list[str | None], inside: bool) -> tuple[Statement, ...]:
        return tuple(CallSite(0, MODULE, (), (), label, inside, None, {}, SPAN, "f") for label in labels)

    block = Parallel("P", calls(parallel, True), SPAN)
    body = (*calls(root[:1], False), block, *calls(root[1:], False))
    return ResolvedProgram("threads", "threads.coven", "", (), (), (), {}, body)


@pytest.mark.parametrize(
    ("root", "parallel", "expected"),
    [
        (
            ["thread_A", "thread_A"],
            ["thread_B", "thread_C", "thread_B"],
            (("thread_A",), ("thread_B", "thread_C")),
        ),
        ([None, "thread_Z"], [None], (("thread_A", "thread_Z"), ("thread_A",))),
        ([None], ["thread_C", None], (("thread_A",), ("thread_C", "thread_A"))),
        (["x", "y", None], [], (("x", "y", "thread_A"), ())),
        ([], ["x"], ((), ("x",))),
        ([], [], ((), ())),
    ],
)
def test_labels_in_order_of_first_use(root: list, parallel: list, expected: tuple) -> None:
    assert place_threads(program(root, parallel)) == Placement(*expected)


def test_calls_without_a_label_stay_where_they_are_whatever_labels_others_have() -> None:
    for labels in ([None, None], [None, "x"], ["x", None], ["thread_A", None]):
        placed = program(labels, labels)
        found = place_threads(placed)
        without = [site for site in number_statements(placed).sites if site.thread is None]
        assert [found.thread_of(site).label for site in without] == ["thread_A"] * 2 * labels.count(None)


def test_calls_without_a_label_run_on_the_first_declared_thread() -> None:
    placed = replace(program([None, "y"], ["x", None]), threads=("x", "y"))
    assert place_threads(placed) == Placement(("x", "y"), ("x",), "x")


@pytest.mark.parametrize(
    ("label", "threads", "runs"),
    [
        (None, ("thread_B", "thread_C"), "thread_B"),
        ("thread_A", ("thread_B", "thread_C"), "thread_B"),
        ("thread_C", ("thread_C", "thread_B"), "thread_C"),
        ("writer", ("writer", "thread_B", "thread_C"), "writer"),
    ],
)
def test_a_call_that_was_moved_into_parallel_adds_only_a_thread_that_calls_on_whole_arrays_do_not_have(
    label: str | None, threads: tuple[str, ...], runs: str
) -> None:
    placed = program(["thread_A"], [label, "thread_B", "thread_C"])
    parallel = placed.body[1]
    first, *others = parallel.body
    moved = replace(parallel, body=(replace(first, moved=True), *others))
    found = place_threads(replace(placed, body=(placed.body[0], moved)))
    assert (found.root_threads, found.parallel_threads) == (("thread_A",), threads)
    assert found.thread_of(moved.body[0]) == ThreadKey("parallel", runs)


def test_the_same_label_in_both_regions_is_two_threads() -> None:
    placement = place_threads(program(["thread_A"], ["thread_A"]))
    assert placement.keys == (ThreadKey("root", "thread_A"), ThreadKey("parallel", "thread_A"))
    assert [placement.describe(rank) for rank in range(3)] == [
        "root thread_A",
        "thread_A of processor 0",
        "thread_A of processor 1",
    ]


@given(LABELS, LABELS, st.integers(1, 9))
def test_ranks_and_seats_are_inverse(root: list[str], parallel: list[str], processors: int) -> None:
    placement = Placement(tuple(root), tuple(parallel))
    seats = [placement.seat(rank) for rank in range(placement.ranks(processors))]
    assert len(set(seats)) == placement.ranks(processors) == len(root) + processors * len(parallel)
    for rank, (key, processor) in enumerate(seats):
        assert placement.rank_of(key, processor or 0) == rank


@given(LABELS, LABELS, st.integers(0, 60))
def test_processors_are_inferred_or_the_nearest_ranks_named(
    root: list[str], parallel: list[str], n: int
) -> None:
    placement = Placement(tuple(root), tuple(parallel))
    fitting = {placement.ranks(processors) for processors in range(1, 80)}
    found, nearest = placement.processors_for(n), placement.nearest_ranks(n)
    assert (found is not None) == (n in fitting)
    assert found is None or placement.ranks(found) == n
    below = [m for m in fitting if m <= n]
    above = [m for m in fitting if m >= n]
    assert nearest == tuple(sorted({*([max(below)] if below else []), *([min(above)] if above else [])}))


def test_a_rank_that_no_run_has_is_refused() -> None:
    placement = Placement(("thread_A",), ())
    with pytest.raises(ValueError, match="no rank 1: the program has root ranks 0 to 0 only"):
        placement.seat(1)
    with pytest.raises(ValueError, match="no parallel thread 'thread_B'; there are: none"):
        placement.rank_of(ThreadKey("parallel", "thread_B"))
