"""The core primitives: what each promises, histories that some order explains, and kills."""

import json
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI
from pse_testing.histories import Compare, Put, Read, legal_order, operation_of
from pse_testing.jobs import TWO_NODES

from pse import bcs
from pse.errors import UsageError

pytestmark = pytest.mark.mpi
PROGRAMS = Path(__file__).parent / "programs"
RUNS = {"one rank": (1, {}), "three ranks": (3, {}), "two machines": (3, TWO_NODES)}
WORDS = 3


@pytest.fixture(scope="module")
def runs():
    """What was seen in each run so far."""
    return {}


@pytest.fixture(params=RUNS)
def seen(request, runs, mpiexec, tmp_path):
    """What each rank saw: one job for each way to place ranks."""
    if request.param not in runs:
        ranks, environment = RUNS[request.param]
        rounds, length = ("8", "6") if environment else ("60", "14")
        ended = mpiexec(
            ranks, PROGRAMS / "primitives.py", tmp_path, rounds, length, env=environment, timeout=120
        )
        assert (ended.code, ended.out) == (0, ""), ended.err
        runs[request.param] = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(ranks)]
    return runs[request.param]


def test_a_block_and_its_events_reach_all_nodes(seen):
    assert seen[0]["local"]
    for one in seen:
        assert (one["remote"], one["again"], one["block"]) == (True, False, [1, 2, 3])
    assert seen[-1]["both"] == [True, True]


def test_a_comparison_is_of_all_nodes_and_writes_on_all_or_none(seen):
    last, alone = seen[-1], len(seen) == 1
    assert last["compared"] == [True, False, True, False, alone, True, False]
    assert (last["one"], last["written"], last["not written"]) == (True, True, False)
    assert [(one["variable"], one["view"]) for one in seen] == [
        (-5 if rank in (0, len(seen) - 1) else 0,) * 2 for rank in range(len(seen))
    ]


def test_a_blocked_test_sleeps(seen):
    for one in seen:
        assert not one["slept"]
        assert one["cpu"] < 0.04
        assert one["switches"] < 30


def test_increments_of_all_ranks_at_once_are_all_counted(seen):
    assert [one["counter"] for one in seen] == [10 * len(seen)] * len(seen)


def rounds_of(seen):
    """The histories of each round, as the checker takes them."""
    return [
        [[operation_of(kind, fields) for kind, fields in history] for history in histories]
        for histories in zip(*(one["histories"] for one in seen), strict=True)
    ]


def start(ranks):
    return ((0,) * WORDS,) * ranks


def test_some_order_explains_all_that_ranks_saw(seen):
    for histories in rounds_of(seen):
        assert legal_order(histories, start(len(seen))) is not None, histories


def test_answers_turned_round_are_found(seen):
    """The checker isn't blind to what these histories may do wrong."""
    found = planted = 0
    for histories in rounds_of(seen)[:20]:
        for rank, history in enumerate(histories):
            last = max((at for at, one in enumerate(history) if isinstance(one, Read)), default=None)
            if last is None:
                continue
            planted += 1
            unseen = history[last]._replace(values=(-77, 0, 0))
            wrong = [*history[:last], unseen, *history[last + 1 :]]
            found += legal_order([*histories[:rank], wrong, *histories[rank + 1 :]], start(len(seen))) is None
    assert found == planted > 0


BOTH = (0, 1)
VIOLATIONS = {
    "half a block": [[Put(0, (1, 2), BOTH)], [Read(1, (1, 0, 0))]],
    "a block on some nodes": [
        [Put(0, (1,), BOTH), Compare(0, "==", 1, (0,), (), True), Compare(0, "==", 1, (1,), (), False)],
        [],
    ],
    "two orders": [
        [Put(0, (1,), BOTH), Read(0, (2, 0, 0)), Read(0, (2, 0, 0))],
        [Put(0, (2,), BOTH), Read(1, (1, 0, 0)), Read(1, (1, 0, 0))],
    ],
    "own writes unseen": [[Put(0, (1,), BOTH), Read(0, (0, 0, 0))], []],
    "backwards": [[Put(0, (1,), BOTH), Put(1, (1,), BOTH)], [Read(1, (0, 1, 0))]],
    "both win": [[Compare(0, "==", 0, BOTH, (0, rank + 1), True)] for rank in range(2)],
    "writes though it is false": [[Compare(0, "!=", 0, BOTH, (1, 5), False)], [Read(1, (0, 5, 0))]],
    "both see the other's absence": [
        [Put(word, (1,), BOTH), Compare(1 - word, "==", 0, BOTH, (), True)] for word in range(2)
    ],
}


@pytest.mark.parametrize("histories", VIOLATIONS.values(), ids=VIOLATIONS)
def test_the_checker_finds_what_no_order_explains(histories):
    assert legal_order(histories, start(2)) is None


def test_the_checker_gives_an_order():
    histories = [[Put(0, (1,), BOTH)], [Compare(0, ">=", 1, BOTH, (1, 4), True), Read(1, (1, 4, 0))]]
    assert legal_order(histories, start(2)) == [0, 1, 1]


def test_a_killed_rank_leaves_all_or_nothing(mpiexec):
    ended = mpiexec(1, PROGRAMS / "killed.py", timeout=60)
    assert ended.code == 0, ended.err
    kills = json.loads(ended.out)
    for one in kills:
        assert one["blocks"] == [[one["counts"][0]]] * 3, kills
        assert one["counts"] == [one["counts"][0]] * 4, kills
    assert any(one["asleep"] for one in kills)
    assert any(one["dropped"] for one in kills)
    assert any(one["finished"] > one["asleep"] for one in kills)


@pytest.fixture(scope="module")
def memory():
    with bcs.GlobalMemory(MPI.COMM_SELF, 64, events=4) as made:
        yield made


WRONG = {
    "8 bytes at offset 60 don't lie in the global memory, which has 64": lambda one: one.xfer_and_signal(
        bytes(8), 60
    ),
    "8 bytes at offset -8": lambda one: one.xfer_and_signal(bytes(8), -8),
    "must be contiguous": lambda one: one.xfer_and_signal(np.zeros((4, 2))[:, 0], 0),
    "type int has no memory": lambda one: one.xfer_and_signal(5, 0),
    "no node 1; there are nodes 0 to 0": lambda one: one.xfer_and_signal(b"1", 0, [1]),
    "no node -1": lambda one: one.compare_and_write(0, "<", 1, [-1]),
    "set of nodes is empty": lambda one: one.compare_and_write(0, "<", 1, []),
    "no event 4; each node has events 0 to 3": lambda one: one.xfer_and_signal(b"1", 0, remote=4),
    "no event -1": lambda one: one.test_event(-1),
    "timeout is -1 s": lambda one: one.test_event(0, timeout=-1),
    "comparison is '>'; it must be one of >= < == !=": lambda one: one.compare_and_write(0, ">", 1),
    "offset 4; its offset must be a multiple of 8": lambda one: one.compare_and_write(4, "<", 1),
    "8 bytes at offset 64": lambda one: one.compare_and_write(0, "<", 1, write=(64, 1)),
    "value 9223372036854775808 doesn't fit": lambda one: one.compare_and_write(0, "<", 1 << 63),
    "global memory of 0 bytes": lambda _: bcs.GlobalMemory(MPI.COMM_SELF, 0),
    "global memory of -1 events": lambda _: bcs.GlobalMemory(MPI.COMM_SELF, 8, events=-1),
    "has no room": lambda _: bcs.GlobalMemory(MPI.COMM_SELF, 1 << 47),
}


@pytest.mark.parametrize(("message", "call"), WRONG.items(), ids=WRONG)
def test_bad_input_is_refused_in_words(memory, message, call):
    with pytest.raises(UsageError) as raised:
        call(memory)
    assert message in raised.value.message
    assert memory.read(0, 64) == bytes(64)


def test_a_freed_memory_is_refused():
    memory = bcs.GlobalMemory(MPI.COMM_SELF, 8)
    memory.Free()
    memory.Free()
    with pytest.raises(UsageError, match="was freed"):
        memory.variable(0)


def test_signals_of_one_event_add_up(memory):
    for _ in range(3):
        memory.xfer_and_signal(b"", 0, remote=3)
    assert [memory.test_event(3, block=False) for _ in range(4)] == [True, True, True, False]
