"""What the runtime tells standard modules that work on distributed arrays: where the pieces lie."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pse.records import dataclass


@dataclass(frozen=True)
class Pieces:
    """The pieces of the distributed array that a call works on.

    Attributes
    ----------
    shape : tuple of int
        Of the whole array.
    halo : tuple of int
        For each axis, the ghost cells at either end of a piece.
    indices : callable
        Gives, for a partition, the indices of its own cells: an ascending array for each axis.
    messages : module
        `pse.modules.messaging`: the index of the running module's partition, and messages to others.
    decided : bool
        Whether modules decide how many rows pieces have: `shape` and `indices` don't tell then.

    Examples
    --------
    >>> from pse.modules import messaging
    >>> pieces = Pieces((8, 8), (1, 0), lambda partition: [np.arange(4), np.arange(8)], messaging)
    >>> pieces.own, pieces.mine[0]
    ((slice(1, -1, None), slice(0, None, None)), array([0, 1, 2, 3]))
    """

    shape: tuple[int, ...]
    halo: tuple[int, ...]
    indices: Callable[[int], Sequence[NDArray[np.int64]]]
    messages: ModuleType
    decided: bool = False

    @classmethod
    def of_unknown_size(cls, axes: int, messages: ModuleType) -> Pieces:
        """Give what is known of an array of which modules decide how many rows it has: it has no halo."""
        return cls((1,) * axes, (0,) * axes, lambda partition: (), messages, decided=True)

    @classmethod
    def of_rows(cls, rows: NDArray[np.int64], others: tuple[int, ...], messages: ModuleType) -> Pieces:
        """Give where pieces of so many rows lie, one behind the other; `others` are the other extents."""
        ends, whole = np.cumsum(rows), [np.arange(extent) for extent in others]
        return cls(
            (int(rows.sum()), *others),
            (0,) * (1 + len(others)),
            lambda partition: [np.arange(ends[partition] - rows[partition], ends[partition]), *whole],
            messages,
        )

    @property
    def own(self) -> tuple[slice, ...]:
        """The part of a piece that is not halo."""
        return tuple(slice(width, -width if width else None) for width in self.halo)

    @property
    def mine(self) -> Sequence[NDArray[np.int64]]:
        """The indices of the running module's partition."""
        return self.indices(self.messages.partition_index())


def runs(
    shape: Sequence[int], cells: Sequence[NDArray[np.int64]]
) -> Iterator[tuple[tuple[int, ...], int, NDArray[np.int64]]]:
    """Give places of a piece, where each begins in the whole array, and the offsets of its elements.

    Axes from the last one on that are whole make one run with the axis before them.
    """
    joined = len(shape) - 1
    while joined > 0 and len(cells[joined]) == shape[joined]:
        joined -= 1
    inner = math.prod(shape[joined + 1 :])
    offsets = (cells[joined][:, None] * inner + np.arange(inner)).ravel()
    strides = [math.prod(shape[axis + 1 :]) for axis in range(joined)]
    for place in itertools.product(*(range(len(cells[axis])) for axis in range(joined))):
        first = sum(int(cells[axis][at]) * strides[axis] for axis, at in enumerate(place))
        yield place, first, offsets
