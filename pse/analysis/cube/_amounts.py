"""Times and shares in reports: of a difference with their signs, the largest changes first."""

from __future__ import annotations

import numpy as np

from pse.analysis.cube._cube import Cube
from pse.text import change_text, share_text, time_text
from pse.trace.format import Array


def amount_text(cube: Cube, time: float) -> str:
    """A time; of a difference with its sign."""
    if not cube.reference:
        return time_text(time)
    return f"{'-' if time < 0 else '+'}{time_text(abs(time))}"


def amount_share(cube: Cube, time: float, metric: str = "time") -> str:
    """The share of all time, or of another metric that no other includes; of the old run for a difference."""
    share = time / (cube.wholes()[metric] or 1)
    return change_text(share) if cube.reference else share_text(share)


def largest(cube: Cube, values: Array, most: int | None = None) -> list[int]:
    """Where the largest values are, without what is nothing; those of a difference may be less than 0."""
    sizes = np.abs(values) if cube.reference else values
    return [place for place in np.argsort(-sizes, kind="stable")[:most].tolist() if sizes[place] > 0]
