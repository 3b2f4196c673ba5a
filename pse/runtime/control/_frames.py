"""Frames: a tag as it was at one pause, as coarse as a picture of it needs.

Each rank adds up blocks of what it holds, where it holds it; the first rank puts the sums together and
divides.  So what travels is as large as the picture, not as the array.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pse.files import write_file
from pse.records import dataclass

if TYPE_CHECKING:
    Values = npt.NDArray[np.float64]

MOST_CELLS = 1 << 18
"""Cells that a frame may have: 64 along each of three axes."""


@dataclass(frozen=True)
class Frame:
    """A tag as it was at one pause of a run.

    Attributes
    ----------
    tag : str
        The tag.
    values : ndarray of float64
        Block means, or rows as they are (`points`); a number as an array without axes.  Of complex numbers
        their absolute values.
    shape : tuple of int
        The shape of the tag in the program.
    block : tuple of int
        How many cells of each axis are one here.
    pause : int
        The number of the pause.
    place : str
        Where that is in the program: ``heat.coven:12:3, round = 40``.
    points : bool
        Whether rows are points in space: each is one of the tag's, none is a mean.
    element : str
        What the tag is made of: ``f64``, ``c128``, ``bool`` and so on.

    See Also
    --------
    RunControl

    Examples
    --------
    >>> import numpy as np
    >>> frame = Frame("u", np.array([0.5, 2.0]), (8,), (4,), 41, "rod.coven:8:3, k = 40")
    >>> float(frame.values.max())
    2.0
    """

    tag: str
    values: Values
    shape: tuple[int, ...]
    block: tuple[int, ...]
    pause: int
    place: str
    points: bool = False
    element: str = "f64"

    @property
    def title(self) -> str:
        """The tag, between bars where its absolute values are shown."""
        return f"|{self.tag}|" if self.element in ("c64", "c128") else self.tag


def save_frames(frames: Sequence[Frame], output: str) -> None:
    """Write frames of a tag into one file.

    Parameters
    ----------
    frames : sequence of Frame
        The frames.
    output : str
        The file (.npz): ``values`` with a leading axis of frames, ``pauses``, ``places``, ``block`` and
        ``shape``.

    Examples
    --------
    >>> frame = Frame("u", np.zeros(3), (3,), (1,), 7, "p.coven:8:3")
    >>> save_frames([frame, frame], "u.npz")
    >>> np.load("u.npz")["values"].shape
    (2, 3)
    """
    file = io.BytesIO()
    np.savez(
        file,
        values=np.array([frame.values for frame in frames]),
        pauses=np.array([frame.pause for frame in frames]),
        places=np.array([frame.place for frame in frames]),
        block=np.array(frames[0].block if frames else ()),
        shape=np.array(frames[0].shape if frames else ()),
    )
    write_file(file.getvalue(), output)


def block_of(shape: Sequence[int], cells: int) -> tuple[int, ...]:
    """Say how many cells of each axis make one, so that a frame has at most so many along each.

    Examples
    --------
    >>> block_of((1000, 30), 256)
    (4, 1)
    """
    most = max(1, min(cells, int(MOST_CELLS ** (1 / max(1, len(shape))) + 1e-9)))
    return tuple(max(1, -(-extent // most)) for extent in shape)


def block_sums(
    array: npt.NDArray[np.generic], indices: Sequence[npt.NDArray[np.int64]], block: Sequence[int]
) -> tuple[list[npt.NDArray[np.int64]], Values]:
    """Add up blocks of a piece.

    Parameters
    ----------
    array : ndarray
        The piece, without halos.
    indices : sequence of ndarray
        Where its cells are in the whole array: ascending numbers for each axis.
    block : sequence of int
        How many cells of each axis make one.

    Returns
    -------
    list of ndarray, ndarray
        The blocks of each axis of which the piece has something, and the sums.

    Examples
    --------
    >>> blocks, sums = block_sums(np.arange(4.0), [np.arange(2, 6)], [4])
    >>> blocks, sums
    ([array([0, 1])], array([1., 5.]))
    """
    sums: Values = np.abs(array).astype(np.float64) if np.iscomplexobj(array) else array.astype(np.float64)
    blocks = []
    for axis, (places, width) in enumerate(zip(indices, block, strict=True)):
        numbers = places // width
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1)) if numbers.size else np.zeros(0, np.int64)
        sums = (
            np.add.reduceat(sums, firsts, axis=axis)
            if firsts.size
            else sums[(slice(None),) * axis + (firsts,)]
        )
        blocks.append(numbers[firsts])
    return blocks, sums


@dataclass(frozen=True)
class Detail:
    """How much of an array a frame shows: means of blocks, or each so-manieth row.

    Parameters
    ----------
    shape : tuple of int
        The array's.
    block : tuple of int
        How many cells of each axis are one in the frame.
    points : bool
        Whether that one is the first of them, instead of their mean.

    Examples
    --------
    >>> Detail.of((1000, 3), 256, 500), Detail.of((1000, 30), 256, 500).points
    (Detail(shape=(1000, 3), block=(2, 1), points=True), False)
    """

    shape: tuple[int, ...]
    block: tuple[int, ...]
    points: bool = False

    @classmethod
    def of(cls, shape: tuple[int, ...], cells: int, points: int = 0) -> Detail:
        """Choose it: at most so many cells along an axis; of points in space at most so many."""
        if points > 0 and len(shape) == 2 and shape[1] in (3, 4) and shape[0] > shape[1]:
            return cls(shape, (-(-shape[0] // points), 1), points=True)
        return cls(shape, block_of(shape, cells))

    def piece(
        self, array: npt.NDArray[np.generic], indices: Sequence[npt.NDArray[np.int64]]
    ) -> tuple[list[npt.NDArray[np.int64]], Values]:
        """Give what a piece has of the frame, as `block_sums` does."""
        if not self.points:
            return block_sums(array, indices, self.block)
        rows, columns = indices
        taken = rows % self.block[0] == 0
        return block_sums(array[taken], [rows[taken] // self.block[0], columns], (1, 1))

    def values(self, parts: Iterable[bytes]) -> Values | None:
        """Put together what all ranks have; None if nobody has anything."""
        if not self.points:
            return put_together(parts, self.shape, self.block)
        return put_together(parts, (-(-self.shape[0] // self.block[0]), self.shape[1]), (1, 1))


def packed(pieces: Iterable[tuple[list[npt.NDArray[np.int64]], Values]]) -> bytes:
    """Write what a rank has of a frame."""
    heads, data = [], []
    for blocks, sums in pieces:
        heads.append([axis.tolist() for axis in blocks])
        data.append(np.ascontiguousarray(sums).tobytes())
    return json.dumps(heads).encode() + b"\n" + b"".join(data)


def put_together(parts: Iterable[bytes], shape: Sequence[int], block: Sequence[int]) -> Values | None:
    """Put together what all ranks have; gives the means, or None if nobody has anything."""
    counts = [_counts(extent, width) for extent, width in zip(shape, block, strict=True)]
    total, found = np.zeros([len(axis) for axis in counts]), False
    for part in parts:
        head, _, data = part.partition(b"\n")
        for blocks in json.loads(head):
            size = 8 * int(np.prod([len(axis) for axis in blocks]))
            sums, data = np.frombuffer(data[:size]).reshape([len(axis) for axis in blocks]), data[size:]
            np.add.at(total, np.ix_(*blocks), sums)  # A pattern of the user may come back to a block.
            found = True
    for axis, count in enumerate(counts):
        total /= count.reshape([-1 if other == axis else 1 for other in range(len(counts))])
    return total if found else None


def _counts(extent: int, width: int) -> Values:
    """Count the cells of each block of an axis; the last one may have fewer."""
    firsts = np.arange(0, extent, width)
    return np.minimum(firsts + width, extent).astype(np.float64) - firsts
