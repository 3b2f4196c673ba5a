"""Distributed arrays in files: every partition writes and reads its own part, and no rank holds all of it.

The first partition makes a draft beside the file, as long as the file will be; all write into it at the
places where their elements belong, and the first one gives it its name when all have.  In an .h5 file the
dataset is contiguous, so that its elements have such places as well.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.modules.std import _files as files
from pse.modules.std._drafts import appearing, draft_name
from pse.modules.std._piece_layout import Pieces, runs

Array = NDArray[Any]


def save(file: str, piece: Array, pieces: Pieces) -> Generator[Any, Any, None]:
    """Write the running partition's piece, together with all others."""
    ending, first = files.ending_of(file, "save"), pieces.messages.partition_index() == 0
    place = np.zeros(2, np.int64)  # where the elements begin, and the number of the draft
    with files.explained(file, "saved"), ExitStack() as stack:
        if first:
            place[1] = stack.enter_context(appearing(file))
            place[0] = _begin(draft_name(file, place[1]), ending, file, pieces.shape, piece.dtype)
        yield pieces.messages.bcast(place)
        draft = draft_name(file, place[1])
        try:
            _write(draft, int(place[0]), piece, pieces)
        except OSError:
            os.unlink(draft)
            raise
        yield pieces.messages.barrier()
        stack.close()
        yield pieces.messages.barrier()


def load(file: str, piece: Array, pieces: Pieces) -> None:
    """Read the running partition's piece; ghost cells become zero."""
    ending, cells = files.ending_of(file, "load"), pieces.mine
    piece[...] = 0
    with files.explained(file, "loaded"), files.opened(file, ending) as stored:
        files.compare(file, stored.shape, stored.dtype, pieces.shape, piece.dtype)
        if all(indices.size for indices in cells):
            box = tuple(slice(int(indices[0]), int(indices[-1]) + 1) for indices in cells)
            inside = np.ix_(*(indices - indices[0] for indices in cells))
            piece[pieces.own] = stored[box][inside]


def _begin(draft: str, ending: str, file: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Make a draft as long as the file will be; gives where its elements begin."""
    if ending in files.HDF5:
        return _begin_hdf5(draft, file, shape, dtype)
    with open(draft, "wb") as opened:
        described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(opened, described)
        opened.truncate(opened.tell() + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        return opened.tell()


def _begin_hdf5(draft: str, file: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    h5py = files.h5py_for(file)
    with h5py.File(draft, "w", locking=False) as opened:
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        kind, space = h5py.h5t.py_create(dtype, logical=True), h5py.h5s.create_simple(shape)
        made = h5py.h5d.create(opened.id, files.DATASET.encode(), kind, space, layout)
        return int(made.get_offset() or 0)


def _write(draft: str, begin: int, piece: Array, pieces: Pieces) -> None:
    """Write a piece's elements at the places where they belong, run by run."""
    own, size = piece[pieces.own], piece.itemsize
    descriptor = os.open(draft, os.O_WRONLY)
    try:
        for place, first, offsets in runs(pieces.shape, pieces.mine):
            values = np.ascontiguousarray(own[place]).reshape(-1)
            ends = [*(np.flatnonzero(np.diff(offsets) != 1) + 1).tolist(), offsets.size]
            start = 0
            for end in ends if offsets.size else ():
                _write_all(descriptor, values[start:end], begin + (first + int(offsets[start])) * size)
                start = end
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, values: Array, at: int) -> None:
    left = values.data.cast("B")
    while left:
        done = os.pwrite(descriptor, left, at)
        left, at = left[done:], at + done
