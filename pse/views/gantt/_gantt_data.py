"""What the Gantt draws, as tables: blocks of time, shares of pixels, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pse.trace.format import Array
from pse.views.core._colours import Style
from pse.views.core._rows import Row

SHARE_DTYPE = np.dtype(
    [
        ("time", "<i8"),  # ns of the pixel that the category has
        ("pixel", "<u4"),
        ("count", "<u4"),  # blocks that begin in it
        ("category", "<u4"),
        ("lane", "<u2"),
    ]
)


@dataclass(frozen=True)
class Category:
    """What blocks of one look have in common.

    Parameters
    ----------
    kind : str
        ``module``, ``wait``, ``routine`` or ``other`` (calls that were not selected).
    name : str
        Of the module, of the reason, of the routine or its family.
    style : Style
        How it is filled.
    """

    kind: str
    name: str
    style: Style


@dataclass(frozen=True)
class RowBlocks:
    """The blocks of one row.

    Parameters
    ----------
    row : Row
        Whose.
    blocks : array of BLOCK_DTYPE
        One by one, by the time of their end.
    shares : array of SHARE_DTYPE
        Of what is narrower than a pixel, by lane, pixel and category.
    """

    row: Row
    blocks: Array
    shares: Array


@dataclass(frozen=True)
class Blocks:
    """What there is to draw of a trace, in a window of time.

    Parameters
    ----------
    begin, end : int
        The window, ns since the run's origin.
    edges : array of int64, shape (pixels + 1,)
        Begins of pixels and the end of the last.
    rows : tuple of RowBlocks
        From top to bottom.
    categories, routines : tuple
        What `category` and, of regions, `detail` are indices of.
    merged : int
        Blocks that are in shares.
    messages : array of MESSAGE_DTYPE
        Messages between these rows, all or a sample; those of MPI in a trace of MPI alone.
    message_count : int
        How many messages these rows sent in all.
    is_sampled : bool
        Whether `messages` are a sample.
    tph_names : mapping of int to str
        What TPHs are by their loops, where that is known: ``k = 3``.
    markers : tuple of (int, int, str)
        Marks that the program set: rank, time, text.
    """

    begin: int
    end: int
    edges: Array
    rows: tuple[RowBlocks, ...]
    categories: tuple[Category, ...]
    routines: tuple[str, ...]
    merged: int
    messages: Array
    message_count: int
    is_sampled: bool
    tph_names: Mapping[int, str]
    markers: tuple[tuple[int, int, str], ...]
