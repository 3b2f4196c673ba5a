"""What the runtime tells standard modules that work on distributed arrays: where the pieces lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray


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
    """

    shape: tuple[int, ...]
    halo: tuple[int, ...]
    indices: Callable[[int], Sequence[NDArray[np.int64]]]
    messages: ModuleType

    @property
    def own(self) -> tuple[slice, ...]:
        """The part of a piece that is not halo."""
        return tuple(slice(width, -width if width else None) for width in self.halo)

    @property
    def mine(self) -> Sequence[NDArray[np.int64]]:
        """The indices of the running module's partition."""
        return self.indices(self.messages.partition_index())
