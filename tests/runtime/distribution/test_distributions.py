"""Pieces of distributed arrays: they tile the array, and the moves between any two of them are what slicing
gives.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse.errors import ProgramError
from pse.language.types._expressions import Name, Number
from pse.language.types._types import Distribution, Pattern
from pse.runtime.distribution import (
    _distributions as distributions,
    _halos as halos,
    _index_sets as index_sets,
    _sharing_pieces as sharing_pieces,
    _strided_copies as copies,
)

EXTENTS = {1: 60, 2: 20, 3: 7, 4: 5}
PARTS = {1: 7, 2: 4, 3: 3, 4: 2}
quick = settings(deadline=None, max_examples=some_of(60))
"""A slow machine is no failure."""


@st.composite
def dealings(draw, ndim, halo=False):
    """A distribution of arrays with so many axes, and the grid that cuts them."""
    axes = draw(st.lists(st.integers(0, ndim - 1), min_size=1, unique=True).map(lambda a: tuple(sorted(a))))
    grid = tuple(draw(st.integers(1, PARTS[ndim])) for _ in axes)
    kind = draw(st.sampled_from([Pattern.BLOCK, Pattern.CYCLIC, Pattern.BLOCK_CYCLIC]))
    size = Number(draw(st.integers(1, 4))) if kind is Pattern.BLOCK_CYCLIC else None
    frame = tuple(Number(draw(st.integers(0, 2))) for _ in axes) if halo else ()
    kind = Pattern.BLOCK if halo else kind
    return Distribution(kind, axes, size, frame, partition="P"), grid


@st.composite
def arrays(draw, count=1, halo=False):
    """An array of distinct numbers, and so many ways to deal it out."""
    ndim = draw(st.integers(1, 4))
    least = 2 * PARTS[ndim] if halo else 0  # No halo is wider than a block.
    shape = tuple(draw(st.integers(least, max(EXTENTS[ndim], least + 2))) for _ in range(ndim))
    dealt = [draw(dealings(ndim, halo)) for _ in range(count)]
    return np.arange(math.prod(shape), dtype=np.int32).reshape(shape), dealt


def pieces(shape, dealt):
    """Every partition's piece."""
    distribution, grid = dealt
    count = math.prod(grid)
    return [distributions.piece(distribution, shape, count, grid, index) for index in range(count)]


def cells(piece):
    """The places of an array that a piece holds, for indexing."""
    return np.ix_(*(index_sets.indices(axis.index_set) for axis in piece))


def inner(piece):
    """Where in its local array a piece's own cells are."""
    return tuple(slice(axis.before, axis.extent - axis.after) for axis in piece)


def local(array, piece, outside=-1):
    """What a partition holds: its part of the array, in a frame."""
    held = np.full(copies.extents(piece), outside, array.dtype)
    held[inner(piece)] = array[cells(piece)]
    return held


def carry_out(found, source, target):
    """Do what moves say, with NumPy."""
    for move in found:
        seen = np.ndarray(move.shape, source.dtype, source, move.source, move.source_strides)
        np.ndarray(move.shape, target.dtype, target, move.target, move.target_strides)[...] = seen


@quick
@given(st.integers(0, 200), st.integers(1, 20))
def test_blocks_are_what_numpy_cuts(extent, parts):
    ours = [index_sets.indices(index_sets.block(extent, parts, index)).tolist() for index in range(parts)]
    assert ours == [part.tolist() for part in np.array_split(np.arange(extent), parts)]


@quick
@given(st.integers(0, 200), st.integers(1, 9), st.integers(1, 9))
def test_block_cyclic_deals_stretches_in_turn(extent, parts, size):
    owner = np.arange(extent) // size % parts
    for part in range(parts):
        ours = index_sets.indices(index_sets.block_cyclic(extent, parts, part, size))
        assert ours.tolist() == np.flatnonzero(owner == part).tolist()


@quick
@given(st.lists(st.integers(0, 300), unique=True).map(sorted))
def test_any_ascending_indices_become_combs_and_back(indices):
    index_set = index_sets.listed(np.array(indices, dtype=np.int64))
    assert index_sets.indices(index_set).tolist() == indices


def test_evenly_spaced_indices_are_one_comb():
    assert index_sets.listed(np.arange(3, 1000, 7)) == (index_sets.StridedRuns(3, 1, 7, 143),)


@quick
@given(arrays())
def test_pieces_tile_the_array_exactly(drawn):
    array, (dealt,) = drawn
    covered = np.zeros(array.shape, dtype=int)
    for piece in pieces(array.shape, dealt):
        covered[cells(piece)] += 1
    assert (covered == 1).all()


@quick
@given(arrays(count=2), st.booleans())
def test_moves_from_any_pieces_make_any_pieces(drawn, one_by_one):
    array, (before, after) = drawn
    few, copies._FEW = copies._FEW, 0 if one_by_one else copies._FEW
    copies.overlaps.cache_clear()
    try:
        for target in pieces(array.shape, after):
            made = np.full(copies.extents(target), -1, array.dtype)
            moved = 0
            for source in pieces(array.shape, before):
                found = copies.strided_copies(source, target, array.itemsize)
                carry_out(found, local(array, source), made)
                moved += sum(move.elements for move in found)
            np.testing.assert_array_equal(made, local(array, target))
            assert moved == made.size
    finally:
        copies._FEW = few
        copies.overlaps.cache_clear()


@quick
@given(st.data(), arrays(count=2))
def test_pieces_share_what_a_trial_of_all_pairs_finds(data, drawn):
    array, (before, after) = drawn
    axes = data.draw(st.permutations(range(array.ndim)))
    held, targets = (
        pieces(array.shape, before),
        pieces([array.shape[axes.index(i)] for i in range(array.ndim)], after),
    )
    tried = [
        [q for q, piece in enumerate(held) if copies.strided_copies(piece, target, 4, axes)]
        for target in targets
    ]
    assert sharing_pieces.sharing(held, targets, axes) == tried


def test_neighbours_of_many_blocks_are_found_without_trying_all_pairs(monkeypatch):
    tried = []
    monkeypatch.setattr(
        sharing_pieces, "overlaps", lambda *pair: tried.append(pair) or copies.overlaps(*pair)
    )
    held = pieces((4096, 64), (Distribution(Pattern.BLOCK, (0, 1), None, (Number(1),)), (1024, 2)))
    found = sharing_pieces.sharing(held, [distributions.padded(piece, (4096, 64)) for piece in held])
    assert found[2 * 512] == [2 * row + column for row in (511, 512, 513) for column in (0, 1)]
    assert len(tried) == 3 * 1024 - 2 + 2 * 2


@quick
@given(st.data(), arrays(count=2))
def test_moves_may_reorder_axes(data, drawn):
    array, (before, after) = drawn
    axes = data.draw(st.permutations(range(array.ndim)))
    turned = np.ascontiguousarray(array.transpose(np.argsort(axes)))  # Axis axes[i] was axis i.
    for target in pieces(turned.shape, after):
        made = np.full(copies.extents(target), -1, array.dtype)
        for source in pieces(array.shape, before):
            carry_out(copies.strided_copies(source, target, array.itemsize, axes), local(array, source), made)
        np.testing.assert_array_equal(made, local(turned, target))


@quick
@given(arrays(count=2))
def test_moves_by_way_of_a_packed_buffer(drawn):
    array, (before, after) = drawn
    for target in pieces(array.shape, after):
        made = np.full(copies.extents(target), -1, array.dtype)
        for source in pieces(array.shape, before):
            found = copies.strided_copies(source, target, array.itemsize)
            packed = np.full(sum(move.elements for move in found), -1, array.dtype)
            carry_out(copies.packing(found, array.itemsize), local(array, source), packed)
            carry_out(copies.unpacking(found, array.itemsize), packed, made)
        np.testing.assert_array_equal(made, local(array, target))


@quick
@given(arrays(halo=True), st.sets(st.integers(0, 3)))
def test_a_halo_shows_the_neighbours_cells_and_the_other_end_of_a_periodic_axis(drawn, periodic):
    array, (dealt,) = drawn
    distribution = dealt[0]
    around = array
    for axis, width in zip(distribution.axes, distribution.halo, strict=True):
        frame = [(width.value, width.value) if axis == number else (0, 0) for number in range(array.ndim)]
        how = {"mode": "wrap"} if axis in periodic else {"constant_values": -1}
        around = np.pad(around, frame, **how)
    held = pieces(array.shape, dealt)
    shown = halos.strips(held, array.shape, frozenset(periodic & set(distribution.axes)))
    for piece, strips in zip(held, shown, strict=True):
        mine = local(array, piece)
        for strip in strips:
            found = copies.strided_copies(strip.held, strip.framed, array.itemsize)
            carry_out(found, local(array, held[strip.source], -9), mine)
        starts = [axis.index_set[0].start for axis in piece]
        seen = tuple(slice(start, start + axis.extent) for start, axis in zip(starts, piece, strict=True))
        np.testing.assert_array_equal(mine, around[seen])


@pytest.mark.parametrize(
    ("before", "after", "most"),
    [
        (Distribution(Pattern.BLOCK, (0,)), Distribution(Pattern.CYCLIC, (0,)), 1),
        (Distribution(Pattern.CYCLIC, (0,)), Distribution(Pattern.BLOCK, (0,)), 1),
        (Distribution(Pattern.BLOCK_CYCLIC, (0,), Number(64)), Distribution(Pattern.BLOCK, (0,)), 3),
        (Distribution(Pattern.BLOCK_CYCLIC, (0,), Number(64)), Distribution(Pattern.CYCLIC, (0,)), 130),
    ],
)
def test_regular_moves_stay_few_however_long_the_axis(before, after, most):
    source = distributions.piece(before, (10**9,), 7, None, 2)
    target = distributions.piece(after, (10**9,), 7, None, 3)
    assert len(copies.strided_copies(source, target, 8)) <= most


def test_fewer_rows_than_partitions_leave_empty_pieces():
    rows = Distribution(Pattern.BLOCK, (0,))
    found = [copies.extents(distributions.piece(rows, (2, 5), 4, None, index)) for index in range(4)]
    assert found == [(1, 5), (1, 5), (0, 5), (0, 5)]


def test_partitions_of_a_grid_are_counted_row_by_row():
    grid = Distribution(Pattern.BLOCK, (0, 1))
    found = [distributions.piece(grid, (4, 6), 6, (2, 3), index) for index in range(4)]
    starts = [[axis.index_set[0].start for axis in piece] for piece in found]
    assert starts == [[0, 0], [0, 2], [0, 4], [2, 0]]


@pytest.mark.parametrize("pattern", [Pattern.ROOT, Pattern.REPLICATED])
def test_what_is_not_distributed_is_whole_everywhere(pattern):
    assert distributions.piece(Distribution(pattern), (4, 6), 3, None, 2) == distributions.whole((4, 6))


def test_a_halo_frames_the_cut_axes_only():
    held = distributions.piece(
        Distribution(Pattern.BLOCK, (1,), halo=(Name("h"),)), (4, 6), 2, None, 1, {"h": 2}
    )
    assert copies.extents(held) == (4, 7)


@pytest.mark.parametrize(
    ("distribution", "words"),
    [
        (Distribution(Pattern.BLOCK, (0, 1)), "over 2 axes needs a partition that is a grid of as many"),
        (Distribution(Pattern.BLOCK_CYCLIC, (0,), block=Number(0)), "expected an integer from 1"),
        (Distribution(Pattern.BLOCK, (0,), halo=(Number(-1),)), "expected an integer from 0"),
        (
            Distribution(Pattern.BLOCK, (0,), halo=(Number(3),)),
            "a halo of 3 is wider than the smallest block of axis 0: 4 cells in 2 blocks are 2 each",
        ),
    ],
)
def test_what_can_not_be_is_refused(distribution, words):
    with pytest.raises(ProgramError, match=words):
        distributions.piece(distribution, (4, 4), 2, None, 0)
