"""The kernels against their definitions: what each does, said in numpy."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse.memory._kernels import keep_rows, leaving_rows, pack_rows, strided_copy


def definition_of_strided_copy(dst, src):
    """Every element of `src` goes to the same place of `dst`."""
    dst[...] = src


DTYPES = ["u1", "u2", "u4", "f8", "c16", "V3", "V12", "V24", "V40"]


@st.composite
def layouts(draw, shape, dtype):
    """An array of this shape: axes in any order in memory, each with gaps, reversed, and at any address."""
    itemsize = np.dtype(dtype).itemsize
    order = draw(st.permutations(range(len(shape))))
    strides, stride = [0] * len(shape), itemsize
    for axis in order:
        stride *= draw(st.sampled_from([1, 1, 1, 2, 3]))
        stride += draw(st.sampled_from([0, 0, 0, 1, 16]))
        strides[axis] = stride
        stride *= max(shape[axis], 1)
    shift = draw(st.sampled_from([0, 0, 1, 8, 16]))
    memory = np.zeros(stride + itemsize + shift, "u1")
    array = np.ndarray(shape, dtype, memory, shift, strides)
    flips = tuple(slice(None, None, draw(st.sampled_from([1, 1, -1]))) for _ in shape)
    return memory, array[(*flips, ...)]


@st.composite
def copies(draw):
    dims = draw(st.integers(0, 5))
    longest = {0: 1, 1: 3000, 2: 160, 3: 40, 4: 12, 5: 7}[dims]
    shape = tuple(draw(st.lists(st.integers(0, longest), min_size=dims, max_size=dims)))
    dtype = draw(st.sampled_from(DTYPES))
    source_memory, source = draw(layouts(shape, dtype))
    source_memory[:] = np.random.default_rng(len(source_memory)).integers(0, 256, len(source_memory))
    if draw(st.booleans()) and dims:
        source = np.broadcast_to(source[:1], shape) if shape[0] else source
    return source, *draw(layouts(shape, dtype))


@given(copies())
@settings(max_examples=some_of(300), deadline=None)
def test_strided_copy_is_its_definition(case):
    """The bytes between the elements don't change either."""
    source, memory, array = case
    strided_copy(array, source)
    found = memory.copy()
    memory[:] = 0
    definition_of_strided_copy(array, source)
    np.testing.assert_array_equal(found, memory)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V12"])
@pytest.mark.parametrize("shape", [(1024, 1024), (1031, 997), (3, 400_000), (400_000, 3), (64, 65_536)])
def test_transposes_too_large_for_the_caches_are_exact(shape, dtype):
    """Large enough to be written past the caches; shapes with whole tiles, ragged edges, thin strips."""
    source = np.empty(shape, dtype)
    source.view("u1").reshape(-1)[:] = np.random.default_rng(1).integers(0, 256, source.nbytes, dtype="u1")
    for offset in (0, source.itemsize):
        memory = np.zeros(source.nbytes + offset, "u1")
        array = np.ndarray(shape[::-1], dtype, memory, offset)
        strided_copy(array, source.T)
        assert array.tobytes() == source.T.tobytes()


def test_transposes_of_a_batch_copy_what_numpy_shows():
    source = np.arange(7 * 300 * 200, dtype="c16").reshape(7, 300, 200)
    for axes in [(0, 2, 1), (2, 0, 1), (1, 2, 0), (2, 1, 0), (1, 0, 2)]:
        array = np.zeros([source.shape[axis] for axis in axes], "c16")
        strided_copy(array, source.transpose(axes))
        np.testing.assert_array_equal(array, source.transpose(axes))


def test_eight_axes_are_copied_in_reverse():
    source = np.arange(2 * 3 * 2 * 3 * 2 * 3 * 2 * 3).reshape((2, 3) * 4)
    array = np.zeros((3, 2) * 4, int)
    strided_copy(array, source.T)
    np.testing.assert_array_equal(array, source.T)


@pytest.mark.parametrize(
    ("dst", "src", "message"),
    [
        (np.zeros(3), np.zeros(4), r"not \[3\] of 8 bytes and \[4\] of 8"),
        (np.zeros(3), np.zeros((3, 1)), r"not \[3\] of 8 bytes and \[3, 1\] of 8"),
        (np.zeros(3), np.zeros(3, "f4"), r"not \[3\] of 8 bytes and \[3\] of 4"),
        (np.zeros((1,) * 9), np.zeros((1,) * 9), "at most 8 axes are expected, not 9"),
    ],
)
def test_what_does_not_match_is_refused(dst, src, message):
    with pytest.raises(ValueError, match=message):
        strided_copy(dst, src)


def test_a_read_only_destination_is_refused():
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises((BufferError, ValueError), match=r"read-only|writable"):
        strided_copy(array, np.zeros(3))


@st.composite
def migrations(draw):
    """Rows of bytes, who owns each, and how far before or behind the first row those that stay are put."""
    rows, width, count = draw(st.integers(0, 70)), draw(st.sampled_from([1, 8, 24])), draw(st.integers(1, 4))
    here = draw(st.integers(0, count - 1))
    owner = draw(st.lists(st.sampled_from([here] * 9 + [*range(count)]), min_size=rows, max_size=rows))
    return np.array(owner, np.int64), width, count, here, draw(st.integers(-40, 40))


@given(migrations())
@settings(max_examples=some_of(300), deadline=None)
def test_rows_that_leave_and_rows_that_stay(case):
    """Those that stay may be put where all are, and overlap with what they were."""
    owner, width, count, here, shift = case
    memory = np.random.default_rng(len(owner)).integers(0, 256, (len(owner) + 80) * width, np.uint8)
    x = memory[40 * width : (40 + len(owner)) * width]
    table = x.reshape(-1, width).copy()
    leaving, sent = np.empty(len(owner), np.int64), np.zeros(count, np.int64)
    leaving = leaving[: leaving_rows(owner, here, leaving, sent)]
    np.testing.assert_array_equal(leaving, np.flatnonzero(owner != here))
    np.testing.assert_array_equal(sent, np.bincount(owner[owner != here], minlength=count))
    packed = np.empty(len(leaving) * width, np.uint8)
    pack_rows(packed, x, owner, leaving, np.cumsum(sent) - sent)
    by_owner = [table[owner == p] for p in range(count) if p != here]
    np.testing.assert_array_equal(packed, np.concatenate([*by_owner, table[:0]]).ravel())
    stay = len(owner) - len(leaving)
    kept = memory[(40 + shift) * width : (40 + shift + stay) * width]
    keep_rows(kept, x, len(owner), leaving)
    np.testing.assert_array_equal(kept, table[owner == here].ravel())


@pytest.mark.parametrize("wrong", [-1, 3, 1 << 40])
def test_a_row_whose_owner_does_not_exist(wrong):
    owner = np.zeros(50, np.int64)
    owner[33:] = wrong
    assert leaving_rows(owner, 0, np.empty(50, np.int64), np.zeros(3, np.int64)) == -1 - 33
