"""The loops around a call site, and the slots in which a rank counts their rounds."""

from __future__ import annotations

from collections.abc import Iterator

from pse.language.check import For, While
from pse.runtime.plan._projection import Projection, round_counter


def loop_counters(
    projection: Projection, site: int, partition: int | None
) -> Iterator[tuple[For | While, int]]:
    """Give the loops around a call site whose rounds the rank counts, outer ones first, and their slots.

    Parameters
    ----------
    projection : Projection
        Of the rank.
    site : int
        The number of the call site.
    partition : int or None
        The partition that the call works on.
    """
    walk = projection.walk
    for step in reversed(list(walk.ancestors(walk.step_of_site[site]))):
        loop = walk.steps[step].statement
        if not isinstance(loop, For | While):
            continue
        inflight = isinstance(loop, For) and loop.inflight is not None
        name = loop.counter if isinstance(loop, For) and inflight else round_counter(loop, step)
        slot = projection.slots.get((name, partition), projection.slots.get((name, None)))
        if slot is not None:
            yield loop, slot


def shown_tag(name: str) -> str:
    """Give a tag's name as the user wrote it: `visiting` for `ring#2.visiting`, `k` for `k#2`."""
    return name.rpartition(".")[2].partition("#")[0]
