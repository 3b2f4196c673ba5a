"""Pieces of a checkpoint that are cut anew: any distribution over any number of partitions into any other."""

import itertools

import numpy as np
from hypothesis import given, settings, strategies as st
from pse_testing.example_counts import some_of

from pse.language.types._expressions import Number
from pse.language.types._types import Distribution, Pattern
from pse.runtime.checkpoint._values import cells_of, put_together
from pse.runtime.distribution import _distributions as distributions

EXTENTS = st.tuples(st.integers(6, 13), st.integers(6, 13))
GRIDS = st.tuples(st.integers(1, 3), st.integers(1, 2))


@st.composite
def cuts(draw):
    """A distribution of a two-dimensional array, and a grid of partitions."""
    pattern = draw(st.sampled_from([Pattern.BLOCK, Pattern.CYCLIC, Pattern.BLOCK_CYCLIC]))
    block = Number(draw(st.integers(1, 3))) if pattern is Pattern.BLOCK_CYCLIC else None
    return Distribution(pattern, (0, 1), block=block), draw(GRIDS)


def pieces(shape, distribution, grid):
    parts = grid[0] * grid[1]
    return [distributions.piece(distribution, shape, parts, grid, index, {}) for index in range(parts)]


def held(piece, value):
    """What a partition holds, each cell with the value that its place in the whole array has."""
    rows, columns = (cells_of(axis)[0] for axis in piece)
    return value(rows[:, None], columns[None, :]).astype(np.int64)


def place(i, j):
    return 1000 * i + j + 1


@settings(deadline=None, max_examples=some_of(80))
@given(shape=EXTENTS, before=cuts(), now=cuts())
def test_pieces_are_cut_anew(shape, before, now):
    sources = [(piece, held(piece, place)) for piece in pieces(shape, *before)]
    for piece in pieces(shape, *now):
        made = np.full(distributions.extents(piece), -7, np.int64)
        put_together(made, piece, sources)
        assert (made == held(piece, place)).all()


@settings(deadline=None, max_examples=some_of(40))
@given(shape=EXTENTS, before=GRIDS, now=GRIDS, halo=st.integers(1, 2))
def test_halos_get_what_the_cells_owners_have_and_ghosts_stay(shape, before, now, halo):
    """The halo of another block is old; the ghost cells around the whole array are nobody else's."""
    cut = Distribution(Pattern.BLOCK, (0, 1), halo=(Number(halo),))

    def stale(i, j):
        return place(i, j) + 1_000_000

    sources = []
    for piece in pieces(shape, cut, before):
        array, (rows, columns) = held(piece, place), (cells_of(axis) for axis in piece)
        old, inner = held(piece, stale), (rows[1], columns[1])
        inside = np.ix_(*((c >= 0) & (c < n) for (c, _), n in zip((rows, columns), shape, strict=True)))
        fresh = array[inner].copy()
        array[inside] = old[inside]
        array[inner] = fresh
        sources.append((piece, array))
    for order in itertools.islice(itertools.permutations(sources), 3):
        for piece in pieces(shape, cut, now):
            made = np.zeros(distributions.extents(piece), np.int64)
            put_together(made, piece, order)
            assert (made == held(piece, place)).all()
