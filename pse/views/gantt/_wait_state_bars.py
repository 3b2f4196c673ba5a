"""Wait states of MPI over the rows of the Gantt: bars at the feet of the calls that waited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from pse.analysis import METRICS, wait_states
from pse.trace import Trace
from pse.trace.format import Array
from pse.views.core._palette import distinct
from pse.views.gantt._gantt_blocks import HALF
from pse.views.gantt._gantt_data import Blocks

MOST_BARS = 20_000
_HIGH = 0.32  # Of a row.


class WaitStates:
    """A bar for each wait, as long as it, in a colour for its metric that nothing else in the picture has."""

    def __init__(self, trace: Trace, found: Blocks) -> None:
        waits = wait_states(trace)
        waits = waits[(waits["begin"] < found.end) & (waits["end"] > found.begin)]
        waits = waits[np.isin(waits["rank"], [one.row.rank for one in found.rows])]
        longest = np.argsort(waits["begin"] - waits["end"], kind="stable")[:MOST_BARS]
        self._place = {one.row.rank: index for index, one in enumerate(found.rows)}
        self._waits = {metric: _of(waits[longest], metric) for metric in np.unique(waits["metric"]).tolist()}
        shades = distinct(len(self._waits), (category.style.colour for category in found.categories))
        self._looks: dict[int, dict[str, Any]] = {
            metric: {"facecolor": shade, "edgecolor": "#FFFFFF", "linewidth": 0.4}
            for metric, shade in zip(self._waits, shades, strict=True)
        }
        self.handles = [
            Patch(**look, label=f"wait: {METRICS[metric].title}") for metric, look in self._looks.items()
        ]
        self.notes: Sequence[str] = (
            []
            if len(waits) <= MOST_BARS
            else [f"Waits: the longest {MOST_BARS:,} of {len(waits):,} are shown."]
        )

    def draw(self, axes: Axes, pitch: float) -> None:
        """Draw them at the feet of the rows."""
        for metric, waits in self._waits.items():
            foot = np.array([self._place[rank] for rank in waits["rank"].tolist()]) + HALF
            left, right, head = waits["begin"], waits["end"], foot - 2 * HALF * _HIGH
            corners = [(left, foot), (left, head), (right, head), (right, foot)]
            bars = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
            axes.add_collection(
                PolyCollection(list(bars), **self._looks[metric], zorder=7.5, gid="wait state"), autolim=False
            )


def _of(waits: Array, metric: int) -> Array:
    found: Array = waits[waits["metric"] == metric]
    return found
