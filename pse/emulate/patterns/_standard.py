"""The patterns that ship."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pse.emulate.patterns._cycle import Cycle
from pse.emulate.patterns._grids import coordinates, dimensions_of, grid_problem, neighbour
from pse.emulate.patterns._registry import pattern

RANDOM_VARIANTS = 64


def _even(ranks: int, _options: Mapping[str, Any]) -> str | None:
    return None if ranks % 2 == 0 else f"ranks exchange in pairs: {ranks} ranks leave one without a partner"


def _power_of_two(ranks: int, _options: Mapping[str, Any]) -> str | None:
    return None if ranks & (ranks - 1) == 0 else f"a butterfly needs 2, 4, 8, … ranks, not {ranks}"


def _root(ranks: int, options: Mapping[str, Any]) -> str | None:
    root = options.get("root", 0)
    right = type(root) is int and 0 <= root < ranks
    return None if right else f"root = {root!r}: expected a rank from 0 to {ranks - 1}"


@pattern("pairwise", check=_even)
def _pairwise(cycle: Cycle) -> None:
    """Ranks 0 and 1, 2 and 3, … send each other a message."""
    cycle.exchange(cycle.rank ^ 1)


@pattern("random-pairs", check=_even, variants=RANDOM_VARIANTS)
def _random_pairs(cycle: Cycle) -> None:
    """Ranks send each other a message in pairs, which are other ones in each cycle."""
    order = [int(rank) for rank in cycle.random.permutation(cycle.ranks)]
    cycle.exchange(order[order.index(cycle.rank) ^ 1])


@pattern("circular")
def _circular(cycle: Cycle) -> None:
    """Every rank sends to the next one and receives from the one before."""
    _shift(cycle, (cycle.rank + 1) % cycle.ranks, (cycle.rank - 1) % cycle.ranks, sends=cycle.rank % 2 == 0)


def _shift(cycle: Cycle, to: int | None, source: int | None, *, sends: bool, tag: int = 0) -> None:
    """Send to one rank and receive from another; by blocking calls those that send first are said."""
    if not cycle.blocking:
        if source is not None:
            cycle.begin_receive(source, tag=tag)
        if to is not None:
            cycle.begin_send(to, tag=tag)
        cycle.wait()
        return
    for sending in (sends, not sends):
        if sending and to is not None:
            cycle.send(to, tag=tag)
        if not sending and source is not None:
            cycle.receive(source, tag=tag)


@pattern("cartesian", options=("dimensions", "periodic"), check=grid_problem)
def _cartesian(cycle: Cycle) -> None:
    """Ranks in a grid of 1 to 3 dimensions send halos to their neighbours, in all directions."""
    extents = dimensions_of(cycle.ranks, cycle.options)
    periodic = cycle.options.get("periodic", True)
    begun = False
    for axis in range(len(extents)):
        for tag, step in enumerate((1, -1)):
            to = neighbour(cycle.rank, extents, axis, step, periodic=periodic)
            source = neighbour(cycle.rank, extents, axis, -step, periodic=periodic)
            if cycle.blocking:
                sends = coordinates(cycle.rank, extents)[axis] % 2 == 0
                _shift(cycle, to, source, sends=sends, tag=2 * axis + tag)
                continue
            if source is not None:
                cycle.begin_receive(source, tag=2 * axis + tag)
            if to is not None:
                cycle.begin_send(to, tag=2 * axis + tag)
            begun = True
    if begun:
        cycle.wait()


@pattern("wavefront", options=("dimensions",), check=grid_problem)
def _wavefront(cycle: Cycle) -> None:
    """A sweep crosses a grid from its first corner: a rank receives from those before it, then sends on."""
    extents = dimensions_of(cycle.ranks, cycle.options)
    receive, send = (cycle.receive, cycle.send) if cycle.blocking else (cycle.begin_receive, cycle.begin_send)
    for step, act in ((-1, receive), (1, send)):
        around = [neighbour(cycle.rank, extents, axis, step, periodic=False) for axis in range(len(extents))]
        for peer in (peer for peer in around if peer is not None):
            act(peer)
        cycle.complete()


@pattern("butterfly", check=_power_of_two)
def _butterfly(cycle: Cycle) -> None:
    """Ranks whose numbers differ in one bit exchange a message, bit by bit."""
    distance = 1
    while distance < cycle.ranks:
        cycle.exchange(cycle.rank ^ distance)
        distance *= 2


@pattern("many-to-one", options=("root",), check=_root)
def _many_to_one(cycle: Cycle) -> None:
    """All other ranks send a message to the root."""
    root = int(cycle.options.get("root", 0))
    if cycle.rank != root:
        cycle.send(root)
        return
    for peer in (rank for rank in range(cycle.ranks) if rank != root):
        (cycle.receive if cycle.blocking else cycle.begin_receive)(peer)
    if not cycle.blocking:
        cycle.wait()


@pattern("alltoall")
def _alltoall(cycle: Cycle) -> None:
    """Every rank sends a message to every rank."""
    cycle.collective("alltoall")


@pattern("allreduce")
def _allreduce(cycle: Cycle) -> None:
    """All ranks add up what they have, element by element."""
    cycle.collective("allreduce")


@pattern("broadcast", options=("root",), check=_root)
def _broadcast(cycle: Cycle) -> None:
    """The root sends a message to all ranks."""
    cycle.collective("broadcast", int(cycle.options.get("root", 0)))


@pattern("gather-scatter", options=("root",), check=_root)
def _gather_scatter(cycle: Cycle) -> None:
    """Every rank sends a message to the root, which then sends one to every rank."""
    for name in ("gather", "scatter"):
        cycle.collective(name, int(cycle.options.get("root", 0)))


@pattern("gather", options=("root",), check=_root)
def _gather(cycle: Cycle) -> None:
    """Every rank sends a message to the root."""
    cycle.collective("gather", int(cycle.options.get("root", 0)))


@pattern("scatter", options=("root",), check=_root)
def _scatter(cycle: Cycle) -> None:
    """The root sends a message to every rank."""
    cycle.collective("scatter", int(cycle.options.get("root", 0)))
