"""What a run says about partitions that moved."""

from __future__ import annotations

from pse.records import dataclass


@dataclass
class Moves:
    """How often partitions of a run moved, and the imbalance before and after.

    Attributes
    ----------
    times : int
        How often partitions moved.
    partitions : int
        How many moved, in all.
    before, after : float
        The busiest processor's load over the mean, before the first move and as measured last.
    """

    times: int = 0
    partitions: int = 0
    before: float = 1.0
    after: float = 1.0
