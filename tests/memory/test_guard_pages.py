"""Guard pages: whoever reads or writes just outside of a block of a guarded arena crashes there."""

import ctypes
import os
import resource
import signal

import numpy as np
import pytest

from pse.memory import Arena, ArenaMemoryError

PAGE = 4096
MIB = 1 << 20


@pytest.fixture
def arena():
    arena = Arena.create(16 * MIB)
    arena.guard()
    return arena


def ending(touch):
    """How a process ends that touches memory: the number of a signal, or 0."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        touch()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def write(address):
    return lambda: ctypes.memset(address, 1, 1)


@pytest.mark.parametrize("count", [1, 7, 100, PAGE // 8, 8193, MIB // 8])
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_a_write_behind_a_block_crashes(arena, count, dtype):
    block = arena.allocate(count, dtype)
    arena.protect(block.handle)
    first, size = block.array.ctypes.data, block.array.nbytes
    assert first % np.dtype(dtype).itemsize == 0
    assert ending(write(first)) == 0
    assert ending(write(first + size - 1)) == 0
    assert ending(write(first + size)) == signal.SIGSEGV


def test_a_write_before_a_block_of_whole_pages_crashes(arena):
    block = arena.allocate(2 * PAGE, "u1")
    arena.protect(block.handle)
    assert ending(write(block.array.ctypes.data - 1)) == signal.SIGSEGV


def test_a_view_has_the_guard_pages_of_its_block(arena):
    view = arena.allocate(100, "f8").view(slice(50, 100))
    arena.protect(view.handle)
    assert ending(write(view.array.ctypes.data)) == 0
    assert ending(write(view.array.ctypes.data + view.array.nbytes)) == signal.SIGSEGV


def test_freed_blocks_are_used_again_between_their_guard_pages(arena):
    chance = np.random.default_rng(7)
    live = []
    for size in chance.integers(0, 100_000, 400):
        block = arena.allocate(int(size), "u1")
        arena.protect(block.handle)
        block.array[:] = size % 251
        live.append((block, size % 251))
        if len(live) > 20:
            live.pop(int(chance.integers(len(live))))
    assert all((block.array == value).all() for block, value in live)
    assert arena.is_valid()
    assert arena.statistics().recycled > 0


def test_a_full_guarded_arena_says_so_and_gives_again_what_was_freed(arena):
    blocks = [arena.allocate(MIB, "u1") for _ in range(15)]
    with pytest.raises(ArenaMemoryError, match="arena"):
        arena.allocate(MIB, "u1")
    blocks.pop()
    assert arena.allocate(MIB, "u1").array.nbytes == MIB
    assert arena.is_valid()
