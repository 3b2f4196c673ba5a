"""One process and its arena: blocks, arrays, views, references, recycling, what is refused and how."""

import gc
import mmap
import os
import re
import resource
import zlib

import numpy as np
import pytest

from pse.memory import Arena, ArenaError, ArenaMemoryError, ArenaSystemError

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def arena():
    return Arena.create(64 * MIB)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8", "c8", "c16", "u1", "u2", "?"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 1, 3, 1, 2, 1, 1, 2), (0,), (4, 0, 2)])
def test_a_block_is_the_array_that_was_asked_for(arena, shape, dtype):
    array = arena.allocate(shape, dtype).array
    assert array.shape == shape
    assert array.dtype == np.dtype(dtype)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    array[...] = 1
    assert array.sum() == array.size


@pytest.mark.parametrize("count", [0, 1, 63, 64 * KIB, 64 * KIB + 1, MIB])
def test_data_is_aligned_to_cache_lines_and_large_data_to_pages(arena, count):
    blocks = [arena.allocate(count, "u1") for _ in range(3)]
    alignment = 4096 if count > 64 * KIB else 64
    assert all(block.array.ctypes.data % alignment == 0 for block in blocks)


def test_blocks_do_not_overlap(arena):
    blocks = [arena.allocate(size, "u1") for size in range(1, 200_000, 3571)]
    for number, block in enumerate(blocks):
        block.array[:] = number
    assert all((block.array == number).all() for number, block in enumerate(blocks))


def test_an_array_keeps_its_block_and_the_last_one_frees_it(arena):
    block = arena.allocate(1000)
    array = block.array
    part = array[10:20]
    del block, array
    assert arena.statistics().live_blocks == 1
    del part
    assert arena.statistics().live_blocks == 0
    assert arena.statistics().in_use == 0


def test_an_array_keeps_the_arena_mapped():
    array = Arena.create(MIB).allocate(1000).array
    gc.collect()
    array[:] = 3
    assert array.sum() == 3000


def test_a_view_shares_memory_and_holds_the_root(arena):
    block = arena.allocate((6, 8), "i4")
    block.array[:] = np.arange(48).reshape(6, 8)
    view = block.view(np.s_[1:5, ::2])
    deeper = view.view(np.s_[1:, 1])
    np.testing.assert_array_equal(deeper.array, block.array[2:5, 2])
    deeper.array[0] = -1
    assert block.array[2, 2] == -1
    assert {one.parent for one in arena.live()} == {0, block.handle}
    del view
    assert block.references == 2
    del block
    np.testing.assert_array_equal(deeper.array, [-1, 26, 34])
    del deeper
    assert arena.statistics().live_blocks == 0


def test_an_empty_view_is_an_array_too(arena):
    block = arena.allocate(4)
    assert block.view(np.s_[4:]).array.shape == (0,)
    assert block.view(np.s_[2:2]).view(np.s_[:0]).array.shape == (0,)


def test_a_view_does_not_pass_for_contiguous(arena):
    view = arena.allocate((4, 4)).view(np.s_[:, :2])
    with pytest.raises(BufferError, match="aren't contiguous"):
        zlib.crc32(view)
    assert memoryview(view).strides == (32, 8)


def test_a_column_passes_for_fortran_order_only(arena):
    flat = memoryview(arena.allocate((4, 3)).view(np.s_[:, 0]))
    assert not flat.c_contiguous
    assert not flat.f_contiguous


def test_a_descriptor_carries_a_reference(arena):
    block = arena.allocate(100)
    block.array[:] = 5
    descriptor = block.share()
    assert descriptor == (os.getpid(), arena.fd, block.handle)
    del block
    opened = arena.open(descriptor.handle)
    assert opened.references == 1
    assert (opened.array == 5).all()


def test_partitions_of_one_key_share_a_block(arena):
    parts = [arena.allocate_shared(9, 3, (10,), "i8") for _ in range(3)]
    assert len({part.handle for part in parts}) == 1
    assert parts[0].references == 3
    other = arena.allocate_shared(9, 3, (10,), "i8")
    assert other.handle != parts[0].handle


def test_a_shared_block_outlives_the_first_partition(arena):
    first = arena.allocate_shared(9, 2, 10, "i8")
    first.array[:] = 4
    del first
    assert arena.is_valid()
    assert arena.allocate_shared(9, 2, 10, "i8").array.sum() == 40
    assert arena.statistics().live_blocks == 0


def test_one_key_with_two_sizes_is_refused(arena):
    first = arena.allocate_shared(9, 2, 10, "i8")
    with pytest.raises(ArenaError, match="different sizes or numbers of partitions") as caught:
        arena.allocate_shared(9, 2, 11, "i8")
    assert "same size" in caught.value.help
    assert first.references == 2


def test_the_same_sizes_get_the_same_memory_without_faults(arena):
    sizes = [100, 5000, 300 * KIB, 8 * MIB, 2 * MIB]

    def cycle():
        blocks = [arena.allocate(size, "u1") for size in sizes]
        for block in blocks:
            block.array[:] = 1
        return {block.handle for block in blocks}

    first = cycle()
    grown, faults = arena.statistics().grown, resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert all(cycle() == first for _ in range(20))
    assert arena.statistics().grown == grown
    assert arena.statistics().recycled == 20 * len(sizes)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < 500, "10 MiB have 2,560 pages"


def test_changing_sizes_do_not_pile_up_memory(arena):
    for size in np.random.default_rng(3).integers(70 * KIB, 4 * MIB, 400):
        arena.allocate(size, "u1")
    assert arena.statistics().grown < 16 * MIB


def test_free_neighbours_are_merged_when_the_arena_is_full(arena):
    blocks = [arena.allocate(MIB, "u1") for _ in range(60)]
    del blocks[10:50]
    assert arena.allocate(30 * MIB, "u1").array.size == 30 * MIB
    assert arena.is_valid()


def test_a_full_arena_says_so_and_goes_on(arena):
    blocks = []
    with pytest.raises(
        ArenaMemoryError, match=r"the arena is full: 1 MiB asked for, \d\d.* MiB of 64 MiB"
    ) as caught:
        blocks.extend(arena.allocate(MIB, "u1") for _ in range(64))
    assert "options { arena" in caught.value.help
    assert 60 <= len(blocks) < 64
    handle = blocks.pop().handle
    assert arena.allocate(MIB, "u1").handle == handle
    assert arena.is_valid()


def test_many_small_blocks_fill_what_large_ones_left(arena):
    large = [arena.allocate(MIB, "u1") for _ in range(62)]
    del large[::2]
    small = [arena.allocate(64 * KIB, "u1") for _ in range(300)]
    assert arena.is_valid()
    assert len({block.handle for block in small}) == 300


@pytest.mark.parametrize("count", [64 * MIB, 1 << 40, 1 << 59])
def test_what_never_fits_is_told_apart_from_full(arena, count):
    with pytest.raises(ArenaMemoryError, match="larger than the arena can ever hold"):
        arena.allocate(count, "u1")


@pytest.mark.parametrize(
    ("shape", "dtype", "error", "message"),
    [
        (3, ">f8", TypeError, "can't hold elements of type >f8: expected one of i4, i8"),
        (3, "U3", TypeError, "can't hold elements of type <U3"),
        (-3, "f8", ValueError, r"none negative; got \(-3,\)"),
        ((1,) * 9, "f8", ValueError, "at most 8 extents"),
        ((1 << 40, 1 << 40), "f8", ValueError, "larger than any memory"),
    ],
)
def test_what_no_block_can_be_is_refused(arena, shape, dtype, error, message):
    with pytest.raises(error, match=message):
        arena.allocate(shape, dtype)


@pytest.mark.parametrize("key", [[0, 2], np.s_[::-1], 3, np.array([True] * 4)])
def test_only_forward_slices_make_views(arena, key):
    with pytest.raises(IndexError, match="integers and forward slices"):
        arena.allocate(4).view(key)


@pytest.mark.parametrize("handle", [0, 64, 12345, 1 << 20, 1 << 62, (1 << 64) - 1])
def test_a_handle_of_nothing_is_refused(arena, handle):
    with pytest.raises(ArenaError, match=re.escape(f"no live block at handle {handle:#x}")):
        arena.open(handle)


def test_a_freed_handle_is_refused(arena):
    handle = arena.allocate(10).handle
    with pytest.raises(ArenaError, match="no live block"):
        arena.open(handle)


@pytest.mark.parametrize("capacity", [0, 5, 255 * KIB])
def test_a_tiny_arena_is_refused(capacity):
    with pytest.raises(ArenaError, match="must hold at least 256 KiB") as caught:
        Arena.create(capacity)
    assert "arena = auto" in caught.value.help


def test_an_arena_larger_than_memory_is_refused_with_both_figures():
    with pytest.raises(ArenaMemoryError, match=r"an arena of 1 PiB is larger than the memory .*GiB"):
        Arena.create(1 << 50)


def test_live_blocks_are_told_largest_first(arena):
    blocks = [arena.allocate((size,), "u1") for size in (10, 5000, 200, 100_000)]
    records = arena.live()
    assert [record.bytes for record in records] == [100_000, 5000, 200, 10]
    assert [record.shape for record in records[:2]] == [(100_000,), (5000,)]
    assert records[0].handle == blocks[3].handle
    assert [record.bytes for record in arena.live(2)] == [100_000, 5000]
    assert arena.live(0) == []


def test_poison_shows_whoever_reads_what_is_freed_or_was_never_written(arena):
    arena.poison(True)
    with mmap.mmap(arena.fd, 0) as file:
        for size in (1000, MIB):
            block = arena.allocate(size, "u1")
            assert (block.array == 0x5A).all()
            block.array[:] = bytearray(b"written!" * (size // 8))
            begin = file.find(b"written!" * (size // 8))
            assert begin > 0
            del block
            assert file[begin : begin + size] == b"\xa5" * size
            assert (arena.allocate(size, "u1").array == 0x5A).all()
    arena.poison(False)
    arena.allocate(1000, "u1").array[:] = 1
    assert (arena.allocate(1000, "u1").array == 1).all()


@pytest.mark.parametrize("size", [1000, MIB])
def test_an_overwritten_header_is_found(arena, size):
    blocks = [arena.allocate(size, "u1") for _ in range(3)]
    assert arena.is_valid()
    with mmap.mmap(arena.fd, 0) as file:
        at = blocks[1].handle
        kept = file[at : at + 8]
        file[at : at + 8] = b"overrun!"
        assert not arena.is_valid()
        assert len(arena.live()) < 3, "the walk ends there"
        file[at : at + 8] = kept
    assert arena.is_valid()


def test_the_arena_has_no_name(arena):
    assert os.readlink(f"/proc/self/fd/{arena.fd}") == "/memfd:pse-arena (deleted)"
    assert not os.get_inheritable(arena.fd)


def test_an_arena_that_is_gone_leaves_no_descriptor_and_no_mapping():
    def traces():
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), sum("pse-arena" in line for line in maps)

    before = traces()
    Arena.create(MIB).allocate(1000).array[:] = 1
    assert traces() == before


def test_a_foreign_file_is_no_arena(tmp_path):
    foreign = tmp_path / "zeros"
    foreign.write_bytes(bytes(1 << 17))
    with (
        open(foreign, "r+b") as file,
        pytest.raises(ArenaSystemError, match="not an arena of this job") as caught,
    ):
        Arena.attach(os.getpid(), file.fileno())
    assert "one version of pse" in caught.value.help


def test_a_process_that_is_gone_has_no_arena():
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    with pytest.raises(
        ArenaSystemError, match=rf"process {child} \(descriptor 3\) can't be mapped: No such file"
    ):
        Arena.attach(child, 3)


def test_a_glance_shows_what_statistics_do():
    arena = Arena.create(1 << 20)
    blocks = [arena.allocate(1000) for _ in range(3)]
    assert arena.glance() == arena.statistics()
    assert arena.glance().live_blocks == len(blocks)
