"""Root causes in a report: where late ranks were instead of coming, and the critical path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pse.analysis.cube._amounts import amount_share, amount_text, largest
from pse.analysis.cube._cube import Cube
from pse.analysis.cube._metrics import WAIT_OF_DELAY, ancestors
from pse.text import time_text
from pse.trace.format import Array

_RANKS = 3  # Ranks that a line names.
_CAUSES = 2  # Causes of a wait that a line names.


def delay_costs(cube: Cube, metric: str) -> Array:
    """Short-term and long-term costs of the delays that a wait state is due to; (call paths, locations)."""
    states = [name for name, wait in WAIT_OF_DELAY.items() if wait in ancestors(metric)]
    return sum(
        (cube.exclusive(f"delay_{name}{term}") for name in states for term in ("", "_longterm")),
        np.zeros((len(cube.call_paths), len(cube.locations))),
    )


def root_cause_lines(cube: Cube, top: int) -> Iterator[str]:
    """Say in which call paths ranks were late, and which the critical path goes through, if that is known."""
    costs = cube.exclusive("delay")
    if top and costs.any():
        yield ""
        yield f"{_changes(cube)}where ranks were while others waited for them, by call path"
        for path in largest(cube, costs.sum(axis=1), top):
            yield _line(cube, path, costs[path], "time")
    on_path = cube.exclusive("critical_path")
    if top and on_path.any():
        yield ""
        yield f"{_changes(cube)}the critical path of {amount_text(cube, on_path.sum())}, by call path"
        beyond = cube.exclusive("critical_path_imbalance").sum(axis=1)
        for path in largest(cube, on_path.sum(axis=1), top):
            more = f", {time_text(beyond[path])} more than ranks on average"
            line = _line(cube, path, on_path[path], "critical_path")
            yield line + (more if beyond[path] >= 1 and not cube.reference else "")


def cause_line(cube: Cube, costs: Array, waited: float) -> Iterator[str]:
    """Say in a line below a wait in which call paths ranks were late for it, if that is known.

    They are known of a wait state with its parts, such as those of other metahosts, which have lines of their
    own.
    """
    causes = [
        f"{time_text(own.sum())} in {cube.path_text(path, places=True)}{ranks_text(cube, own)}"
        for path, own in ((path, costs[path]) for path in largest(cube, costs.sum(axis=1), _CAUSES))
    ]
    more = int(costs.any(axis=1).sum()) - len(causes)
    whole = costs.sum()
    of = f", with waits of this kind in other lines ({time_text(whole)})" if whole > waited + 1 else ""
    if causes:
        yield f"{'':19}caused by{of}: {'; '.join(causes)}{f'; and {more:,} more' if more else ''}"


def _changes(cube: Cube) -> str:
    return "changes of " if cube.reference else ""


def _line(cube: Cube, path: int, values: Array, metric: str) -> str:
    share = amount_share(cube, values.sum(), metric)
    where = cube.path_text(path, places=True)
    return f"{amount_text(cube, values.sum()):>8}  {share:>6}  {where}{ranks_text(cube, values)}"


def ranks_text(cube: Cube, values: Array) -> str:
    """The ranks with the largest values, with these: `` (rank 0 3.00 µs and 2 more)``."""
    order = largest(cube, values)
    most = [
        f"rank {cube.locations[place].rank} {amount_text(cube, values[place])}" for place in order[:_RANKS]
    ]
    more = len(order) - len(most)
    return f" ({', '.join(most)}{f' and {more:,} more' if more else ''})"
