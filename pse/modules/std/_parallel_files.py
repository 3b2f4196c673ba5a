"""Distributed arrays in files: every partition writes and reads its own part, and no rank holds all of it.

The first partition makes a draft beside the file, as long as the file will be; all write into it at the
places where their elements belong, and the first one gives it its name when all have.  Where modules decide
how many rows the pieces have, all partitions tell each other these numbers before.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.language.types import block_range
from pse.modules._errors import ModuleError
from pse.modules.std import _files as files
from pse.modules.std._drafts import draft_name, remove
from pse.modules.std._endings import STORES, ending_of
from pse.modules.std._formats import ArrayFile
from pse.modules.std._migration import migrate
from pse.modules.std._piece_layout import Pieces, runs

Array = NDArray[Any]
_TELLING_SECONDS = 2


def save(file: str, piece: Array, pieces: Pieces, like: str = "") -> Generator[Any, Any, None]:
    """Write the running partition's piece, together with all others."""
    if pieces.decided:
        piece, pieces = yield from _placed(file, piece, pieces)
    due = ArrayFile(file, pieces.shape, piece.dtype, like=like)
    format, first = files.format_of(due, "save"), pieces.messages.partition_index() == 0
    stored = format.store is not None
    place = np.zeros(2, np.int64)  # where the elements begin, and the number of the draft
    with files.explained(file, "saved"), ExitStack() as stack:
        if first:
            every = map(pieces.indices, range(pieces.messages.partition_count()))
            made = files.in_chunks(due, format, every)
            place[1] = stack.enter_context(files.appears(file, format))
            place[0] = format.begin(draft_name(file, place[1], stored), made)
        yield pieces.messages.bcast(place)
        draft = draft_name(file, place[1], stored)
        try:
            if format.store:
                format.store.write(draft, piece[pieces.own], pieces.mine)
            else:
                _write(draft, int(place[0]), piece, pieces)
        except FileNotFoundError:
            raise _lost(file) from None
        except OSError:
            remove(draft)
            raise
        yield pieces.messages.barrier()
        stack.close()
        yield pieces.messages.barrier()


def _lost(file: str) -> ModuleError:
    """Say that the draft is not there: another partition's failure removes it, and is to be told before."""
    time.sleep(_TELLING_SECONDS)
    return ModuleError(
        f"{file} can't be saved: what the first partition began beside it is not here",
        help="another partition failed and removed it, or this machine doesn't see the folder, as all must",
    )


def _placed(file: str, piece: Array, pieces: Pieces) -> Generator[Any, Any, tuple[Array, Pieces]]:
    """Place the rows of all partitions one behind the other.

    For a store they are shared out so that all pieces but the last ones are equal: chunks can be large then.
    """
    rows = yield pieces.messages.allgather(len(piece))
    pieces = Pieces.of_rows(rows, piece.shape[1:], pieces.messages)
    if ending_of(file, "save") not in STORES:
        return piece, pieces
    count, total = len(rows), pieces.shape[0]
    each = max(1, -(-total // count))
    due, others = np.clip(total - each * np.arange(count), 0, each), piece.shape[1:]
    made = functools.partial(_rows_like, piece)
    piece = yield from migrate(piece, pieces.mine[0] // each, make=made, pieces=pieces)
    return piece, Pieces.of_rows(due, others, pieces.messages)


def _rows_like(piece: Array, rows: int) -> Array:
    return np.empty((rows, *piece.shape[1:]), piece.dtype)


def load_rows(file: str, pieces: Pieces, name: str = "") -> Array:
    """Read the running partition's block of the rows that a file has."""
    messages = pieces.messages
    with files.as_it_is(file, name) as stored:
        extent, *others = stored.shape or (0,)
        rows = block_range(extent, messages.partition_count(), messages.partition_index())
        box = (slice(rows.start, rows.stop), *(slice(None) for _ in others))
        return np.array(stored[box[: len(stored.shape)]])


def load(file: str, piece: Array, pieces: Pieces, name: str = "") -> None:
    """Read the running partition's piece; ghost cells become zero."""
    cells = pieces.mine
    piece[...] = 0
    with files.loaded(ArrayFile(file, pieces.shape, piece.dtype, name)) as stored:
        if all(indices.size for indices in cells):
            box = tuple(slice(int(indices[0]), int(indices[-1]) + 1) for indices in cells)
            inside = np.ix_(*(indices - indices[0] for indices in cells))
            piece[pieces.own] = stored[box][inside]


def _write(draft: str, begin: int, piece: Array, pieces: Pieces) -> None:
    """Write a piece's elements at the places where they belong, run by run."""
    own, size = piece[pieces.own], piece.itemsize
    with files.writable(draft) as descriptor:
        for place, first, offsets in runs(pieces.shape, pieces.mine):
            values = np.ascontiguousarray(own[place]).reshape(-1)
            ends = [*(np.flatnonzero(np.diff(offsets) != 1) + 1).tolist(), offsets.size]
            start = 0
            for end in ends if offsets.size else ():
                files.write(descriptor, values[start:end], begin + (first + int(offsets[start])) * size)
                start = end
