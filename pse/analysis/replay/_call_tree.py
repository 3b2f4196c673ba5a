"""One tree of call paths for all ranks: each rank numbers its routines and nodes for itself."""

from __future__ import annotations

import functools
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from pse._abi.replay import FrameKind
from pse._abi.waiting import WAIT_TEXTS
from pse.analysis.cube._cube import CallPath
from pse.analysis.cube._metrics import metric_of_routine
from pse.analysis.replay._peers import Peers
from pse.analysis.replay._rank_calls import RankCalls
from pse.text import program_line
from pse.trace import NONE, TextKind, WaitReason
from pse.trace.format import Array
from pse.trace.query import Names, Trace

_KIND_SHIFT, _REASON_SHIFT = 56, 32
METRIC_OF_WAIT: dict[int, str] = {
    WaitReason.INPUT: "queue_empty",
    WaitReason.EXCLUSIVE: "readers_wait",
    WaitReason.SPACE: "arena_wait",
    WaitReason.CREDIT: "queue_full",
    WaitReason.REMOTE: "transfer_wait",
    WaitReason.ORDER: "order_wait",
    WaitReason.START: "start_wait",
    WaitReason.ITERATION: "iteration_wait",
    WaitReason.PARTITIONS: "partition_parked",
}


class CallTree:
    """The call paths of all ranks; collective.

    Parameters
    ----------
    trace : Trace
        What the numbers of routines and call sites stand for.
    peers : Peers
        All processes.

    Attributes
    ----------
    paths : list of CallPath
        All call paths; parents come before their children.
    metrics : list of str
        For each call path the metric that its time belongs to.
    """

    def __init__(self, trace: Trace, peers: Peers) -> None:
        self._trace, self._rank = trace, 0
        self._places = peers.combined(_places(trace), _merge_places)
        self._found: dict[CallPath, int] = {}
        definitions = trace.definitions
        self._sites = {site.id: site for site in definitions.sites} if definitions else {}
        self._waits: dict[tuple[int, int, int], int] = {}
        self.paths: list[CallPath] = []
        self._ranks: list[int] = []
        self.metrics: list[str] = []
        imported = definitions is not None and "imported from" in definitions.environment
        program = definitions.program.rpartition("/")[2] if definitions and not imported else "program"
        self._root = self._add(CallPath(-1, "program", program), "execution")

    def add_rank(self, calls: RankCalls) -> Array:
        """Take in the call paths of a rank; for each of its nodes the index of its call path."""
        texts, self._rank = self._trace.texts(calls.rank), calls.rank
        found = np.zeros(len(calls.nodes), "<u4")
        for node, row in enumerate(calls.nodes[1:].tolist(), 1):
            key, parent = row[0], int(found[row[3]])
            kind, number = FrameKind(key >> _KIND_SHIFT), key & NONE
            if kind == FrameKind.ROUTINE:
                name = texts.get((TextKind.REGION, number), f"routine {number}")
                place = texts.get((TextKind.REGION_PLACE, number)) or self._place_elsewhere(name)
                found[node] = self._add(CallPath(parent, "routine", name, place), self._metric(name, parent))
            elif kind == FrameKind.SITE:
                site = self._site(parent, number)
                module = self._sites[number].module if number in self._sites else "module"
                found[node] = self._add(CallPath(site, "module", module), "execution")
            elif kind == FrameKind.END:
                found[node] = self._add(CallPath(parent, "wait", "idle at the end"), "idle_end")
            else:
                reason = key >> _REASON_SHIFT & 0xFFFF
                found[node] = self._wait(self._site(parent, number), reason)
                self._waits[calls.rank, reason, number] = int(found[node])
        return found

    def _metric(self, name: str, parent: int) -> str:
        """The metric of a routine; what MPI does to end its own threads is no wait of the program's."""
        metric = metric_of_routine(name)
        is_mpis_own = metric == "thread_wait" and self.paths[parent].name.startswith("MPI_")
        return self.metrics[parent] if is_mpis_own else metric

    def _place_elsewhere(self, name: str) -> str:
        """Where other ranks say that a region is, of which a rank that was killed does not know it."""
        places = self._places.get(name, ())
        return places[0] if len(places) == 1 else ""

    def wait_path(self, rank: int, reason: int, site: int) -> int:
        """The call path of waits between calls of a rank; -1: none of their begins is in the trace."""
        return self._waits.get((rank, reason, site), -1)

    @functools.cached_property
    def _names(self) -> Names:
        return Names(self._trace)

    def unified(self, peers: Peers) -> tuple[list[CallPath], Array]:
        """The call paths of all processes, and for each own one its index among them; collective.

        They come in the order in which one process would find them that goes over all ranks.
        """
        own = [
            [rank, number, *astuple(path)]
            for number, (rank, path) in enumerate(zip(self._ranks, self.paths, strict=True))
        ]
        paths = [CallPath(*row[2:]) for row in peers.combined(own, _merge)]
        known = {path: number for number, path in enumerate(paths)}
        found = np.zeros(len(self.paths), "<u4")
        for number, path in enumerate(self.paths):
            parent = int(found[path.parent]) if path.parent >= 0 else -1
            found[number] = known[replace(path, parent=parent)]
        return paths, found

    def _wait(self, parent: int, reason: int) -> int:
        name = f"wait {WAIT_TEXTS.get(reason, f'({reason})')}"
        return self._add(CallPath(parent, "wait", name), METRIC_OF_WAIT.get(reason, "waiting"))

    def _site(self, parent: int, number: int) -> int:
        """The call path of a call site, with the loops around it."""
        if number == NONE:
            return parent
        site = self._sites.get(number)
        for loop in site.loops if site and parent == self._root else ():
            name = f"loop {loop.counter}" if loop.counter else "loop"
            line = program_line(loop.place)
            shown = f"{name} (line {line})" if line else name
            parent = self._add(CallPath(parent, "loop", shown, loop.place), "execution")
        place = site.place if site else ""
        return self._add(CallPath(parent, "call site", self._names.spoken_site(number), place), "execution")

    def _add(self, path: CallPath, metric: str) -> int:
        known = self._found.get(path)
        if known is None:
            known = self._found[path] = len(self.paths)
            self.paths.append(path)
            self._ranks.append(self._rank)
            self.metrics.append(metric)
        return known


def _places(trace: Trace) -> dict[str, list[str]]:
    """By the names of regions the places that this process's ranks give for them."""
    found: dict[str, set[str]] = {}
    for rank in trace.ranks:
        texts = trace.texts(rank)
        for (kind, number), place in texts.items():
            if kind == TextKind.REGION_PLACE and place:
                found.setdefault(texts.get((TextKind.REGION, number), ""), set()).add(place)
    return {name: sorted(places) for name, places in found.items()}


def _merge_places(one: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: sorted({*one.get(name, ()), *other.get(name, ())}) for name in {**one, **other}}


def _merge(one: list[list[Any]], other: list[list[Any]]) -> list[list[Any]]:
    """Put two trees together: rows of first rank, position there, parent, kind, name, place."""
    found = [*map(list, one)]
    known = {tuple(row[2:]): number for number, row in enumerate(one)}
    number_of: list[int] = []
    for row in other:
        parent = number_of[row[2]] if row[2] >= 0 else -1
        number = known.setdefault((parent, *row[3:]), len(found))
        number_of.append(number)
        if number == len(found):
            found.append([*row[:2], parent, *row[3:]])
        else:
            found[number][:2] = min(found[number][:2], row[:2])
    order = sorted(range(len(found)), key=lambda number: found[number][:2])
    place = {number: at for at, number in enumerate(order)} | {-1: -1}
    return [[*found[number][:2], place[found[number][2]], *found[number][3:]] for number in order]
