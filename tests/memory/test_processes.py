"""Several processes and one arena: hand-over, integrity, first passes, and deaths at the worst moment."""

import hashlib
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pse.memory import Arena, ArenaSystemError

KIB, MIB = 1 << 10, 1 << 20
ROOT = Path(__file__).parents[2]

# What every child begins with: the arena of its parent.
ATTACH = """
import hashlib, os, resource, sys
import numpy as np
from pse.memory import Arena
arena = Arena.attach(os.getppid(), int(sys.argv[1]))
rest = [int(word) for word in sys.argv[2:]]
"""

# Allocate, fill, check and free blocks of all sizes, for ever.
CHURN = """
random = np.random.default_rng(rest[0])
held = []
print("ready", flush=True)
while True:
    if len(held) < 8:
        block = arena.allocate(int(random.choice([10, 3000, 70_000, 300_000])), "u1")
        block.array[:] = len(held)
        held.append(block.view(np.s_[:5]) if random.random() < 0.2 else block)
    else:
        held.pop(int(random.integers(len(held))))
"""


def start(arena, source, *numbers):
    """A child that runs `source` after it has attached to the arena."""
    command = [sys.executable, "-c", ATTACH + source, str(arena.fd), *map(str, numbers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, cwd=ROOT)


def ask(arena, source, *numbers):
    """What a child printed, as words."""
    with start(arena, source, *numbers) as child:
        out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    return out.split()


@pytest.fixture
def arena():
    return Arena.create(256 * MIB)


def test_a_block_arrives_bit_for_bit_without_a_copy(arena):
    block = arena.allocate((1000, 1000), "c16")
    block.array.view("u8")[:] = np.random.default_rng(1).integers(1 << 63, size=(1000, 2000), dtype="u8")
    expected = hashlib.sha256(block.array).hexdigest()
    grown = arena.statistics().grown
    source = """
array = arena.open(rest[0]).array
print(hashlib.sha256(array).hexdigest(), array.dtype.str, *array.shape)
"""
    assert ask(arena, source, block.share().handle) == [expected, "<c16", "1000", "1000"]
    assert arena.statistics().grown == grown
    assert block.references == 1, "the child's reference ended with the child's block"


def test_a_strided_view_arrives_as_it_is(arena):
    block = arena.allocate((6, 8), "i4")
    block.array[:] = np.arange(48).reshape(6, 8)
    view = block.view(np.s_[1::2, 2:7:3])
    descriptor = view.share()
    del view
    assert ask(arena, "print(*arena.open(rest[0]).array.ravel())", descriptor.handle) == [
        "10",
        "13",
        "26",
        "29",
        "42",
        "45",
    ]
    assert block.references == 1


def test_what_a_child_writes_is_here(arena):
    block = arena.allocate(1000, "i8")
    ask(arena, "arena.open(rest[0]).array[:] = 77", block.share().handle)
    assert (block.array == 77).all()


def test_a_child_makes_blocks_for_its_parent(arena):
    source = "block = arena.allocate(10, 'i4'); block.array[:] = 3; print(block.share().handle)"
    (handle,) = ask(arena, source)
    assert arena.open(int(handle)).array.sum() == 30
    assert arena.statistics().live_blocks == 0


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


COUNT_FAULTS = """
left = arena.prefault(64 << 20)
array = arena.open(rest[0]).array
def count():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    array.sum()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(left, count(), count())
"""


def test_a_prepared_rank_meets_no_faults_on_its_first_pass(arena):
    block = arena.allocate(32 * MIB, "u1")
    block.array[:] = 1
    left, first, second = map(int, ask(arena, COUNT_FAULTS, block.share().handle))
    assert left == 0
    assert first < 100
    assert second < 100


def test_prefault_keeps_to_its_limit(arena):
    blocks = [arena.allocate(size * MIB, "u1") for size in (8, 4)]
    source = "print(*[arena.prefault(part << 20) >> 20 for part in (9, 2)], arena.prefault())"
    assert ask(arena, source) == ["3", "1", "0"]
    assert blocks


def test_a_recycled_block_costs_neither_side_a_fault(arena):
    loop = """
array = arena.open(rest[0]).array; array.sum(); del array
print("once", flush=True)
handle = int(sys.stdin.readline())
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
arena.open(handle).array.sum()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    block = arena.allocate(32 * MIB, "u1")
    block.array[:] = 1
    with start(arena, loop, block.share().handle) as child:
        assert child.stdout.readline() == "once\n"
        del block
        before = faults()
        block = arena.allocate(32 * MIB, "u1")
        block.array[:] = 2
        assert faults() - before < 100
        child.stdin.write(f"{block.share().handle}\n")
        child.stdin.flush()
        assert int(child.stdout.readline()) < 100


def test_ranks_do_not_disturb_each_other(arena):
    source = """
random = np.random.default_rng(rest[0])
for turn in range(3000):
    blocks = [arena.allocate(int(size), "u1") for size in random.choice([10, 3000, 70_000, 200_000], 3)]
    for block in blocks: block.array[:] = rest[0]
    assert all((block.array == rest[0]).all() for block in blocks)
"""
    children = [start(arena, source, number) for number in range(1, 4)]
    for child in children:
        with child:
            child.communicate(timeout=60)
        assert child.returncode == 0
    assert arena.is_valid()
    assert arena.statistics().live_blocks == 0


def test_partitions_in_several_processes_get_one_parent(arena):
    source = "block = arena.allocate_shared(5, 4, 100, 'i4'); print(block.share().handle)"
    handles = {ask(arena, source)[0] for _ in range(4)}
    assert len(handles) == 1


@pytest.mark.parametrize("turns", [8, pytest.param(60, marks=pytest.mark.nightly)])
def test_ranks_killed_at_any_moment_leave_the_arena_usable(arena, turns):
    """Most die in the middle of something: what they do is nothing but allocating and freeing."""
    moments = random.Random(5)
    keeper = arena.allocate(MIB, "i8")
    keeper.array[:] = np.arange(MIB)
    for turn in range(turns):
        children = [start(arena, CHURN, turn * 2 + one) for one in range(2)]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0.001, 0.02))
        for child in children:
            with child:
                child.kill()
        assert arena.is_valid()
        assert (arena.allocate(MIB, "u1").array.shape, arena.allocate(10).array.shape) == ((MIB,), (10,))
    assert (keeper.array == np.arange(MIB)).all()
    assert arena.is_valid()


def test_the_maker_may_die_before_the_others(arena):
    """The memory lives as long as somebody maps it."""
    source = """
made = Arena.create(1 << 20)
block = made.allocate(10, "i4"); block.array[:] = 6
print(os.getpid(), *block.share()[1:], flush=True)
sys.stdin.readline()
"""
    with start(arena, source) as child:
        pid, fd, handle = map(int, child.stdout.readline().split())
        attached = Arena.attach(pid, fd)
        child.kill()
    assert attached.open(handle).array.sum() == 60
    assert attached.allocate(1000).array.shape == (1000,)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_another_user_can_not_attach(arena):
    script = (
        "import os, sys; os.setuid(65534)\n"
        "print(os.access(f'/proc/{sys.argv[1]}/fd/{sys.argv[2]}', os.R_OK | os.W_OK))"
    )
    command = [sys.executable, "-c", script, str(os.getpid()), str(arena.fd)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
    with pytest.raises(ArenaSystemError, match="can't be mapped"):
        Arena.attach(os.getpid(), 9999)


def test_references_given_up_at_the_same_moment_free_a_block_once(compiled):
    ended = subprocess.run(
        [compiled("release_together"), "1500"], capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, "")
