"""Standard modules by which partitions see rows near to them: `border`, `ghosts`, `images`, `add_back`.

`border` lists, once, which rows other partitions are to see.  The list is one array of integers, with the
sender's and the receiver's part, so that rows go by it as often as one likes, between neighbours only, and
always in the same order: `[i, p, …]` says that row i is shown to partition p, moved by so many periods along
each axis; behind these, `[-n, p, …]` says that n rows come from partition p.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pse.memory import border_rows, list_border
from pse.modules._errors import ModuleError
from pse.modules.std._piece_layout import Pieces

Array = NDArray[Any]
Listed = NDArray[np.int64]
Box = NDArray[np.float64]
Make = Callable[..., Array]

_MOST_AXES = 8  # PSE_BORDER_AXES of border.h


def border(
    x: Box, box: Box, reach: float, *, make: Make | None = None, pieces: Pieces | None = None
) -> Generator[Any, Any, Listed]:
    """List the positions that other partitions are to see: those within `reach` of their boxes.

    A box has the least and the greatest coordinates, and the periods, 0 along an axis that is not periodic.
    """
    assert pieces is not None, "it is allowed only inside PARALLEL"
    assert make is not None, "it is the engine that calls it"
    messages = pieces.messages
    here = messages.partition_index()
    _check_box(box, reach, here)
    boxes = yield messages.allgather(np.append(box, reach))
    _check_periods(boxes[:, 2 * box.shape[1] : 3 * box.shape[1]])
    candidates, shown = np.empty(len(x), np.int64), np.zeros(messages.partition_count(), np.int64)
    found = border_rows(np.ascontiguousarray(x), boxes, here, candidates, shown)
    if found < 0:
        raise _lost(x, boxes[:, : 3 * box.shape[1]], here)
    came = yield messages.alltoall(shown)
    origins, images = np.flatnonzero(came), int(shown.sum())
    listed = make(images + len(origins), instead=-1)  # `x` is read while it is written.
    list_border(np.ascontiguousarray(x), boxes, here, candidates[:found], listed[:images])
    listed[images:] = 0
    listed[images:, 0], listed[images:, 1] = -came[origins], origins
    return listed


def ghosts(
    x: Array, by: Listed, *, make: Make | None = None, pieces: Pieces | None = None
) -> Generator[Any, Any, Array]:
    """Get the rows that partitions show to each other, in the order of partitions and of their lists."""
    return (yield from _shown("ghosts", x, by, None, make, pieces))


def images(
    x: Box, by: Listed, box: Box, *, make: Make | None = None, pieces: Pieces | None = None
) -> Generator[Any, Any, Box]:
    """Get positions as `ghosts` does, moved by whole periods to where they are near."""
    if by.shape[1] != 2 + x.shape[1]:
        message = f"images: the list is of positions with {by.shape[1] - 2} coordinates, not {x.shape[1]}"
        raise ModuleError(message, help="give the list that `border` has made of these positions")
    return (yield from _shown("images", x, by, np.ascontiguousarray(box[2]), make, pieces))


def add_back(y: Array, by: Listed, x: Array, *, pieces: Pieces | None = None) -> Generator[Any, Any, None]:
    """Add each row of `y`, which are as `ghosts` gives them, to the row of `x` that it is a ghost of.

    They are added in the order of the list, so that sums have the same bits wherever partitions are.
    """
    assert pieces is not None, "it is allowed only inside PARALLEL"
    count, came = _counts("add_back", len(x), by, pieces)
    if len(y) != came:
        where = f"partition {pieces.messages.partition_index()}"
        message = f"add_back: {where} has {came:,} ghosts, not {len(y):,}"
        raise ModuleError(message, help="give a row for each one that `ghosts` has given by this list")
    back = np.empty((count, *y.shape[1:]), y.dtype)
    yield pieces.messages.exchange_rows(np.ascontiguousarray(y), _reversed(by, count), back)
    changes = np.flatnonzero((by[1:count, 1:] != by[: max(count - 1, 0), 1:]).any(axis=1)) + 1
    for part in np.split(np.arange(count), changes):  # Each row is at most once in a part.
        x[by[part, 0]] += back[part]


def _shown(
    name: str, x: Array, by: Listed, period: Box | None, make: Make | None, pieces: Pieces | None
) -> Generator[Any, Any, Array]:
    assert pieces is not None, "it is allowed only inside PARALLEL"
    assert make is not None, "it is the engine that calls it"
    _, came = _counts(name, len(x), by, pieces)
    made = make(came, instead=-1)  # Others still write here while rows of `x` are read.
    rows, listed = np.ascontiguousarray(x), np.ascontiguousarray(by)
    yield pieces.messages.exchange_rows(rows, listed, made, period)
    return made


def _counts(name: str, rows: int, by: Listed, pieces: Pieces) -> tuple[int, int]:
    """Give how many rows are shown, and how many come."""
    if by.shape[1] < 2:
        raise ModuleError(
            f"{name}: the list has rows of {by.shape[1]}", help="give a list that `border` has made"
        )
    first = by[:, 0]
    count = int(np.count_nonzero(first >= 0))
    last = int(first.max(initial=-1))
    if last >= rows:
        where = f"partition {pieces.messages.partition_index()}"
        message = f"{name}: {where} is to show row {last:,}, and has {rows:,} rows"
        raise ModuleError(message, help="make the list anew by `border` when rows have migrated")
    _check_partitions(name, by, pieces.messages.partition_count())
    return count, -int(first[count:].sum())


def _check_partitions(name: str, by: Listed, partitions: int) -> None:
    for index in np.flatnonzero((by[:, 1] < 0) | (by[:, 1] >= partitions))[:1]:
        message = f"{name}: row {index:,} of the list is about partition {by[index, 1]}, of {partitions}"
        raise ModuleError(message, help="give a list that `border` has made")


def _reversed(by: Listed, count: int) -> Listed:
    """Give the list by which what belongs to ghosts goes back; rows that are shown begin `by`."""
    origins = np.repeat(by[count:, 1], -by[count:, 0])
    back = np.stack([np.arange(len(origins)), origins], axis=1)
    partitions, numbers = np.unique(by[:count, 1], return_counts=True)
    return np.concatenate([back, np.stack([-numbers, partitions], axis=1)])


def _check_box(box: Box, reach: float, here: int) -> None:
    if box.shape[1] > _MOST_AXES:
        message = f"border: positions have {box.shape[1]} coordinates"
        raise ModuleError(message, help=f"there may be at most {_MOST_AXES}")
    if not 0 <= reach < np.inf:
        raise ModuleError(
            f"border: reach is {reach} in partition {here}", help="give a finite distance from 0 on"
        )
    low, high, period = box
    if np.isnan(box).any() or not (np.isfinite(period) & (period >= 0)).all():
        message = f"border: the box of partition {here} is {box.tolist()}"
        help = "give the least and the greatest coordinates, and the periods: 0 where it is not periodic"
        raise ModuleError(message, help=help)
    open_end = (period > 0) & (low <= high) & np.isinf(high - low)
    if open_end.any():
        axis = int(np.flatnonzero(open_end)[0])
        message = f"border: the box of partition {here} has no end along axis {axis}, which is periodic"
        raise ModuleError(
            message, help="give its least and greatest coordinate, one period apart if it is not cut"
        )


def _check_periods(periods: Box) -> None:
    """All partitions have one idea of what is periodic."""
    for other in np.flatnonzero((periods != periods[0]).any(axis=1))[:1]:
        message = (
            f"border: the periods are {periods[0].tolist()} in partition 0, "
            f"and {periods[other].tolist()} in partition {other}"
        )
        raise ModuleError(message, help="give the same periods, the third row of a box, in all partitions")


def _lost(x: Box, boxes: Box, here: int) -> ModuleError:
    """Name a position that is not finite, or else the one that is farthest from all boxes."""
    wrong = ~np.isfinite(x).all(axis=1)
    far = np.where(wrong, np.inf, np.abs(x).max(axis=1))
    row = int(np.argmax(far))
    message = f"border: row {row:,} of partition {here} is at {tuple(x[row].tolist())}"
    if wrong.any():
        return ModuleError(message, help="positions are finite numbers: look at what made this one")
    return ModuleError(
        f"{message}, more than 100 periods from a box, or `reach` is as much",
        help="bring positions back into the periodic box, and give a smaller distance",
    )
