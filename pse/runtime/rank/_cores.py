"""Which cores a rank may use, and how soon it gets one when it wakes up.

The option ``pin`` binds ranks to cores; without it the system's scheduler places them. Ranks whose thread
only moves data (engine operations, input and output) run first: they ask the scheduler for short slices, so
that what wakes them doesn't wait until the thread that computes on their core pauses.
Everything here is unprivileged, and concerns this process alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from pse.errors import UsageError
from pse.program import Placement
from pse.runtime import _channel
from pse.runtime.request._prepared import Prepared
from pse.text import ranges_text

OFF, COMPACT, SPREAD = "off", "compact", "spread"


def bind_to_cores(prepared: Prepared, nodes: Sequence[int], rank: int) -> None:
    """Bind this process to its cores, and tell the scheduler what it is there for.

    Parameters
    ----------
    prepared : Prepared
        The run.
    nodes : sequence of int
        Node of every rank.
    rank : int
        This rank.

    Raises
    ------
    UsageError
        If ``pin`` names a core that this node doesn't have.
    """
    chosen = choose_cores(
        prepared.options.pin, prepared.placement, nodes, rank, sorted(os.sched_getaffinity(0))
    )
    if chosen is not None:
        os.sched_setaffinity(0, chosen)
    if moves_data(prepared, rank):
        _channel.wake_soon()
    if not prepared.options.shared_memory or len(set(nodes)) > 1:
        _channel.sleep_exactly()


def choose_cores(
    pin: str, placement: Placement, nodes: Sequence[int], rank: int, allowed: Sequence[int]
) -> set[int] | None:
    """Choose a rank's cores out of those that its node allows; None: all of them.

    With ``compact`` or a list, the ranks of a processor share one core, and processors take cores in turn;
    root threads may use all. With ``spread`` every rank takes a core of its own, in turn.

    Raises
    ------
    UsageError
        If a listed core is not there.
    """
    if pin == OFF:
        return None
    usable = list(allowed) if pin in (COMPACT, SPREAD) else _listed(pin, allowed)
    here = [peer for peer in range(len(nodes)) if nodes[peer] == nodes[rank]]
    if pin == SPREAD:
        return {usable[here.index(rank) % len(usable)]}
    processor = placement.seat(rank).processor
    if processor is None:
        return set(usable)
    processors = sorted({p for peer in here if (p := placement.seat(peer).processor) is not None})
    return {usable[processors.index(processor) % len(usable)]}


def _listed(pin: str, allowed: Sequence[int]) -> list[int]:
    usable: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", pin):
        usable += range(int(first), int(last or first) + 1)
    missing = [core for core in usable if core not in allowed]
    if missing:
        raise UsageError(
            f"pin = {pin}: core {missing[0]} doesn't exist or is not allowed for this run: "
            f"ranks may use {cores_text(allowed)}",
            help="name cores out of these, or write pin = compact",
        )
    return usable


def moves_data(prepared: Prepared, rank: int) -> bool:
    """Whether a rank's thread calls no module of the user's: it waits most of the time, and is waited for."""
    key = prepared.placement.seat(rank).key
    sites = [site for site in prepared.sites if prepared.placement.thread_of(site) == key]
    return all(site.module.language == "std" for site in sites)


def cores_text(cores: Iterable[int]) -> str:
    """Write cores as `pin` takes them: ``0-2,5``."""
    return ranges_text(sorted(cores), separator=",")
