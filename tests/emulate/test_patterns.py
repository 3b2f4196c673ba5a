"""Patterns fit together on any number of ranks that they take; what doesn't is named."""

from functools import partial

import numpy as np
import pytest

from pse._abi.emulate import StepKind
from pse.emulate import (
    PatternError,
    RecordedProgram,
    Step,
    find_pattern,
    load_patterns,
    pattern,
    replay,
    simulate,
)
from pse.emulate.patterns._cycle import Cycle, rows_of
from pse.emulate.patterns._registry import PATTERNS

find_pattern("pairwise")
SHIPPED = sorted(PATTERNS)


def programs(name, ranks, size=1024, **settings):
    found = find_pattern(name)
    return [found.cycle(rank, ranks, size, **settings) for rank in range(ranks)]


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("name", SHIPPED)
def test_the_steps_of_all_ranks_fit_together(name, blocking):
    for ranks in range(2, 14):
        if find_pattern(name).problem(ranks, {}) is None:
            for variant in range(3):
                assert min(simulate(programs(name, ranks, blocking=blocking, variant=variant))) >= 0


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("dimensions", [[12], [3, 4], [2, 3, 2], [1, 12], [12, 1, 1]])
@pytest.mark.parametrize("name", ["cartesian", "wavefront"])
def test_grids_have_one_to_three_dimensions(name, dimensions, periodic):
    options = {"dimensions": dimensions, "periodic": periodic}
    for blocking in (True, False):
        assert max(simulate(programs(name, 12, blocking=blocking, options=options))) > 0


def test_a_halo_goes_to_each_neighbour():
    steps = find_pattern("cartesian").cycle(4, 9, 8, blocking=False, options={"dimensions": [3, 3]})
    assert sorted(step.peer for step in steps if step.kind == StepKind.ISEND) == [1, 3, 5, 7]


def test_a_wavefront_takes_as_many_steps_as_the_grid_is_wide():
    ends = simulate(programs("wavefront", 4, options={"dimensions": [4]}), lambda size: 1.0)
    assert ends == [1.0, 2.0, 3.0, 3.0]


def test_random_pairs_differ_between_cycles_and_agree_between_ranks():
    partners = [
        [find_pattern("random-pairs").cycle(rank, 8, 1, variant=variant)[0].peer for rank in range(8)]
        for variant in range(4)
    ]
    assert len({tuple(one) for one in partners}) == 4
    assert all(one[one[rank]] == rank for one in partners for rank in range(8))


@pytest.mark.parametrize(
    ("name", "ranks", "options", "words"),
    [
        ("pairwise", 3, {}, "3 ranks leave one without a partner"),
        ("butterfly", 6, {}, "needs 2, 4, 8, … ranks, not 6"),
        ("cartesian", 4, {"dimensions": [3, 2]}, "3 × 2 are 6 ranks, not 4"),
        ("cartesian", 4, {"dimensions": [1, 1, 2, 2]}, "expected 1 to 3 integers"),
        ("broadcast", 4, {"root": 4}, "expected a rank from 0 to 3"),
        ("alltoall", 1, {}, "needs at least 2 ranks"),
    ],
)
def test_what_a_pattern_can_not_use_is_said(name, ranks, options, words):
    assert words in (find_pattern(name).problem(ranks, options) or "")


def test_an_unknown_pattern_is_refused_with_a_guess():
    with pytest.raises(PatternError, match="there is no pattern 'pairwize'") as caught:
        find_pattern("pairwize")
    assert caught.value.help == "did you mean `pairwise`?"


def program(*calls):
    """Give the steps of two ranks, each as calls of a cycle."""
    found = []
    for rank, own in enumerate(calls):
        cycle = Cycle(rank, 2, 8)
        for name, *arguments in own:
            getattr(cycle, name)(*arguments)
        cycle.complete()
        found.append(cycle.steps)
    return found


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (([("receive", 1)], [("receive", 0)]), "for ever: rank 0 receives from rank 1 and rank 1 receives"),
        (([("send", 1), ("receive", 1)], [("send", 0), ("receive", 0)]), "rank 0 sends to rank 1 and rank 1"),
        (([("begin_send", 1)], []), "rank 0 sends a message of 8 B that rank 1 doesn't receive"),
        (([("send", 1, 8)], [("receive", 0, 9)]), "sends 8 B to rank 1, which expects 9 B"),
        (([("barrier",)], []), "rank 0 is in barrier"),
        (
            ([("collective", "gather")], [("collective", "gather", 1)]),
            "different collective operations: rank 0 is in gather",
        ),
    ],
)
def test_steps_that_would_never_end_are_found(steps, words):
    with pytest.raises(PatternError, match="rank") as caught:
        simulate(program(*steps))
    assert words in caught.value.message


def test_ranks_that_do_not_exist_are_refused():
    with pytest.raises(PatternError, match="2 is not a rank: expected an integer from 0 to 1"):
        Cycle(0, 2, 8).send(2)
    with pytest.raises(PatternError, match="no collective operation 'send'"):
        Cycle(0, 2, 8).collective("send")


def test_a_model_predicts_a_pattern():
    ends = simulate(programs("pairwise", 2, 1000), lambda size: 1e-6 + 1e-9 * size)
    assert ends == pytest.approx([4e-6, 4e-6])
    assert max(simulate(programs("many-to-one", 5), lambda size: 1.0)) == 4.0
    assert simulate(programs("allreduce", 5), lambda size: 1.0) == [3.0] * 5


def test_messages_that_are_under_way_at_once_have_places_of_their_own():
    steps = find_pattern("cartesian").cycle(0, 8, 100, blocking=False, options={"dimensions": [2, 2, 2]})
    rows, buffers = rows_of(steps, 8)
    places = rows["offset"][rows["kind"] == StepKind.IRECEIVE]
    assert (np.diff(np.sort(places)) >= 100).all()
    assert buffers.into >= places.max() + 100
    assert rows_of(find_pattern("alltoall").cycle(0, 8, 100), 8)[1] == (800, 800)


def test_ranks_without_steps_are_done_at_once():
    assert simulate([[], [], [Step(StepKind.COMPUTE, seconds=2.0)], []]) == [0.0, 0.0, 2.0, 0.0]
    program = RecordedProgram(((), (), (Step(StepKind.COMPUTE, seconds=2.0),)))
    assert replay(program, lambda *_: np.zeros(1)).tolist() == [2.0]


def test_users_add_patterns_in_files(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from pse.ace import pattern\n\n@pattern('neighbour-of-mine')\ndef mine(cycle):\n"
        "    '''Ranks exchange with the rank across.'''\n"
        "    cycle.exchange((cycle.rank + cycle.ranks // 2) % cycle.ranks)\n"
    )
    for _ in range(2):  # Again is no error.
        load_patterns(tmp_path / "mine.py")
    assert simulate(programs("neighbour-of-mine", 4))
    del PATTERNS["neighbour-of-mine"]
    (tmp_path / "wrong.py").write_text("1 / 0")
    with pytest.raises(PatternError, match="ZeroDivisionError"):
        load_patterns(tmp_path / "wrong.py")
    with pytest.raises(PatternError, match="there is no Python file"):
        load_patterns(tmp_path / "none.py")


def test_two_patterns_can_not_have_one_name():
    with pytest.raises(PatternError, match="there is a pattern 'pairwise' already"):

        @pattern("pairwise")
        def other(cycle):
            """Another one."""


class _Exchange:
    def __call__(self, cycle):
        cycle.exchange(cycle.rank ^ 1)


def test_what_can_be_called_is_a_pattern_too():
    def to(cycle, other):
        cycle.exchange(cycle.rank ^ other)

    one = pattern("partial")(partial(to, other=1))
    try:
        assert simulate(programs("partial", 2))
        with pytest.raises(
            PatternError, match=r"a pattern 'partial' already, in line \d+ of .*test_patterns"
        ):
            pattern("partial")(_Exchange())
        one.keywords["other"] = "1"
        with pytest.raises(
            PatternError, match=r"fails for rank 0 of 2: TypeError: .*test_patterns\.py, line"
        ):
            PATTERNS["partial"].cycle(0, 2, 8)
        del PATTERNS["partial"]
        pattern("partial")(_Exchange())
        assert simulate(programs("partial", 2))
    finally:
        del PATTERNS["partial"]


@pytest.mark.parametrize("step", [Cycle.barrier, Cycle.wait, lambda cycle: cycle.compute(0.0)])
def test_a_pattern_that_never_ends_is_stopped(step):
    @pattern("endless")
    def endless(cycle):
        while True:
            step(cycle)

    try:
        with pytest.raises(PatternError, match=r"endless fails for rank 0 of 2: .* more than 100,000 steps"):
            PATTERNS["endless"].cycle(0, 2, 1024)
    finally:
        del PATTERNS["endless"]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step(StepKind.SEND, 1, 8), "rank 0 sends a message of 8 B that rank 1 doesn't receive"),
        (Step(StepKind.RECEIVE, 1, 8), "rank 0 expects a message of 8 B that rank 1 doesn't send"),
    ],
)
def test_a_message_without_its_other_end_is_named(step, words):
    for after in ([], [Step(StepKind.WAITALL)]):
        with pytest.raises(PatternError, match=words):
            simulate([[step, *after], [Step(StepKind.COMPUTE, seconds=1.0)]])


def test_a_rank_that_would_wait_for_itself_is_named():
    cycles = [Cycle(rank, 2, 8) for rank in range(2)]
    for one in cycles:
        one.exchange(one.rank)
    with pytest.raises(PatternError, match="rank 0 would wait for itself for ever") as found:
        simulate([one.steps for one in cycles])
    assert "can't exchange messages with itself" in found.value.help
